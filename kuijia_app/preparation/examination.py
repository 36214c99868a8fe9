"""What a switch lacks for a plan, each item with the changes that supply it, and how to restore a switch; pure.

What a change replaces is noted in `external_ids` of the same row and in the same transaction of its database,
so that a switch can be restored whenever and by whomever, also after a preparation that was killed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kuijia_app.preparation.changes import Change, QueueCompletion, RunProgram, SendBuffers, Words
from kuijia_app.preparation.facts import BridgeFacts, DatabaseFacts, DeviceFacts, PortFacts, QosFacts
from kuijia_app.preparation.queues import (
    MAX_FRAME,
    QOS_TYPE,
    ROOT_CLASS,
    clearing_commands,
    htb_commands,
    leaf_class,
    qos_arguments,
    qos_settings,
    queue_settings,
    tag_filter_commands,
)
from kuijia_app.preparation.send_buffer import SEND_BUFFER_BYTES
from kuijia_app.preparation.sessions import (
    cable_commands,
    end_of,
    inner_name,
    port_arguments,
    session_settings,
    watched_name,
)
from kuijia_app.tables.bfd import DEFAULT_MULTIPLIER, BfdSession
from kuijia_app.tables.needs import FAIL_MODE, PROTOCOL, PortNeeds, SwitchNeeds
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.stated_wiring import datapath_text

MARK_KEY, MARK_VALUE = "kuijia", "prepared"
MARK = f"external_ids:{MARK_KEY}={MARK_VALUE}"
"""Of rows that preparation creates."""

QOS_NOTE = "kuijia-qos-before"
MTU_NOTE = "kuijia-mtu-before"
FAIL_MODE_NOTE = "kuijia-fail-mode-before"
PROTOCOLS_NOTE = "kuijia-protocols-before"
SEND_BUFFER_NOTE = "kuijia-send-buffer-before"
NOTHING = "none"
"""Note of a value that was not set."""

_PLAIN_KINDS = frozenset({"", "system", "internal", "tap"})
"""Types of interfaces whose devices have queues."""

_LEAST_BUFFER, _MOST_BUFFER, _BUFFER_SECONDS = 100, 1000, 0.05
"""Packets of a queue: those of 50 ms, but at least the lab's default and at most Linux's `txqueuelen`."""

_RATE_TOLERANCE = 0.01
_WORD = re.compile("[A-Za-z0-9]+")

PREPARE = "run `kuijia switches prepare`"


@dataclass(frozen=True)
class Wanted:
    """What all switches of a plan have in common."""

    layout: QueueLayout
    tagging: Tagging
    interval_ms: int


@dataclass(frozen=True)
class Reached:
    """A switch as it was found.

    Attributes:
        needs: of the plan.
        address: of its database, for messages.
        vsctl: the program that changes the database, with its options.
        bridge: None if the database has none with the datapath id, or several.
        qos_rows: all rows of queues in the database.
        unused_qos: those that no port has.
        bridges: all of the database with their datapath ids, for messages.
        devices: network devices; None if the switch is on another machine.
        directory: of the daemon's sockets on this machine.
        send_buffer: bytes of the daemon's send buffer, None if it is unknown or there is none.
        silence: why its database does not answer, with the address; empty if it does.
        vlan_limit: how many VLAN tags the daemon looks at; empty if it is not stated.
    """

    needs: SwitchNeeds
    address: str
    vsctl: Words
    bridge: BridgeFacts | None
    qos_rows: frozenset[str]
    bridges: tuple[str, ...] = ()
    devices: Mapping[str, DeviceFacts] | None = None
    directory: str = ""
    send_buffer: int | None = None
    silence: str = ""
    vlan_limit: str = ""
    unused_qos: tuple[QosFacts, ...] = ()

    def vsctl_with(self, arguments: Iterable[str]) -> RunProgram:
        return RunProgram((*self.vsctl, *arguments))


@dataclass(frozen=True)
class Lack:
    """Something that a switch lacks.

    Attributes:
        switch, port: where, `port` with what it leads to; empty if it concerns the whole switch.
        text: what is missing.
        advice: what to do.
        changes: supply it; none if only somebody else can.
    """

    switch: str
    port: str
    text: str
    advice: str
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        place = f"{self.switch} {self.port}" if self.port else self.switch
        return f"{place}: {self.text}: {self.advice}"


def reached(needs: SwitchNeeds, database: DatabaseFacts, address: str, vsctl: Words) -> Reached:
    """Return a switch as its database has it."""
    ordered = sorted(database.bridges, key=lambda bridge: (bridge.datapath_id, bridge.name))
    its = [bridge for bridge in ordered if bridge.datapath_id == needs.datapath_id]
    bridge = its[0] if len(its) == 1 else None
    named = tuple(f"{each.name} ({datapath_text(each.datapath_id)})" for each in ordered)
    limit, unused = database.vlan_limit, database.unused_qos
    return Reached(needs, address, vsctl, bridge, database.qos_rows, named, vlan_limit=limit, unused_qos=unused)


def examine(switch: Reached, wanted: Wanted) -> Iterator[Lack]:
    """Yield what a switch lacks, in the order in which it has to be supplied."""
    name, bridge = switch.needs.switch, switch.bridge
    if switch.silence:
        yield Lack(name, "", switch.silence, "start its database, or correct the address")
        return
    if bridge is None:
        yield missing_bridge(switch)
        return
    yield from _bridge_lacks(switch, bridge)
    yield from _tag_lacks(switch)
    for needs in switch.needs.ports.values():
        port = bridge.ports.get(needs.number)
        label = f"port {needs.number} to {'its host' if needs.is_host else needs.leads_to}"
        if port is None:
            yield _absent(name, label, needs.number, bridge)
            continue
        yield from _frame_lacks(switch, needs, port, label)
        yield from _queue_lacks(switch, wanted, needs, port, label)
    yield from session_lacks(switch, wanted.interval_ms)
    yield from _send_buffer_lacks(switch, bridge)


def missing_bridge(switch: Reached) -> Lack:
    """Return the item that a switch's database has no bridge for it, or several."""
    number = datapath_text(switch.needs.datapath_id)
    if its := [bridge for bridge in switch.bridges if bridge.endswith(f"({number})")]:
        text = f"several bridges have datapath id {number} at {switch.address}: {_listed(its)}"
        return Lack(switch.needs.switch, "", text, "set other-config:datapath-id of all but one to others")
    text = f"no bridge has datapath id {number} at {switch.address}, there is {_listed(switch.bridges)}"
    return Lack(switch.needs.switch, "", text, "correct the wiring file, or set other-config:datapath-id of the bridge")


