"""Entries for packets of hosts that no pair of the plan carries; pure.

Each host port has one entry of low priority that drops what no other entry takes, and so counts it. If other traffic is
forwarded, packets between sites without a planned pair take the shortest path, as victims of the least important class.
All paths to an egress share a path id, as they form a tree.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from kuijia_app.tables import identifiers
from kuijia_app.tables.destination_trees import DestinationTrees, path_along
from kuijia_app.tables.failover import TunnelChoice, failover_at
from kuijia_app.tables.families import family_of
from kuijia_app.tables.options import OtherTraffic, PipelineOptions
from kuijia_app.tables.queues import QueueLayout, TrafficClass
from kuijia_app.tables.routes import Route, RoutedPair, directions
from kuijia_app.tables.rules import FlowEntry, Group, Match, ToGroup
from kuijia_app.tables.tagging import Tags, arriving_at
from kuijia_app.tables.tunnel_entries import TunnelEntries
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology


def served_as(layout: QueueLayout) -> TrafficClass:
    """Return the class among whose victims other traffic is: the least important one."""
    return layout.classes[-1]


def other_directions(plan: Plan, options: PipelineOptions, wiring: Wiring) -> tuple[RoutedPair, ...]:
    """Return all traffic between sites that no pair of the plan carries, each on its path; none if it is dropped."""
    if options.other_traffic is OtherTraffic.DROP:
        return ()
    planned = {direction.ends for direction in directions(plan)}
    sites = [node for node in plan.topology.nodes if wiring.has_host(node)]
    trees, found = DestinationTrees(plan.topology), []
    for egress in sites:
        next_hops = trees.towards(egress)
        path_id = identifiers.other_path_id(wiring.number(egress))
        for ingress in sites:
            path = path_along(next_hops, ingress, egress)
            if ingress != egress and (ingress, egress) not in planned and path is not None:
                priority = served_as(options.layout).priority
                found.append(RoutedPair(ingress, egress, (Route(path_id, path, 1.0),), priority))
    return tuple(found)


def others_by_edge(topology: Topology, wiring: Wiring) -> dict[frozenset[str], frozenset[tuple[str, str]]]:
    """Return, for each edge, the ingresses and egresses of all sites whose path for other traffic crosses it."""
    trees, found = DestinationTrees(topology), defaultdict[frozenset[str], set[tuple[str, str]]](set)
    for egress in filter(wiring.has_host, topology.nodes):
        next_hops = trees.towards(egress)
        for ingress in filter(wiring.has_host, next_hops):
            for hop in pairwise(path_along(next_hops, ingress, egress) or ()):
                found[frozenset(hop)].add((ingress, egress))
    return {edge: frozenset(pairs) for edge, pairs in found.items()}


@dataclass(frozen=True)
class OtherEntries:
    """The groups and entries of other traffic, each with the switch it belongs to."""

    plan: Plan
    options: PipelineOptions
    wiring: Wiring
    tags: Tags

    def groups(self) -> Iterator[tuple[str, Group]]:
        """Yield a group per pair of sites, which watches the first link of the path."""
        for direction in self._directions:
            (route,) = direction.routes
            sender = failover_at(direction, self.wiring, self.tags, None)
            choice = TunnelChoice(route, served_as(self.options.layout).victim)
            yield direction.ingress, sender.last_resort((choice,), self._group_id(direction))

    def entries(self) -> Iterator[tuple[str, FlowEntry]]:
        """Yield the entries that lead host packets into groups, those along the paths, and those that drop the rest."""
        along: dict[tuple[str, FlowEntry], None] = {}
        tunnels = TunnelEntries(self.wiring, self.options.layout, self.tags)
        for direction in self._directions:
            (route,) = direction.routes
            ends = product(self.wiring.entrances(direction.ingress), self.wiring.prefixes(direction.egress))
            for entrance, prefix in ends:
                vlan_id, untag = arriving_at(entrance, self.tags)
                to_group = (*untag, *self.tags.name(family_of(prefix)), ToGroup(self._group_id(direction)))
                match = Match.to(prefix, in_port=entrance.port, vlan_vid=vlan_id)
                yield direction.ingress, FlowEntry(identifiers.OTHER_PRIORITY, match, to_group)
            queues = (served_as(self.options.layout).victim,)
            along.update(dict.fromkeys(tunnels.of_tunnel(route.path_id, route.nodes, queues)))
        yield from along
        for switch in self.plan.topology.nodes:
            if self.wiring.has_host(switch):
                yield from ((switch, drop_entry(port)) for port in self.wiring.host_ports(switch))

    @cached_property
    def _directions(self) -> tuple[RoutedPair, ...]:
        return other_directions(self.plan, self.options, self.wiring)

    def _group_id(self, direction: RoutedPair) -> int:
        class_index = len(self.options.layout.classes) - 1
        return identifiers.last_resort_group(self.wiring.number(direction.egress), class_index)


def drop_entry(host_port: int) -> FlowEntry:
    """Return the entry that drops, and counts, what no other entry takes of a host's packets."""
    return FlowEntry(identifiers.DROP_PRIORITY, Match(in_port=host_port))
