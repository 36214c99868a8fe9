"""Every planted defect of a switch's tables is found, and sound tables have none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.ofctl_text import group_text
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import Group, SwitchTables
from kuijia_base.errors import TestbedError
from testbed.chaos.settled_state import Ofctl, faults_of_switch
from testbed.crosscheck.dummy_switches import DummyBridges
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.ovs

SWITCH = "s1"
Ofctls = tuple[Ofctl, SwitchTables]


@pytest.fixture(scope="module")
def bridges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DummyBridges]:
    with DummyBridges(motivation_plan(), tmp_path_factory.mktemp("dummy")) as started:
        yield started


@pytest.fixture
def switch(bridges: DummyBridges) -> Ofctls:
    """A switch that has exactly the tables of its plan."""
    plan = motivation_plan()
    for node in plan.topology.nodes:
        for command in ("del-flows", "del-groups"):
            bridges.ovs.ofctl(command, bridges.bridge(node))
    tables = build_tables(plan)
    bridges.install(tables)

    def ofctl(command: str, *arguments: str) -> str:
        return bridges.ovs.ofctl(command, bridges.bridge(SWITCH), *arguments)

    return ofctl, tables[SWITCH]


def test_sound_tables_have_no_fault(switch: Ofctls, tmp_path: Path) -> None:
    assert faults_of_switch(SWITCH, *switch, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def backup(tables: SwitchTables) -> Group:
    """Return a group with a bucket for victims."""
    return next(group for group in tables.groups if len(group.buckets) > 1 and "set_queue:2" in group_text(group))


def lost_group(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = backup(tables)
    ofctl("del-groups", f"group_id={group.group_id}")
    return f"lacks group {group.group_id} of its plan"


def victims_in_the_queue_of_others(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = backup(tables)
    ofctl("mod-group", group_text(group).replace("set_queue:2", "set_queue:1"))
    return f"has group {group.group_id} as"


def victims_with_the_class_of_others(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = backup(tables)
    ofctl("mod-group", group_text(group).replace("1->mpls_tc", "0->mpls_tc"))
    return f"has group {group.group_id} as"


def buckets_in_another_order(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = backup(tables)
    head, first, second, *rest = group_text(group).split(",bucket=")
    ofctl("mod-group", ",bucket=".join((head, second, first, *rest)))
    return f"has group {group.group_id} as"


def share_of_another_weight(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = next(group for group in tables.groups if "type=select" in group_text(group))
    ofctl("mod-group", group_text(group).replace("weight:1", "weight:2", 1))
    return f"has group {group.group_id} as"


def emptied_liveness_group(ofctl: Ofctl, tables: SwitchTables) -> str:
    group = next(group for group in tables.groups if re.search("watch_port:.*actions=drop", group_text(group)))
    ofctl("mod-group", f"group_id={group.group_id},type=ff")
    return f"has group {group.group_id} as"


def orphaned_group(ofctl: Ofctl, _: SwitchTables) -> str:
    ofctl("add-group", "group_id=77,type=select,bucket=actions=drop")
    return "has group 77, which its plan has not"


def stale_id(ofctl: Ofctl, _: SwitchTables) -> str:
    entry = f"cookie={COOKIE:#x},table=0,priority=300,mpls,in_port=1,mpls_label=99,mpls_tc=0"
    ofctl("add-flow", f"{entry},actions=set_queue:1,output:2")
    return "entries cannot be read, or differ"


def entry_with_the_wrong_queue(ofctl: Ofctl, _: SwitchTables) -> str:
    ofctl("mod-flows", "mpls,in_port=1,mpls_label=16,mpls_tc=1,actions=pop_mpls:0x0800,set_queue:1,output:4")
    return "entries cannot be read, or differ"


def lost_entry(ofctl: Ofctl, _: SwitchTables) -> str:
    ofctl("del-flows", "mpls,in_port=1,mpls_label=16,mpls_tc=1")
    return "entries cannot be read, or differ"


@pytest.mark.parametrize(
    "plant",
    [
        lost_group,
        victims_in_the_queue_of_others,
        victims_with_the_class_of_others,
        buckets_in_another_order,
        share_of_another_weight,
        emptied_liveness_group,
        orphaned_group,
        stale_id,
        entry_with_the_wrong_queue,
        lost_entry,
    ],
)
def test_a_planted_defect_is_found(switch: Ofctls, plant: Callable[[Ofctl, SwitchTables], str], tmp_path: Path) -> None:
    ofctl, tables = switch
    words = plant(ofctl, tables)
    found = faults_of_switch(SWITCH, ofctl, tables, tmp_path)
    assert any(line.startswith(SWITCH) and words in line for line in found), found


def test_entries_that_differ_are_shown(switch: Ofctls, tmp_path: Path) -> None:
    ofctl, tables = switch
    lost_entry(ofctl, tables)
    (found,) = faults_of_switch(SWITCH, ofctl, tables, tmp_path)
    assert "mpls_label=16,mpls_tc=1" in found.partition("exit status 2: ")[2]


def test_a_switch_that_does_not_answer_has_faults(switch: Ofctls, tmp_path: Path) -> None:
    def silent(command: str, *_: str) -> str:
        raise TestbedError(f"{command}: no answer")

    found = faults_of_switch(SWITCH, silent, switch[1], tmp_path)
    assert found == [
        f"{SWITCH}: its entries cannot be read, or differ: diff-flows: no answer",
        f"{SWITCH}: its groups cannot be read: dump-groups: no answer",
    ]
