"""Flow sizes follow their given points, in both directions and in the mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kuijia_base.errors import UnsoundError
from simulator.flow_sizes.published import FlowSizes, Interpolation
from simulator.portable_random import Draws


@st.composite
def distributions(draw: st.DrawFn) -> FlowSizes:
    count = draw(st.integers(1, 8))
    sizes = sorted(draw(st.lists(st.integers(1, 10**9), min_size=count, max_size=count)))
    parts = sorted(draw(st.lists(st.floats(0, 1), min_size=count - 1, max_size=count - 1)))
    return FlowSizes(np.array(sizes, np.float64), np.array([*parts, 1.0]), draw(st.sampled_from(list(Interpolation))))


@given(distributions(), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_quantiles_never_fall(sizes: FlowSizes, probabilities: list[float]) -> None:
    found = sizes.quantile(sorted(probabilities))
    assert np.all(np.diff(found) >= 0)
    assert np.all((found >= sizes.sizes[0]) & (found <= sizes.sizes[-1]))


@given(distributions(), st.floats(0, 1))
def test_a_quantile_is_not_exceeded_with_its_probability(sizes: FlowSizes, probability: float) -> None:
    at = float(sizes.quantile(probability))
    assert float(sizes.probability(at * (1 + 1e-9))) >= probability - 1e-6
    mass = np.diff(sizes.probabilities, prepend=0)
    if sizes.probability(sizes.sizes[0]) < probability and np.all(mass > 1e-6) and np.all(np.diff(sizes.sizes) > 0):
        assert float(sizes.probability(at)) == pytest.approx(probability, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(distributions(), st.integers(0, 2**32))
def test_the_mean_of_many_samples_is_the_mean(sizes: FlowSizes, seed: int) -> None:
    count = 4000
    drawn = sizes.sample(Draws(seed), count)
    spread = float(sizes.sizes[-1] - sizes.sizes[0])
    assert drawn.mean() == pytest.approx(sizes.mean, abs=6 * spread / 2 / math.sqrt(count) + 0.5)


@given(distributions())
def test_the_mean_is_the_integral_of_the_quantiles(sizes: FlowSizes) -> None:
    steps = 20_000
    middle = sizes.quantile((np.arange(steps) + 0.5) / steps).mean()
    assert sizes.mean == pytest.approx(middle, abs=float(sizes.sizes[-1] - sizes.sizes[0]) * 9 / steps + 1e-6)


def test_a_step_is_one_size_for_so_many_flows() -> None:
    sizes = FlowSizes(np.array([100.0, 200.0, 200.0, 300.0]), np.array([0.0, 0.25, 0.75, 1.0]))
    assert sizes.quantile([0.25, 0.5, 0.75]).tolist() == [200, 200, 200]
    assert sizes.probability([199.999999, 200]) == pytest.approx([0.25, 0.75], abs=1e-6)
    assert sizes.mean == 200


def test_a_first_probability_above_zero_is_that_of_the_first_size() -> None:
    sizes = FlowSizes(np.array([100.0, 300.0]), np.array([0.5, 1.0]))
    assert sizes.quantile([0, 0.5, 0.75, 1]).tolist() == [100, 100, 200, 300]
    assert sizes.probability([99, 100, 400]).tolist() == [0, 0.5, 1]
    assert sizes.mean == 150


def test_logarithmic_points_have_their_geometric_mean_between_them() -> None:
    sizes = FlowSizes(np.array([100.0, 10_000.0]), np.array([0.0, 1.0]), Interpolation.LOGARITHMIC)
    assert float(sizes.quantile(0.5)) == pytest.approx(1000)
    assert float(sizes.probability(1000)) == pytest.approx(0.5)
    assert sizes.mean == pytest.approx(9900 / math.log(100))


@given(distributions(), st.floats(0, 0.99), st.floats(0, 1))
def test_larger_flows_are_distributed_as_among_all(sizes: FlowSizes, part: float, probability: float) -> None:
    size = float(sizes.quantile(part))
    assume(size < sizes.sizes[-1])
    least = float(sizes.probability(size))
    assume(least < 0.999)
    among_all = sizes.quantile(min(least + probability * (1 - least), 1.0))
    spread = float(sizes.sizes[-1] - sizes.sizes[0])
    assert float(sizes.above(size).quantile(probability)) >= size
    assert float(sizes.probability(sizes.above(size).quantile(probability))) >= least + probability * (1 - least) - 1e-6
    if np.all(np.diff(sizes.sizes) > 0) and np.all(np.diff(sizes.probabilities, prepend=0) > 1e-3):
        assert float(sizes.above(size).quantile(probability)) == pytest.approx(float(among_all), abs=1e-6 * spread + 1)


def test_no_flow_is_smaller_than_a_byte() -> None:
    sizes = FlowSizes(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert sizes.sample(Draws(1), 100).tolist() == [1] * 100


@pytest.mark.parametrize(
    ("sizes", "probabilities", "message"),
    [
        ([], [], "has no points"),
        ([1, 2], [1], "has no points"),
        ([-1, 2], [0, 1], r"\[0\]: size -1, expected a size of zero or more"),
        ([1, math.inf], [0, 1], r"\[1\]: size inf"),
        ([1, 2], [0, 1.5], r"\[1\]: probability 1.5, expected 0 to 1"),
        ([1, 2], [math.nan, 1], r"\[0\]: probability nan"),
        ([1, 3, 2], [0, 0.5, 1], r"\[2\]: size 2 is less than that of the point before, expected 3 or more"),
        ([1, 2, 3, 4], [0, 0.5, 0.4, 1], r"\[2\]: probability 0.4 is less than"),
        ([1, 2], [0, 0.9], r"\[1\]: the last probability is 0.9, expected 1"),
        ([1, 2], [0, 0.9999997], r"\[1\]: the last probability is 0.9999997, expected 1"),
        ([1, 2], [0, 1.0000001], r"\[1\]: probability 1.0000001, expected 0 to 1"),
        ([0], [1], r"\[0\]: the largest size is 0"),
    ],
)
def test_what_is_no_distribution_is_refused(sizes: list[float], probabilities: list[float], message: str) -> None:
    with pytest.raises(UnsoundError, match=message):
        FlowSizes(np.array(sizes, np.float64), np.array(probabilities, np.float64))


def test_zero_has_no_logarithm() -> None:
    with pytest.raises(UnsoundError, match=r"\[0\]: size 0, expected a size above zero"):
        FlowSizes(np.array([0.0, 1.0]), np.array([0.0, 1.0]), Interpolation.LOGARITHMIC)