def _bridge_lacks(switch: Reached, bridge: BridgeFacts) -> Iterator[Lack]:
    name = switch.needs.switch
    if bridge.fail_mode != FAIL_MODE:
        text = f"fail mode of {bridge.name} is {bridge.fail_mode or 'standalone'}, expected {FAIL_MODE}"
        note = (
            () if FAIL_MODE_NOTE in bridge.notes else (f"external_ids:{FAIL_MODE_NOTE}={bridge.fail_mode or NOTHING}",)
        )
        change = switch.vsctl_with(["set", "Bridge", bridge.uuid, f"fail_mode={FAIL_MODE}", *note])
        yield Lack(name, "", text, PREPARE, (change,))
    if bridge.protocols and PROTOCOL not in bridge.protocols:
        text = f"{bridge.name} speaks {_listed(sorted(bridge.protocols))}, expected {PROTOCOL} too"
        before = "+".join(sorted(bridge.protocols))
        note = () if PROTOCOLS_NOTE in bridge.notes else (f"external_ids:{PROTOCOLS_NOTE}={before}",)
        add = ["add", "Bridge", bridge.uuid, "protocols", PROTOCOL]
        change = switch.vsctl_with([*add, *(["--", "set", "Bridge", bridge.uuid, *note] if note else [])])
        yield Lack(name, "", text, PREPARE, (change,))


def _tag_lacks(switch: Reached) -> Iterator[Lack]:
    limit = switch.vlan_limit
    if switch.needs.reads_one_tag and limit not in {"", "1"}:
        text = f"other_config:vlan-limit of {switch.address} is {limit}, expected 1"
        advice = "change it: of hosts' packets with two VLAN tags one would be lost"
        yield Lack(switch.needs.switch, "", text, advice)


def _absent(switch: str, label: str, number: int, bridge: BridgeFacts) -> Lack:
    there = _listed([f"{port} ({each.name})" for port, each in sorted(bridge.ports.items())])
    broken = [f"{each}: {error or 'no number'}" for each, error in bridge.unnumbered.items()]
    text = f"{bridge.name} has no such port, but {there}{'; ' if broken else ''}{'; '.join(broken)}"
    return Lack(switch, label, text, f"correct the wiring file, or set ofport_request={number} of the interface")


