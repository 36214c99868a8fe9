"""`kuijia trace`: reads packets and failures as users write them, and shows a packet's way to people and programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kuijia_app.proof.expectation import CODE_POINTS, ECN_CODES
from kuijia_app.proof.model.network import End, Hop, ModelNetwork, Walk
from kuijia_app.proof.model.packet import ORDINARY_TRANSPORT, Packet, Transport
from kuijia_app.proof.model.switch import EntryStep, GroupStep, Step
from kuijia_app.proof.walk_text import tag_texts
from kuijia_app.tables.classifiers import LAST_PROTOCOL, LAST_TRANSPORT_PORT, PROTOCOLS
from kuijia_app.tables.ofctl_text import actions_text, instructions_text, match_text
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL
from kuijia_app.tables.rules import LAST_VLAN_ID, TCP, UDP
from kuijia_base.errors import InputError, quoted, shown
from kuijia_base.suggestion import meant
from te_solver.model.failures import Failure, named
from te_solver.model.topology import Topology

_MOST_DIGITS = 9
_MOST_WORDS = 16
"""After the nodes of a packet, which can have three."""

PACKET_SYNTAX = (
    "SOURCE->TARGET [slot=N] [class=N | dscp=N | control] [ecn=N] [vlan=N] "
    "[protocol=tcp | udp | icmp | N] [source_port=N] [destination_port=N]"
)

_TRANSPORT_WORDS = {
    "protocol": LAST_PROTOCOL + 1,
    "source_port": LAST_TRANSPORT_PORT + 1,
    "destination_port": LAST_TRANSPORT_PORT + 1,
}
"""Words for the fields of a transport, with the number after the last one."""

_WORD = re.compile(r"\w+=\S*|control")

_ENDINGS = {
    End.LEFT: "delivered to the host",
    End.DROPPED: "dropped",
    End.LOST: "lost in a link that is down",
    End.LOOPED: "looping",
    End.COPIED: "copied",
}


@dataclass(frozen=True, slots=True)
class AskedPacket:
    """A host's packet as requested on the command line, of the first site at the source if `vlan` names none."""

    source: str
    target: str
    slot: int
    dscp: int
    ecn: int
    transport: Transport = ORDINARY_TRANSPORT
    vlan: int | None = None

    def entering(self, network: ModelNetwork) -> Packet:
        wiring = network.wiring
        wiring.require_hosts((self.source, self.target))
        sites = {site.vlan: site for site in reversed(wiring.host_ends(self.source))}
        site = wiring.host_ends(self.source)[0] if self.vlan is None else sites.get(self.vlan)
        if site is None:
            expected = f"a VLAN of a site at {shown(self.source)}"
            raise InputError("packet", "vlan", str(self.vlan), expected)
        packet = network.host_packet(site, wiring.host_address(self.target), self.dscp, self.ecn, slot=self.slot)
        return replace(packet, transport=self.transport)


def parse_packet(packet: str | tuple[str, str], topology: Topology, options: PipelineOptions) -> AskedPacket:
    """Return a packet in `PACKET_SYNTAX`; `class=N` means the first code point of the layout's class of priority N.

    Args:
        packet: the text, or what stands before and after its arrow.
        topology: the network.
        options: of the tables that the packet meets.

    Raises:
        InputError: the text is no packet, or names a part that topology or layout lack.
    """
    source, target, words = _parts(packet)
    for end in (source, target):
        if not topology.has_node(end):
            raise InputError(
                "packet",
                "",
                f"unknown node {quoted(end)}{meant(end, topology.nodes)}",
                f"a node of {shown(topology.name)}",
            )
    if source == target:
        raise InputError("packet", "", f"from {shown(source)} to itself", "two different nodes")
    values: dict[str, int] = {}
    for word in words:
        name, value = _word(word, options)
        if name in values:
            raise InputError("packet", "", f"{quoted(word)} gives the {name} a second time", PACKET_SYNTAX)
        values[name] = value
    transport = _transport({name: values[name] for name in _TRANSPORT_WORDS if name in values})
    marks = values.get("slot", 0), values.get("dscp", 0), values.get("ecn", 0)
    return AskedPacket(source, target, *marks, transport, values.get("vlan"))


def _transport(values: dict[str, int]) -> Transport:
    protocol = values.get("protocol", ORDINARY_TRANSPORT.protocol)
    if protocol in {TCP, UDP}:
        return replace(ORDINARY_TRANSPORT, **values)
    if len(values) > 1:
        raise InputError("packet", "", f"ports with protocol {protocol}", "protocol=tcp or protocol=udp")
    return Transport(protocol, 0, 0)


def _parts(packet: str | tuple[str, str]) -> tuple[str, str, list[str]]:
    """Return source, target and the words after it; names may have spaces themselves."""
    source, rest = packet.partition("->")[::2] if isinstance(packet, str) else packet
    target = rest.strip()
    words: list[str] = []
    while len(words) < _MOST_WORDS and len(parts := target.rsplit(maxsplit=1)) == 2 and _WORD.fullmatch(parts[1]):
        target = parts[0]
        words.insert(0, parts[1])
    if not (source.strip() and target):
        found = packet if isinstance(packet, str) else " ".join(packet)
        raise InputError("packet", "", quoted(found), f"two nodes, or {PACKET_SYNTAX}")
    return source.strip(), target, words


