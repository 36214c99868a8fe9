"""Whatever faults do: switches end with the plan, and pairs that no fault touches lose nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kuijia_app.control
from kuijia_app.control import sender
from kuijia_app.control.flap_damping import FlapDamping
from kuijia_app.control.reconciliation import AddGroup, DeleteGroup, FlowKey, PutFlow, difference
from kuijia_app.control.restoration import Restoration
from kuijia_app.control.roles import Claims, first_generation
from kuijia_app.tables.options import Liveness
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, ToGroup
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from tests.rehearsal.__main__ import main
from tests.rehearsal.cuts import plan_of_all_pairs, rehearse_cuts
from tests.rehearsal.faults import FaultKind, RehearsedFault, faults_of
from tests.rehearsal.messages import Message, RehearsedKind, SimulatedRefusal, SimulatedRole
from tests.rehearsal.sequence import run_sequence, shortest
from tests.rehearsal.switch import FULL, IS_SLAVE, STALE, SimulatedSwitch, ViolationError

SPANS = st.sampled_from((0.01, 0.3, 2.0, 14.0))
PICKS = st.integers(0, 59)
FAULTS = st.builds(
    RehearsedFault,
    st.sampled_from(FaultKind),
    st.sampled_from((0.001, 0.05, 1.0)),
    st.integers(0, 59),
    st.integers(0, 59),
    SPANS,
)
GROUP = Group(7, GroupType.SELECT, ())
ENTRY = FlowEntry(1, Match(in_port=1), (ToGroup(7),))


@settings(max_examples=25)
@given(st.integers(0, 1000), st.lists(FAULTS, max_size=10))
def test_no_sequence_of_faults_breaks_a_promise(seed: int, faults: list[RehearsedFault]) -> None:
    assert run_sequence(seed, faults) is None


@settings(max_examples=8)
@given(st.integers(0, 1000), st.lists(FAULTS, max_size=8))
def test_no_sequence_of_faults_breaks_a_promise_of_a_pair(seed: int, faults: list[RehearsedFault]) -> None:
    assert run_sequence(seed, faults, controllers=2) is None


@pytest.mark.parametrize(
    ("seed", "controllers"),
    [
        pytest.param(110515387, 1, id="a slow connection brings news of flapping ports 1.7 s late"),
        pytest.param(122002803, 2, id="a port comes up at a switch that a foreign controller has written into"),
        pytest.param(131505558, 1, id="a switch whose restart is noticed late refuses its tables"),
        pytest.param(74, 1, id="one failed link leaves a pair without a tunnel, but not without a path"),
        pytest.param(143009098, 2, id="a switch restarts after it has acknowledged a plan that needs its sessions"),
    ],
)
def test_a_sequence_that_once_broke_a_promise_breaks_none(seed: int, controllers: int) -> None:
    assert run_sequence(seed, controllers=controllers) is None


def test_a_seed_makes_the_same_sequence_again() -> None:
    assert faults_of(5) == faults_of(5) != faults_of(6)


def test_a_seed_runs_the_same_sequence_again_in_another_process() -> None:
    run = """
from tests.rehearsal.effects import hit
from tests.rehearsal.faults import faults_of
from tests.rehearsal.world import World

world = World(58)
world.rest(quiet=1.0)
for fault in faults_of(58):
    world.time.run_until(world.time.now + fault.gap)
    hit(world, fault)
