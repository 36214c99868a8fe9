"""Experiments on transports by credits, on runs small enough for a test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.experiment import Outcome
from experiments.flashpass import dynamic, static
from experiments.flashpass.dynamic import DELAYS, HOSTS, STATISTICS, WanRun, run_waste, wan
from experiments.flashpass.expresspass import (
    NAIVE,
    UNIFORM,
    WEIGHT,
    converged_after,
    run_parking_lot,
    shares,
    utilisation,
)
from experiments.flashpass.schemes import EXPRESSPASS, LABELS, PACED, PUBLISHED, TransportScheme
from experiments.flashpass.static import PHASES, StaticRun, measured, run_static, simulate
from simulator.packet.credited import EXPRESSPASS_PORTS, ExpressPass, Finishing, FlashPass
from tests.experiments.executions import TWO_SEEDS, execution_in


def exhibits_of(outcome: Outcome) -> list[Any]:
    """The exhibits that an experiment has written, as JSON data."""
    found = outcome.summary["exhibits"]
    assert isinstance(found, list)
    return found


def test_times_of_two_flows_are_those_of_the_tables_to_the_millisecond() -> None:
    compared = {"expresspass": len(PHASES) - 1, "flashpass": len(PHASES)}  # the last data of ExpressPass waits
    for name, times in compared.items():
        found = simulate(name, 1)
        for flow, row in enumerate(found.phases.tolist()):
            theirs = PUBLISHED["scheduling"][name][f"flow {flow + 1}"]
            assert row[:times] == pytest.approx(theirs[:times], abs=1.0)


@pytest.mark.parametrize("links", [1, 2, 3, 6])
def test_a_long_flow_of_naive_credits_leaves_links_empty_as_shares_of_each_link_say(links: int) -> None:
    """Of n links in a row, its credits get 1 / (n + 1), and those of the flow at the first link a half."""
    assert utilisation(NAIVE, UNIFORM, links, 1) == pytest.approx(1 / 2 + 1 / (links + 1), abs=0.05)
    assert utilisation(EXPRESSPASS, EXPRESSPASS_PORTS, links, 1) > 0.9


def test_the_parking_lot_has_our_numbers_and_published_ones(tmp_path: Path) -> None:
    (exhibit,) = exhibits_of(run_parking_lot(execution_in(tmp_path, "expresspass-parking-lot")))
    lines = {line["label"]: line["points"] for line in exhibit["lines"]}
    assert [point["published"] for point in lines["public code"]] == [None, 0.98, None, None, None, 0.978]
    assert lines["naive"][-1]["value"] < 0.7 < lines["public code"][-1]["value"]


def test_the_wan_is_that_of_the_paper() -> None:
    network = wan()
    assert len(network.hosts) == 3 * HOSTS
    between = {
        (link.source - 3 * HOSTS, link.target - 3 * HOSTS): link.delay
        for link in network.links
        if link.source >= 3 * HOSTS and link.target >= 3 * HOSTS
    }
    assert between == {ends: delay for pair, delay in DELAYS.items() for ends in (pair, pair[::-1])}


def test_all_transports_meet_the_same_flows() -> None:
    drawn = [WanRun(0.4, 30, 3, TransportScheme.of(name)).drawn(wan()) for name in LABELS]
    for flows in drawn[1:]:
        assert flows.size.tolist() == drawn[0].size.tolist()
        assert flows.start.tolist() == drawn[0].start.tolist()
        assert flows.target.tolist() == drawn[0].target.tolist()


def test_flashpass_loses_nothing_in_the_case_that_cubic_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "RATE", 1500.0)
    flash, cubic = (measured(StaticRun(name, "c", 1.5, 1)) for name in ("flashpass", "cubic"))
    assert flash[1] == 0.0
    assert cubic[1] > 0.0


def test_paced_segments_keep_slow_starts_from_ending_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "RATE", 1500.0)
    plain, paced = (measured(StaticRun(name, "c", 1.5, 1)) for name in ("cubic", PACED))
    assert paced[0] > plain[0]
    assert paced[1] > 0.0


def test_an_experiment_has_published_numbers_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "RATE", 200.0)
    monkeypatch.setattr(static, "QUICK_SECONDS", 0.3)
    outcome = run_static(execution_in(tmp_path, "flashpass-fig10"))
    assert "9.1" in outcome.text
    assert {path.name for path in tmp_path.iterdir()} >= {"flashpass-fig10-loss.json", "flashpass-fig10-loss.svg"}
    assert outcome.summary["passed"] == (not outcome.broken)


def test_credits_of_expresspass_are_wasted_for_a_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic, "MEGABYTES", (1,))
    monkeypatch.setattr(dynamic, "QUICK_FLOWS", 4)
    (exhibit,) = exhibits_of(run_waste(execution_in(tmp_path, "flashpass-fig5")))
    assert exhibit["lines"][0]["points"][0]["value"] > 1


def of_case(small: float, tail: float, large: float, overall: float, **of_packets: int) -> dict[str, Any]:
    """The outcome of a run over the WAN: completion times in ms, and numbers of packets."""
    times = dict(zip(STATISTICS, (small, tail, large, overall), strict=True))
    packets = {"sent": 1000, "offered": 1200, "credits": 1100, "unused": 100, "yielded": 0, "unfinished": 0}
    return {**times, **packets, **of_packets}


def test_ratios_of_the_dynamic_experiment_are_those_of_means_over_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {repr(TransportScheme.of(name)): place for place, name in enumerate(LABELS)}

    def outcome(case: WanRun) -> dict[str, Any]:
        overall = 1000.0 - 100 * places[repr(case.scheme)] + case.seed
        return of_case(100.0, 10 * overall, 2000.0, overall)

    monkeypatch.setattr(dynamic, "outcome", outcome)
    (exhibit,) = exhibits_of(dynamic.run_load(execution_in(tmp_path, "flashpass-fig11", TWO_SEEDS)))
    lines = {line["label"]: {point["x"]: point for point in line["points"]} for line in exhibit["lines"]}
    of_cubic, of_flashpass = (1001.5 - 100 * list(LABELS).index(name) for name in ("cubic", "flashpass*"))
    assert lines["Cubic"]["all average"]["value"] == of_cubic
    assert lines["FlashPass*"]["small 99th"]["value"] == 10 * of_flashpass
    assert lines["FlashPass*"]["all average"]["published"] == 2012
    bars = {bar["name"]: bar for bar in exhibit["checks"]}
    of_express = 1001.5 - 100 * list(LABELS).index("expresspass")
    cubic = bars["order: all flows: Cubic / ExpressPass"]
    assert (cubic["measured"], cubic["published"]) == pytest.approx((of_cubic / of_express, 2808 / 2403))
    assert bars["order: all flows: FlashPass / FlashPass*"]["passed"]


@pytest.mark.parametrize(("third", "passed"), [(0.93, [True, True, True]), (0.97, [False, True, True])])
def test_each_target_loss_is_held_against_the_next_faster_one_as_published(
    third: float, passed: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = dict(zip(dynamic.TARGETS, (1.0, 0.96, third, 0.95), strict=True))

    def outcome(case: WanRun) -> dict[str, Any]:
        transport = case.scheme.transport
        assert isinstance(transport, FlashPass)
        return of_case(1.0, 1.0, 1.0, times[transport.least_loss, transport.most_loss])

    monkeypatch.setattr(dynamic, "outcome", outcome)
    fct, loss = exhibits_of(dynamic.run_targets(execution_in(tmp_path, "flashpass-fig14")))
    assert [point["value"] for point in fct["lines"][0]["points"]] == list(times.values())
    assert [bar["passed"] for bar in fct["checks"] if bar["name"].startswith("order: ")] == passed
    assert loss["lines"][0]["points"][0]["value"] == pytest.approx(100 / 12)


def test_selective_dropping_is_held_against_runs_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome(case: WanRun) -> dict[str, Any]:
        transport = case.scheme.transport
        assert isinstance(transport, FlashPass)
        is_on = transport.finishing is Finishing.SELECTIVE
        return of_case(1.0, 1.0, 1.0, 0.8 if is_on else 1.0, yielded=250 if is_on else 0)

    monkeypatch.setattr(dynamic, "outcome", outcome)
    fct, saved = exhibits_of(dynamic.run_finishing(execution_in(tmp_path, "flashpass-fig15")))
    assert {point["value"] for point in fct["lines"][0]["points"]} == {0.8}
    assert [bar["passed"] for bar in fct["checks"]] == [True]
    assert {point["value"] for point in saved["lines"][0]["points"]} == {25.0}


@pytest.mark.parametrize("rate", [10_000.0, 100_000.0])
@pytest.mark.parametrize("first", [1 / 2, 1 / 16])
def test_a_second_flow_of_expresspass_has_its_share_within_eight_round_trips_and_keeps_it(
    rate: float, first: float
) -> None:
    express = ExpressPass(initial_rate=first, initial_weight=WEIGHT)
    share = np.mean([shares(express, UNIFORM, rate, seed) for seed in range(1, 6)], axis=0)
    assert converged_after(share) <= 8
    assert 0.35 <= share[60:].mean() <= 0.65


@pytest.mark.parametrize("rate", [10_000.0, 100_000.0])
def test_the_public_code_gives_two_flows_equal_shares_of_the_whole_link(rate: float) -> None:
    for start in (1 / 2, 1 / 16):
        express = replace(EXPRESSPASS, initial_rate=start, initial_weight=start)
        share = np.mean([shares(express, EXPRESSPASS_PORTS, rate, seed) for seed in range(1, 6)], axis=0)
        assert 0.47 <= share[60:].mean() <= 0.53