def _word(word: str, options: PipelineOptions) -> tuple[str, int]:
    """Return the field that a word of a packet sets, and its value."""
    if word == "control":
        return "dscp", DSCP_NETWORK_CONTROL
    name, _, text = word.partition("=")
    beyond = {"slot": options.slot_count, "dscp": CODE_POINTS, "ecn": ECN_CODES, "class": None, **_TRANSPORT_WORDS}
    beyond["vlan"] = LAST_VLAN_ID + 1
    if name == "protocol" and text in PROTOCOLS:
        return name, PROTOCOLS[text]
    if name not in beyond:
        raise InputError("packet", name, "is unknown", PACKET_SYNTAX)
    limit = beyond[name]
    expected = f"a whole number from 0 to {limit - 1}" if limit is not None else "the priority of a class"
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    if not is_number or (limit is not None and int(text) >= limit):
        raise InputError("packet", name, quoted(text), expected)
    return ("dscp", _code_point(int(text), options)) if name == "class" else (name, int(text))


def _code_point(priority: int, options: PipelineOptions) -> int:
    for each in options.layout.classes:
        if each.priority == priority:
            return each.code_points[0] if each.code_points else 0
    served = ", ".join(str(each.priority) for each in options.layout.classes)
    raise InputError("packet", "class", f"{priority}", f"one that the layout {options.layout.name} serves: {served}")


def parse_failure(texts: Sequence[str], topology: Topology) -> Failure:
    """Return the edges `A-B` and nodes `A` that are down at the same time; names may contain dashes themselves.

    Raises:
        InputError: the topology has no such edge or node.
    """
    edges: list[tuple[str, str]] = []
    nodes: list[str] = []
    for text in texts:
        known = named(text, topology)
        if len(known) != 1:
            what = "more than one link or node" if known else "no link"
            problem = f"{quoted(text)} is {what}{_meant(text, topology)}"
            raise InputError("option", "--failures", problem, f"A-B or a node of {topology.name}")
        edges += known[0].edges
        nodes += known[0].nodes
    return Failure(" + ".join(texts) or "none", tuple(edges), tuple(nodes))


def _meant(text: str, topology: Topology) -> str:
    return meant(text, [*topology.nodes, *("-".join(link.ends) for link in topology.links)])


def walk_text(walk: Walk, network: ModelNetwork) -> Iterator[str]:
    """Yield the way hop by hop and table by table, then its end."""
    for hop in walk.hops:
        yield f"{hop.switch}: in port {hop.packet.in_port}{_from(hop, network)}, {_header(hop.packet)}"
        for step in hop.forwarding.steps:
            for line in _step_lines(step):
                yield f"    {line}"
        if hop.forwarding.problem is not None:
            yield f"    {hop.forwarding.problem}"
        if hop.sent is not None:
            queue = "the default queue" if hop.sent.queue is None else f"queue {hop.sent.queue}"
            yield f"    out port {hop.out_port}{_towards(hop, network)} in {queue}, {_header(hop.sent)}"
    yield f"{_ENDINGS[walk.end]}: {'-'.join(walk.nodes)}"


def trace_json(walk: Walk, failure: str) -> dict[str, Any]:
    """Return a walk under the failure of this name as JSON data."""
    return {
        "format": "kuijia-trace",
        "version": 1,
        "failure": failure,
        "end": walk.end.value,
        "nodes": list(walk.nodes),
        "hops": [
            {
                "switch": hop.switch,
                "in": _packet_json(hop.packet),
                "steps": [_step_json(step) for step in hop.forwarding.steps],
                "problem": hop.forwarding.problem,
                "out_port": hop.out_port,
                "out": None if hop.sent is None else _packet_json(hop.sent),
            }
            for hop in walk.hops
        ],
    }


def _step_lines(step: Step) -> Iterator[str]:
    if isinstance(step, EntryStep):
        if step.entry is None:
            yield f"table {step.table_id}: no entry"
        else:
            matched = match_text(step.entry.match) or "any packet"
            yield f"table {step.table_id}: {matched}, priority {step.entry.priority}: {instructions_text(step.entry)}"
        return
    for why in step.dead:
        yield f"group {step.group.group_id} ({step.group.group_type.value}): {why}"
    if step.position is not None:
        actions = actions_text(step.group.buckets[step.position].actions)
        kind = step.group.group_type.value
        of = f"bucket {step.position} of {len(step.group.buckets)}"
        yield f"group {step.group.group_id} ({kind}): {of}: {actions}"


def _step_json(step: Step) -> dict[str, Any]:
    if isinstance(step, GroupStep):
        return {
            "group": step.group.group_id,
            "type": step.group.group_type.value,
            "dead": list(step.dead),
            "bucket": step.position,
            "actions": None if step.position is None else actions_text(step.group.buckets[step.position].actions),
        }
    if step.entry is None:
        return {"table": step.table_id, "match": None}
    return {
        "table": step.table_id,
        "match": match_text(step.entry.match),
        "priority": step.entry.priority,
        "actions": instructions_text(step.entry),
    }


def _packet_json(packet: Packet) -> dict[str, Any]:
    return {
        "in_port": packet.in_port,
        "source": str(packet.source),
        "destination": str(packet.destination),
        "dscp": packet.dscp,
        "ecn": packet.ecn,
        "labels": [{"label": label.label, "tc": label.traffic_class} for label in packet.labels],
        "vlans": [{"vid": tag.vid, "pcp": tag.pcp} for tag in packet.vlans],
        "queue": packet.queue,
    }


def _header(packet: Packet) -> str:
    tags = "".join(f"{each}, " for each in tag_texts(packet))
    return f"{tags}{packet.source} to {packet.destination}, dscp {packet.dscp}, ecn {packet.ecn}"


def _from(hop: Hop, network: ModelNetwork) -> str:
    neighbour = network.wiring.neighbour_at(hop.switch, hop.packet.in_port)
    return " (host)" if neighbour is None else f" (from {neighbour})"


def _towards(hop: Hop, network: ModelNetwork) -> str:
    neighbour = None if hop.out_port is None else network.wiring.neighbour_at(hop.switch, hop.out_port)
    return " (host)" if neighbour is None else f" (to {neighbour})"
