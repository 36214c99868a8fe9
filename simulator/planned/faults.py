"""Failures of cables and switches in a run, and who sees them: packets at once, switches beside them a moment later."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kuijia_app.tables.wiring import Wiring
from kuijia_base.errors import UnsoundError, quoted
from simulator.packet.simulation import Simulation
from simulator.planned.bfd import BfdWatch
from simulator.planned.controller import SimulatedController
from simulator.planned.events import Cut, CutNode, Heal, HealNode
from simulator.planned.network import PlannedNetwork

Fault = Cut | Heal | CutNode | HealNode


class Faults:
    """Cables that are cut and switches that have failed; a cable works while neither it nor its ends have failed.

    `detection` seconds after a cable's change, the switches at its ends count their ports as down or up.
    """

    def __init__(
        self,
        simulation: Simulation,
        network: PlannedNetwork,
        wiring: Wiring,
        controller: SimulatedController,
        bfd: BfdWatch,
        detection: float,
    ) -> None:
        self._simulation, self._network, self._wiring = simulation, network, wiring
        self._controller, self._bfd, self._detection = controller, bfd, detection
        self._cut: set[frozenset[str]] = set()
        self._failed: set[str] = set()

    def require_known(self, fault: Fault) -> None:
        """Raise UnsoundError if the network has no such cable or switch."""
        topology = self._wiring.topology
        if isinstance(fault, CutNode | HealNode):
            if not topology.has_node(fault.node):
                problem = f"there is no node {quoted(fault.node)}"
                raise UnsoundError(("events",), problem, f"a node of {topology.name}")
            return
        a, b = fault.edge
        if not (topology.has_link(a, b) or topology.has_link(b, a)):
            raise UnsoundError(("events",), f"there is no link {a}-{b}", f"a link of {topology.name}")

    def happen(self, fault: Fault) -> None:
        """Let something fail or work again now; nothing happens if it is so already."""
        if isinstance(fault, Cut | Heal):
            edge = frozenset(fault.edge)
            was_up = self._is_up(edge)
            (self._cut.add if isinstance(fault, Cut) else self._cut.discard)(edge)
            if self._is_up(edge) != was_up:
                self._change(edge, up=not was_up)
        elif isinstance(fault, CutNode) and fault.node not in self._failed:
            working = [edge for edge in self._edges_of(fault.node) if self._is_up(edge)]
            self._failed.add(fault.node)
            self._controller.switch_left(fault.node)
            self._change_hosts(fault.node, up=False)
            for edge in working:
                self._change(edge, up=False)
        elif isinstance(fault, HealNode) and fault.node in self._failed:
            self._failed.discard(fault.node)
            self._change_hosts(fault.node, up=True)
            for edge in self._edges_of(fault.node):
                if self._is_up(edge):
                    self._change(edge, up=True)
                else:
                    self._notice_later(edge, up=False)  # it may have been cut while the switch could not see it
            self._controller.switch_returned(fault.node)

    def _edges_of(self, node: str) -> Iterator[frozenset[str]]:
        yield from (frozenset((node, neighbour)) for neighbour in self._wiring.topology.neighbours[node])

    def _is_up(self, edge: frozenset[str]) -> bool:
        return edge not in self._cut and self._failed.isdisjoint(edge)

    def _change(self, edge: frozenset[str], *, up: bool) -> None:
        a, b = sorted(edge)
        for ends in ((a, b), (b, a)):
            if ends in self._network.links:
                self._set_link(self._network.links[ends], up=up)
        (self._bfd.heal if up else self._bfd.cut)(edge)
        self._notice_later(edge, up=up)

    def _change_hosts(self, node: str, *, up: bool) -> None:
        for links in (self._network.arrivals, self._network.deliveries):
            if node in links:
                self._set_link(links[node], up=up)

    def _set_link(self, link: int, *, up: bool) -> None:
        (self._simulation.heal if up else self._simulation.fail)(link, known=False)

    def _notice_later(self, edge: frozenset[str], *, up: bool) -> None:
        self._simulation.at(self._simulation.now + self._detection, partial(self._notice, edge, up=up))

    def _notice(self, edge: frozenset[str], *, up: bool) -> None:
        """Let the switches at both ends of a cable see its state, unless that has changed again."""
        if up != self._is_up(edge):
            return
        for switch in sorted(edge - self._failed):
            (neighbour,) = edge - {switch}
            port = self._wiring.port(switch, neighbour)
            self._simulation.set_port(self._network.switches[switch], port, live=up)
            self._controller.port_changed(switch, port, live=up)
