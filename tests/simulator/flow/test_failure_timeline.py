"""A failure from strike to repair, compared with the outcome of each stage on its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from simulator.flow.failure_impact import FailureModel
from simulator.flow.failure_timeline import Script, Story, story
from simulator.flow.model import Vector
from simulator.flow.ramp import Ramp
from simulator.flow.timeline import play
from te_solver.schemes.kuijia import Kuijia
from te_solver.schemes.recompute import Recompute
from te_solver.schemes.registry import make_scheme
from te_solver.schemes.traffic import PlannedTraffic
from tests.simulator.flow.test_failure_impact import CUT, figure_1
from tests.te_solver.random_plans import failures, plans

SCRIPT = Script(fails=1, detection=0.5, end=6, recomputation=1, heals=4)


def of_victims(found: Story, goodput: Vector) -> list[float]:
    return [round(float(row[found.victim].sum()), 6) for row in goodput]


def of_others(found: Story, goodput: Vector) -> list[float]:
    return [round(float(row[~found.victim].sum()), 6) for row in goodput]


def test_victims_are_lost_until_the_failure_is_detected_and_then_squeezed_in() -> None:
    traffic = figure_1(800)
    model = FailureModel(traffic)
    found = story(model, Kuijia().reroute(traffic, CUT), SCRIPT, Recompute(new_tunnels=False).reroute(traffic, CUT))
    history = play(found.stages)
    assert [stage.name for stage in found.stages] == [
        "start", "links fail", "detected", "recomputed", "links heal", "repair detected",
    ]  # fmt: skip
    assert history.start.tolist() == [0, 1, 1.5, 2.5, 4, 4.5]
    assert (of_victims(found, history.goodput) + of_others(found, history.goodput))[:3] == [800, 0, 400]
    assert of_others(found, history.goodput)[:3] == [1600, 1600, 1600]
    assert history.goodput.sum(axis=1).round(6).tolist() == [2400, 1600, 2000, 2000, 2000, 2400]


def test_a_repair_before_the_detection_is_never_acted_on() -> None:
    traffic = figure_1(800)
    answer = Kuijia().reroute(traffic, CUT)
    found = story(FailureModel(traffic), answer, Script(fails=1, detection=0.5, end=3, heals=1.2))
    assert [stage.name for stage in found.stages] == ["start", "links fail", "links heal"]
    assert of_victims(found, play(found.stages).goodput) == [800, 0, 800]


def test_under_rescaling_the_others_take_seconds_to_settle_and_under_kuijia_none() -> None:
    """Table 4 of the paper in kind: 10 to 22 s against less than 1 s at demands that overload links."""
    traffic = figure_1(800)
    model = FailureModel(traffic)
    script = Script(fails=1, detection=0.1, end=40)
    settling = {}
    for name in ("rescaling", "kuijia"):
        found = story(model, make_scheme(name).reroute(traffic, CUT), script)
        settling[name] = play(found.stages, Ramp(round_trip=0.02)).settling_time(2, ~found.victim)
    assert settling["kuijia"] == 0
    assert 2 < settling["rescaling"] < 30


@pytest.mark.parametrize(
    "times",
    [
        {"fails": -1.0, "detection": 0.0, "end": 1.0},
        {"fails": 1.0, "detection": 0.0, "end": 0.5},
        {"fails": 1.0, "detection": 0.0, "end": 3.0, "heals": 1.0},
        {"fails": 1.0, "detection": float("inf"), "end": 3.0},
    ],
)
def test_impossible_times_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Script(**times)


def test_a_recomputation_needs_its_answer() -> None:
    traffic = figure_1(800)
    with pytest.raises(ValueError, match="expected both or neither"):
        story(FailureModel(traffic), Kuijia().reroute(traffic, CUT), SCRIPT)


@pytest.mark.slow
@given(st.data())
def test_each_stage_comes_to_what_the_failure_model_says_of_it(data: st.DataObject) -> None:
    traffic = PlannedTraffic.of(data.draw(plans()))
    failure = data.draw(failures(traffic.plan.topology))
    model = FailureModel(
        traffic, elastic=data.draw(st.booleans()), weighting=data.draw(st.sampled_from(["equal", "offered"]))
    )
    answers = [make_scheme(data.draw(st.sampled_from(["kuijia", "rescaling"]))), make_scheme("rescaling-renormalised")]
    first, second = (scheme.reroute(traffic, failure) for scheme in answers)
    found = story(model, first, SCRIPT, second)
    history = play(found.stages)

    def of_pairs(stage: int) -> Vector:
        return np.bincount(found.pair, history.steady[stage], minlength=traffic.priority.size).astype(np.float64)

    assert_allclose(of_pairs(0), traffic.tunnels.sums(model.before.goodput), rtol=1e-6, atol=1e-6)
    assert_allclose(of_pairs(2), model.impact(first).pair_goodput, rtol=1e-6, atol=1e-6)
    assert_allclose(of_pairs(3), model.impact(second).pair_goodput, rtol=1e-6, atol=1e-6)
    assert_allclose(of_pairs(5), of_pairs(0), rtol=1e-6, atol=1e-6)
