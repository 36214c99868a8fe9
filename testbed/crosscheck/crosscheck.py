"""Compares the model with a real Open vSwitch and the packet model hop by hop: the same tables, failures and packets.

The switches run on the dummy datapath. `ofproto/trace` sends a packet with a given datapath hash through the switch's
own tables, groups and port states, and shows which bucket each group used. The models receive the bucket that the
SELECT group used; everything else must agree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from ipaddress import IPv6Address
from pathlib import Path
from random import Random

from kuijia_app.proof.classes import ORDINARY, conversations
from kuijia_app.proof.model.network import Hop, ModelNetwork
from kuijia_app.proof.model.packet import Label, Packet, VlanTag, with_tag
from kuijia_app.proof.model.switch import GroupStep, popped
from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.identifiers import HOST_TABLE
from kuijia_app.tables.ofctl_text import group_text
from kuijia_app.tables.options import Liveness
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import ETH_TYPE_MPLS, IPV6_EXPLICIT_NULL, LAST_VLAN_ID, TCP, UDP, Group, GroupType
from simulator.planned.table_rows import Headers, LoneSwitch, Sent
from te_solver.model.failures import Failure
from testbed.crosscheck.dummy_switches import DummyBridges, TracedPacket, folder_for_switches, parse_trace
from testbed.crosscheck.random_cases import (
    RandomPlan,
    perhaps_classified,
    random_failure,
    random_packet,
    random_plan,
    random_stray,
)
from testbed.machine.ovs import ControlSocket

FAILURES_PER_PLAN = 8
PACKETS_PER_FAILURE = 10
_SESSION_SHARE = 0.1
"""Share of the packets, where there are BFD sessions."""
_STRAY_SHARE = 0.1
"""Share of the other packets: those that arrive from a neighbour."""
_TAGGED_SHARE = 0.6
"""Share of the packets with a VLAN tag of their own, where sites have such hosts."""
_ALARM_SHARE = 0.2
"""Share of the failures during which every tunnel counts as dead."""


@dataclass(frozen=True, slots=True)
class SeenHop:
    """Treatment of a packet by a switch, real or modelled.

    Attributes:
        groups: the groups used and the position of the bucket each chose; None: none was alive.
        out_port: None: it was dropped, and the rest does not count.
        queue: of the output port.
        tags: VLAN tags and labels of the packet as it left.
        tos: DSCP and ECN bits as it left, unless a label hides them.
        eth_type: of the packet under its labels.
    """

    switch: str
    groups: tuple[tuple[int, int | None], ...]
    out_port: int | None
    queue: int | None
    tags: tuple[VlanTag | Label, ...]
    tos: tuple[int, int]
    eth_type: int

    def __str__(self) -> str:
        groups = " ".join(f"{group_id}[{'-' if position is None else position}]" for group_id, position in self.groups)
        tags = " ".join(map(str, self.tags))
        tos = f"dscp {self.tos[0]}, ecn {self.tos[1]}, {self.eth_type:#06x}"
        sent = f"port {self.out_port}, queue {self.queue}, tags ({tags}), {tos}"
        return f"{self.switch}: groups ({groups}), {'dropped' if self.out_port is None else sent}"


@dataclass
class CrossCheck:
    """Counts of comparisons: `hops` is the number of queries to real switches; `disagreements` are for people."""

    plans: int = 0
    failures: int = 0
    cases: int = 0
    hops: int = 0
    disagreements: list[str] = field(default_factory=list)


def cross_check(
    cases: int,
    seed: int,
    progress: Callable[[CrossCheck], None] | None = None,
    given: RandomPlan | None = None,
) -> CrossCheck:
    """Compare `cases` random (plan, failure, packet) cases, all of the `given` plan if there is one.

    They are reproducible by the seed.

    Raises:
        TestbedError: Open vSwitch is missing, refuses the tables, or gives output that cannot be parsed.
    """
    random = Random(seed)
    found = CrossCheck()
    while found.cases < cases:
        case = given or perhaps_classified(random_plan(random), random)
        found.plans += 1
        with folder_for_switches() as folder, RealNetwork(case, folder) as real:
            for _ in range(cases if given else FAILURES_PER_PLAN):
                failure = random_failure(case.plan, random)
                alarmed = random.random() < _ALARM_SHARE
                real.fail(failure, alarmed=alarmed)
                found.failures += 1
                for _ in range(min(PACKETS_PER_FAILURE, cases - found.cases)):
                    found.cases += 1
                    state = f"{failure.name} down{', every tunnel dead' if alarmed else ''}"
                    where = f"plan {found.plans}, {state}, case {found.cases}"
                    found.disagreements += [f"{where}: {each}" for each in real.compare(random)]
                if progress is not None:
                    progress(found)
                if found.cases >= cases:
                    break
            found.hops += real.hops
    return found


class RealNetwork:
    """A plan's tables in real switches and in the model; both get the same failures and packets."""

    def __init__(self, case: RandomPlan, directory: Path) -> None:
        self.hops = 0
        self._case = case
        self._wiring = case.options.wired(case.plan.topology)
        self._tables = build_tables(case.plan, case.options)
        self._calm, self._alarmed = (
            ModelNetwork(case.plan, self._tables, case.options.liveness, self._wiring, alarmed=alarmed)
            for alarmed in (False, True)
        )
        self._model = self._calm
        self._sessions = tuple(BfdSessions(case.plan)) if case.options.liveness is Liveness.BFD else ()
        self._bridges = DummyBridges(case.plan, directory, _session_ports(self._sessions), wiring=self._wiring)
        sending = filter(self._wiring.has_host, case.plan.topology.nodes)
        self._destinations = {switch: self._wiring.host_addresses(switch) for switch in sending}
        self._port_of = {
            self._bridges.interface(switch, port): port
            for switch in case.plan.topology.nodes
            for port in self._bridges.ports(switch)
        }
        self._groups = {
            (switch, group.group_id): group for switch, tables in self._tables.items() for group in tables.groups
        }
        self._down: frozenset[tuple[str, int]] = frozenset()
        # The packet model's packets have classes, but no ports to classify them by; its sites are alone, without tags.
        ends = [end for switch in self._destinations for end in self._wiring.host_ends(switch)]
        has_sites = len(ends) > len(self._destinations) or any(end.vlan or end.tagged for end in ends)
        simulated = {} if has_sites or case.options.layout.classifiers.are_used else self._tables
        self._simulated = {switch: LoneSwitch(tables) for switch, tables in simulated.items()}
        self._set_simulated_ports(self._model.dead_ports, self._down)

    def __enter__(self) -> RealNetwork:
        self._bridges.start()
        try:
            self._bridges.install(self._tables)
            self._control = ControlSocket(self._bridges.ovs.switch_control)
        except BaseException:
            self._bridges.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._control.__exit__(None, None, None)
        self._bridges.stop()

    def fail(self, failure: Failure, *, alarmed: bool = False) -> None:
        """Set ports down and up, and empty and fill liveness groups, as the model has them after the failure.

        In an alarm every tunnel counts as dead, too.
        """
        self._model = self._alarmed if alarmed else self._calm
        self._model.fail(failure)
        down = self._model.dead_ports
        for switch, port in sorted(self._down ^ down):
            state = "down" if (switch, port) in down else "up"
            self._control.command("netdev-dummy/set-admin-state", self._bridges.interface(switch, port), state)
        self._set_simulated_ports(down, self._down)
        self._down = down
        for (switch, group_id), installed in self._groups.items():
            wanted = self._model.switch(switch).groups[group_id]
            if wanted != installed:
                self._modify(switch, wanted)
        self._bridges.settle()

    def compare(self, random: Random) -> Iterator[str]:
        """Send a random packet through both and yield where they disagree."""
        switch, packet, dp_hash = self._packet(random)
        real = self.real_way(switch, packet, dp_hash)
        model = self._model.walk(switch, replace(packet, slot=self._slot(real)))
        yield from self._of_packet_model(model.hops)
        expected = [_seen(hop) for hop in model.hops]
        if real != expected:
            for one, other in zip(real, expected, strict=False):
                if one != other:
                    yield f"the switch says {one}, the model {other}"
                    return
            yield f"the switch says {len(real)} hops, the model {len(expected)}"

    def real_way(self, switch: str, packet: Packet, dp_hash: int) -> list[SeenHop]:
        """Return a packet's way through the real switches until it leaves them, is dropped or meets a dead link."""
        way: list[SeenHop] = []
        while len(way) <= 2 * len(self._destinations):
            described = _described(packet, dp_hash if not way else 0)
            self.hops += 1
            bridge = self._bridges.bridge(switch)
            traced = parse_trace(self._control.command("ofproto/trace", bridge, *described, "--names"))
            if traced.is_read_again:
                packet = _after(packet, traced)
                traced = self._resumed(bridge, packet, traced)
            out_port = None if traced.interface is None else self._port_of[traced.interface]
            packet = _after(packet, traced)
            way.append(_hop(switch, traced.groups, out_port, traced.queue, packet))
            if out_port is None or (switch, out_port) in self._down:
                break
            neighbour = self._wiring.neighbour_at(switch, out_port)
            if neighbour is None:
                break
            packet = replace(packet, in_port=self._wiring.port(neighbour, switch))
            switch = neighbour
        return way

    def _resumed(self, bridge: str, packet: Packet, before: TracedPacket) -> TracedPacket:
        """Return what the table of hosts does with a packet that has left its tunnel at a switch."""
        actions = f"set_queue:{before.queue},resubmit(,{HOST_TABLE})"
        described = _described(packet, 0)
        self.hops += 1
        return parse_trace(self._control.command("ofproto/trace-packet-out", "--names", bridge, *described, actions))

    def _of_packet_model(self, hops: Iterable[Hop]) -> Iterator[str]:
        """Yield where the packet model's switches treat the packets of these hops otherwise."""
        for hop in hops if self._simulated else ():
            if isinstance(hop.packet.destination, IPv6Address):
                continue  # its hosts send none
            left = self._simulated[hop.switch].treat(hop.packet.in_port, _headers(hop.packet), hop.packet.slot)
            port, sent = hop.out_port, hop.sent
            expected = None if port is None or sent is None else Sent(port, sent.queue, _headers(sent))
            if left != expected:
                yield f"{hop.switch}: the packet model sends {left}, the model {expected}"

    def _set_simulated_ports(self, down: frozenset[tuple[str, int]], before: frozenset[tuple[str, int]]) -> None:
        for switch, port in down ^ before if self._simulated else ():
            self._simulated[switch].set_port(port, live=(switch, port) not in down)

    def _slot(self, way: list[SeenHop]) -> int:
        """Return the real switch's hash choice: the position of the bucket that its SELECT group used."""
        for hop in way:
            for group_id, position in hop.groups:
                group = self._groups.get((hop.switch, group_id))
                if group is not None and group.group_type is GroupType.SELECT and position is not None:
                    return position
        return 0

    def _packet(self, random: Random) -> tuple[str, Packet, int]:
        if self._sessions and random.random() < _SESSION_SHARE:
            session = random.choice(self._sessions)
            end = random.choice((session.nodes[0], session.nodes[-1]))
            return end, self._model.session_packet(session), 1
        if random.random() < _STRAY_SHARE:
            stray = random_stray(self._case, random)
            anywhere = random.choice([each for addresses in self._destinations.values() for each in addresses])
            packet = Packet.between(stray.in_port, anywhere, anywhere, stray.dscp, stray.ecn)
            if isinstance(stray.tag, Label) and isinstance(anywhere, IPv6Address):
                packet = with_tag(packet, Label(IPV6_EXPLICIT_NULL, 0))
            return stray.switch, with_tag(packet, stray.tag), 1
        drawn = random_packet(self._case, self._destinations, random)
        site = random.choice(self._wiring.host_ends(drawn.source))
        packet = self._model.host_packet(site, drawn.destination, drawn.dscp, drawn.ecn)
        if site.tagged and random.random() < _TAGGED_SHARE:
            packet = with_tag(packet, VlanTag(random.randint(1, LAST_VLAN_ID), random.randrange(8)))
        talk = random.choice(conversations(self._case.options.layout, ())) if not self._simulated else ORDINARY
        return drawn.source, talk.of(packet), drawn.dp_hash

    def _modify(self, switch: str, group: Group) -> None:
        self._bridges.ovs.ofctl("mod-group", self._bridges.bridge(switch), group_text(group))
        if self._simulated:
            self._simulated[switch].replace_groups([group])
        self._groups[switch, group.group_id] = group


