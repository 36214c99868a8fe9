"""Cuts drawn links of any network, and finds pairs that are dead a second later although live links connect them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kuijia_app.tables.destination_trees import restored
from kuijia_app.tables.options import Liveness
from te_solver.model.plan import FIRST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.model.topology import Topology
from te_solver.tunnels.finder import TunnelFinder
from tests.rehearsal.plans import OPTIONS
from tests.rehearsal.world import World

NOTICED = 1.0
"""Seconds after the cuts in which pairs may be dead."""

_HEALED = 15.0
"""Seconds until tunnels and sessions are up again, and nothing is left of what carried pairs without them."""

Ends = tuple[str, str]
Edge = tuple[str, str]


@dataclass(frozen=True)
class CutsTried:
    """Links that were cut at a time, and the effect.

    Attributes:
        edges: the links.
        connected: number of pairs that other links connect, in both directions.
        restored: number of these that have no live tunnel.
        dead: those whose packets do not arrive.
    """

    edges: tuple[Edge, ...]
    connected: int
    restored: int
    dead: tuple[Ends, ...]


def plan_of_all_pairs(topology: Topology, tunnels: int) -> Plan:
    """Return a plan with so many tunnels of equal weight for each pair of nodes."""
    finder = TunnelFinder(topology)
    path_id, pairs = FIRST_PATH_ID, []
    for source in topology.nodes:
        for target in topology.nodes:
            paths = () if source == target else finder.tunnels(source, target, tunnels)
            if paths:
                weight = 1 / len(paths)
                its = tuple(Tunnel(path_id + place, path, weight, weight) for place, path in enumerate(paths))
                pairs.append(PairPlan(source, target, 1.0, 1.0, its))
                path_id += len(paths)
    return Plan(topology, tuple(pairs), "any", float(len(pairs)), "none", 0.0)


def rehearse_cuts(plan: Plan, liveness: Liveness, count: int, tries: int, seed: int) -> Iterator[CutsTried]:
    """Yield the effect of so many cuts at a time, drawn this often; links heal in between."""
    (options,) = (each for each in OPTIONS[::3] if each.liveness is liveness)
    world = World(seed, plan=plan, options=options)
    world.rest()
    edges = sorted(plan.topology.edges)
    for _ in range(tries):
        cut = tuple(world.random.sample(edges, count))
        _switch(world, cut, live=False)
        world.time.run_until(world.time.now + NOTICED)
        connected = world.traffic.connected(plan)
        dead = tuple(ends for ends in sorted(connected) if not world.traffic.arrives(ends))
        carried = restored(plan, frozenset(map(frozenset, cut)))
        yield CutsTried(cut, len(connected), len(carried), dead)
        _switch(world, cut, live=True)
        world.time.run_until(world.time.now + _HEALED)


def _switch(world: World, edges: tuple[Edge, ...], *, live: bool) -> None:
    for a, b in edges:
        for near, far in ((a, b), (b, a)):
            world.port_goes(near, world.wiring.port(near, far), live=live)
