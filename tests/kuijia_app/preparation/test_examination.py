"""What a switch lacks is named with its port, each item with changes; what a change replaces is noted and restored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kuijia_app.preparation.changes import QueueCompletion, RunProgram, SendBuffers, script_lines
from kuijia_app.preparation.examination import (
    FAIL_MODE_NOTE,
    MTU_NOTE,
    QOS_NOTE,
    SEND_BUFFER_NOTE,
    Reached,
    Wanted,
    examine,
    reached,
    restoring,
    restoring_all,
    unused_session_changes,
)
from kuijia_app.preparation.facts import COLUMNS, DeviceFacts, parse_database, parse_devices
from kuijia_app.preparation.queues import ROOT_CLASS, leaf_class, qos_settings, queue_settings
from kuijia_app.preparation.send_buffer import SEND_BUFFER_BYTES
from kuijia_app.tables.needs import needs_of
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import TestbedError
from tests.kuijia_app.plans import both_ways, plan_of

LINE = both_ways("line", "a b", "a-b", capacity=20.0)
WANTED = Wanted(PLAIN_LAYOUT, Tagging.MPLS, 30)
VSCTL = ("ovs-vsctl", "--db=unix:/run/db.sock")


def uuid(number: int) -> list[str]:
    return ["uuid", f"00000000-0000-0000-0000-{number:012d}"]


def answer(rows: Mapping[str, list[list[object]]]) -> str:
    """Return rows of each table as `ovs-vsctl --format=json list` prints them."""
    return "\n".join(json.dumps({"headings": COLUMNS[table], "data": rows.get(table, [])}) for table in COLUMNS)


def as_map(settings: Mapping[Any, object]) -> list[object]:
    return ["map", [[key, value] for key, value in settings.items()]]


EMPTY_SET, EMPTY_MAP = ["set", []], ["map", []]


def database(*, prepared: bool, link: str = "eth1", protocols: object = EMPTY_SET) -> dict[str, list[list[object]]]:
    """Return the rows of switch a: bridge br0 with port 1 to b and port 2 to its host."""
    rates = {1: 20.0, 2: 20.0}
    names = {1: link, 2: "eth2"}
    mode, mtu = ("secure", 1504) if prepared else (EMPTY_SET, 1500)
    rows: dict[str, list[list[object]]] = {
        "Bridge": [
            [uuid(1), "br0", "0000000000000001", "netdev", mode, protocols, ["set", [uuid(11), uuid(12)]], EMPTY_MAP]
        ],
        "Port": [
            [uuid(10 + n), names[n], uuid(20 + n), uuid(30 + n) if prepared else EMPTY_SET, EMPTY_MAP] for n in rates
        ],
        "Interface": [
            [uuid(20 + n), names[n], "", n, mtu if n == 1 else 1500, EMPTY_SET, EMPTY_SET, EMPTY_MAP, EMPTY_MAP]
            for n in rates
        ],
        "QoS": [],
        "Queue": [],
        "Open_vSwitch": [[EMPTY_MAP]],
    }
    if prepared:
        for n, rate in rates.items():
            queues = queue_settings(rate, PLAIN_LAYOUT.queues)
            of_port = as_map({number: uuid(100 * n + number) for number in queues})
            rows["QoS"].append([uuid(30 + n), "linux-htb", as_map(qos_settings(rate)), of_port, EMPTY_MAP])
            rows["Queue"] += [[uuid(100 * n + number), as_map(each), EMPTY_MAP] for number, each in queues.items()]
    return rows


def device(*, complete: bool) -> DeviceFacts:
    if not complete:
        return DeviceFacts()
    leaves = [leaf_class(queue) for queue in PLAIN_LAYOUT.queues]
    filters = Counter({("mpls_uc", leaf): 1 for leaf in leaves} | {("all", leaf_class(PLAIN_LAYOUT.default)): 1})
    return DeviceFacts(
        root="htb",
        parents=dict.fromkeys(leaves, ROOT_CLASS),
        rates={ROOT_CLASS: 20.0},
        leaves=dict.fromkeys(leaves, "pfifo_head_drop"),
        filters=filters,
    )


def switch(
    rows: Mapping[str, list[list[object]]], *, complete: bool, is_local: bool = True, bfd: bool = False
) -> Reached:
    options = PipelineOptions(liveness=Liveness.BFD if bfd else Liveness.CONTROLLER)
    needs = needs_of(plan_of(LINE, "a-b"), options, Wiring(LINE))["a"]
    found = reached(needs, parse_database(answer(rows), "unix:/run/db.sock"), "unix:/run/db.sock", VSCTL)
    if not is_local:
        return found
    devices = {name: device(complete=complete) for name in ("eth1", "eth2")}
    return replace(found, devices=devices, directory="/run", send_buffer=SEND_BUFFER_BYTES if complete else 212_992)


def said(found: Reached) -> list[tuple[str, str]]:
    return [(lack.port, lack.text) for lack in examine(found, WANTED)]


def test_a_prepared_switch_lacks_nothing() -> None:
    assert said(switch(database(prepared=True), complete=True)) == []


def test_everything_missing_is_named_with_its_port() -> None:
    assert said(switch(database(prepared=False), complete=False)) == [
        ("", "fail mode of br0 is standalone, expected secure"),
        ("port 1 to b", "eth1 carries 1500 bytes, expected 1504"),
        ("port 1 to b", "eth1 has no queues, expected queues 0 control, 1 normal, 2 victim"),
        ("port 2 to its host", "eth2 has no queues, expected queues 0 control, 1 normal, 2 victim"),
        (
            "",
            "ovs-vswitchd has a send buffer of 212992 bytes, expected 268435456 bytes for the packets of all queues",
        ),
    ]


def test_every_item_has_changes_and_a_note_of_what_was_there() -> None:
    lacks = list(examine(switch(database(prepared=False), complete=False), WANTED))
    lines = [line for lack in lacks for change in lack.changes for line in script_lines(change)]
    assert all(lack.changes for lack in lacks)
    for note in (f"{FAIL_MODE_NOTE}=none", f"{MTU_NOTE}=1500", f"{QOS_NOTE}=none", "kuijia-send-buffer-before=212992"):
        assert any(line.startswith("ovs-vsctl") and note in line for line in lines), note


def test_a_note_of_an_earlier_preparation_is_kept() -> None:
    rows = database(prepared=False)
    rows["Port"][0][4] = as_map({QOS_NOTE: "none"})
    rows["Interface"][0][7] = as_map({MTU_NOTE: "1400"})
    (frames, queues, *_) = [
        lack for lack in examine(switch(rows, complete=False), WANTED) if lack.port == "port 1 to b"
    ]
    assert not any(MTU_NOTE in line for change in frames.changes for line in script_lines(change))
    assert not any(QOS_NOTE in line for change in queues.changes for line in script_lines(change))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"rates": {ROOT_CLASS: 15.0}}, "the burst of the port"),
        ({"parents": {}}, "the burst of the port"),
        ({"leaves": {"1:1": "pfifo_head_drop"}}, "the buffers of the queues"),
        ({"filters": Counter()}, "the filters"),
    ],
)
def test_what_tc_adds_is_missed_part_by_part(change: Mapping[str, Any], expected: str) -> None:
    found = switch(database(prepared=True), complete=True)
    assert found.devices is not None
    found = replace(found, devices={**found.devices, "eth1": replace(found.devices["eth1"], **change)})
    assert said(found) == [("port 1 to b", f"the queues of eth1 lack what tc adds: {expected}")]
    (lack,) = examine(found, WANTED)
    assert [type(change) for change in lack.changes] == [QueueCompletion]


def test_a_tree_that_somebody_has_removed_is_made_again() -> None:
    found = switch(database(prepared=True), complete=True)
    (lack,) = examine(replace(found, devices={**(found.devices or {}), "eth1": DeviceFacts()}), WANTED)
    port, qos = uuid(11)[1], uuid(31)[1]
    *programs, completion = lack.changes
    lines = [line for program in programs for line in script_lines(program)]
    assert lines == [
        f"ovs-vsctl --db=unix:/run/db.sock clear Port {port} qos",
        f"ovs-vsctl --db=unix:/run/db.sock set Port {port} qos={qos}",
    ]
    assert isinstance(completion, QueueCompletion)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"max-rate": "500000"}, "max-rate of queue 1 is 500000, expected 20000000"),
        ({"priority": "0"}, "priority of queue 1 is 0, expected 1"),
    ],
)
def test_queues_of_somebody_else_are_replaced_and_noted(changed: Mapping[str, str], difference: str) -> None:
    rows = database(prepared=True)
    rows["Queue"][1][1] = as_map({**queue_settings(20.0, PLAIN_LAYOUT.queues)[1], **changed})
    (lack,) = examine(switch(rows, complete=True), WANTED)
    assert lack.text.startswith(
        f"eth1 has queues of somebody else with other settings ({difference}), expected queues 0"
    )
    program = lack.changes[0]
    assert isinstance(program, RunProgram)
    assert f"external_ids:{QOS_NOTE}={uuid(31)[1]}" in program.argv
    assert "destroy" not in program.argv


def test_queues_that_somebody_made_after_a_preparation_are_noted_instead_of_what_was_there_before_it() -> None:
    rows = database(prepared=True)
    rows["Port"][0][4] = as_map({QOS_NOTE: "none"})
    rows["QoS"][0][2] = as_map(qos_settings(7.0))
    (lack,) = examine(switch(rows, complete=True), WANTED)
    program = lack.changes[0]
    assert isinstance(program, RunProgram)
    assert f"external_ids:{QOS_NOTE}={uuid(31)[1]}" in program.argv


def test_leaves_of_a_layout_with_more_queues_are_cleared() -> None:
    found = switch(database(prepared=True), complete=True)
    assert found.devices is not None
    eth1 = found.devices["eth1"]
    more = replace(eth1, parents={**eth1.parents, "1:4": ROOT_CLASS, "1:fff0": ""}, filters=Counter())
    (lack,) = examine(replace(found, devices={**found.devices, "eth1": more}), WANTED)
    (change,) = lack.changes
    assert isinstance(change, QueueCompletion)
    cleared = [words[-1] for words in change.clearing if words[0] == "class"]
    assert cleared == ["1:1", "1:2", "1:3", "1:4", ROOT_CLASS]


def test_queues_made_by_tc_alone_are_left_to_their_owner() -> None:
    found = switch(database(prepared=False), complete=False)
    assert found.devices is not None
    found = replace(found, devices={**found.devices, "eth1": DeviceFacts(root="tbf")})
    (lack,) = [each for each in examine(found, WANTED) if "tbf" in each.text]
    assert (lack.changes, lack.advice) == ((), "remove them: tc qdisc del dev eth1 root")


def test_a_bridge_that_is_not_there_is_named_with_those_that_are() -> None:
    rows = database(prepared=True)
    rows["Bridge"][0][2] = "00000000000000c8"
    (lack,) = examine(switch(rows, complete=True), WANTED)
    assert lack.text == (
        "no bridge has datapath id 0000000000000001 at unix:/run/db.sock, there is br0 (00000000000000c8)"
    )
    assert not lack.changes


@pytest.mark.parametrize("first", ["br0", "br1"])
def test_two_bridges_with_one_datapath_id_are_named_and_neither_is_changed(first: str) -> None:
    rows = database(prepared=False)
    rows["Bridge"] = [[uuid(number), *rows["Bridge"][0][1:]] for number in (1, 2)]
    rows["Bridge"][first == "br0"][1] = "br1"
    (lack,) = examine(switch(rows, complete=True), WANTED)
    number = "0000000000000001"
    assert lack.text == (
        f"several bridges have datapath id {number} at unix:/run/db.sock: br0 ({number}), br1 ({number})"
    )
    assert not lack.changes


def test_a_port_with_another_number_is_named_with_those_that_are() -> None:
    rows = database(prepared=True)
    rows["Interface"][0][3] = 7
    (lack,) = examine(switch(rows, complete=True), WANTED)
    assert (lack.port, lack.text) == ("port 1 to b", "br0 has no such port, but 2 (eth2), 7 (eth1)")


def test_a_port_without_a_device_is_named_with_the_reason() -> None:
    rows = database(prepared=True)
    rows["Interface"][0][3:7] = [-1, EMPTY_SET, EMPTY_SET, "could not open network device eth1 (No such device)"]
    (lack,) = examine(switch(rows, complete=True), WANTED)
    assert lack.text.endswith("but 2 (eth2); eth1: could not open network device eth1 (No such device)")


def test_a_port_that_can_have_no_queues_is_named() -> None:
    rows = database(prepared=True)
    rows["Interface"][0][2] = "vxlan"
    assert said(switch(rows, complete=True)) == [("port 1 to b", "eth1 is of type vxlan, which has no queues")]


def test_a_bridge_that_speaks_other_versions_only_gets_ours() -> None:
    (lack,) = examine(switch(database(prepared=True, protocols="OpenFlow10"), complete=True), WANTED)
    (change,) = lack.changes
    assert isinstance(change, RunProgram)
    assert {"add", "protocols", "OpenFlow13", "external_ids:kuijia-protocols-before=OpenFlow10"} <= set(change.argv)


def test_on_another_machine_user_space_needs_its_own_filters() -> None:
    found = switch(database(prepared=True), complete=True, is_local=False)
    assert {lack.advice for lack in examine(found, WANTED)} == {
        "run this on the machine of the switch, with --ovsdb unix:PATH"
    }
    rows = database(prepared=True)
    rows["Bridge"][0][3] = "system"
    assert said(switch(rows, complete=True, is_local=False)) == []


def test_sessions_get_their_ports_and_a_taken_number_is_named() -> None:
    found = switch(database(prepared=True), complete=True, bfd=True)
    (lack,) = examine(found, WANTED)
    assert lack.text == "no ports for the BFD session of tunnel 16 (a-b)"
    lines = [line for change in lack.changes for line in script_lines(change)]
    assert lines[0] == "ip link add name br0-b16 up type veth peer name br0-i16"
    assert "bfd:min_tx=30" in lines[-1]
    rows = database(prepared=True)
    rows["Interface"][1][3] = 1000
    taken = [lack for lack in examine(switch(rows, complete=True, bfd=True), WANTED) if "1000" in lack.port]
    assert [lack.text for lack in taken] == ["no ports for the BFD session of tunnel 16 (a-b): 1000 is eth2"]


def test_a_cable_that_an_interrupted_preparation_has_left_is_switched_on() -> None:
    found = switch(database(prepared=True), complete=True, bfd=True)
    cable = dict.fromkeys(("br0-b16", "br0-i16"), DeviceFacts(is_cable=True))
    (lack,) = examine(replace(found, devices={**(found.devices or {}), **cable}), WANTED)
    lines = [line for change in lack.changes for line in script_lines(change)]
    assert lines[0] == "ip link set br0-i16 up"
    assert "add-port br0 br0-b16" in lines[1]


def with_sessions(*path_ids: int, **settings: str) -> Reached:
    """Return a prepared switch with marked ports for the sessions over these paths, perhaps with other settings."""
    bfd = as_map({"enable": "true", "min_tx": "30", "min_rx": "30", **settings})
    rows = database(prepared=True)
    devices = {}
    numbers = [uuid(11), uuid(12)]
    for path_id in path_ids:
        for offset, end in enumerate("bi"):
            name, number = f"br0-{end}{path_id}", 1000 + 2 * (path_id - 16) + offset
            numbers.append(uuid(number))
            rows["Port"].append([uuid(number), name, uuid(number), EMPTY_SET, as_map({"kuijia": "prepared"})])
            row = [
                uuid(number),
                name,
                "",
                number,
                1500,
                EMPTY_SET,
                EMPTY_SET,
                EMPTY_MAP,
                bfd if end == "b" else EMPTY_MAP,
            ]
            rows["Interface"].append(row)
            devices[name] = DeviceFacts(is_cable=True)
    rows["Bridge"][0][6] = ["set", numbers]
    found = switch(rows, complete=True, bfd=True)
    return replace(found, devices={**(found.devices or {}), **devices})


@pytest.mark.parametrize("settings", [{"enable": "false"}, {"min_tx": "100"}, {"min_rx": "1000"}, {"mult": "5"}])
def test_sessions_with_other_settings_are_named_and_get_ours(settings: dict[str, str]) -> None:
    (lack,) = examine(with_sessions(16, **settings), WANTED)
    ((name, value),) = settings.items()
    assert "the BFD session of tunnel 16 (a-b) has bfd:" in lack.text
    assert f"bfd:{name}={value}" in lack.text.split(", expected ")[0]
    assert lack.text.endswith("expected bfd:enable=true bfd:min_tx=30 bfd:min_rx=30 bfd:mult=3")
    (line,) = [line for change in lack.changes for line in script_lines(change)]
    assert "--may-exist add-port br0 br0-b16" in line
    assert "bfd:enable=true bfd:min_tx=30 bfd:min_rx=30 bfd:mult=3" in line


@pytest.mark.parametrize("name", ["br0-b16", "br0-i16"])
def test_an_end_of_a_session_s_cable_that_is_switched_off_is_named_and_switched_on(name: str) -> None:
    found = with_sessions(16)
    devices = {**(found.devices or {}), name: DeviceFacts(is_cable=True, is_up=False)}
    (lack,) = examine(replace(found, devices=devices), WANTED)
    assert lack.text == f"the BFD session of tunnel 16 (a-b) has {name} switched off"
    assert [line for change in lack.changes for line in script_lines(change)] == [f"ip link set {name} up"]


def test_ports_of_sessions_that_no_plan_has_are_removed_with_their_cables() -> None:
    found = with_sessions(16, 17)
    assert said(found) == []
    lines = [line for change in unused_session_changes(found, {16}) for line in script_lines(change)]
    assert lines == [
        "ovs-vsctl --db=unix:/run/db.sock --if-exists del-port br0 br0-b17",
        "ovs-vsctl --db=unix:/run/db.sock --if-exists del-port br0 br0-i17",
        "ip link delete br0-b17",
    ]
    assert list(unused_session_changes(found, {16, 17})) == []


def test_restoring_without_notes_changes_nothing() -> None:
    assert list(restoring(switch(database(prepared=True), complete=True))) == []


def test_queues_that_were_prepared_for_a_port_that_is_gone_are_removed_once() -> None:
    rows = database(prepared=True)
    for qos in rows["QoS"]:
        qos[4] = as_map({"kuijia": "prepared"})
    rows["QoS"].append([uuid(40), "linux-htb", EMPTY_MAP, EMPTY_MAP, EMPTY_MAP])  # somebody else's, for later use
    rows["Port"][0][3] = EMPTY_SET
    found = switch(rows, complete=True)
    queues = " ".join(uuid(100 + number)[1] for number in range(3))
    (line,) = [line for change in restoring_all([found, found]) for line in script_lines(change)]
    words = f"destroy QoS {uuid(31)[1]} -- --if-exists destroy Queue {queues}"
    assert line == f"ovs-vsctl --db=unix:/run/db.sock {words}"


def test_the_note_on_a_send_buffer_stays_until_it_is_restored_on_the_machine_itself() -> None:
    rows = database(prepared=True)
    rows["Bridge"][0][7] = as_map({SEND_BUFFER_NOTE: "212992"})
    assert list(restoring(switch(rows, complete=True, is_local=False))) == []
    assert SendBuffers("/run", "br0", 1, 212_992) in list(restoring(switch(rows, complete=True)))


def test_what_was_noted_is_restored_and_the_note_removed() -> None:
    rows = database(prepared=True)
    rows["Bridge"][0][7] = as_map({FAIL_MODE_NOTE: "none"})
    rows["Port"][0][4] = as_map({QOS_NOTE: uuid(32)[1]})
    rows["QoS"][0][4] = as_map({"kuijia": "prepared"})
    rows["Interface"][0][7] = as_map({MTU_NOTE: "1500+1490"})
    lines = [line for change in restoring(switch(rows, complete=True)) for line in script_lines(change)]
    own, port, interface, former = uuid(31)[1], uuid(11)[1], uuid(21)[1], uuid(32)[1]
    queues = " ".join(uuid(100 + number)[1] for number in range(3))
    destroyed = f"-- destroy QoS {own} -- --if-exists destroy Queue {queues}"
    assert lines == [
        f"ovs-vsctl --db=unix:/run/db.sock {rest}"
        for rest in (
            f"clear Port {port} qos {destroyed}",
            f"set Port {port} qos={former} -- remove Port {port} external_ids {QOS_NOTE}",
            f"set Interface {interface} mtu_request=1500",
            f"set Interface {interface} mtu_request=1490 -- remove Interface {interface} external_ids {MTU_NOTE}",
            f"clear Bridge {uuid(1)[1]} fail_mode -- remove Bridge {uuid(1)[1]} external_ids {FAIL_MODE_NOTE}",
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]\n" * 5,
        "null\n" * 5,
        '{"headings": ["_uuid"], "data": [[1]]}\n' * 5,
        '{"headings": [], "data": [["set"]]}\n' * 5,
        "[" * 100_000,
        answer({"Bridge": [[uuid(1), "br0", "no number", "", "", EMPTY_SET, EMPTY_SET, EMPTY_MAP]]}),
        answer({"Port": [[["uuid", "--all; rm"], "p", uuid(1), EMPTY_SET, EMPTY_MAP]]}),
        answer({"QoS": [[uuid(1), "linux-htb", EMPTY_MAP, as_map({"x": uuid(2)}), EMPTY_MAP]]}),
    ],
)
def test_an_answer_in_another_form_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(
        TestbedError, match=r"^tcp:h:1 answers in another form than Open vSwitch or iproute2: .{0,300}$"
    ):
        parse_database(text, "tcp:h:1")


@pytest.mark.parametrize("name", ["eth1\nqdisc del dev eth0 root", "--db=tcp:x", "eth 1", "x" * 16, ""])
def test_names_that_no_device_has_reach_no_program(name: str) -> None:
    found = switch(database(prepared=False, link=name), complete=False)
    lines = [line for lack in examine(found, WANTED) for change in lack.changes for line in script_lines(change)]
    assert not any(name and name in line for line in lines)
    assert any(lack.port == "port 1 to b" and "no such port" in lack.text for lack in examine(found, WANTED))


def test_devices_are_read_with_their_classes_leaves_and_filters() -> None:
    cable = {"ifname": "e1", "flags": ["BROADCAST", "LOWER_UP"], "linkinfo": {"info_kind": "veth"}}
    links = json.dumps([cable, {}, {"ifname": "lo", "flags": ["LOOPBACK", "UP"]}])
    qdiscs = json.dumps(
        [
            {"kind": "htb", "handle": "1:", "dev": "e1", "root": True},
            {"kind": "pfifo_head_drop", "handle": "8001:", "dev": "e1", "parent": "1:2"},
            {"kind": "noqueue", "handle": "0:", "dev": "lo", "root": True},
        ]
    )
    classes = (
        "class htb 1:fff0 root rate 20Mbit ceil 20Mbit burst 12500b\n"
        "class htb 1:2 parent 1:fff0 leaf 8001: prio 1 rate 12032bit ceil 20Mbit burst 12499b\n"
    )
    filters = (
        "filter parent 1: protocol all pref 9 u32 chain 0 \n"
        "filter parent 1: protocol all pref 9 u32 chain 0 fh 800: ht divisor 1 \n"
        "filter parent 1: protocol all pref 9 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 "
        "*flowid 1:2 not_in_hw \n"
        "  match 00000000/00000000 at 0\n"
    )
    found = parse_devices(links, qdiscs, {"e1": classes}, {"e1": filters})
    assert found == {
        "e1": DeviceFacts(
            is_cable=True,
            is_up=False,
            root="htb",
            parents={"1:fff0": "", "1:2": "1:fff0"},
            rates={"1:fff0": 20.0, "1:2": 0.012032},
            leaves={"1:2": "pfifo_head_drop"},
            filters=Counter({("all", "1:2"): 1}),
        ),
        "lo": DeviceFacts(),
    }


@pytest.mark.parametrize(("limit", "is_lack"), [(None, False), ("1", False), ("0", True), ("2", True)])
def test_a_switch_that_reads_two_tags_is_named_where_hosts_send_tags(limit: str | None, *, is_lack: bool) -> None:
    rows = database(prepared=True)
    rows["Open_vSwitch"] = [[as_map({} if limit is None else {"vlan-limit": limit})]]
    found = switch(rows, complete=True)
    assert said(found) == []
    told = said(replace(found, needs=replace(found.needs, reads_one_tag=True)))
    assert [text for _, text in told] == (
        [f"other_config:vlan-limit of unix:/run/db.sock is {limit}, expected 1"] if is_lack else []
    )
