"""What somebody else changes in real switches is put right, or named, by the controller."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.control.table_watch import HELD
from kuijia_app.framework import event_log
from kuijia_app.tables.identifiers import COOKIE
from testbed.controllers.application_process import Event, Framework
from testbed.controllers.controller_process import ControllerProcess
from tests.kuijia_app.dummy_switches import DummySwitches, wait_until
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.test_controller import both_frameworks, controller

pytestmark = [pytest.mark.ovs, pytest.mark.slow]

PROMISED = 2.0
"""Seconds within which tables are put right; a busy machine may take three times as long."""

CHANGES = {
    "an entry is deleted": ("del-flows", "ip,nw_dst=10.0.4.0/24"),
    "all entries are deleted": ("del-flows",),
    "a group is deleted": ("del-groups", "group_id={group}"),
    "all groups are deleted": ("del-groups",),
    "a group is changed": ("mod-group", "group_id={group},type=ff"),
    "the actions of an entry are changed": ("mod-flows", "ip,nw_dst=10.0.4.0/24,actions=drop"),
    "an entry has our cookie": ("add-flow", f"cookie={COOKIE:#x},priority=7,in_port=1,actions=drop"),
}


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[DummySwitches]:
    with DummySwitches(motivation_plan(), tmp_path) as running:
        yield running


def events_of(process: ControllerProcess, kind: str) -> list[Event]:
    return [event for event in process.events() if event["event"] == kind]


def tables(switches: DummySwitches, switch: str) -> tuple[list[str], list[str]]:
    return switches.flows(switch), switches.groups(switch)


@both_frameworks
def test_what_somebody_deletes_or_changes_is_put_right_and_logged(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        before = tables(switches, "s1")
        group = before[1][-1].split(",")[0].split("=")[1]
        for number, (verb, *words) in enumerate(CHANGES.values(), start=1):
            switches.ovs.ofctl(verb, switches.bridge("s1"), *(word.format(group=group) for word in words))
            changed_at = time.monotonic()
            wait_until(lambda: len(events_of(process, event_log.TABLES_WRONG)) == number, "it is noticed")  # noqa: B023
            wait_until(lambda: tables(switches, "s1") == before, "it is put right")
            assert time.monotonic() - changed_at < 3 * PROMISED
            time.sleep(HELD + 1.5)  # what does not hold becomes a fault
        assert {event["switch"] for event in events_of(process, event_log.TABLES_WRONG)} == {"s1"}


def test_tables_that_somebody_keeps_deleting_become_a_fault_until_they_hold(
    switches: DummySwitches, tmp_path: Path
) -> None:
    with controller(switches, tmp_path) as process:
        before = tables(switches, "s2")

        def is_given_up() -> bool:
            switches.ovs.ofctl("del-flows", switches.bridge("s2"))
            found = [event["problem"] for event in events_of(process, event_log.PROBLEM_FOUND)]
            return any("left as they are" in str(problem) for problem in found)

        wait_until(is_given_up, "a rest")
        repairs = len(events_of(process, event_log.TABLES_WRONG))
        assert repairs < 10
        wait_until(lambda: bool(events_of(process, event_log.PROBLEM_GONE)), "it holds")
        assert tables(switches, "s2") == before


@both_frameworks
def test_an_entry_of_somebody_else_that_defeats_ours_is_named_while_it_is_there(
    switches: DummySwitches, tmp_path: Path, framework: Framework
) -> None:
    with controller(switches, tmp_path, framework) as process:
        bridge = switches.bridge("s1")
        switches.ovs.ofctl("add-group", bridge, "group_id=77,type=select")
        for flow in ("priority=400,ip,actions=drop", "priority=400,arp,actions=normal", "in_port=9,actions=group:77"):
            switches.ovs.ofctl("add-flow", bridge, flow)
        theirs = tables(switches, "s1")
        wait_until(lambda: bool(events_of(process, event_log.PROBLEM_FOUND)), "it is named")
        (found,) = events_of(process, event_log.PROBLEM_FOUND)
        assert (found["switch"], found["detail"]) == ("s1", "table=0,priority=400,ip")
        assert "--strict del-flows BRIDGE 'table=0,priority=400,ip'" in found["what_to_do"]
        switches.ovs.ofctl("del-flows", bridge, "ip,cookie=0/-1")
        wait_until(lambda: bool(events_of(process, event_log.PROBLEM_GONE)), "it is gone")
        assert not events_of(process, event_log.TABLES_WRONG)
        theirs[0].remove(next(line for line in theirs[0] if "priority=400,ip " in line))
    with controller(switches, tmp_path, framework):
        assert tables(switches, "s1") == theirs, "a restart leaves what others have"


def test_entries_without_a_report_of_their_removal_are_replaced(switches: DummySwitches, tmp_path: Path) -> None:
    with controller(switches, tmp_path):
        before = tables(switches, "s1")
    lines = [line.replace(" send_flow_rem", "") for line in before[0]]
    switches.ovs.ofctl("del-flows", switches.bridge("s1"))
    switches.ovs.ofctl("add-flows", switches.bridge("s1"), "-", stdin="\n".join(lines))
    assert tables(switches, "s1") != before
    with controller(switches, tmp_path):
        assert tables(switches, "s1") == before