def _frame_lacks(switch: Reached, needs: PortNeeds, port: PortFacts, label: str) -> Iterator[Lack]:
    name = switch.needs.switch
    if port.mtu is None:
        text = f"{port.name} has no frame size{': ' if port.error else ''}{port.error}"
        yield Lack(name, label, text, "create the device")
    elif port.mtu < needs.mtu:
        text = f"{port.name} carries {port.mtu} bytes, expected {needs.mtu}"
        asked = "" if port.mtu_request is None else f"+{port.mtu_request}"
        note = () if MTU_NOTE in port.interface_notes else (f"external_ids:{MTU_NOTE}={port.mtu}{asked}",)
        change = switch.vsctl_with(["set", "Interface", port.interface_uuid, f"mtu_request={needs.mtu}", *note])
        yield Lack(name, label, text, PREPARE, (change,))


def _queue_lacks(switch: Reached, wanted: Wanted, needs: PortNeeds, port: PortFacts, label: str) -> Iterator[Lack]:
    name, queues = switch.needs.switch, wanted.layout.queues
    if port.kind not in _PLAIN_KINDS:
        text = f"{port.name} is of type {port.kind}, which has no queues"
        yield Lack(name, label, text, "use a port of a network device")
        return
    device = None
    if switch.devices is not None:
        device = switch.devices.get(port.name)
        if device is None:
            text = f"{port.name} is not among the network devices here"
            yield Lack(name, label, text, "run this in the network namespace of ovs-vswitchd")
            return
    has_queues = _has_queues(port.qos, needs.rate, wanted)
    if not has_queues:
        if device is not None and device.root and (port.qos is None or port.qos.kind == "linux-noop"):
            text = f"{port.name} has queues that somebody made by tc ({device.root})"
            yield Lack(name, label, text, f"remove them: tc qdisc del dev {port.name} root")
            return
        expected = _listed([f"{queue.queue_id} {queue.name}" for queue in queues])
        text = f"{port.name} has {_described(port.qos, needs.rate, wanted)}, expected queues {expected}"
        yield Lack(
            name,
            label,
            text,
            PREPARE,
            (_qos_change(switch, wanted, needs, port), *_completion(switch, wanted, needs, port)),
        )
    elif device is not None:
        missing = _missing_in_tree(device, switch, wanted, needs, port)
        if missing:
            text = f"the queues of {port.name} lack what tc adds: {missing}"
            again = () if device.root else _making_again(switch, port)
            yield Lack(name, label, text, PREPARE, (*again, *_completion(switch, wanted, needs, port)))
    if device is None and switch.bridge is not None and switch.bridge.is_userspace:
        text = f"{port.name} forwards in user space, where filters select queues, and is on another machine"
        yield Lack(name, label, text, "run this on the machine of the switch, with --ovsdb unix:PATH")


def _has_queues(qos: QosFacts | None, rate: float, wanted: Wanted) -> bool:
    if qos is None or qos.kind != QOS_TYPE or not _includes(qos.settings, qos_settings(rate)):
        return False
    return all(
        number in qos.queues and _includes(qos.queues[number], settings)
        for number, settings in queue_settings(rate, wanted.layout.queues).items()
    )


def _described(qos: QosFacts | None, rate: float, wanted: Wanted) -> str:
    if qos is None or qos.kind == "linux-noop":
        return "no queues"
    if qos.kind != QOS_TYPE:
        return f"queues of type {qos.kind}"
    missing = [queue.queue_id for queue in wanted.layout.queues if queue.queue_id not in qos.queues]
    if missing:
        return f"no queue {_listed(missing)}"
    whose = "" if qos.notes.get(MARK_KEY) == MARK_VALUE else " of somebody else"
    return f"queues{whose} with other settings ({_difference(qos, rate, wanted)})"


def _difference(qos: QosFacts, rate: float, wanted: Wanted) -> str:
    """Return the first setting of the queues that is not as wanted."""
    settings = {f" of queue {number}": each for number, each in queue_settings(rate, wanted.layout.queues).items()}
    found = {"": qos.settings, **{f" of queue {number}": each for number, each in qos.queues.items()}}
    return next(
        f"{key}{whose} is {found[whose].get(key, 'not set')}, expected {value}"
        for whose, each in {"": qos_settings(rate), **settings}.items()
        for key, value in each.items()
        if found[whose].get(key) != value
    )


