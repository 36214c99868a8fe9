from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from experiments.measuring.load import MachineLoad
from experiments.recovery.command import configure, options_from
from experiments.recovery.report import (
    DEFAULT_CUTS,
    MODES,
    NETWORKS,
    QUICK_CUTS,
    CutRecord,
    ModeResult,
    cuts_in_turn,
    exhibits,
    mode_data,
    recovery_plan,
    unused_cuts,
)
from experiments.results.exhibit import exhibit_text
from te_solver.model.plan import Tunnel

IDLE = MachineLoad(idle=0.9, steal=0.0, softirq=0.0, switch=1.1, switch_waiting=0.1, unread=0.0)
CUT = CutRecord(
    link=("4", "7"),
    position=1,
    path_id=22,
    backup_path_id=23,
    source_address="10.0.1.1",
    low_after=True,
    gap=0.090,
    gap_before=0.002,
    sender_pause=0.002,
    sender_pause_in_gap=0.0015,
    lost=89,
    before=1000.0,
    after=990.0,
    noticed={"4": 0.001, "7": 0.002},
    clock_error=0.0,
    load=IDLE,
)


def result(*gaps: float, mode: str = "bfd-30", false_alarms: int | None = 0) -> ModeResult:
    return ModeResult(MODES[mode], tuple(replace(CUT, gap=gap) for gap in gaps), false_alarms)


def missed_bars(results: Iterable[ModeResult]) -> list[str]:
    """Return what an outcome would list as missed, in words."""
    modes = [mode_data(result) for result in results]
    return [*unused_cuts(modes), *(words for made in exhibits(modes, "gscale", "emulation") for words in made.missed())]


def table_text(results: Iterable[ModeResult], network: str) -> str:
    (made,) = exhibits([mode_data(result) for result in results], network, "emulation")
    return exhibit_text(made)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    configure(parser)
    return parser.parse_args(arguments)


def test_bars_are_on_the_median_and_on_the_longest_gap() -> None:
    assert (
        list(missed_bars([result(0.09, 0.1, 0.13), result(0.2, mode="bfd-10"), result(1.0, mode="controller")])) == []
    )
    assert list(missed_bars([result(0.84, mode="bfd-10")])) == [
        "recovery (emulation): limit: bfd-10: longest gap in s is 0.84, expected at most 0.2"
    ]
    assert list(missed_bars([result(0.09, 0.14, 0.21)])) == [
        "recovery (emulation): limit: bfd-30: median gap in s is 0.14, expected at most 0.13",
        "recovery (emulation): limit: bfd-30: longest gap in s is 0.21, expected at most 0.2",
    ]
    assert list(missed_bars([result(0.021, mode="local")])) == [
        "recovery (emulation): limit: local: median gap in s is 0.021, expected at most 0.02"
    ]


def test_a_flow_that_moves_without_being_tagged_low_is_a_miss() -> None:
    moved = ModeResult(MODES["bfd-30"], (CUT, replace(CUT, low_after=False)), 0)
    (missed,) = missed_bars([moved])
    assert missed.endswith("tagged low is 0.5, expected 1 to 1")


@pytest.mark.parametrize("mode", list(MODES))
def test_a_flow_that_is_not_back_is_a_miss(mode: str) -> None:
    quick = replace(CUT, gap=0.01)
    moved = ModeResult(MODES[mode], (quick, replace(quick, after=0.0)), 0)
    (missed,) = missed_bars([moved])
    assert missed.endswith(f"{mode}: least packet rate after a cut, of that before is 0, expected at least 0.9")


def test_a_cut_during_which_the_sender_paused_or_the_machine_was_busy_does_not_count() -> None:
    paused = replace(CUT, gap=0.5, sender_pause_in_gap=0.006)
    stolen = replace(CUT, gap=0.5, load=replace(IDLE, steal=0.2))
    mixed = ModeResult(MODES["bfd-30"], (CUT, paused, stolen), 0)
    assert mixed.gaps == [CUT.gap]
    (missed,) = missed_bars([mixed])
    assert missed.startswith("bfd-30: the machine was too busy for 2 of 3 cuts (the sender itself paused for 6.0 ms")
    nothing = ModeResult(MODES["bfd-30"], (paused,), 0)
    assert nothing.checks == ()
    assert mode_data(nothing)["gap"] is None


