"""Plans are replaced, switches come back and controllers start anew without a message that is not needed."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kuijia_app.control.plan_files import file_name_of_update
from kuijia_app.framework import event_log
from kuijia_app.framework.ending import EXIT_STATUS
from kuijia_app.tables.options import OptionWords
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import load_plan, save_plan
from testbed.controllers.application_process import Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import PATIENCE, DummySwitches, free_port, wait_until
from tests.kuijia_app.failing_application import OUTCRY
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.kuijia_app.test_controller import both_frameworks, controller, events_of, told

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

FLOWS = range(20000, 20200)
COUNT_NOW = r" \(OF1\.3\) \(xid=\w+\): DEL_STRICT priority=65535 cookie:"
"""The rest of a message that changes nothing: it brings counters up to date by deleting an entry that no switch has."""
CHANGE = re.compile(
    rf"received: (OFPT_FLOW_MOD(?!{COUNT_NOW})|OFPT_GROUP_MOD|ONFT_BUNDLE_ADD_MESSAGE|OFPT_BUNDLE_ADD_MESSAGE)"
)


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[DummySwitches]:
    with DummySwitches(motivation_plan(), tmp_path) as running:
        running.ovs.appctl("vlog/set", "vconn:file:dbg")
        running.ovs.appctl("vlog/disable-rate-limit", "vconn")
        yield running


def changes_sent(switches: DummySwitches) -> int:
    """Return the number of messages that changed tables so far, whoever sent them."""
    return len(CHANGE.findall((switches.ovs.directory / "ovs-vswitchd.log").read_text(errors="replace")))


def ofctl(switches: DummySwitches, command: str, switch: str, *arguments: str) -> None:
    switches.ovs.ofctl(command, switches.bridge(switch), *arguments)


def tables(switches: DummySwitches) -> dict[str, tuple[list[str], list[str]]]:
    return {node: (switches.groups(node), switches.flows(node)) for node in switches.plan.topology.nodes}


def has_told(events: list[Event], kind: str) -> bool:
    return any(event["event"] == kind for event in events)


def reconnect(switches: DummySwitches, process: ControllerProcess, switch: str) -> None:
    times = events_of(process, event_log.SWITCH_READY, switch)
    switches.disconnect(switch)
    wait_until(lambda: events_of(process, event_log.SWITCH_GONE, switch) > 0, f"{switch} has gone")
    switches.connect(switch)
    wait_until(lambda: events_of(process, event_log.SWITCH_READY, switch) > times, f"{switch} is back")


@pytest.mark.parametrize(
    ("framework", "words"),
    [
        ("os-ken", OptionWords()),
        ("ryu", OptionWords()),
        ("ryu", OptionWords(pipeline="decomposed", layout="eight")),
        ("ryu", OptionWords(tagging="dscp-ecn")),
        ("ryu", OptionWords(liveness="bfd")),
    ],
)
def test_a_switch_that_has_everything_is_sent_no_change(
    switches: DummySwitches, tmp_path: Path, framework: Framework, words: OptionWords
) -> None:
    with controller(switches, tmp_path, framework, words=words) as process:
        before = changes_sent(switches)
        assert before > 0
        reconnect(switches, process, "s1")
        process.kill()
        process.start()
        for switch in switches.plan.topology.nodes:
            switches.disconnect(switch)
            switches.connect(switch)
        process.wait_until_ready(switches.plan.topology.nodes)
        assert changes_sent(switches) == before


@pytest.mark.parametrize("handler", ["time_passed", "port_status"])
@both_frameworks
def test_a_controller_that_fails_and_is_started_anew_by_its_supervisor_loses_no_packet_and_changes_nothing(
    switches: DummySwitches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, framework: Framework, handler: str
) -> None:
    trigger = tmp_path / "trigger"
    method = f"kuijia_app.controller:KuijiaController.{handler}"
    program = [sys.executable, "-m", "tests.kuijia_app.failing_application", "RAISE", method, str(trigger)]
    command = ControllerProcess._command
    monkeypatch.setattr(ControllerProcess, "_command", lambda process: [*program, *command(process)])
    nodes = switches.plan.topology.nodes
    with controller(switches, tmp_path, framework) as process:
        before, sent = changes_sent(switches), switches.send_from_host("s1", "s4", FLOWS)
        trigger.touch()
        switches.set_port("s3", switches.wiring.host_port("s3"), "down")
        wait_until(lambda: not process.is_alive, "it has ended")
        assert process._process is not None
        assert process._process.returncode == EXIT_STATUS
        (failure,) = [event for event in process.events() if event["event"] == event_log.FAILURE]
        assert OUTCRY in failure["error"]
        assert switches.send_from_host("s1", "s4", FLOWS) == sent
        trigger.unlink()
        process.start()
        for switch in nodes:
            switches.disconnect(switch)
            switches.connect(switch)
            assert switches.send_from_host("s1", "s4", FLOWS[:50]) == sent[:50]
        process.wait_until_ready(nodes)
        assert changes_sent(switches) == before
        assert switches.send_from_host("s1", "s4", FLOWS) == sent
        switches.set_port("s2", switches.wiring.port("s2", "s4"), "down")
        assert told(process, "s1", 16, alive=False)


@both_frameworks
def test_what_was_changed_behind_the_controllers_back_is_put_right(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        before = tables(switches)
        switches.disconnect("s1")
        ofctl(switches, "del-groups", "s1", "group_id=0x30000010")
        ofctl(switches, "mod-group", "s1", "group_id=0x30000011,type=ff,bucket=watch_port:1,actions=output:1")
        ofctl(switches, "add-group", "s1", "group_id=77,type=indirect,bucket=output:1")
        ofctl(switches, "add-flow", "s1", "cookie=0x4B55494A49410000,priority=7,in_port=3,vlan_vid=5,actions=drop")
        ofctl(switches, "add-flow", "s1", "cookie=0x77,priority=9,in_port=3,actions=drop")
        reconnect(switches, process, "s1")
        groups, flows = tables(switches)["s1"]
        # Entries and groups of others stay.
        assert [group for group in groups if "group_id=77," not in group] == before["s1"][0]
        assert [flow for flow in flows if "cookie=0x77" not in flow] == before["s1"][1]


@both_frameworks
def test_a_switch_that_restarts_empty_gets_its_tables_again(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        before = tables(switches)
        switches.disconnect("s3")
        ofctl(switches, "del-flows", "s3")
        ofctl(switches, "del-groups", "s3")
        reconnect(switches, process, "s3")
        assert tables(switches) == before


@both_frameworks
def test_a_new_plan_replaces_the_old_one_and_unchanged_paths_keep_their_ids(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    new = plan_of(switches.plan.topology, "s1-s4 s1-s3-s4", "s2-s1-s3")
    with controller(switches, tmp_path, framework) as process:
        in_force = process.update(new)
        assert {"-".join(tunnel.nodes): tunnel.path_id for tunnel in in_force.tunnels} == {
            "s1-s4": 17,
            "s1-s3-s4": 18,
            "s2-s1-s3": 19,
        }
        for switch, expected in build_tables(in_force).items():
            assert len(switches.flows(switch)) == len(expected.flows)
            assert len(switches.groups(switch)) == len(expected.groups)
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {17, 18}
        before = changes_sent(switches)
        process.kill()
        process.start()
        for switch in switches.plan.topology.nodes:
            switches.disconnect(switch)
            switches.connect(switch)
        process.wait_until_ready(switches.plan.topology.nodes)
        assert changes_sent(switches) == before


@both_frameworks
def test_a_plan_for_another_network_is_refused_and_the_old_one_stays(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    other = plan_of(both_ways("other", "s1 s2 s3", "s1-s2 s2-s3"), "s1-s2")
    with controller(switches, tmp_path, framework) as process:
        before = tables(switches)
        with pytest.raises(TestbedError, match="nodes: are not those of the plan in force"):
            process.update(other)
        assert tables(switches) == before
        assert load_plan(tmp_path / "plan.json") == switches.plan
        assert load_plan(tmp_path / "plan.json.refused") == other


def leave(switches: DummySwitches, process: ControllerProcess, switch: str) -> None:
    switches.disconnect(switch)
    wait_until(lambda: events_of(process, event_log.SWITCH_GONE, switch) > 0, f"{switch} has gone")


def limit_flows(switches: DummySwitches, switch: str, most: int) -> None:
    """Let the switch refuse to have more flow entries than these in its first table."""
    table = ("--id=@t", "create", "Flow_Table", f"flow_limit={most}", "overflow_policy=refuse")
    switches.ovs.vsctl(*table, "--", "set", "Bridge", switches.bridge(switch), "flow_tables:0=@t")


def test_an_update_that_a_switch_refuses_is_undone_everywhere(switches: DummySwitches, tmp_path: Path) -> None:
    new = plan_of(switches.plan.topology, "s1-s4 s1-s3-s4", "s2-s1-s3")
    with controller(switches, tmp_path) as process:
        before = tables(switches)
        limit_flows(switches, "s3", len(switches.flows("s3")))
        with pytest.raises(TestbedError, match="switch s3 refused it: OFPET_FLOW_MOD_FAILED/OFPFMFC_TABLE_FULL"):
            process.update(new)
        wait_until(lambda: tables(switches) == before, "all switches are as before")
        assert [event["error"] for event in process.errors() if event["event"] == event_log.SWITCH_ERROR] != []
        room = f"switch s3: it has room for {len(switches.flows('s3')):,} entries in table 0"
        wait_until(lambda: room in (tmp_path / "controller.log").read_text(), "the switch's room is named")


def test_an_update_waits_for_a_switch_that_is_away(switches: DummySwitches, tmp_path: Path) -> None:
    new = plan_of(switches.plan.topology, "s1-s4 s1-s3-s4", "s2-s1-s3")
    with controller(switches, tmp_path) as process, ThreadPoolExecutor() as pool:
        leave(switches, process, "s3")
        update = pool.submit(process.update, new)
        wait_until((tmp_path / "plan.json.pending").exists, "the update has begun")
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {16, 17, 18}
        switches.connect("s3")
        update.result(PATIENCE)
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {17, 18}


def test_an_update_that_is_no_longer_waited_for_never_takes_effect(switches: DummySwitches, tmp_path: Path) -> None:
    new = plan_of(switches.plan.topology, "s1-s4 s1-s3-s4", "s2-s1-s3")
    with controller(switches, tmp_path) as process:
        before = tables(switches)
        leave(switches, process, "s3")
        with pytest.raises(TestbedError, match=r"not done within 1 s and is withdrawn: it waited for switch s3"):
            process.update(new, timeout=1)
        reconnect(switches, process, "s3")
        wait_until(lambda: tables(switches) == before, "all switches are as before")
        assert load_plan(tmp_path / "plan.json") == switches.plan
        process.update(new)
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {17, 18}


def test_a_controller_that_starts_anew_during_an_update_finds_the_plan_in_force(
    switches: DummySwitches, tmp_path: Path
) -> None:
    new = plan_of(switches.plan.topology, "s1-s4 s1-s3-s4", "s2-s1-s3")
    with controller(switches, tmp_path) as process, ThreadPoolExecutor() as pool:
        leave(switches, process, "s3")
        update = pool.submit(process.update, new)
        wait_until((tmp_path / "plan.json.pending").exists, "the update has begun")
        wait_until(lambda: load_plan(tmp_path / "plan.json") == switches.plan, "the plan file holds what is in force")
        process.kill()
        with pytest.raises(TestbedError, match="has died"):
            update.result(PATIENCE)
        process.start()
        process.wait_until_ready(["s1", "s2", "s4"])
        assert {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)} == {16, 17, 18}


def test_of_two_plans_in_short_succession_none_is_lost(switches: DummySwitches, tmp_path: Path) -> None:
    plan_file, new_file = tmp_path / "plan.json", tmp_path / "new.json"
    with controller(switches, tmp_path) as process:
        assert process.pid is not None
        names = []
        for tunnels in ("s1-s4 s1-s3-s4", "s1-s2-s4 s1-s4"):
            save_plan(plan_of(switches.plan.topology, tunnels), new_file)
            names.append(file_name_of_update(new_file))
            new_file.replace(plan_file)
            os.kill(process.pid, signal.SIGHUP)
            wait_until(lambda: names[-1] in {event.get("update") for event in process.events()}, "it has been read")
        last = {"event": event_log.UPDATE_DONE, "update": names[-1]}
        assert process.wait_for(lambda events: any(last.items() <= event.items() for event in events), PATIENCE)
        told = [(event["update"], event["event"]) for event in process.events() if "update" in event]
        assert len(set(told)) == len(told)
        assert all((name, event_log.UPDATE_STARTED) in told for name in names)
        assert {"-".join(tunnel.nodes) for tunnel in load_plan(plan_file).tunnels} == {"s1-s2-s4", "s1-s4"}


@both_frameworks
def test_a_plan_is_read_whichever_thread_takes_the_signal(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        thread = max(int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir())
        save_plan(plan_of(switches.plan.topology, "s1-s4 s1-s3-s4"), tmp_path / "plan.json")
        os.kill(thread, signal.SIGHUP)  # goes to the process, and to this thread of it if that does not block it
        assert process.wait_for(lambda events: has_told(events, event_log.UPDATE_DONE), PATIENCE)


def test_a_switch_that_never_connects_keeps_nobody_else_from_being_programmed(
    switches: DummySwitches, tmp_path: Path
) -> None:
    save_plan(switches.plan, tmp_path / "plan.json")
    process = ControllerProcess(
        tmp_path, tmp_path / "plan.json", OptionWords(), "os-ken", Listening(switches.controller_port)
    )
    process.start()
    try:
        for switch in ("s1", "s2", "s4"):
            switches.connect(switch)
        process.wait_until_ready(["s1", "s2", "s4"])
    finally:
        process.stop()


@both_frameworks
def test_after_a_failure_a_plan_for_what_is_left_is_put_in_force_when_that_is_asked_for(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    plan_file = tmp_path / "plan.json"
    save_plan(replace(switches.plan, objective="max-throughput"), plan_file)
    process = ControllerProcess(
        tmp_path, plan_file, OptionWords(), framework, Listening(switches.controller_port), reoptimise=True
    )
    process.start()
    try:
        for switch in switches.plan.topology.nodes:
            switches.connect(switch)
        process.wait_until_ready(switches.plan.topology.nodes)
        for switch, other in (("s2", "s4"), ("s4", "s2")):
            switches.set_port(switch, switches.wiring.port(switch, other), "down")
        assert process.wait_for(lambda events: has_told(events, event_log.UPDATE_DONE), PATIENCE)
        found = load_plan(plan_file)
        assert not any(tunnel.crosses("s2", "s4") for tunnel in found.tunnels)
        labels = {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS)}
        assert labels <= {tunnel.path_id for tunnel in found.tunnels}
    finally:
        process.stop()


def test_solving_again_with_bfd_needs_a_database_for_ports(tmp_path: Path) -> None:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    words = OptionWords(liveness="bfd")
    process = ControllerProcess(
        tmp_path, tmp_path / "plan.json", words, "os-ken", Listening(free_port()), reoptimise=True
    )
    with pytest.raises(
        TestbedError,
        match=r"nothing makes ports for sessions over new paths, expected the option ovsdb",
    ):
        process.start()


def test_of_two_controllers_the_later_one_rules_and_the_other_says_so_once(
    switches: DummySwitches, tmp_path: Path
) -> None:
    later_folder = tmp_path / "later"
    later_folder.mkdir()
    with controller(switches, tmp_path) as process:
        save_plan(switches.plan, later_folder / "plan.json")
        port = free_port()
        later = ControllerProcess(later_folder, later_folder / "plan.json", OptionWords(), "os-ken", Listening(port))
        later.start()
        try:
            for switch in switches.plan.topology.nodes:
                both = [f"tcp:127.0.0.1:{each}" for each in (switches.controller_port, port)]
                switches.ovs.vsctl("set-controller", switches.bridge(switch), *both)
            later.wait_until_ready(switches.plan.topology.nodes)
            switches.set_port("s2", switches.wiring.port("s2", "s4"), "down")
            assert process.wait_for(lambda events: has_told(events, event_log.ROLE_LOST), PATIENCE)
            switches.set_port("s3", switches.wiring.port("s3", "s4"), "down")
            wait_until(
                lambda: {packet.label for packet in switches.send_from_host("s1", "s4", FLOWS[:20])} == {17},
                "the later controller tells s1",
            )
            assert sum(event["event"] == event_log.ROLE_LOST for event in process.events()) == 1
        finally:
            later.stop()
