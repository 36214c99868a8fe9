from __future__ import annotations

import numpy as np
import pytest

from kuijia_base.errors import UnsoundError
from te_solver.model.ncflow_demands import MODELS, parsed_model
from te_solver.model.topology import Link, Topology

SPECS = {
    "uniform": "uniform,most=2.5",
    "gravity": "gravity,total=100",
    "bimodal": "bimodal,large=0.2,small_from=1,small_to=2,large_from=5,large_to=9",
    "gaussian": "gaussian,mean=1,deviation=2",
    "poisson": "poisson,mean=20,decay=0.5,unit=0.25",
    "exponential": "exponential,mean=20,decay=0.5,unit=0.25",
}


def ring(nodes: int, capacity: float = 10.0) -> Topology:
    names = tuple(f"n{number}" for number in range(nodes))
    ends = [(names[number], names[(number + 1) % nodes]) for number in range(nodes)]
    return Topology("ring", names, tuple(Link(*way, capacity) for a, b in ends for way in ((a, b), (b, a))))


def test_there_is_an_example_of_every_model() -> None:
    assert set(SPECS) == set(MODELS)


@pytest.mark.parametrize("spec", SPECS.values())
def test_a_seed_gives_the_same_demands_and_another_seed_others(spec: str) -> None:
    model = parsed_model(spec)
    assert model.demands(ring(7), 5) == model.demands(ring(7), 5)
    assert model.demands(ring(7), 5) != model.demands(ring(7), 6)
    assert all(demand.rate > 0 for demand in model.demands(ring(7), 5))


def test_uniform_rates_are_those_of_numpys_old_generator_in_single_precision() -> None:
    drawn = np.random.RandomState(7).rand(5, 5)
    demands = {demand.pair: demand.rate for demand in parsed_model("uniform,most=2.5").demands(ring(5), 7, scale=4.0)}
    assert len(demands) == 20
    for (source, target), rate in demands.items():
        assert rate == np.float32(drawn[int(source[1:]), int(target[1:])] * 2.5) * np.float32(4.0)


def test_poisson_numbers_are_drawn_one_by_one_with_means_that_fall_with_distance() -> None:
    size, random = 4, np.random.RandomState(3)
    rates = {demand.pair: demand.rate for demand in parsed_model(SPECS["poisson"]).demands(ring(size), 3)}
    for a in range(size):
        for b in range(size):
            drawn = random.poisson(20 * 0.5 ** min((a - b) % size, (b - a) % size))
            if a != b:
                assert rates.get((f"n{a}", f"n{b}"), 0.0) == 0.25 * drawn


def test_gravity_follows_capacities() -> None:
    wide = Topology(
        "star",
        ("hub", "a", "b"),
        tuple(
            Link(*ends, capacity)
            for other, capacity in (("a", 900.0), ("b", 100.0))
            for ends in (("hub", other), (other, "hub"))
        ),
    )
    means = np.mean(
        [[each.rate for each in parsed_model("gravity,total=1000").demands(wide, seed)] for seed in range(200)], axis=0
    )
    # From the hub, which has half of all capacity: 9 to 1; from a 10 of the other 11 parts to the hub.
    assert means[:2] == pytest.approx([450, 50], rel=0.1)
    assert means[2] == pytest.approx(1000 * 0.45 * 10 / 11, rel=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("normal", "model 'normal', expected one of uniform, gravity, bimodal, gaussian, poisson, exponential"),
        ("uniform", "model 'uniform', expected uniform,most=NUMBER"),
        ("uniform,most=x", "parameter 'most=x', expected uniform,most=NUMBER"),
        ("uniform,most=-1", "parameter 'most=-1', expected uniform,most=NUMBER"),
        ("uniform,most=inf", "parameter 'most=inf', expected uniform,most=NUMBER"),
        ("uniform,most=1,most=2", "parameter 'most=2', expected uniform,most=NUMBER"),
        ("poisson,mean=1,decay=2,unit=1", "decay 2, expected at most 1"),
        (SPECS["bimodal"].replace("small_from=1", "small_from=3"), "small_from 3, expected at most small_to"),
    ],
)
def test_a_bad_model_is_refused(text: str, said: str) -> None:
    with pytest.raises(UnsoundError) as raised:
        parsed_model(text)
    assert str(raised.value) == said


def test_a_network_in_parts_is_refused() -> None:
    parts = Topology("parts", ("a", "b"), (Link("a", "b", 1.0),))
    with pytest.raises(UnsoundError, match="not all nodes of parts reach each other"):
        parsed_model("uniform,most=1").demands(parts, 1)


def test_a_seed_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(UnsoundError, match="seed 4294967296"):
        parsed_model("uniform,most=1").demands(ring(3), 2**32)