def test_a_switch_that_takes_every_packet_up_alone_is_not_taken_for_overloaded() -> None:
    assert replace(CUT, load=replace(IDLE, switch=1.2)).invalid == ()


def test_the_table_has_a_row_for_each_mode() -> None:
    text = table_text([result(0.080, 0.090, 0.100), result(0.008, mode="controller", false_alarms=None)], "gscale")
    rows = [line.split()[-2:] for line in text.splitlines()[3:10]]
    assert rows == [
        ["bfd-30", "controller"],
        *(["90", "8"], ["80", "8"], ["100", "8"]),
        *(["2", "2"], ["2", "2"]),
        [],
    ]
    assert "3 cuts count; 0 false alarms of BFD" in text
    assert "controller: second or third link, reported by the controller; 1 cuts count" in text
    assert "ok    limit: bfd-30: median gap in s: 0.09, expected at most 0.13" in text
    assert "clock" not in text


def test_how_well_the_receiver_s_clock_was_known_is_told_and_a_cut_with_one_hardly_known_does_not_count() -> None:
    near = replace(CUT, clock_error=0.0012)
    far = replace(CUT, clock_error=0.060)
    assert near.invalid == ()
    assert far.invalid == ("the receiver's clock was known to 60.0 ms only, more than 50.0 ms",)
    text = table_text([ModeResult(MODES["bfd-30"], (CUT, near), 0)], "fig1")
    assert "the moment of a cut is known on it within 1.2 ms" in text
    assert "sent every millisecond from s1 to s4 of fig1" in text


def test_a_mode_as_json_has_every_cut_and_what_the_flow_kept() -> None:
    data = mode_data(result(0.080, 0.100))
    assert json.loads(json.dumps(data, allow_nan=False))["gap"] == {"min": 0.08, "median": 0.09, "max": 0.1}
    assert [flow["loss"] for flow in data["flows"]] == pytest.approx([0.01, 0.01])
    assert data["cuts"][1]["link"] == ("4", "7")
    assert data["passed"]


def test_options_decide_the_modes_and_the_number_of_cuts() -> None:
    assert options_from(parsed(), quick=False, repetitions=1).cuts == DEFAULT_CUTS
    assert options_from(parsed(), quick=True, repetitions=2).cuts == 2 * QUICK_CUTS
    chosen = options_from(parsed("--modes", "bfd-10,local", "--cuts", "3"), quick=True, repetitions=1)
    assert (chosen.modes, chosen.cuts) == (("bfd-10", "local"), 3)
    assert options_from(parsed("--network", "fig1"), quick=True, repetitions=1).ends == ("s1", "s4")
    for wrong in ("local,local", "remote", ""):
        with pytest.raises(argparse.ArgumentError, match="among local, bfd-30, bfd-10, controller"):
            parsed("--modes", wrong)


def used_tunnels(network: str) -> list[Tunnel]:
    ends = NETWORKS[network]
    pair = next(each for each in recovery_plan(network, 20.0).pairs if (each.source, each.target) == ends)
    return [tunnel for tunnel in pair.tunnels if tunnel.weight > 0]


def test_the_probed_pair_of_gscale_has_tunnels_with_links_enough_for_every_mode() -> None:
    used = used_tunnels("gscale")
    assert len(used) > 1
    assert min(len(tunnel.hops) for tunnel in used) > max(max(mode.links) for mode in MODES.values())


def test_cuts_take_turns_among_the_links_that_tunnels_have() -> None:
    on_gscale = cuts_in_turn(MODES["bfd-30"], used_tunnels("gscale"), 8)
    assert len(set(on_gscale)) == 2 * len(used_tunnels("gscale"))
    remote = [tunnel.hops[position] for tunnel, position in cuts_in_turn(MODES["bfd-30"], used_tunnels("fig1"), 4)]
    assert remote == [("s2", "s4"), ("s3", "s4")] * 2
    local = [tunnel.hops[position] for tunnel, position in cuts_in_turn(MODES["local"], used_tunnels("fig1"), 3)]
    assert sorted(local) == [("s1", "s2"), ("s1", "s3"), ("s1", "s4")]
    direct = [tunnel for tunnel in used_tunnels("fig1") if len(tunnel.hops) == 1]
    with pytest.raises(ValueError, match="no tunnel with traffic has the second or third link"):
        cuts_in_turn(MODES["bfd-30"], direct, 1)