def _session_ports(sessions: tuple[BfdSession, ...]) -> dict[str, list[int]]:
    ports: dict[str, list[int]] = {}
    for session in sessions:
        for end in (session.nodes[0], session.nodes[-1]):
            ports.setdefault(end, []).extend((session.watched_port, session.inner_port))
    return ports


def _tags(packet: Packet) -> tuple[VlanTag | Label, ...]:
    return (*packet.vlans, *packet.labels)


def _headers(packet: Packet) -> Headers:
    labels = tuple((label.label, label.traffic_class) for label in packet.labels)
    labels += tuple((tag.vid, tag.pcp) for tag in packet.vlans)  # the packet model's labels; never both
    return Headers(int(packet.destination), packet.dscp, packet.ecn, labels)


def _described(packet: Packet, dp_hash: int) -> list[str]:
    """Return the packet as `ofproto/trace` takes it: as a flow of ovs-fields(7), or, under two tags, its bytes, too.

    Under a label the switch cannot see the rest.
    """
    fields = [f"in_port={packet.in_port}"]
    if dp_hash:
        fields.append(f"dp_hash={dp_hash:#x}")
    if len(packet.labels) > 1 or len(packet.vlans) > 1:
        return [",".join(fields), _frame(packet).hex()]
    fields += [f"dl_vlan={tag.vid},dl_vlan_pcp={tag.pcp}" for tag in packet.vlans]
    is_ipv6 = isinstance(packet.destination, IPv6Address)
    if packet.labels:
        top = packet.labels[0]
        fields += ["mpls", f"mpls_label={top.label}", f"mpls_tc={top.traffic_class}", "mpls_bos=1", "mpls_ttl=64"]
    else:
        transport, prefix = packet.transport, "ipv6" if is_ipv6 else "nw"
        name = {TCP: "tcp", UDP: "udp"}.get(transport.protocol)
        version = "6" if is_ipv6 else ""
        fields += [f"{name}{version}" if name else f"ip{'v6' if is_ipv6 else ''},nw_proto={transport.protocol}"]
        fields += [f"{prefix}_src={packet.source}", f"{prefix}_dst={packet.destination}"]
        fields += ["nw_ttl=64", f"nw_tos={packet.dscp << 2}", f"nw_ecn={packet.ecn}"]
        if name is not None:
            fields += [f"{name}_src={transport.source_port}", f"{name}_dst={transport.destination_port}"]
    return [",".join(fields)]