def _includes(found: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(found.get(key) == value for key, value in wanted.items())


def _qos_change(switch: Reached, wanted: Wanted, needs: PortNeeds, port: PortFacts) -> RunProgram:
    before = NOTHING if port.qos is None else port.qos.uuid
    is_of_others = port.qos is not None and port.qos.notes.get(MARK_KEY) != MARK_VALUE
    note = (f"external_ids:{QOS_NOTE}={before}",) if is_of_others or QOS_NOTE not in port.notes else ()
    create = qos_arguments("qos", needs.rate, wanted.layout.queues, MARK)
    return switch.vsctl_with(["set", "Port", port.uuid, "qos=@qos", *note, *create, *_destroying(port.qos)])


def _making_again(switch: Reached, port: PortFacts) -> tuple[Change, ...]:
    """Return the changes after which Open vSwitch makes a tree again that somebody has removed by `tc`."""
    assert port.qos is not None
    back = switch.vsctl_with(["set", "Port", port.uuid, f"qos={port.qos.uuid}"])
    return switch.vsctl_with(["clear", "Port", port.uuid, "qos"]), back


def _destroying(qos: QosFacts | None) -> list[str]:
    """Return the arguments that destroy queues which preparation has created."""
    if qos is None or qos.notes.get(MARK_KEY) != MARK_VALUE:
        return []
    return ["--", "destroy", "QoS", qos.uuid, "--", "--if-exists", "destroy", "Queue", *qos.queue_rows.values()]


def _completion(switch: Reached, wanted: Wanted, needs: PortNeeds, port: PortFacts) -> tuple[Change, ...]:
    if switch.devices is None:
        return ()
    leaves = switch.devices[port.name].parents
    ours = [name for name, parent in leaves.items() if parent == ROOT_CLASS]
    clearing = clearing_commands(port.name, wanted.layout, ours)
    return (QueueCompletion(_words(clearing), _words(_building(switch, wanted, needs, port))),)


def _building(switch: Reached, wanted: Wanted, needs: PortNeeds, port: PortFacts) -> list[list[str]]:
    buffer = round(needs.rate * 1e6 / 8 * _BUFFER_SECONDS / MAX_FRAME)
    packets = min(_MOST_BUFFER, max(_LEAST_BUFFER, buffer))
    commands = htb_commands(port.name, needs.rate, wanted.layout, packets)
    if switch.bridge is not None and switch.bridge.is_userspace:
        commands += tag_filter_commands(port.name, wanted.layout, wanted.tagging)
    return commands


def _missing_in_tree(device: DeviceFacts, switch: Reached, wanted: Wanted, needs: PortNeeds, port: PortFacts) -> str:
    leaves = [leaf_class(queue) for queue in wanted.layout.queues]
    rate = device.rates.get(ROOT_CLASS, 0.0)
    building = _building(switch, wanted, needs, port)
    filters = Counter(
        (words[words.index("protocol") + 1], words[words.index("flowid") + 1])
        for words in building
        if words[0] == "filter"
    )
    missing = {
        "the burst of the port": abs(rate - needs.rate) > _RATE_TOLERANCE * needs.rate
        or any(device.parents.get(leaf) != ROOT_CLASS for leaf in leaves),
        "the buffers of the queues": any(leaf not in device.leaves for leaf in leaves),
        "the filters": bool(filters - device.filters),
    }
    return _listed([what for what, is_missing in missing.items() if is_missing]) if any(missing.values()) else ""


def session_lacks(switch: Reached, interval_ms: int) -> Iterator[Lack]:
    """Yield the ports of BFD sessions that a switch lacks, whose bridge is known."""
    bridge, devices = switch.bridge, switch.devices or {}
    assert bridge is not None
    for session in switch.needs.sessions:
        ends = {session.watched_port: watched_name, session.inner_port: inner_name}
        numbers = {number: name(bridge.name, session.path_id) for number, name in ends.items()}
        found = {number: bridge.ports[number].name for number in numbers if number in bridge.ports}
        label = f"ports {session.watched_port} and {session.inner_port}"
        path = f"the BFD session of tunnel {session.path_id} ({'-'.join(session.nodes)})"
        if found == numbers:
            wanted = session_settings(interval_ms)
            settings = {"mult": str(DEFAULT_MULTIPLIER), **bridge.ports[session.watched_port].bfd}
            found_settings = {name: settings.get(name, "unset") for name in wanted}
            if found_settings != wanted:
                text = f"{path} has {_settings_text(found_settings)}, expected {_settings_text(wanted)}"
                change = switch.vsctl_with(
                    port_arguments([end_of(session, switch.needs.switch, bridge.name)], interval_ms, MARK)
                )
                yield Lack(switch.needs.switch, label, text, PREPARE, (change,))
            off = [name for name in found.values() if name in devices and not devices[name].is_up]
            if off:
                changes = tuple(RunProgram(("ip", "link", "set", name, "up")) for name in off)
                yield Lack(switch.needs.switch, label, f"{path} has {_listed(off)} switched off", PREPARE, changes)
            continue
        taken = [f"{number} is {name}" for number, name in found.items() if name != numbers[number]]
        if taken:
            text = f"no ports for {path}: {_listed(taken)}"
            yield Lack(switch.needs.switch, label, text, "give these ports other numbers")
        elif switch.devices is None:
            text = f"no ports for {path}, and the switch is on another machine"
            advice = "run this on the machine of the switch, with --ovsdb unix:PATH"
            yield Lack(switch.needs.switch, label, text, advice)
        else:
            text = f"no ports for {path}"
            yield Lack(switch.needs.switch, label, text, PREPARE, _session_changes(switch, session, interval_ms))


def _session_changes(switch: Reached, session: BfdSession, interval_ms: int) -> tuple[Change, ...]:
    """Return the changes that make the ports of one end of a session, or those of them that are not there.

    A preparation that was interrupted may have left the cable with one end down.
    """
    assert switch.bridge is not None
    assert switch.devices is not None
    end = end_of(session, switch.needs.switch, switch.bridge.name)
    creation, *rest = cable_commands([end])
    cables = rest if end.watched in switch.devices else [creation, *rest]
    ports = switch.vsctl_with(port_arguments([end], interval_ms, MARK))
    return (*(RunProgram(("ip", *words)) for words in cables), ports)


def _settings_text(settings: Mapping[str, str]) -> str:
    return " ".join(f"bfd:{name}={value}" for name, value in settings.items())


def _send_buffer_lacks(switch: Reached, bridge: BridgeFacts) -> Iterator[Lack]:
    if switch.devices is None or not bridge.is_userspace or not bridge.ports:
        return
    if switch.send_buffer is None or switch.send_buffer < SEND_BUFFER_BYTES:
        size = "no packet socket" if switch.send_buffer is None else f"a send buffer of {switch.send_buffer} bytes"
        text = f"ovs-vswitchd has {size}, expected {SEND_BUFFER_BYTES} bytes for the packets of all queues"
        before = f"external_ids:{SEND_BUFFER_NOTE}={switch.send_buffer or NOTHING}"
        is_noted = SEND_BUFFER_NOTE in bridge.notes
        note = () if is_noted else (switch.vsctl_with(["set", "Bridge", bridge.uuid, before]),)
        change = SendBuffers(switch.directory, bridge.name, min(bridge.ports), SEND_BUFFER_BYTES)
        yield Lack(switch.needs.switch, "", text, PREPARE, (*note, change))


def unused_session_changes(switch: Reached, used: Collection[int]) -> Iterator[Change]:
    """Yield the changes that remove the ports of sessions except those with these path ids."""
    bridge = switch.bridge
    assert bridge is not None
    kept = {name(bridge.name, path_id) for path_id in used for name in (watched_name, inner_name)}
    ports = [port for port in bridge.ports.values() if port.notes.get(MARK_KEY) == MARK_VALUE]
    yield from _session_removal(switch, bridge, [port.name for port in ports if port.name not in kept])


def _session_removal(switch: Reached, bridge: BridgeFacts, names: Iterable[str]) -> Iterator[Change]:
    """Yield the changes that remove ports of sessions, and their cables by one of both ends."""
    names = list(names)
    yield from (switch.vsctl_with(["--if-exists", "del-port", bridge.name, name]) for name in names)
    for name in names:
        device = None if switch.devices is None else switch.devices.get(name)
        if device is not None and device.is_cable and not _is_inner(name, bridge.name):
            yield RunProgram(("ip", "link", "delete", name))


def restoring_all(switches: Iterable[Reached]) -> list[Change]:
    """Return the changes that restore switches, each once."""
    return list(dict.fromkeys(change for switch in switches for change in restoring(switch)))


def restoring(switch: Reached) -> Iterator[Change]:
    """Yield the changes that restore a switch to its state before it was prepared; none if it was not.

    Queues whose port is gone are removed, too, of all bridges of the database.
    """
    bridge = switch.bridge
    if bridge is None:
        return
    of_plan = {watched_name(bridge.name, session.path_id) for session in switch.needs.sessions}  # perhaps without ports
    marked = {port.name for port in bridge.ports.values() if port.notes.get(MARK_KEY) == MARK_VALUE}
    there = {name for name in of_plan if switch.devices is not None and name in switch.devices}
    yield from _session_removal(switch, bridge, sorted(marked | there))
    for port in bridge.ports.values():
        if port.name not in marked:
            yield from _restoring_queues(switch, port)
            yield from _restoring_frames(switch, port)
    yield from _restoring_send_buffer(switch, bridge)
    yield from _restoring_bridge(switch, bridge)
    yield from (switch.vsctl_with(words[1:]) for each in switch.unused_qos if (words := _destroying(each)))


def _is_inner(name: str, bridge: str) -> bool:
    """Return True if a device is the inner end of a session's cable, which is deleted with the other end."""
    number = re.search(r"i(\d+)$", name)
    return number is not None and inner_name(bridge, int(number[1])) == name


def _restoring_queues(switch: Reached, port: PortFacts) -> Iterator[Change]:
    before = port.notes.get(QOS_NOTE)
    if before is None:
        return
    # Open vSwitch keeps the tree from one QoS to another of the same type; without any it removes it.
    if port.qos is not None:
        yield switch.vsctl_with(["clear", "Port", port.uuid, "qos", *_destroying(port.qos)])
    back = ["set", "Port", port.uuid, f"qos={before}", "--"] if before in switch.qos_rows else []
    note = ["remove", "Port", port.uuid, "external_ids", QOS_NOTE]
    yield switch.vsctl_with([*back, *note])


def _restoring_frames(switch: Reached, port: PortFacts) -> Iterator[Change]:
    note = port.interface_notes.get(MTU_NOTE)
    if note is None:
        return
    mtu, _, asked = note.partition("+")
    row = port.interface_uuid
    if mtu.isdecimal():
        yield switch.vsctl_with(["set", "Interface", row, f"mtu_request={int(mtu)}"])
    request = ["set", "Interface", row, f"mtu_request={int(asked)}"] if asked.isdecimal() else None
    again = request or ["clear", "Interface", row, "mtu_request"]
    yield switch.vsctl_with([*again, "--", "remove", "Interface", row, "external_ids", MTU_NOTE])


def _restoring_send_buffer(switch: Reached, bridge: BridgeFacts) -> Iterator[Change]:
    before = bridge.notes.get(SEND_BUFFER_NOTE)
    if before is None or switch.devices is None:  # restored on the machine itself, by this note
        return
    if switch.send_buffer is not None and bridge.ports:
        size = int(before) if before.isdecimal() else None
        yield SendBuffers(switch.directory, bridge.name, min(bridge.ports), size)
    yield switch.vsctl_with(["remove", "Bridge", bridge.uuid, "external_ids", SEND_BUFFER_NOTE])


def _restoring_bridge(switch: Reached, bridge: BridgeFacts) -> Iterator[Change]:
    mode, protocols = bridge.notes.get(FAIL_MODE_NOTE), bridge.notes.get(PROTOCOLS_NOTE)
    if mode is not None:
        back = ["set", "Bridge", bridge.uuid, "fail_mode=standalone"]
        if mode != "standalone":
            back = ["clear", "Bridge", bridge.uuid, "fail_mode"]
        yield switch.vsctl_with([*back, "--", "remove", "Bridge", bridge.uuid, "external_ids", FAIL_MODE_NOTE])
    if protocols is not None:
        words = [word for word in protocols.split("+") if _WORD.fullmatch(word)]
        back = (
            ["set", "Bridge", bridge.uuid, f"protocols={','.join(words)}"]
            if words
            else ["clear", "Bridge", bridge.uuid, "protocols"]
        )
        yield switch.vsctl_with([*back, "--", "remove", "Bridge", bridge.uuid, "external_ids", PROTOCOLS_NOTE])


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items)) or "none"


def _words(commands: Iterable[Iterable[str]]) -> tuple[Words, ...]:
    return tuple(tuple(command) for command in commands)
