"""The model against real switches: a sample of the cases of `kuijia crosscheck`, which also finds differences."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.model.packet import Label, Packet, VlanTag
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.identifiers import bfd_label
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, GroupType, SwitchTables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import kuijia_command
from te_solver.formats.plan_file import save_plan
from te_solver.model.failures import Failure
from te_solver.model.plan import LAST_PATH_ID, Plan
from testbed.crosscheck import crosscheck
from testbed.crosscheck.crosscheck import RealNetwork, cross_check
from testbed.crosscheck.dummy_switches import folder_for_switches
from testbed.crosscheck.random_cases import RandomPlan, perhaps_classified, random_failure, random_plan, random_stray
from testbed.machine.processes import processes_with_environment
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.slow

SAMPLE = 400


@pytest.mark.ovs
def test_model_and_switch_agree_on_a_sample() -> None:
    found = cross_check(SAMPLE, seed=20)
    assert found.disagreements == []
    assert found.cases == SAMPLE
    assert found.plans == SAMPLE // (crosscheck.FAILURES_PER_PLAN * crosscheck.PACKETS_PER_FAILURE)


@pytest.mark.ovs
def test_what_a_killed_run_has_left_ends_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    command = [*kuijia_command("crosscheck"), str(tmp_path / "plan.json"), "--cases", "1000000"]
    with TemporaryDirectory() as folders:  # the path of a socket in `tmp_path` would be too long
        monkeypatch.setattr("tempfile.tempdir", folders)
        with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": folders}) as run:
            assert run.stderr is not None
            assert b"of 1,000,000 cases" in run.stderr.readline()
            with folder_for_switches() as folder:
                (its,) = set(Path(folders).iterdir()) - {folder}
                run.kill()
        assert len(processes_with_environment(f"OVS_RUNDIR={its / 'ovs'}")) == 2
        with folder_for_switches():
            assert not processes_with_environment(f"OVS_RUNDIR={its / 'ovs'}")
            assert not its.exists()


@pytest.mark.ovs
def test_every_slot_can_be_chosen_and_is_read_back(tmp_path: Path) -> None:
    case = RandomPlan(motivation_plan(), PipelineOptions(slot_count=16))
    with RealNetwork(case, tmp_path) as real:
        wiring = real._wiring
        packet = Packet(4, wiring.host_address("s1"), wiring.host_address("s4"))
        slots = {real._slot(real.real_way("s1", packet, dp_hash)) for dp_hash in range(1, 257)}
    assert slots == set(range(16))


@pytest.mark.ovs
def test_a_model_that_prefers_the_last_bucket_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(group: Group) -> Group:
        if group.group_type is GroupType.SELECT or len(group.buckets) < 2:
            return group
        return dataclasses.replace(group, buckets=group.buckets[::-1])

    def other_model(
        plan: Plan, tables: dict[str, SwitchTables], liveness: Liveness, wiring: Wiring, *, alarmed: bool
    ) -> ModelNetwork:
        changed = {
            switch: dataclasses.replace(each, groups=tuple(map(turned, each.groups))) for switch, each in tables.items()
        }
        return ModelNetwork(plan, changed, liveness, wiring, alarmed=alarmed)

    monkeypatch.setattr(crosscheck, "ModelNetwork", other_model)
    case = RandomPlan(motivation_plan(), PipelineOptions())
    with RealNetwork(case, tmp_path) as real:
        monkeypatch.setattr(real, "_groups", {})  # the switch keeps its first groups
        real.fail(Failure("none"))
        random = Random(1)
        told = [line for _ in range(20) for line in real.compare(random)]
    assert any("the switch says s1: groups (" in line for line in told)


@pytest.mark.ovs
def test_a_packet_model_that_misses_a_failure_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = motivation_plan()
    edge = plan.tunnels[0].hops[0]
    with RealNetwork(RandomPlan(plan, PipelineOptions()), tmp_path) as real:
        monkeypatch.setattr(real, "_set_simulated_ports", lambda *_: None)
        real.fail(Failure("first link", (edge,)))
        random = Random(1)
        told = [line for _ in range(40) for line in real.compare(random)]
    assert told
    assert all("the packet model sends" in line for line in told)


def test_plans_are_drawn_the_same_again_and_can_all_be_built() -> None:
    first, again = (Random(3) for _ in range(2))
    kinds = set()
    for _ in range(300):
        case = perhaps_classified(random_plan(first), first)
        assert case == perhaps_classified(random_plan(again), again)
        build_tables(case.plan, case.options)
        options = case.options
        kinds.add((options.layout.name, options.tagging, options.form, options.liveness))
    # eight queues have no ECN bits, those of some random layouts do
    assert len(kinds) == 3 * 3 * 2 * 2 + 2 * 2 * 2


def test_stray_packets_are_of_every_kind() -> None:
    random = Random(4)
    session_labels = high_code_points = from_hosts = unlabelled = vlans = 0
    for _ in range(400):
        case = random_plan(random)
        stray = random_stray(case, random)
        tag = stray.tag
        session_labels += isinstance(tag, Label) and tag.label >= bfd_label(0) and tag.label != LAST_PATH_ID
        vlans += isinstance(tag, VlanTag)
        high_code_points += stray.dscp >= 12
        from_hosts += stray.in_port == len(case.plan.topology.neighbours[stray.switch]) + 1
        unlabelled += tag is None and case.options.tagging is Tagging.MPLS
    assert min(session_labels, high_code_points, from_hosts, unlabelled, vlans) > 5


def test_tables_of_random_layouts_and_classifiers_are_sound() -> None:
    random = Random(5)
    for _ in range(25):
        case = perhaps_classified(random_plan(random), random)
        failures = [random_failure(case.plan, random) for _ in range(3)]
        found = Verifier(case.plan, build_tables(case.plan, case.options), case.options).run(failures)
        assert [str(violation) for violation in found.violations] == []