def _frame(packet: Packet) -> bytes:
    """Return the frame of a packet; under labels there is nothing of interest."""
    last = len(packet.labels) - 1
    stack = b"".join(
        (each.label << 12 | each.traffic_class << 9 | (position == last) << 8 | 64).to_bytes(4, "big")
        for position, each in enumerate(packet.labels)
    )
    tags = b"".join(struct.pack("!HH", each.eth_type, each.pcp << 13 | each.vid) for each in packet.vlans)
    eth_type = ETH_TYPE_MPLS if stack else packet.eth_type
    return bytes(12) + tags + eth_type.to_bytes(2, "big") + (stack + bytes(40) if stack else _ip(packet))


def _ip(packet: Packet) -> bytes:
    transport, tos = packet.transport, packet.dscp << 2 | packet.ecn
    payload = struct.pack("!HH8xB", transport.source_port, transport.destination_port, 0x50) + bytes(7)
    ends = packet.source.packed + packet.destination.packed
    if isinstance(packet.destination, IPv6Address):
        return struct.pack("!IHBB", 6 << 28 | tos << 20, len(payload), transport.protocol, 64) + ends + payload
    return struct.pack("!BBHIBBH", 0x45, tos, 20 + len(payload), 0, 64, transport.protocol, 0) + ends + payload


