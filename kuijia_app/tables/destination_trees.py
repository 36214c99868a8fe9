"""Least-cost paths of all switches to one destination over the links that are up, and the entries along them; pure.

They carry what no tunnel carries: `kuijia_app.tables.identifiers.default_path_id` is the path id that all paths to an
egress share, which form a tree. Every switch and every controller finds the same tree for the same links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.identifiers import default_path_id
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import Bucket, FlowEntry, Output, SetQueue
from kuijia_app.tables.tagging import Tags, paths_of, tags_of
from kuijia_app.tables.tunnel_entries import TunnelEntries
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan, Weight
from te_solver.model.topology import Topology
from te_solver.tunnels.finder import link_costs
from te_solver.tunnels.path_search import NOWHERE, search

Edge = frozenset[str]
Path = tuple[str, ...]
"""Switches from an ingress to an egress."""

NextHops = Mapping[str, str]
"""Switch to its next one on the way to an egress; the egress and switches without a path are missing."""


@dataclass(frozen=True)
class Bound:
    """Next hop of a switch that nobody can change now, and the neighbours whose packets it forwards there.

    `next_hop` is None if it forwards none, or at the egress, which delivers them.
    """

    next_hop: str | None
    upstream: frozenset[str]


class DestinationTrees:
    """The trees of a network; cost is what the plan's tunnels minimise, then links, then the topology's node order."""

    def __init__(self, topology: Topology, weight: Weight = "hops") -> None:
        self._names = topology.nodes
        self._position = {name: position for position, name in enumerate(topology.nodes)}
        self._costs = {
            (topology.nodes[tail], topology.nodes[head]): cost
            for (tail, head), cost in link_costs(topology, weight).items()
        }
        self._avoided = sum(self._costs.values()) + 1
        self._neighbours = topology.neighbours

    @classmethod
    def of_plan(cls, plan: Plan) -> DestinationTrees:
        """Return the trees that minimise what the plan's tunnels do; links, if the plan does not say."""
        return cls(plan.topology) if plan.options is None else cls(plan.topology, plan.options.tunnel_weight)

    def towards(
        self,
        egress: str,
        dead: frozenset[Edge] = frozenset(),
        doubted: frozenset[Edge] = frozenset(),
        bound: Mapping[str, Bound] | None = None,
    ) -> NextHops:
        """Return the next hop of every switch that has a path to the egress.

        Args:
            egress: the destination.
            dead: links that are down.
            doubted: links that are up, but to be used only where nothing else connects.
            bound: switches that forward packets to the egress in one way only.
        """
        fixed = bound or {}
        steps: list[list[tuple[int, int, int]]] = [[] for _ in self._names]
        cost_of: dict[tuple[str, str], int] = {}
        for (tail, head), own in self._costs.items():
            edge = frozenset((tail, head))
            if edge in dead or not _is_permitted(tail, head, fixed):
                continue
            cost = cost_of[tail, head] = own + self._avoided * (edge in doubted)
            steps[self._position[head]].append((self._position[tail], cost, 0))
        to_egress, _ = search(steps, self._position[egress], NOWHERE, [0] * len(self._names))
        found = {self._names[position]: cost for position, cost in to_egress.items()}
        return {
            switch: next(
                other
                for other in self._neighbours[switch]
                if other in found and (switch, other) in cost_of and found[other] + cost_of[switch, other] == cost
            )
            for switch, cost in found.items()
            if switch != egress
        }


def path_along(next_hops: NextHops, ingress: str, egress: str) -> Path | None:
    """Return the path of an ingress in a tree, None if it has none."""
    path = [ingress]
    while path[-1] != egress:
        if path[-1] not in next_hops:
            return None
        path.append(next_hops[path[-1]])
    return tuple(path)


@dataclass(frozen=True)
class DefaultEntries:
    """The entries of default paths; those of paths to one egress are the same where they have a link in common.

    Unlike a routing table they match the port that a packet comes in by, like entries of tunnels: packets of hosts are
    never taken for packets on such a path, and a tree has no more of them, one for each link and queue.
    """

    wiring: Wiring
    options: PipelineOptions
    tags: Tags

    @classmethod
    def of_plans(cls, plans: Iterable[Plan], options: PipelineOptions, wiring: Wiring) -> DefaultEntries:
        """Return those with the tags that tunnels and sessions of these plans leave."""
        known = tuple(plans)
        uses_bfd = options.liveness is Liveness.BFD
        sessions = {each.label: each for plan in known for each in (BfdSessions(plan) if uses_bfd else ())}
        numbers = map(wiring.number, wiring.topology.nodes)
        return cls(wiring, options, tags_of(options, wiring.topology, paths_of(known), sessions.values(), numbers))

    def along(self, path: Path, queues: Iterable[Queue]) -> Iterator[tuple[str, FlowEntry]]:
        """Yield the entries of a path in these queues, each with the switch it belongs to, from the second one on."""
        yield from self._entries.of_tunnel(self.path_id(path[-1]), path, queues)

    def at(self, before: str, switch: str, out_port: int, egress: str, queues: Iterable[Queue]) -> Iterator[FlowEntry]:
        """Yield the entries of one switch for packets to the egress from the switch before it."""
        path_id, is_end = self.path_id(egress), switch == egress
        yield from self._entries.at(path_id, before, switch, out_port, queues, is_end=is_end)

    @property
    def _entries(self) -> TunnelEntries:
        return TunnelEntries(self.wiring, self.options.layout, self.tags)

    def bucket(self, ingress: str, next_hop: str, egress: str, queue: Queue) -> Bucket:
        """Return the bucket of an ingress that sends to the egress while the link to the next hop is up."""
        port = self.wiring.port(ingress, next_hop)
        mark = self.tags.mark(self.path_id(egress), queue)
        return Bucket((*mark, SetQueue(queue.queue_id), Output(port)), watch_port=port)

    def reaches(self, egress: str) -> bool:
        """Return True if there is a tag for paths to the egress."""
        return self.tags.has(self.path_id(egress))

    def path_id(self, egress: str) -> int:
        return default_path_id(self.wiring.number(egress))


def _is_permitted(tail: str, head: str, bound: Mapping[str, Bound]) -> bool:
    return (tail not in bound or bound[tail].next_hop == head) and (head not in bound or tail in bound[head].upstream)


def restored(plan: Plan, failed: frozenset[Edge], trees: DestinationTrees | None = None) -> dict[tuple[str, str], Path]:
    """Return the path of each pair that failed links leave without a tunnel, but not without a path.

    Pairs are ingress and egress, in both directions, whatever the classes. Pass the trees of the plan's topology if
    there are many failures.
    """
    finder = trees or DestinationTrees.of_plan(plan)
    found: dict[tuple[str, str], Path] = {}
    next_hops: dict[str, NextHops] = {}
    for direction in directions(plan):
        if any(failed.isdisjoint(map(frozenset, pairwise(route.nodes))) for route in direction.routes):
            continue
        egress = direction.egress
        if egress not in next_hops:
            next_hops[egress] = finder.towards(egress, failed)
        path = path_along(next_hops[egress], direction.ingress, egress)
        if path is not None:
            found[direction.ends] = path
    return found
