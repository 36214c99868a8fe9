"""Model switches joined by the links of a plan: failures, their detection, and the way of a packet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from ipaddress import IPv4Address

from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.control.restoration import Layer, Restoration, Situation, carried_at_once
from kuijia_app.proof.model.packet import Packet, VlanTag, with_tag
from kuijia_app.proof.model.switch import BucketChoice, Fact, FactSubject, ModelForwarding, ModelSwitch
from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.failover import emptied_liveness_group
from kuijia_app.tables.families import Address
from kuijia_app.tables.identifiers import egress_of_last_resort, path_id_of_liveness_group
from kuijia_app.tables.options import Liveness
from kuijia_app.tables.pipeline import liveness_group
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.wiring import HostEnd, Wiring
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan

Port = tuple[str, int]
"""A switch and the number of one of its ports."""

_BFD_SOURCE, _BFD_DESTINATION, _BFD_DSCP = IPv4Address("169.254.1.0"), IPv4Address("169.254.1.1"), 48
"""Header values of Open vSwitch's BFD packets (ovs-vswitchd.conf.db(5), Interface: bfd)."""


class End(Enum):
    """End of a packet's way."""

    LEFT = "left"
    """It left the network by a port that leads to no switch."""
    DROPPED = "dropped"
    """A switch did not forward it."""
    LOST = "lost"
    """It was sent into a link that is down."""
    LOOPED = "looped"
    """It reached the same port with the same headers again."""
    COPIED = "copied"
    """A switch sent it out of several ports."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One switch of the way: the arriving packet, its treatment, and the packet as it left, None if it did not."""

    switch: str
    packet: Packet
    forwarding: ModelForwarding
    out_port: int | None
    sent: Packet | None


@dataclass(slots=True)
class Walk:
    """The way of one packet through the network.

    Attributes:
        hops: switch by switch.
        end: end of the way.
        asked: state of switches and links that it depends on.
        choices: choices of SELECT groups, in order.
    """

    hops: list[Hop] = field(default_factory=list)
    end: End = End.DROPPED
    asked: set[Fact] = field(default_factory=set)
    choices: list[BucketChoice] = field(default_factory=list)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(hop.switch for hop in self.hops)

    @property
    def queues(self) -> tuple[int | None, ...]:
        """Queue at every hop."""
        return tuple(None if hop.sent is None else hop.sent.queue for hop in self.hops)

    @property
    def delivered_to(self) -> Port | None:
        """Switch and port by which it left the network."""
        last = self.hops[-1]
        return (last.switch, last.out_port) if self.end is End.LEFT and last.out_port is not None else None


