"""Experiments of the CQRD papers, on runs small enough for a test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.cqrd.loads import PARTS, deployed, mean_error, of_kinds, ratio_checks, run_parts
from experiments.cqrd.one_output import simulate
from experiments.cqrd.runs import (
    PUBLISHED,
    SWITCHES,
    Choices,
    DeviceConditions,
    FlowTimes,
    OneSwitch,
    SwitchRun,
    TwoTiers,
    completions,
    interference,
    queueing,
    run_of,
    value,
)
from experiments.results.exhibit import Line, Point
from simulator.packet.queues import Crosspoints, Fifo, HashedCredits, Threshold
from tests.experiments.executions import execution_in


def simulated(case: SwitchRun) -> FlowTimes:
    return run_of(case, completions(case))


def test_a_flow_that_is_there_locks_short_ones_out_of_an_output_queue_and_of_nothing_else() -> None:
    runs = {scheme: simulate(scheme, seed=1) for scheme in SWITCHES}
    mean = {scheme: np.mean(run.short) for scheme, run in runs.items()}
    assert mean["oq"] >= 100 * max(mean["cq"], mean["cqrd"])
    assert mean["cqrd"] <= mean["hcf"] <= mean["oq"]
    assert runs["cqrd"].long == pytest.approx([5, 5], abs=0.5)


def test_an_output_has_the_same_memory_under_every_scheme() -> None:
    queues = {scheme: queueing(scheme, 36_000, 8, DeviceConditions(marks=True)) for scheme in SWITCHES}
    random = Fifo(4_500, Threshold(1_800), random_drop=True, random_mark=True)
    assert queues == {
        "oq": Fifo(36_000, Threshold(14_400)),
        "hcf": HashedCredits(Fifo(18_000, Threshold(7_200))),
        "cq": Crosspoints(Fifo(4_500, Threshold(1_800)), held_while_sent=True),
        "cqrd": Crosspoints(random, held_while_sent=True),
    }


def test_a_crosspoint_has_room_for_a_packet_whatever_its_share() -> None:
    for packet, room in ((1_500, 1_500), (1_000, 1_250)):
        crosspoints = queueing("cq", 30_000, 24, DeviceConditions(packet=packet))
        assert isinstance(crosspoints, Crosspoints)
        assert crosspoints.queue.limit == room


def test_hosts_queue_as_many_packets_as_the_choices_say() -> None:
    case = SwitchRun(OneSwitch("oq"), 10, 0.1, 1)
    assert {link.queueing for link in case.network().links if link.source in case.network().hosts} == {Fifo(75_000)}
    without = replace(case, choices=Choices(host_queue=None))
    assert {link.queueing for link in without.network().links if link.source in without.network().hosts} == {Fifo()}


def test_the_mean_error_is_that_of_all_points_with_a_published_number() -> None:
    lines = [Line("a", (Point(0.1, 1.1, published=1.0), Point(0.4, 5.0))), Line("b", (Point(0.1, 0.7, published=1.0),))]
    assert mean_error(lines) == pytest.approx(0.2)
    assert mean_error([Line("a", (Point(0.4, 5.0),))]) is None


def test_all_schemes_meet_the_same_flows() -> None:
    drawn = [case.drawn(case.network()) for case in (SwitchRun(OneSwitch(scheme), 50, 0.4, 3) for scheme in SWITCHES)]
    for flows in drawn[1:]:
        assert flows.source.tolist() == drawn[0].source.tolist()
        assert flows.size.tolist() == drawn[0].size.tolist()
        assert flows.start.tolist() == drawn[0].start.tolist()


def test_short_flows_take_less_time_under_cqrd_than_under_output_queues() -> None:
    runs = {scheme: simulated(SwitchRun(OneSwitch(scheme), 600, 0.4, 1)) for scheme in ("cqrd", "oq")}
    assert runs["cqrd"].milliseconds().mean() < 0.9 * runs["oq"].milliseconds().mean()


def test_the_fabric_is_that_of_the_paper() -> None:
    network = TwoTiers.of("oq").network()
    assert len(network.hosts) == 480
    assert network.nodes == 480 + 24 + 2
    ports = sorted(len(network.outputs[node]) for node in range(480, network.nodes))
    assert ports == [22] * 24 + [24] * 2


def test_flows_meet_giants_at_outputs_and_on_switch_paths_while_both_are_under_way() -> None:
    case = SwitchRun(OneSwitch("oq", ports=4), 200, 0.4, 1)
    run = simulated(case)
    at_output, on_path = interference(case, run)
    flows = case.drawn(case.network())
    end = run.start + run.completion
    for flow in range(flows.count):
        met = [
            giant
            for giant in np.flatnonzero(run.size > 1_000_000).tolist()
            if giant != flow
            and flows.target[giant] == flows.target[flow]
            and run.start[giant] < end[flow]
            and end[giant] > run.start[flow]
        ]
        same = any(flows.source[giant] == flows.source[flow] for giant in met)
        assert (at_output[flow], on_path[flow]) == (bool(met) and not same, same)
    apart = replace(run, start=run.start + 10.0 * np.arange(flows.count))
    assert not np.any(interference(case, apart))


def test_kinds_of_flows_are_counted_beside_the_published_counts_where_there_are_some() -> None:
    journal, lcn = PARTS["cqrd-exp1"]
    (exhibit,) = of_kinds(journal, {0.1: (4_000, 900), 0.7: (4_500, 800)})
    shown = {line.label: [(point.x, point.value, point.published) for point in line.points] for line in exhibit.lines}
    assert shown == {
        "load 0.1": [("OC-PC", 4_000, 4_365), ("PC", 900, 635), ("not interfered", 1_100, 1_000)],
        "load 0.7": [("OC-PC", 4_500, 4_321), ("PC", 800, 811), ("not interfered", 700, 868)],
    }
    assert not list(of_kinds(lcn, {0.1: (1, 1)}))


def test_switches_are_ordered_as_published_and_from_finer_to_coarser_where_nothing_is() -> None:
    """HCF is published as slower than OQ at .1, not at .4; of CQ nothing is published."""
    times = {"CQRD": (0.2, 0.2), "CQ": (None, None), "HCF": (0.242, 0.239), "OQ": (0.24, 0.243)}
    lines = [
        Line(label, tuple(Point.of(load, [0.3], theirs) for load, theirs in zip((0.1, 0.4), published, strict=True)))
        for label, published in times.items()
    ]
    orders = [check for check in ratio_checks(lines, "fct") if check.is_order]
    assert [check.name.removeprefix("order: ") for check in orders] == [
        *("CQRD / CQ at load 0.1", "CQ / HCF at load 0.1", "OQ / HCF at load 0.1"),
        *("CQRD / CQ at load 0.4", "CQ / HCF at load 0.4", "HCF / OQ at load 0.4"),
    ]
    assert [check.published for check in orders[2::3]] == [pytest.approx(0.24 / 0.242), pytest.approx(0.239 / 0.243)]


def test_published_numbers_are_found_by_their_keys() -> None:
    assert value("exp2", "journal", "fct", "average", "oq", 1) == 1.68
    assert value("exp2", "lcn", "fct", "average", "cq", 1) is None
    assert set(PUBLISHED["exp1"]["journal"]["fct"]["99th"]) == set(SWITCHES)


def test_a_scheme_is_in_the_first_racks_or_above_them() -> None:
    assert deployed("cq", 0) == TwoTiers(("oq",) * 24, "cq")
    assert deployed("cq", 4) == TwoTiers(("cq",) * 4 + ("oq",) * 20, "oq")


@pytest.mark.slow
def test_an_experiment_has_published_numbers_beside_ours_and_says_what_was_missed(tmp_path: Path) -> None:
    execution = execution_in(tmp_path, "cqrd-exp1")
    outcome = run_parts(execution, [replace(PARTS["cqrd-exp1"][0], flows=150, loads=(0.1,))])
    assert "0.36" in outcome.text
    assert "150 flows instead of the 6,000 published ones" in outcome.text
    assert outcome.summary["passed"] == (not outcome.broken)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"cqrd-exp1-journal-fct-average.json", "cqrd-exp1-journal-cdf.svg"} <= written
    assert "cqrd-exp1.checkpoint" not in written
