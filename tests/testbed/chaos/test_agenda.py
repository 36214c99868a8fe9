"""However late a run is, no fault begins before those that hold the same thing are mended, and none is left out."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.chaos.faults import CUT, SPARE_SECONDS, SWITCH_WIPED, SWITCHES_FROZEN, Agenda, ChaosFault, draw_faults

TOPOLOGY = load_topology(shipped_network("fig1"))
START = 100.0


def spans_of(
    faults: tuple[ChaosFault, ...], lateness: random.Random, most_late: float
) -> list[tuple[float, float, ChaosFault]]:
    """Return when each fault began and was mended by a run that takes up to `most_late` seconds for each step."""
    agenda, now = Agenda(faults, START), START
    began: dict[int, float] = {}
    spans = []
    while step := agenda.next_step():
        now = max(now, step.at) + lateness.uniform(0.0, most_late)
        if step.begins:
            assert id(step.fault) not in began
            began[id(step.fault)] = now
            agenda.began(step.fault, now)
        else:
            spans.append((began[id(step.fault)], now, step.fault))
            agenda.mended(step.fault, now)
    return spans


@given(seed=st.integers(0, 2**32), interval=st.floats(0.2, 5), most_late=st.sampled_from([0.0, 0.1, 3.0]))
def test_faults_of_a_late_run_still_leave_alone_what_others_hold(seed: int, interval: float, most_late: float) -> None:
    faults = draw_faults(TOPOLOGY, seed, 60.0, interval)
    spans = spans_of(faults, random.Random(seed), most_late)
    assert sorted(fault.at for _, _, fault in spans) == [fault.at for fault in faults]
    for thing in {thing for fault in faults for thing in fault.things}:
        holders = sorted((start, end) for start, end, fault in spans if thing in fault.things)
        assert all(end + SPARE_SECONDS <= start for (_, end), (start, _) in pairwise(holders))
    assert all(end - start >= fault.seconds - 1e-9 for start, end, fault in spans)


def test_a_run_that_is_in_time_begins_everything_when_it_was_drawn() -> None:
    faults = (
        ChaosFault(0.0, CUT, ("s1", "s2"), 2.0),
        ChaosFault(1.0, CUT, ("s1", "s3"), 2.0),
        ChaosFault(2.5, CUT, ("s1", "s2"), 1.0),
    )
    spans = spans_of(faults, random.Random(0), 0.0)
    assert [(start, end) for start, end, _ in spans] == [(100.0, 102.0), (101.0, 103.0), (102.5, 103.5)]


def test_switches_are_not_wiped_while_they_cannot_answer() -> None:
    faults = (ChaosFault(0.0, SWITCHES_FROZEN, (), 1.0), ChaosFault(0.5, SWITCH_WIPED, ("s1",), 0.0))
    (_, thawed, _), (wiped, _, _) = spans_of(faults, random.Random(0), 0.0)
    assert (thawed, wiped) == (101.0, 101.5)
