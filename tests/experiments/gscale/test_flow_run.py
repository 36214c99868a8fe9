from __future__ import annotations

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import LINKS, Case, case_of, grid
from experiments.gscale.models import compute
from experiments.results.result import Result, result_from_json, result_to_json

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, quick=False, seed=1)


def _loss(result: Result, role: str, priority: int = 0) -> float:
    flows = [flow for flow in result.flows if flow.role == role and flow.priority == priority]
    had = sum(flow.before if flow.sent is None else flow.sent for flow in flows)
    return 1 - sum(flow.after for flow in flows) / had


@pytest.mark.parametrize("traffic", ["tcp", "udp"])
def test_kuijia_spares_all_but_the_victims_and_rescaling_does_not(traffic: str) -> None:
    for case in grid((traffic,), (1.2,), schemes=("kuijia",), repetitions=1):  # type: ignore[arg-type]
        kuijia = compute(case, SETTINGS)
        rescaling = compute(Case(case.traffic, case.demand, case.link, "rescaling", 1), SETTINGS)
        for role in ("direct", "indirect", "aboriginal"):
            assert all(flow.loss == pytest.approx(0) for flow in kuijia.flows if flow.role == role)
        assert _loss(kuijia, "victim") > _loss(rescaling, "victim") > 0
        assert _loss(rescaling, "direct") > 0.01


def test_what_was_planned_is_carried_before_the_failure() -> None:
    for case in grid(("tcp", "priorities"), schemes=("kuijia",), repetitions=1):
        assert all(flow.before == pytest.approx(flow.offered) for flow in compute(case, SETTINGS).flows)


def test_only_victims_under_kuijia_wait_in_the_low_queue() -> None:
    case = Case("udp", 1.6, LINKS[0], "kuijia", 1)
    assert all(flow.low_after == (flow.role == "victim") for flow in compute(case, SETTINGS).flows)
    other = Case("udp", 1.6, LINKS[0], "rescaling", 1)
    assert not any(flow.low_after for flow in compute(other, SETTINGS).flows)


def test_the_high_class_loses_nothing_under_either_scheme() -> None:
    for case in grid(("priorities",), (1.6,), repetitions=1):
        flows = [flow for flow in compute(case, SETTINGS).flows if flow.priority == 0]
        assert all(flow.loss == pytest.approx(0) for flow in flows)


def test_a_result_tells_its_case_and_survives_the_way_through_json() -> None:
    case = Case("udp", 1.4, LINKS[1], "rescaling", 2)
    result = compute(case, SETTINGS)
    assert case_of(result_from_json(result_to_json(result), "test")) == case
    assert {"kuijia", "commit", "kernel", "python", "packages", "started", "duration"} <= result.manifest.keys()
