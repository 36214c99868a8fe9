"""Faults are drawn from a seed, never hold one thing twice, and survive being written and read."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_base.errors import InputError
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.chaos.faults import CUT, KINDS, ChaosFault, draw_faults, faults_from_json, faults_to_json, shortest_failing

TOPOLOGY = load_topology(shipped_network("gscale"))
runs = st.builds(
    draw_faults,
    st.just(TOPOLOGY),
    seed=st.integers(0, 2**32),
    seconds=st.floats(5, 300),
    interval=st.floats(0.2, 10),
    kinds=st.sets(st.sampled_from(KINDS), min_size=1),
)


@given(runs)
def test_two_faults_under_way_never_hold_the_same_thing(faults: tuple[ChaosFault, ...]) -> None:
    for earlier, later in combinations(faults, 2):
        if later.at <= earlier.at + earlier.seconds:
            assert not earlier.things & later.things


@given(runs)
def test_faults_that_were_written_are_read_again(faults: tuple[ChaosFault, ...]) -> None:
    assert faults_from_json(json.loads(json.dumps(faults_to_json(faults))), TOPOLOGY, "file") == faults


def test_equal_seeds_draw_equal_faults_and_every_kind_comes() -> None:
    faults = draw_faults(TOPOLOGY, 7, 3600, 5)
    assert faults == draw_faults(TOPOLOGY, 7, 3600, 5) != draw_faults(TOPOLOGY, 8, 3600, 5)
    assert {fault.kind for fault in faults} == set(KINDS)


def test_all_faults_are_mended_by_the_end_of_the_run() -> None:
    assert all(fault.at + fault.seconds < 60 for fault in draw_faults(TOPOLOGY, 1, 60, 0.5))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "faults: is not a list"),
        ([{"at": 1}], r"faults\[0\]: is not a fault"),
        ([{"at": 1, "kind": "x", "subject": [], "seconds": 1}], r"faults\[0\].kind: unknown kind"),
        ([{"at": -1, "kind": CUT, "subject": ["1", "2"], "seconds": 1}], "impossible time"),
        ([{"at": 1, "kind": CUT, "subject": ["1", "12"], "seconds": 1}], "the two ends of a link"),
        ([{"at": 1, "kind": CUT, "subject": [["1"], "2"], "seconds": 1}], "the two ends of a link"),
        ([{"at": 1, "kind": "switch-wiped", "subject": ["13"], "seconds": 0}], "expected a switch"),
        ([{"at": 1, "kind": "handover", "subject": ["1"], "seconds": 0}], "expected an empty list"),
        ([{"at": 1, "kind": "controller-killed", "subject": ["1"], "seconds": 0}], "expected an empty list"),
    ],
)
def test_a_file_that_is_not_of_this_network_is_refused(document: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        faults_from_json(document, TOPOLOGY, "file")


@given(st.integers(1, 24), st.data())
def test_what_must_come_together_is_found(length: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, length - 1), min_size=1, max_size=4))
    found = shortest_failing(range(length), lambda part: needed <= set(part), runs=10_000)
    assert found == tuple(sorted(needed))


@given(st.integers(0, 12))
def test_no_more_runs_are_made_than_allowed(runs: int) -> None:
    made: list[tuple[int, ...]] = []

    def fails(part: tuple[int, ...]) -> bool:
        made.append(part)
        return {3, 17} <= set(part)

    kept = shortest_failing(range(24), fails, runs)
    assert len(made) <= runs
    assert {3, 17} <= set(kept)