world.end_faults()
world.rest()
print(world.time.now, world.random.random())
"""
    ends = {
        subprocess.run(
            [sys.executable, "-c", run], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(ends) == 1


def test_a_defect_is_found_and_its_sequence_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FlapDamping, "released", lambda _self, _now: [])
    finding = next(found for seed in range(40) if (found := run_sequence(seed)) is not None)
    short = shortest(finding)
    assert run_sequence(short.seed, short.faults) == short
    shorter = [[*short.faults[:left_out], *short.faults[left_out + 1 :]] for left_out in range(len(short.faults))]
    assert [run_sequence(short.seed, faults) for faults in shorter] == [None] * len(shorter)


def test_a_controller_that_never_raises_its_generation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Claims, "met", lambda _self, _switch, _reported: True)
    assert any(run_sequence(seed) is not None for seed in range(40))


def test_entries_before_their_groups_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "difference", lambda present, wanted: difference(present, wanted)[::-1])
    assert run_sequence(0, ()) is not None


def test_a_switch_that_was_full_gets_its_tables_without_connecting_again() -> None:
    restart = RehearsedFault(FaultKind.RESTART, 0.1, 0, 0, 1.0)
    fill = RehearsedFault(FaultKind.FULL, 0.001, 0, 0, 1.0)
    assert run_sequence(3, [fill, restart, RehearsedFault(FaultKind.FULL, 3.0, 0, 0, 1.0)]) is None


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_plan_is_not_lost_when_the_disk_is_full_and_the_controller_is_killed(room: int) -> None:
    faults = [
        RehearsedFault(FaultKind.SWITCH_FREEZE, 0.001, 0, 0, 14.0),  # keeps the plan from coming into force
        RehearsedFault(FaultKind.DISK, 0.001, 0, room, 14.0),
        RehearsedFault(FaultKind.PLAN, 0.001, 0, 1, 1.0),
        RehearsedFault(FaultKind.KILL, 1.5, 0, 0, 0.01),
    ]
    assert run_sequence(3, faults) is None


def test_faults_are_over_when_the_last_port_has_come_up() -> None:
    storms = [
        RehearsedFault(FaultKind.STORM, gap, 47, pick, span)
        for gap, pick, span in ((1.436, 51, 1.616), (0.332, 50, 17.9))
    ]
    assert run_sequence(2009286, storms, controllers=2) is None


def test_the_core_reads_no_clock() -> None:
    edges = {"switch_application.py", "controller_metrics.py"}  # metrics decide nothing
    folder = Path(str(kuijia_app.control.__file__)).parent
    readers = {
        path.name for path in folder.glob("*.py") if re.search(r"^(import|from) time\b", path.read_text(), re.MULTILINE)
    }
    assert readers == edges


def test_the_command_counts_sequences_and_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["rehearsal", "--sequences", "2", "--seed", "7"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("2 sequences, 0 findings, ")
    monkeypatch.setattr(sender, "difference", lambda present, wanted: difference(present, wanted)[::-1])
    assert main() == 1
    assert "seed 7: " in capsys.readouterr().out


@pytest.mark.parametrize("liveness", Liveness)
def test_no_connected_pair_is_dead_a_second_after_drawn_cuts(liveness: Liveness) -> None:
    plan = plan_of_all_pairs(load_topology(shipped_network("gscale")), 3)
    tried = [each for cuts in (2, 3) for each in rehearse_cuts(plan, liveness, cuts, 4, seed=1)]
    assert sum(each.restored for each in tried) > 20
    assert [each.dead for each in tried] == [()] * len(tried)


def test_a_controller_that_carries_no_pair_leaves_connected_ones_dead(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["rehearsal", "--cut", "3", "--sequences", "3", "--seed", "1"]
    monkeypatch.setattr("sys.argv", command)
    assert main() == 0
    assert capsys.readouterr().out.endswith(" of them without a tunnel, 0 dead\n")
    monkeypatch.setattr(Restoration, "update", lambda *_: {})
    assert main() == 1
    assert " is dead after cuts of " in capsys.readouterr().out


class End:
    def __init__(self, owner: str) -> None:
        self.owner = owner


def switch(*ends: End, has_bundles: bool = True) -> SimulatedSwitch:
    made = SimulatedSwitch("s", {1: True}, lambda _name: None, has_bundles)
    for each in ends:
        made.joined(each)
    return made


def test_a_switch_has_one_master_and_refuses_slaves_and_stale_claims() -> None:
    one, other = End("one"), End("other")
    box = switch(one, other)
    assert list(box.handle(one, Message(RehearsedKind.ROLE, SimulatedRole.MASTER, first_generation(2, 1), 1))) != []
    assert list(box.handle(other, Message(RehearsedKind.ROLE, SimulatedRole.MASTER, first_generation(1, 2), 2))) == [
        SimulatedRefusal(2, STALE)
    ]
    list(box.handle(other, Message(RehearsedKind.ROLE, SimulatedRole.MASTER, first_generation(3, 2), 3)))
    assert list(box.handle(one, Message(RehearsedKind.CHANGE, AddGroup(GROUP), xid=4))) == [
        SimulatedRefusal(4, IS_SLAVE)
    ]


def test_two_masters_by_one_generation_id_are_a_violation() -> None:
    one, other = End("one"), End("other")
    box = switch(one, other)
    list(box.handle(one, Message(RehearsedKind.ROLE, SimulatedRole.MASTER, 5, 1)))
    with pytest.raises(ViolationError, match="two masters"):
        list(box.handle(other, Message(RehearsedKind.ROLE, SimulatedRole.MASTER, 5, 1)))


def test_a_bundle_is_applied_as_a_whole_or_not_at_all() -> None:
    end = End("one")
    box = switch(end)
    box.is_full = True
    for message in (
        Message(RehearsedKind.OPEN, bundle_id=1, xid=1),
        Message(RehearsedKind.ADD, PutFlow(FlowEntry(1, Match(in_port=2))), 1, 2),
        Message(RehearsedKind.ADD, AddGroup(GROUP), 1, 3),
    ):
        assert list(box.handle(end, message)) == []
    refusals = list(box.handle(end, Message(RehearsedKind.COMMIT, bundle_id=1, xid=4)))
    assert refusals[0] == SimulatedRefusal(3, FULL)
    assert not box.flows


def test_a_group_that_is_still_used_must_not_be_deleted() -> None:
    end = End("one")
    box = switch(end)
    for change in (AddGroup(GROUP), PutFlow(ENTRY)):
        assert list(box.handle(end, Message(RehearsedKind.CHANGE, change))) == []
    with pytest.raises(ViolationError, match="still in use"):
        list(box.handle(end, Message(RehearsedKind.CHANGE, DeleteGroup(7))))


def test_a_foreign_controller_that_deletes_a_group_deletes_the_entries_that_use_it() -> None:
    box = switch()
    box.overwrite([AddGroup(GROUP), PutFlow(ENTRY)])
    assert box.flows == {FlowKey.of(ENTRY): ENTRY}
    box.overwrite([DeleteGroup(7)])
    assert not box.flows


def test_a_lazy_switch_makes_changes_of_different_kinds_in_any_order_until_a_barrier() -> None:
    outcomes = set()
    for seed in range(20):
        end = End("one")
        box = switch(end)
        box.lazy = Random(seed)
        for change in (AddGroup(GROUP), PutFlow(ENTRY)):
            assert list(box.handle(end, Message(RehearsedKind.CHANGE, change))) == []
            assert not box.groups
        try:
            list(box.handle(end, Message(RehearsedKind.BARRIER)))
            outcomes.add("done")
        except ViolationError:
            outcomes.add("wrong order")
    assert outcomes == {"done", "wrong order"}