def _after(packet: Packet, traced: TracedPacket) -> Packet:
    for eth_type in traced.popped:
        packet = popped(packet, eth_type)
    labels = packet.labels
    for pushed in traced.pushed:
        labels = (Label(*pushed), *labels)
    vlans = (*traced.vlans_pushed, *packet.vlans[traced.vlans_popped :])
    tos = packet.dscp << 2 | packet.ecn if traced.tos is None else traced.tos
    return replace(packet, labels=labels, vlans=vlans, dscp=tos >> 2, ecn=tos & 3)


def _seen(hop: Hop) -> SeenHop:
    """Return the model's treatment of a packet in the same form."""
    groups = tuple((step.group.group_id, step.position) for step in hop.forwarding.steps if isinstance(step, GroupStep))
    sent = hop.sent or hop.packet
    return _hop(hop.switch, groups, hop.out_port, sent.queue, sent)


def _hop(
    switch: str, groups: tuple[tuple[int, int | None], ...], out_port: int | None, queue: int | None, left: Packet
) -> SeenHop:
    """Return a treatment; of a dropped packet, a switch may have removed the tag of a trunk before."""
    if out_port is None:
        return SeenHop(switch, groups, None, None, (), (0, 0), 0)
    return SeenHop(switch, groups, out_port, queue, _tags(left), (left.dscp, left.ecn), left.eth_type)
