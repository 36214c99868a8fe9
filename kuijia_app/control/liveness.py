"""Derives dead tunnels from the ports that switches report: the controller's whole memory of failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeVar

from kuijia_app.control.identity import are_identical
from kuijia_app.tables.routes import directions
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan

Edge = frozenset[str]
Key = TypeVar("Key", bound=Hashable)
Tunnel = tuple[str, int]
"""Ingress and path id of a tunnel."""

Port = tuple[str, int]
"""Switch and number of a port."""

Link = tuple[str, str]
"""Two neighbours, the one that sends first."""

Ends = tuple[str, str]
"""Ingress and egress of a pair."""

MOST_LEARNT = 16
"""Plans that are prepared but not followed, at most: a peer may send any number."""


_LITTLE = 0.05
"""Share of lost packets up to which a tunnel of a pair without a better one is used as before."""

_CLEAN = (0.0, 0)
"""Rank of a tunnel that loses nothing, among those by their losses."""


@dataclass(frozen=True, slots=True)
class LivenessChange:
    """A tunnel of `ingress` has become alive or dead because of something beyond its first link."""

    ingress: str
    path_id: int
    alive: bool


@dataclass(frozen=True)
class PlannedTunnels:
    """The tunnels of a plan, by the links on which their liveness depends.

    Attributes:
        beyond: for each edge, the tunnels that cross it beyond their first link.
        first: for each link, the tunnels that begin with it.
        together: for each tunnel, all tunnels of its ingress that serve the same pair and class, itself too.
        routes: for each tunnel, its switches.
    """

    beyond: Mapping[Edge, frozenset[Tunnel]]
    first: Mapping[Link, frozenset[Tunnel]]
    together: Mapping[Tunnel, frozenset[Tunnel]]
    routes: Mapping[Tunnel, tuple[str, ...]]

    def ends(self, tunnel: Tunnel) -> Ends:
        return tunnel[0], self.routes[tunnel][-1]

    @classmethod
    def of(cls, plan: Plan) -> PlannedTunnels:
        beyond: defaultdict[Edge, set[Tunnel]] = defaultdict(set)
        first: defaultdict[Link, set[Tunnel]] = defaultdict(set)
        together: dict[Tunnel, frozenset[Tunnel]] = {}
        routes: dict[Tunnel, tuple[str, ...]] = {}
        for direction in directions(plan):
            its = frozenset((direction.ingress, route.path_id) for route in direction.routes)
            together.update(dict.fromkeys(its, its))
            for route in direction.routes:
                tunnel = (direction.ingress, route.path_id)
                routes[tunnel] = route.nodes
                first[direction.ingress, route.next_hop].add(tunnel)
                for edge in route.remote_edges:
                    beyond[edge].add(tunnel)
        return cls(_frozen(beyond), _frozen(first), together, routes)


class LivenessTracker:
    """Merges the port states of both ends of every link: a link is down while either end says so.

    Until a switch has described its ports, they count as up, except for tunnels that an earlier controller has declared
    dead (`found_dead`). The cost of a port-status is proportional to the number of tunnels over its link. One that
    changes nothing, or whose port leads to no switch, costs nothing.

    Attributes:
        revision: differs whenever something may have changed.
    """

    def __init__(self, plan: Plan, wiring: Wiring | None = None) -> None:
        """Create a tracker; `wiring` numbers the ports, by the plan's topology if it is None."""
        self.revision = 0
        self._wiring = wiring or Wiring(plan.topology)
        self._beyond: Mapping[Edge, frozenset[Tunnel]] = {}
        self._first: Mapping[Link, frozenset[Tunnel]] = {}
        self._planned: tuple[PlannedTunnels, ...] = ()
        self._broken: frozenset[Tunnel] = frozenset()
        self._known: dict[int, tuple[Plan, PlannedTunnels]] = {}
        self._followed: tuple[Plan, ...] = ()
        self._watch((plan,))
        self._down_ports: set[Port] = set()
        self._failed_edges: frozenset[Edge] = frozenset()
        self._dead: frozenset[Tunnel] = frozenset()
        self._distrusted: frozenset[Tunnel] = frozenset()
        self._undescribed = set(plan.topology.nodes)
        self._found_dead: set[Tunnel] = set()
        self._unnoticed: frozenset[Link] = frozenset()
        self._doubted: frozenset[Port] = frozenset()
        self._carried: frozenset[Ends] = frozenset()
        self._lossy_edges: frozenset[Edge] = frozenset()
        self._lossy_tunnels: Mapping[Tunnel, float] = {}
        self._avoided: frozenset[Tunnel] = frozenset()

    def follow(self, plans: Iterable[Plan]) -> tuple[LivenessChange, ...]:
        """Watch the tunnels of these plans from now on; all must have the same network and the same path ids."""
        self._watch(tuple(plans))
        return self._changes()

    def learn(self, plan: Plan) -> None:
        """Prepare a plan before it is followed, which takes long for a large one; another thread may call this.

        Of plans that are never followed, only the last `MOST_LEARNT` are remembered.
        """
        self._tunnels(plan)
        kept = set(map(id, self._followed))
        for identity in [each for each in list(self._known) if each not in kept][:-MOST_LEARNT]:
            self._known.pop(identity, None)

    @property
    def failed_edges(self) -> frozenset[Edge]:
        """The node pairs whose link is down, or loses packets."""
        return self._failed_edges | self._lossy_edges

    @property
    def broken(self) -> frozenset[Tunnel]:
        """All tunnels that a failure has broken, on their first link too; any thread may ask."""
        return self._broken

    @property
    def doubted_edges(self) -> frozenset[Edge]:
        """The node pairs whose link fails by doubts and losses alone."""
        return self.failed_edges - self._edges(self._down_ports - self._doubted)

    @property
    def knows_all(self) -> bool:
        """True once every switch has described its ports."""
        return not self._undescribed

    def stranded(self) -> frozenset[Ends]:
        """Return the ends without a tunnel, of one of the plans, that is alive and crosses no doubted or lossy link."""
        broken = self._distrusted | self._begun_with(self._failed_edges)
        return frozenset(
            plan.ends(tunnel)
            for plan in self._planned
            for tunnel in broken
            if tunnel in plan.together and plan.together[tunnel] <= broken
        )

    def broken_path_ids(self) -> frozenset[int]:
        """Return the path ids of all tunnels that a failure has broken; any thread may call this."""
        return frozenset(path_id for _, path_id in self.broken)

    def route(self, tunnel: Tunnel) -> tuple[str, ...]:
        """Return the switches of a tunnel, none if it is in none of the plans that are followed."""
        return next((plan.routes[tunnel] for plan in self._planned if tunnel in plan.routes), ())

    def dead_path_ids(self, ingress: str) -> frozenset[int]:
        """Return the tunnels of `ingress` that a failure beyond their first link has broken."""
        return frozenset(path_id for switch, path_id in self._dead if switch == ingress)

    def port_changed(self, switch: str, port: int, *, live: bool) -> tuple[LivenessChange, ...]:
        """Record a port-status; return the changes in a fixed order, none if it was known."""
        return self.ports_changed({(switch, port): live})

    def ports_changed(
        self, live_by_port: Mapping[Port, bool], doubted: frozenset[Port] | None = None
    ) -> tuple[LivenessChange, ...]:
        """Record the states of some ports, and which ports are doubted from now on: see `doubt`.

        What changes together must come together: a tunnel that is dead in between would lose packets.
        """
        new = {
            port: live
            for port, live in live_by_port.items()
            if self._wiring.neighbour_at(*port) is not None and (port not in self._down_ports) != live
        }
        doubted = self._doubted if doubted is None else doubted
        if not new and doubted == self._doubted:
            return ()
        self._doubted = doubted
        self._down_ports = (self._down_ports - new.keys()) | {port for port, live in new.items() if not live}
        if new:
            self._note_failed_edges()
        return self._changes()

    def ports_described(
        self, switch: str, live_by_port: Mapping[int, bool], doubted: frozenset[Port] | None = None
    ) -> tuple[LivenessChange, ...]:
        """Record the complete port list of a switch in place of its earlier ports; a missing port counts as down.

        Ports may be doubted from now on, as in `ports_changed`.
        """
        self._undescribed.discard(switch)
        self._doubted = self._doubted if doubted is None else doubted
        ports = self._wiring.link_ports(switch)
        self._down_ports = {(other, port) for other, port in self._down_ports if other != switch}
        self._down_ports.update((switch, port) for port in ports if not live_by_port.get(port, False))
        self._note_failed_edges()
        return self._changes()

    def found_dead(self, ingress: str, path_ids: Iterable[int]) -> tuple[LivenessChange, ...]:
        """Record the tunnels that an earlier controller has declared dead at an ingress.

        They stay dead until every switch at their links has described its ports, and while their first link is down at
        its far end alone, which the ingress does not see.
        """
        self._found_dead.update((ingress, path_id) for path_id in path_ids)
        return self._changes()

    @property
    def links_down_beyond(self) -> frozenset[Link]:
        """The links that are down at their far end, but up at the near one.

        Usually both ends of a link fail; then this holds only for a moment.
        """
        links = ((self._neighbour(far_end, port), far_end) for far_end, port in self._down_ports)
        return frozenset(link for link in links if not self._is_down(*link))

    def links_unnoticed(self, links: frozenset[Link]) -> tuple[LivenessChange, ...]:
        """Record the links that are down without their near end seeing it: tunnels that begin with them are dead.

        Each counts until one of its ends reports something else.
        """
        if links == self._unnoticed:
            return ()
        self._unnoticed = links
        return self._changes()

    def doubt(self, ports: frozenset[Port]) -> tuple[LivenessChange, ...]:
        """Record the ports that are up but count as down, as they flap.

        A tunnel that only these break is alive if its pair has no other: nothing can be lost by using it.
        """
        return self.ports_changed({}, ports)

    def links_lossy(self, edges: frozenset[Edge]) -> tuple[LivenessChange, ...]:
        """Record the links that lose packets although their ports are up: their tunnels are dead.

        Like a doubted port, neither such a link nor a tunnel of `tunnels_lossy` takes a pair's last tunnel.
        """
        if edges == self._lossy_edges:
            return ()
        self._lossy_edges = edges
        return self._changes()

    def tunnels_lossy(self, shares: Mapping[Tunnel, float]) -> tuple[LivenessChange, ...]:
        """Record the tunnels that lose packets although all their ports are up, and which share: see `links_lossy`.

        They are dead, but of a pair that has no other tunnel the least lossy is alive. Of equals it is the one that
        comes first.
        """
        if shares == self._lossy_tunnels:
            return ()
        self._lossy_tunnels = dict(shares)
        return self._changes()

    def carried(self, pairs: frozenset[Ends]) -> tuple[LivenessChange, ...]:
        """Record the pairs that are carried without tunnels: they need no doubted or lossy one as their last."""
        if pairs == self._carried:
            return ()
        self._carried = pairs
        return self._changes()

    @property
    def avoided(self) -> frozenset[Tunnel]:
        """The tunnels that are dead because they or their links lose packets, which neither ports nor BFD show."""
        return self._avoided

    def _is_down(self, switch: str, neighbour: str) -> bool:
        return (switch, self._wiring.port(switch, neighbour)) in self._down_ports

    def _watch(self, plans: tuple[Plan, ...]) -> None:
        """Note which tunnels cross which edge beyond their first link, and which begin with which link."""
        if are_identical(plans, self._followed):
            return
        found = [self._tunnels(plan) for plan in plans]
        self._beyond = _united([each.beyond for each in found])
        self._first = _united([each.first for each in found])
        self._planned = tuple(found)
        self._followed = plans
        for identity in self._known.keys() - set(map(id, plans)):
            self._known.pop(identity, None)

    def _tunnels(self, plan: Plan) -> PlannedTunnels:
        known = self._known.get(id(plan))
        if known is None:
            # The plan is kept as well, so that no other object gets its id.
            known = self._known[id(plan)] = plan, PlannedTunnels.of(plan)
        return known[1]

    def _broken_by(self, edges: Iterable[Edge]) -> frozenset[Tunnel]:
        """Return the tunnels that one of these edges breaks beyond their first link."""
        return frozenset().union(*(self._beyond.get(edge, frozenset()) for edge in edges))

    def _begun_with(self, edges: Iterable[Edge]) -> frozenset[Tunnel]:
        """Return the tunnels that begin with one of these edges."""
        return self._beginning_with((a, b) for ends in edges for a, b in permutations(ends))

    def _beginning_with(self, links: Iterable[Link]) -> frozenset[Tunnel]:
        return frozenset().union(*(self._first.get(link, frozenset()) for link in links))

    def _crossing(self, edges: Collection[Edge]) -> frozenset[Tunnel]:
        return self._broken_by(edges) | self._begun_with(edges)

    def _note_failed_edges(self) -> None:
        self._failed_edges = self._edges(self._down_ports)

    def _edges(self, ports: Iterable[Port]) -> frozenset[Edge]:
        return frozenset(frozenset((switch, self._neighbour(switch, port))) for switch, port in ports)

    def _neighbour(self, switch: str, port: int) -> str:
        neighbour = self._wiring.neighbour_at(switch, port)
        assert neighbour is not None, "ports that lead to no switch are not kept"
        return neighbour

    def _changes(self) -> tuple[LivenessChange, ...]:
        down_beyond = self.links_down_beyond
        if self._found_dead:
            self._found_dead &= self._crossing(self._undescribed_edges()) | self._beginning_with(down_beyond)
        self._unnoticed &= down_beyond
        dead = self._broken_by(self._failed_edges) | self._found_dead | self._beginning_with(self._unnoticed)
        dead |= self._dead & self._beginning_with(down_beyond)  # none is used again for the time until that is noticed
        begun = self._begun_with(self._failed_edges)
        lossy = self._crossing(self._lossy_edges)
        lossy |= self._avoidable(dead | lossy | begun)
        dead |= lossy
        self._distrusted = dead
        dead -= self._last_resorts(dead, dead | begun)
        self._avoided = lossy & dead
        self.revision += 1
        died = [LivenessChange(ingress, path_id, alive=False) for ingress, path_id in sorted(dead - self._dead)]
        revived = [LivenessChange(ingress, path_id, alive=True) for ingress, path_id in sorted(self._dead - dead)]
        self._dead = dead
        self._broken = dead | begun
        return (*died, *revived)

    def _avoidable(self, broken: frozenset[Tunnel]) -> frozenset[Tunnel]:
        """Return the lossy tunnels, without those that lose little and whose pair has no better one.

        Nothing is won by avoiding these: all of the pair's traffic would be victims of each other.
        """
        lossy = self._lossy_tunnels.keys() & self._followed_tunnels
        together = {tunnel: plan.together[tunnel] for plan in self._planned for tunnel in lossy & plan.together.keys()}
        return frozenset(
            tunnel
            for tunnel in lossy
            if self._lossy_tunnels[tunnel] > _LITTLE or not together[tunnel] - broken <= lossy
        )

    def _last_resorts(self, dead: frozenset[Tunnel], broken: frozenset[Tunnel]) -> frozenset[Tunnel]:
        """Return the dead tunnels that only doubts and losses break, and whose pair has only broken ones."""
        if not (self._doubted or self._lossy_edges or self._lossy_tunnels):
            return frozenset()
        surely = self._crossing(self._edges(self._down_ports - self._doubted)) | self._found_dead
        return frozenset(
            tunnel
            for tunnel in dead - surely
            if any(
                tunnel in plan.together
                and plan.ends(tunnel) not in self._carried
                and self._is_least(tunnel, plan.together[tunnel], broken, surely)
                for plan in self._planned
            )
        )

    def _is_least(
        self, tunnel: Tunnel, its: frozenset[Tunnel], broken: frozenset[Tunnel], surely: frozenset[Tunnel]
    ) -> bool:
        """Return True if all tunnels of a pair are broken, and none that may live loses less than this one.

        Of equals it is the one that was recorded first: it is the likeliest to be well again.
        """
        rank = {each: (share, place) for place, (each, share) in enumerate(self._lossy_tunnels.items())}
        return its <= broken and rank.get(tunnel, _CLEAN) <= min(rank.get(each, _CLEAN) for each in its - surely)

    @property
    def _followed_tunnels(self) -> frozenset[Tunnel]:
        return frozenset().union(*(plan.together for plan in self._planned))

    def _undescribed_edges(self) -> frozenset[Edge]:
        """Return the links with at least one end that has not described its ports yet."""
        edges = map(frozenset, self._wiring.topology.edges)
        return frozenset(edge for edge in edges if not self._undescribed.isdisjoint(edge))


def _frozen(sets: Mapping[Key, set[Tunnel]]) -> dict[Key, frozenset[Tunnel]]:
    return {key: frozenset(tunnels) for key, tunnels in sets.items()}


def _united(mappings: Sequence[Mapping[Key, frozenset[Tunnel]]]) -> Mapping[Key, frozenset[Tunnel]]:
    if len(mappings) == 1:
        return mappings[0]
    keys = dict.fromkeys(key for mapping in mappings for key in mapping)
    return {key: frozenset().union(*(mapping.get(key, ()) for mapping in mappings)) for key in keys}