class ModelNetwork:
    """The switches of a plan with given tables, the ports between them, and their reaction to failures.

    Under `Liveness.CONTROLLER` the controller reacts in the instant of the failure: it empties the liveness groups of
    broken tunnels. Under `Liveness.BFD` the watched ports of a session are alive while its packets get through in both
    directions; BFD packets are not modelled one by one.
    """

    def __init__(
        self,
        plan: Plan,
        tables: Mapping[str, SwitchTables],
        liveness: Liveness,
        wiring: Wiring | None = None,
        *,
        alarmed: bool = False,
        restoration: Restoration | None = None,
    ) -> None:
        """Create the network as planned; `wiring` numbers its ports, by the plan's topology if it is None.

        An alarmed one takes every tunnel for dead, whatever its links do: each liveness group is empty, each session
        is down. With a restoration, pairs without a live tunnel are carried as by the controller.
        """
        self.wiring = wiring or Wiring(plan.topology)
        self.failure = Failure("none")
        self._dead_ports: frozenset[Port] = frozenset()
        self._switches = {
            name: ModelSwitch(name, tables[name], partial(self._is_live_at, name)) for name in plan.topology.nodes
        }
        self._far_end: dict[Port, Port] = {}
        for name, neighbours in plan.topology.neighbours.items():
            for neighbour in neighbours:
                self._far_end[name, self.wiring.port(name, neighbour)] = (neighbour, self.wiring.port(neighbour, name))
        if alarmed:
            self._empty_liveness_groups()
        self._original = {name: dict(switch.groups) for name, switch in self._switches.items()}
        self._modified: dict[tuple[str, int], None] = {}
        reacts = liveness is Liveness.CONTROLLER and not alarmed
        self._tracker = LivenessTracker(plan, self.wiring) if reacts else None
        self._first_port = {
            (direction.ingress, route.path_id): self.wiring.port(direction.ingress, route.next_hop)
            for direction in directions(plan)
            for route in direction.routes
        }
        self._restoration = restoration
        self._tables = {name: IndexedTables.of(tables[name]) for name in plan.topology.nodes}
        self._ports = LivenessTracker(plan, self.wiring)
        for name in plan.topology.nodes:
            self._ports.ports_described(name, dict.fromkeys(self.wiring.link_ports(name), True))
        self._on_top: set[str] = set()
        sessions = BfdSessions(plan) if liveness is Liveness.BFD else ()
        self._unharmed = {
            session: (False, set[Fact]()) if alarmed else self._session_walks(session) for session in sessions
        }
        self._dead_ports = self._with_dead_sessions(frozenset())

    def is_live(self, port: Port) -> bool:
        return port not in self._dead_ports

    def _is_live_at(self, switch: str, port: int) -> bool:
        return (switch, port) not in self._dead_ports

    @property
    def dead_ports(self) -> frozenset[Port]:
        return self._dead_ports

    @property
    def changed(self) -> frozenset[Fact]:
        """All state that differs from the network without failures."""
        ports = {Fact(switch, FactSubject.PORT, port) for switch, port in self._dead_ports}
        return frozenset(ports | {Fact(switch, FactSubject.GROUP, group_id) for switch, group_id in self._modified})

    def switch(self, name: str) -> ModelSwitch:
        return self._switches[name]

    def fail(self, failure: Failure) -> None:
        """Apply this failure instead of the previous one; `NO_FAILURE` heals it.

        Raises:
            UnsoundError: the topology has no such edge or node.
        """
        failure.require_part_of(self.wiring.topology)
        down = self._down_ports(failure)
        before = self._down_ports(self.failure)
        if self._tracker is not None:
            for switch, port in sorted(before ^ down):
                if switch not in failure.nodes:
                    self._react(self._tracker.port_changed(switch, port, live=(switch, port) not in down))
        if self._restoration is not None:
            self._carry_pairs(self._restoration, failure, before, down)
        self.failure = failure
        self._dead_ports = down
        self._dead_ports = self._with_dead_sessions(down)

    @property
    def carried(self) -> Mapping[tuple[str, str], tuple[str, ...]]:
        """The paths of pairs, as ingress and egress, that are carried without a live tunnel."""
        return {} if self._restoration is None else self._restoration.carried

    def walk(self, switch: str, packet: Packet) -> Walk:
        """Follow a packet from the switch it enters until it leaves the network or ends otherwise."""
        walk = Walk()
        seen: set[object] = set()
        while True:
            state = (switch, packet.in_port, packet.header)
            if state in seen:
                walk.end = End.LOOPED
                return walk
            seen.add(state)
            forwarding = self._switches[switch].process(packet)
            walk.asked |= forwarding.asked
            walk.choices += forwarding.choices
            if len(forwarding.sent) != 1:
                walk.hops.append(Hop(switch, packet, forwarding, None, None))
                walk.end = End.COPIED if forwarding.sent else End.DROPPED
                return walk
            ((out_port, sent),) = forwarding.sent
            walk.hops.append(Hop(switch, packet, forwarding, out_port, sent))
            far_end = self._far_end.get((switch, out_port))
            if far_end is None:
                walk.end = End.LEFT
                return walk
            walk.asked.add(Fact(switch, FactSubject.PORT, out_port))
            if not self.is_live((switch, out_port)):
                walk.end = End.LOST
                return walk
            switch, in_port = far_end
            packet = replace(sent, in_port=in_port, queue=None)

    @staticmethod
    def host_packet(site: HostEnd, target: Address, dscp: int = 0, ecn: int = 0, *, slot: int = 0) -> Packet:
        """Return a packet of a site's host as it comes to the ingress: in the site's VLAN, if it has one."""
        packet = Packet.between(site.port, site.source_for(target), target, dscp, ecn, slot=slot)
        return with_tag(packet, None if site.vlan is None else VlanTag(site.vlan, 0))

    def session_packet(self, session: BfdSession) -> Packet:
        """Return a session's packet, as sent at either end."""
        return Packet(session.inner_port, _BFD_SOURCE, _BFD_DESTINATION, _BFD_DSCP)

    @property
    def sessions(self) -> tuple[BfdSession, ...]:
        """BFD sessions, none if the controller watches the tunnels."""
        return tuple(self._unharmed)

    def session_ways(self, session: BfdSession) -> Iterator[tuple[str, Walk]]:
        """Yield the target switch and the way of the session's packets for both directions."""
        one, other = session.nodes[0], session.nodes[-1]
        for near, far in ((one, other), (other, one)):
            yield far, self.walk(near, self.session_packet(session))

    def _down_ports(self, failure: Failure) -> frozenset[Port]:
        """Return the link ports without carrier, including those of a failed node."""
        lost = {frozenset(edge) for edge in failure.edges}
        return frozenset(
            port
            for port, far_end in self._far_end.items()
            if frozenset((port[0], far_end[0])) in lost or not {port[0], far_end[0]}.isdisjoint(failure.nodes)
        )

    def _carry_pairs(
        self, restoration: Restoration, failure: Failure, before: frozenset[Port], down: frozenset[Port]
    ) -> None:
        """Do as the controller does for pairs without a live tunnel, once all switches have acknowledged it."""
        for switch, port in before ^ down:
            self._ports.port_changed(switch, port, live=(switch, port) not in down)
        for switch in self._on_top:
            self._put_on_top(switch, Layer({}, {}))
        failed = self._ports.failed_edges
        stranded = self._ports.stranded() | restoration.others_stranded(failed)
        reached = frozenset(ends for ends in stranded if set(failure.nodes).isdisjoint(ends))
        running = [name for name in self._switches if name not in failure.nodes]
        situation = Situation(reached, failed, frozenset(), is_complete=True)
        layers = carried_at_once(restoration, situation, running, self._tables.__getitem__)
        for switch, layer in layers.items():
            self._put_on_top(switch, layer)
        self._on_top = set(layers)

    def _put_on_top(self, switch: str, layer: Layer) -> None:
        """Put entries and groups on a switch in the place of those of an earlier layer."""
        its, original = self._switches[switch], self._original[switch]
        its.replace_flows((*self._tables[switch].flows, *layer.entries.values()))
        for group_id in filter(egress_of_last_resort, original):
            group = layer.groups.get(group_id) or original[group_id]
            its.modify_group(group)
            if group is original[group_id]:
                self._modified.pop((switch, group_id), None)
            else:
                self._modified[switch, group_id] = None

    def _react(self, changes: Iterable[LivenessChange]) -> None:
        """Do as the controller does: empty and fill liveness groups."""
        for change in changes:
            port = self._first_port[change.ingress, change.path_id]
            group = liveness_group(change.path_id, port, alive=change.alive)
            switch = self._switches[change.ingress]
            if group.group_id not in switch.groups:
                continue  # the switch refuses it
            switch.modify_group(group)
            where = (change.ingress, group.group_id)
            if self._original[change.ingress][group.group_id] == group:
                self._modified.pop(where, None)
            else:
                self._modified[where] = None

    def _empty_liveness_groups(self) -> None:
        for switch in self._switches.values():
            for path_id in filter(None, map(path_id_of_liveness_group, switch.groups)):
                switch.modify_group(emptied_liveness_group(path_id))

    def _with_dead_sessions(self, down: frozenset[Port]) -> frozenset[Port]:
        """Return `down`, and both watched ports of each session that does not get through."""
        changed = {Fact(switch, FactSubject.PORT, port) for switch, port in down}
        dead = set(down)
        for session, (worked, asked) in self._unharmed.items():
            works = worked if changed.isdisjoint(asked) else self._session_walks(session)[0]
            if not works:
                dead.update((end, session.watched_port) for end in (session.nodes[0], session.nodes[-1]))
        return frozenset(dead)

    def _session_walks(self, session: BfdSession) -> tuple[bool, set[Fact]]:
        """Return whether the session's packets get through in both directions, and the state that this depends on."""
        works, asked = True, set[Fact]()
        for far, walk in self.session_ways(session):
            works = works and arrives(walk, far, session)
            asked |= walk.asked
        return works, asked


def arrives(walk: Walk, far: str, session: BfdSession) -> bool:
    """Return True if a session's packet reaches the session at this end, without any tag."""
    last = walk.hops[-1].sent
    return walk.delivered_to == (far, session.inner_port) and last is not None and not (last.labels or last.vlans)
