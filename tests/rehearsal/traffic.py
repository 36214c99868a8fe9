"""Promises to pairs: packets of those that no fault touches arrive, and what works once faults are over goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise

from kuijia_app.proof.model.packet import Packet
from kuijia_app.proof.model.switch import ModelForwarding, ModelSwitch
from kuijia_app.tables.identifiers import FIRST_BFD_PORT
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import GroupType
from te_solver.model.connectivity import Reachability
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from tests.rehearsal.switch import SimulatedSwitch, ViolationError
from tests.rehearsal.timeline import SimulatedTime

Ends = tuple[str, str]
Underway = tuple[str, Packet]
"""The second switch of a packet's way, and the packet as it comes there."""

_IN_FLIGHT = 1.0
"""Seconds for which packets of an earlier plan may be on their way: queues hold them, and ingresses change late."""

_OLD_NEWS = 1.5
"""Seconds after a fault in which a controller may still act by what it has heard before."""


class RehearsedTraffic:
    """Packets of all pairs, in both directions.

    Attributes:
        affected: the ends of pairs that a fault has touched: they may lose packets until all is calm again.
        is_news_late: returns True if a controller takes a switch for connected that is not.
    """

    def __init__(
        self,
        plans: Iterable[Plan],
        options: PipelineOptions,
        switches: Mapping[str, SimulatedSwitch],
        is_session_up: Callable[[str, int], bool],
        time: SimulatedTime,
    ) -> None:
        plans = tuple(plans)
        self._wiring = options.wired(plans[0].topology)
        self._switches = switches
        self._is_session_up = is_session_up
        self._time = time
        self._models: dict[str, ModelSwitch] = {}
        self._done: dict[str, dict[Packet, ModelForwarding]] = {}
        self._crossing: dict[Ends, frozenset[str]] = {}
        self._links: dict[Ends, frozenset[tuple[str, int]]] = {}
        self._ways: dict[Ends, list[list[tuple[str, ...]]]] = {}
        self._current: dict[Ends, set[Underway]] = {}
        self._in_flight: dict[Ends, dict[Underway, float]] = {}
        self.affected: set[Ends] = set()
        self.is_news_late: Callable[[], bool] = lambda: False
        self._works_again: set[Ends] = set()
        self._settled_at = math.inf
        for plan in plans:
            for direction in directions(plan):
                self._ways.setdefault(direction.ends, []).append([route.nodes for route in direction.routes])
                nodes = frozenset(node for route in direction.routes for node in route.nodes)
                hops = [hop for route in direction.routes for hop in pairwise(route.nodes)]
                ports = {(a, self._wiring.port(a, b)) for hop in hops for a, b in (hop, hop[::-1])}
                self._crossing[direction.ends] = self._crossing.get(direction.ends, frozenset()) | nodes
                self._links[direction.ends] = self._links.get(direction.ends, frozenset()) | ports

    def changed(self, switch: str) -> None:
        """Take in that the tables of a switch have changed; check the pairs over it.

        One that a fault has touched may be broken until a change mends it. Once the controller has had time to hear of
        all faults, no change may break it again.
        """
        self._models.pop(switch, None)
        self._done.pop(switch, None)
        for ends, nodes in self._crossing.items():
            if switch not in nodes:
                continue
            if ends in self.affected:
                self._require_no_relapse(ends)
            else:
                in_flight = self._in_flight.setdefault(ends, {})
                in_flight.update(dict.fromkeys(self._current.get(ends, ()), self._time.now))
                self.require(ends)
                self._require_arrival(ends, in_flight)

    def _require_no_relapse(self, ends: Ends) -> None:
        """Check a pair that a fault has touched: if it has worked since the controller knows all, it still does."""
        if self.is_news_late():
            self.disturbed(0.0)
        if self._time.now < self._settled_at:
            return
        try:
            self.require(ends)
        except ViolationError:
            if ends in self._works_again and all(any(map(self._is_up, ways)) for ways in self._ways[ends]):
                raise
        else:
            self._works_again.add(ends)

    def disturbed(self, seconds: float) -> None:
        """Take in a fault, or its end, of this length: news of it may come late, and of others meanwhile."""
        until = self._time.now + seconds + _OLD_NEWS
        self._settled_at = until if math.isinf(self._settled_at) else max(self._settled_at, until)
        self._works_again.clear()

    def _hit(self, pairs: Iterable[Ends]) -> None:
        hit = set(pairs)
        self.affected |= hit
        self._works_again -= hit

    def switch_hit(self, switch: str) -> None:
        """Exempt the pairs over a switch that has lost its tables, or refuses some."""
        self._hit(ends for ends, nodes in self._crossing.items() if switch in nodes)

    def port_hit(self, switch: str, port: int) -> None:
        """Exempt the pairs over a port that goes down or comes up."""
        self.ports_changed()
        self._hit(ends for ends, ports in self._links.items() if (switch, port) in ports)

    def alarmed(self, switch: str) -> None:
        """Exempt the pairs over a switch that loses sessions by an alarm, unless all their links are up.

        The last resort of a pair does not know which of its tunnels is broken beyond the first link.
        """
        up = {(name, port) for name, each in self._switches.items() for port, live in each.ports.items() if live}
        self._hit(ends for ends, nodes in self._crossing.items() if switch in nodes and not self._links[ends] <= up)

    def ports_changed(self) -> None:
        """Take in that the liveness of a port, or of a session, has changed."""
        self._done.clear()

    def all_hit(self) -> None:
        self._hit(self._crossing)

    def require_all(self, plan: Plan) -> None:
        """Check all pairs of this plan that live links connect; from now on only the others are exempt."""
        alive = self.connected(plan)
        self.affected = set(self._crossing) - alive
        self._in_flight.clear()
        for ends in sorted(alive):
            self.require(ends)

    def connected(self, plan: Plan) -> frozenset[Ends]:
        """Return the pairs of a plan, in both directions, that live links connect."""
        topology = self._wiring.topology
        links = tuple(link for link in topology.links if self._is_up(link.ends))
        live = Reachability(Topology(topology.name, topology.nodes, links))
        return frozenset(each.ends for each in directions(plan) if live.connects(*each.ends))

    def arrives(self, ends: Ends) -> bool:
        """Return True if a packet of each slot of a pair arrives."""
        try:
            self.require(ends)
        except ViolationError:
            return False
        return True

    def require(self, ends: Ends) -> None:
        """Check that a packet of each slot of a pair arrives; raises ViolationError."""
        ingress, egress = ends
        wiring = self._wiring
        target = wiring.host_address(egress)
        entering = Packet.between(wiring.host_port(ingress), wiring.host_ends(ingress)[0].source_for(target), target)
        current = self._current[ends] = set()
        for slot in self._slots(ingress, entering):
            underway = self._step(ends, ingress, replace(entering, slot=slot))
            if underway is not None:
                current.add(underway)
                self._follow(ends, underway)
            elif ingress != egress:
                raise ViolationError(f"a packet from {ingress} to {egress} leaves at {ingress}")

    def _require_arrival(self, ends: Ends, in_flight: dict[Underway, float]) -> None:
        """Check that packets that were sent before the last changes still arrive."""
        for underway, at in list(in_flight.items()):
            if self._time.now - at > _IN_FLIGHT:
                del in_flight[underway]
            elif underway not in self._current[ends]:
                self._follow(ends, underway)

    def _follow(self, ends: Ends, underway: Underway) -> None:
        found: Underway | None = underway
        where = underway[0]
        for _ in self._wiring.topology.nodes:
            if found is None:
                break
            where = found[0]
            found = self._step(ends, *found)
        if found is not None or where != ends[1]:
            raise ViolationError(f"a packet from {ends[0]} to {ends[1]} leaves at {where}")

    def _step(self, ends: Ends, where: str, packet: Packet) -> Underway | None:
        """Return the next switch and the packet as it comes there, None if it leaves the network."""
        done = self._process(where, packet)
        if len(done.sent) != 1:
            words = done.problem or f"sends {len(done.sent)} packets"
            raise ViolationError(f"a packet from {ends[0]} to {ends[1]} is lost: {where}: {words}")
        ((port, sent),) = done.sent
        neighbour = self._wiring.neighbour_at(where, port)
        if neighbour is None:
            return None
        if not self._is_up((where, neighbour)):
            raise ViolationError(f"a packet from {ends[0]} to {ends[1]} is sent into a dead link at {where}")
        return neighbour, replace(sent, in_port=self._wiring.port(neighbour, where), queue=None)

    def _slots(self, ingress: str, packet: Packet) -> list[int]:
        """Return one slot for each different bucket of the pair's SELECT group."""
        choices = self._process(ingress, packet).choices
        if not choices:
            return [0]
        group = choices[0].group
        assert group.group_type is GroupType.SELECT
        return list({bucket: slot for slot, bucket in enumerate(group.buckets)}.values())

    def sent(self, where: str, packet: Packet) -> list[tuple[int, Packet]]:
        """Return what a switch sends for a packet, with the ports."""
        return self._process(where, packet).sent

    def _process(self, where: str, packet: Packet) -> ModelForwarding:
        """Return what a switch does with a packet, looked up once as long as nothing changes."""
        done = self._done.setdefault(where, {})
        found = done.get(packet)
        if found is None:
            model = self._models.get(where)
            if model is None:
                switch = self._switches[where]
                model = self._models[where] = ModelSwitch(where, switch.tables, partial(self._is_live, switch))
            found = done[packet] = model.process(packet)
        return found

    def _is_live(self, switch: SimulatedSwitch, port: int) -> bool:
        return self._is_session_up(switch.name, port) if port >= FIRST_BFD_PORT else switch.ports.get(port, False)

    def _is_up(self, nodes: tuple[str, ...]) -> bool:
        """Return True if all links of a way are up at both ends."""
        hops = [hop for pair in pairwise(nodes) for hop in (pair, pair[::-1])]
        return all(self._switches[a].ports[self._wiring.port(a, b)] for a, b in hops)
