"""Which tunnels are dead, from what the switches say of their ports: the controller's whole memory of failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kuijia_app.tables.routes import Direction, directions
from kuijia_app.tables.wiring import Wiring
from te_solver.plan import Plan

Edge = frozenset[str]
Tunnel = tuple[str, int]
"""The (ingress, label) of a tunnel."""


@dataclass(frozen=True, slots=True)
class LivenessChange:
    """At `ingress`, the tunnel with this label has become alive or dead by something beyond its first link."""

    ingress: str
    label: int
    alive: bool


class LivenessTracker:
    """Merges the port states of both ends of every link: a link is down while either end says so.

    A switch that has not described its ports yet is taken to have them up, except on tunnels of which an ingress was
    told otherwise before (`found_dead`). A port-status costs as much as the tunnels over its link are many, and one
    that says nothing new, or is of a port that leads to no switch, costs nothing.
    """

    def __init__(self, plan: Plan) -> None:
        self._wiring = Wiring(plan.topology)
        self._beyond: dict[Edge, frozenset[Tunnel]] = {}
        self._first: dict[tuple[str, str], frozenset[Tunnel]] = {}
        self._watch(directions(plan))
        self._down_ports: set[tuple[str, int]] = set()
        self._failed_edges: frozenset[Edge] = frozenset()
        self._dead: frozenset[Tunnel] = frozenset()
        self._undescribed = set(plan.topology.nodes)
        self._found_dead: set[Tunnel] = set()
        self._unnoticed: frozenset[Tunnel] = frozenset()

    def follow(self, plans: Iterable[Plan]) -> tuple[LivenessChange, ...]:
        """Watch the tunnels of these plans from now on, all for the same network; path ids mean the same in each."""
        self._watch(direction for plan in plans for direction in directions(plan))
        return self._changes()

    @property
    def failed_edges(self) -> frozenset[Edge]:
        """The node pairs whose link is down."""
        return self._failed_edges

    def dead_labels(self, ingress: str) -> frozenset[int]:
        """The tunnels of `ingress` that a failure beyond their first link has broken."""
        return frozenset(label for switch, label in self._dead if switch == ingress)

    def port_changed(self, switch: str, port: int, *, live: bool) -> tuple[LivenessChange, ...]:
        """Take one port-status in; returns what it changed, in a fixed order, nothing when it was known."""
        if self._wiring.neighbour_at(switch, port) is None or ((switch, port) not in self._down_ports) == live:
            return ()
        if live:
            self._down_ports.discard((switch, port))
        else:
            self._down_ports.add((switch, port))
        self._note_failed_edges()
        return self._changes()

    def ports_described(self, switch: str, live_by_port: Mapping[int, bool]) -> tuple[LivenessChange, ...]:
        """Take a switch's whole port list in, replacing what was known of it; a port it lacks counts as down."""
        self._undescribed.discard(switch)
        ports = range(1, self._wiring.host_port(switch))
        self._down_ports = {(other, port) for other, port in self._down_ports if other != switch}
        self._down_ports.update((switch, port) for port in ports if not live_by_port.get(port, False))
        self._note_failed_edges()
        return self._changes()

    def found_dead(self, ingress: str, labels: Iterable[int]) -> tuple[LivenessChange, ...]:
        """Take in which tunnels an ingress holds for dead, as a controller before this one told it.

        They stay dead until every switch at their links beyond the first has described its ports.
        """
        self._found_dead.update((ingress, label) for label in labels)
        return self._changes()

    @property
    def first_links_down_beyond(self) -> frozenset[Tunnel]:
        """The (ingress, label) of the tunnels whose first link is down at its far end, but up at the ingress.

        When both ends of a link fail, which is usual, this is so for a moment only.
        """
        found: set[Tunnel] = set()
        for far_end, port in self._down_ports:
            ingress = self._neighbour(far_end, port)
            if not self._is_down(ingress, far_end):
                found |= self._first.get((ingress, far_end), frozenset())
        return frozenset(found)

    def first_links_unnoticed(self, tunnels: frozenset[Tunnel]) -> tuple[LivenessChange, ...]:
        """Take in which tunnels are dead by their first link although their ingress does not see it."""
        if tunnels == self._unnoticed:
            return ()
        self._unnoticed = tunnels
        return self._changes()

    def _is_down(self, switch: str, neighbour: str) -> bool:
        return (switch, self._wiring.port(switch, neighbour)) in self._down_ports

    def _watch(self, all_directions: Iterable[Direction]) -> None:
        """Note which tunnels cross which edge beyond their first link, and which begin with which link."""
        beyond: defaultdict[Edge, set[Tunnel]] = defaultdict(set)
        first: defaultdict[tuple[str, str], set[Tunnel]] = defaultdict(set)
        for direction in all_directions:
            for route in direction.routes:
                tunnel = (direction.ingress, route.label)
                first[direction.ingress, route.next_hop].add(tunnel)
                for edge in route.remote_edges:
                    beyond[edge].add(tunnel)
        self._beyond = {edge: frozenset(tunnels) for edge, tunnels in beyond.items()}
        self._first = {ends: frozenset(tunnels) for ends, tunnels in first.items()}

    def _broken_by(self, edges: Iterable[Edge]) -> frozenset[Tunnel]:
        """Return the tunnels that one of these edges breaks beyond their first link."""
        return frozenset().union(*(self._beyond.get(edge, frozenset()) for edge in edges))

    def _note_failed_edges(self) -> None:
        edges = (frozenset((switch, self._neighbour(switch, port))) for switch, port in self._down_ports)
        self._failed_edges = frozenset(edges)

    def _neighbour(self, switch: str, port: int) -> str:
        neighbour = self._wiring.neighbour_at(switch, port)
        assert neighbour is not None, "ports that lead to no switch are not kept"
        return neighbour

    def _changes(self) -> tuple[LivenessChange, ...]:
        if self._found_dead:
            self._found_dead &= self._broken_by(self._undescribed_edges())
        dead = self._broken_by(self._failed_edges) | self._found_dead | self._unnoticed
        died = [LivenessChange(ingress, label, alive=False) for ingress, label in sorted(dead - self._dead)]
        revived = [LivenessChange(ingress, label, alive=True) for ingress, label in sorted(self._dead - dead)]
        self._dead = dead
        return (*died, *revived)

    def _undescribed_edges(self) -> frozenset[Edge]:
        """The links of which at least one end has not described its ports yet."""
        edges = map(frozenset, self._wiring.topology.edges)
        return frozenset(edge for edge in edges if not self._undescribed.isdisjoint(edge))
