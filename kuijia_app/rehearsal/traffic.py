"""Promise to pairs that no fault touches: whatever else happens, their packets arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise

from kuijia_app.proof.model.packet import Packet
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.rehearsal.plans import OPTIONS
from kuijia_app.rehearsal.switch import SimulatedSwitch, ViolationError
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import GroupType
from te_solver.plan import Plan

Ends = tuple[str, str]


class Traffic:
    """Packets of all pairs, in both directions.

    Attributes:
        affected: the ends of pairs that a fault has touched: they may lose packets until all is calm again.
    """

    def __init__(self, plans: Iterable[Plan], switches: Mapping[str, SimulatedSwitch]) -> None:
        plans = tuple(plans)
        self._wiring = OPTIONS.wired(plans[0].topology)
        self._switches = switches
        self._models: dict[str, ModelSwitch] = {}
        self._crossing: dict[Ends, frozenset[str]] = {}
        self._links: dict[Ends, frozenset[tuple[str, int]]] = {}
        self.affected: set[Ends] = set()
        for plan in plans:
            for direction in directions(plan):
                nodes = frozenset(node for route in direction.routes for node in route.nodes)
                hops = [hop for route in direction.routes for hop in pairwise(route.nodes)]
                ports = {(a, self._wiring.port(a, b)) for hop in hops for a, b in (hop, hop[::-1])}
                self._crossing[direction.ends] = self._crossing.get(direction.ends, frozenset()) | nodes
                self._links[direction.ends] = self._links.get(direction.ends, frozenset()) | ports

    def changed(self, switch: str) -> None:
        """Take in that the tables of a switch have changed; check the pairs over it that no fault has touched."""
        self._models.pop(switch, None)
        for ends, nodes in self._crossing.items():
            if switch in nodes and ends not in self.affected:
                self.require(ends)

    def switch_hit(self, switch: str) -> None:
        """Exempt the pairs over a switch that has lost its tables, or refuses some."""
        self.affected.update(ends for ends, nodes in self._crossing.items() if switch in nodes)

    def port_hit(self, switch: str, port: int) -> None:
        """Exempt the pairs over a port that goes down or comes up."""
        self.affected.update(ends for ends, ports in self._links.items() if (switch, port) in ports)

    def all_hit(self) -> None:
        self.affected.update(self._crossing)

    def require_all(self, plan: Plan) -> None:
        """Check all pairs that have a live tunnel in this plan; from now on only the others are exempt."""
        alive = {
            direction.ends
            for direction in directions(plan)
            if any(self._is_up(route.nodes) for route in direction.routes)
        }
        self.affected = set(self._crossing) - alive
        for ends in sorted(alive):
            self.require(ends)

    def require(self, ends: Ends) -> None:
        """Check that a packet of each slot of a pair arrives; raises ViolationError."""
        ingress, egress = ends
        wiring = self._wiring
        entering = Packet(wiring.host_port(ingress), wiring.host_address(ingress), wiring.host_address(egress))
        for slot in self._slots(ingress, entering):
            where, packet = ingress, replace(entering, slot=slot)
            for _ in wiring.topology.nodes:
                done = self._model(where).process(packet)
                if len(done.sent) != 1:
                    words = done.problem or f"sends {len(done.sent)} packets"
                    raise ViolationError(f"a packet from {ingress} to {egress} is lost: {where}: {words}")
                ((port, packet),) = done.sent
                neighbour = wiring.neighbour_at(where, port)
                if neighbour is None:
                    break
                if not self._is_up((where, neighbour)):
                    raise ViolationError(f"a packet from {ingress} to {egress} is sent into a dead link at {where}")
                where, packet = neighbour, replace(packet, in_port=wiring.port(neighbour, where), queue=None)
            if where != egress:
                raise ViolationError(f"a packet from {ingress} to {egress} leaves at {where}")

    def _slots(self, ingress: str, packet: Packet) -> list[int]:
        """Return one slot for each different bucket of the pair's SELECT group."""
        choices = self._model(ingress).process(packet).choices
        if not choices:
            return [0]
        group = choices[0].group
        assert group.group_type is GroupType.SELECT
        return list({bucket: slot for slot, bucket in enumerate(group.buckets)}.values())

    def _model(self, name: str) -> ModelSwitch:
        if name not in self._models:
            switch = self._switches[name]
            self._models[name] = ModelSwitch(name, switch.tables, partial(self._is_live, switch))
        return self._models[name]

    @staticmethod
    def _is_live(switch: SimulatedSwitch, port: int) -> bool:
        return switch.ports.get(port, False)

    def _is_up(self, nodes: tuple[str, ...]) -> bool:
        """Return True if all links of a way are up at both ends."""
        hops = [hop for pair in pairwise(nodes) for hop in (pair, pair[::-1])]
        return all(self._switches[a].ports[self._wiring.port(a, b)] for a, b in hops)
