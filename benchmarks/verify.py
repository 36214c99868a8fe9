"""Verification and compilation of tables before installation, and the table sizes of the largest networks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np

from benchmarks.measure import timed
from benchmarks.networks import CAPACITY, network
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_app.proof.expectation import expected_traffic
from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.verification import Verifier, entering_packet
from kuijia_app.tables.ofctl_text import flows_text, groups_text
from kuijia_app.tables.options import Form, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.table_sizes import TableSize, table_size
from kuijia_base.commands import find_program
from te_solver.model.demand_generators import random_pairs
from te_solver.model.failures import NO_FAILURE, Failure, single_links
from te_solver.model.plan import FIRST_PATH_ID, LAST_PATH_ID, PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.programs.program import Options
from te_solver.programs.tunnel_table import find_tunnels
from te_solver.solve import solve
from te_solver.tunnels.finder import Paths, TunnelFinder
from testbed.crosscheck.crosscheck import RealNetwork
from testbed.crosscheck.random_cases import RandomPlan

_NODES = 100
_EDGES = 200
_PAIRS = 40
_TUNNELS = 3
_GOAL_SECONDS = 5.0
_PEER_PACKETS = 400
_PEER_NODES = 20
"""Nodes for the peer: a daemon with a hundred bridges starts slowly, and the time per hop does not depend on them."""
_LARGE = "Kdl"


@benchmark("verify")
def verify(setting: BenchmarkSetting) -> Iterator[Comparison]:
    """Compare the model's time per path of a packet with a real switch's, and time a network's whole proof."""
    plan = _random_plan(_NODES, _EDGES, _PAIRS)
    setting.progress.show("verifying")
    options = PipelineOptions()
    built = timed(lambda: build_tables(plan, options))
    proven = timed(lambda: Verifier(plan, built.value, options).run(single_links(plan.topology)))
    compiled = timed(lambda: [(flows_text(each), groups_text(each)) for each in built.value.values()])
    total = built.seconds + proven.seconds + compiled.seconds
    found = proven.value
    detail: dict[str, object] = {
        "problem": f"{_NODES} nodes, {len(plan.topology.edges)} links, {len(plan.pairs)} pairs, up to {_TUNNELS} "
        "tunnels each, every single link failing",
        "seconds to build the tables": built.seconds,
        "seconds to verify them": proven.seconds,
        "seconds to write them as text": compiled.seconds,
        "header classes": found.header_classes,
        "failures": found.failures,
        "cases": found.cases,
        "ways followed hop by hop": found.walks,
        "violations": len(found.violations),
        "busiest switch": _size_json(max(map(table_size, built.value.values()), key=lambda size: size.entries)),
        "goals": [goal(f"verified and compiled within {_GOAL_SECONDS:g} s", met=total <= _GOAL_SECONDS)],
    }
    setting.progress.show(f"sizing the tables for all pairs of {_LARGE}")
    detail |= _all_pairs(setting.networks)
    if find_program("ovs-vswitchd") is None:
        setting.progress.say("verify: no comparison, as Open vSwitch is not installed")
        return
    setting.progress.show("asking a real switch")
    ours, peer = _per_way(_random_plan(_PEER_NODES, 2 * _PEER_NODES, _PAIRS // 2), options)
    yield Comparison(ours * 1e6, peer * 1e6, "ofproto/trace of Open vSwitch", "us per way of a packet", detail)


def _per_way(plan: Plan, options: PipelineOptions) -> tuple[float, float]:
    """Return the seconds per packet path in the model and in real switches, for the same packets and failures."""
    tables = build_tables(plan, options)
    model = ModelNetwork(plan, tables, options.liveness)
    traffic = [each for each in expected_traffic(plan, options) if each.is_split]
    random = Random(1)
    packets = []
    for _ in range(_PEER_PACKETS):
        kind = random.choice(traffic)
        packets.append((kind.source, entering_packet(model, kind, random.randrange(options.slot_count))))
    edge = random.choice(plan.tunnels).hops[0]
    ours = peer = 0.0
    with TemporaryDirectory(prefix="kuijia-") as folder, RealNetwork(RandomPlan(plan, options), Path(folder)) as real:
        for failure in (NO_FAILURE, Failure("-".join(edge), (edge,))):
            model.fail(failure)
            real.fail(failure)
            ours += timed(lambda: [model.walk(*each) for each in packets]).seconds
            peer += timed(
                lambda: [real.real_way(source, packet, packet.slot + 1) for source, packet in packets]
            ).seconds
    return ours / (2 * _PEER_PACKETS), peer / (2 * _PEER_PACKETS)


def _random_plan(nodes: int, edges: int, pairs: int) -> Plan:
    """Return the plan of a connected random network with optimal traffic, spread over all tunnels."""
    graph: nx.Graph[int] = nx.gnm_random_graph(nodes, edges, seed=1)
    seed = 1
    while not nx.is_connected(graph):
        seed += 1
        graph = nx.gnm_random_graph(nodes, edges, seed=seed)
    names = tuple(f"n{number}" for number in range(nodes))
    links = tuple(Link(names[a], names[b], CAPACITY) for edge in graph.edges for a, b in (edge, edge[::-1]))
    topology = Topology("random", names, links)
    demands = random_pairs(topology, np.random.default_rng(1), pairs, CAPACITY / 2)
    return solve(topology, demands, _TUNNELS, options=Options(spread=True))


def _all_pairs(folder: Path | None) -> dict[str, object]:
    """Return the table sizes of the large network's busiest switch with all pairs planned, in both forms.

    Tables are built for the pairs of that switch alone, and for one tunnel through it: every other tunnel through it
    adds the same to its tables.
    """
    topology = network(_LARGE, folder)
    pairs = list(permutations(topology.nodes, 2))
    found = find_tunnels(TunnelFinder(topology), pairs, _TUNNELS)
    passing = np.bincount(found.nodes, minlength=len(topology.nodes))
    for ends in (found.nodes[found.starts[:-1]], found.nodes[found.starts[1:] - 1]):
        passing -= np.bincount(ends, minlength=len(topology.nodes))
    busiest = topology.nodes[int(passing.argmax())]
    own = [(pair, found.tunnels(number)) for number, pair in enumerate(pairs) if pair[0] == busiest]
    tunnels = found.starts.size - 1
    return {
        f"all pairs of {topology.name}": f"{len(pairs)} pairs, {tunnels} tunnels, {passing.max()} of them through the "
        f"busiest switch, {busiest}; there are {LAST_PATH_ID - FIRST_PATH_ID + 1} labels",
        "there are labels enough for that": tunnels <= LAST_PATH_ID - FIRST_PATH_ID + 1,
        **{
            f"its busiest switch, {form.value}": _size_json(
                _size_with(topology, own, int(passing.max()), PipelineOptions(form=form))
            )
            for form in Form
        },
    }


def _size_with(
    topology: Topology, own: list[tuple[tuple[str, str], Paths]], passing: int, options: PipelineOptions
) -> TableSize:
    """Return the table size of a switch with these pairs of its own, both ways, and `passing` tunnels through it."""
    switch = own[0][0][0]
    label = FIRST_PATH_ID
    planned: list[PairPlan] = []
    for (source, target), paths in own:
        tunnels = tuple(Tunnel(label + number, path, 1.0, 1 / len(paths)) for number, path in enumerate(paths))
        label += len(paths)
        planned.append(PairPlan(source, target, 1.0, 1.0, tunnels))
    before, after = topology.neighbours[switch][:2]
    through = PairPlan(before, after, 1.0, 1.0, (Tunnel(label, (before, switch, after), 1.0, 1.0),))
    without, with_one = (
        table_size(build_tables(Plan(topology, tuple(pairs), "none", 0.0, "none", 0.0), options)[switch])
        for pairs in (planned, [*planned, through])
    )
    # The one tunnel is planned one way and counts twice, as it also gets its way back.
    return TableSize(
        without.entries + passing * (with_one.entries - without.entries) // 2,
        without.fields + passing * (with_one.fields - without.fields) // 2,
        without.groups,
        without.buckets,
    )


def _size_json(size: TableSize) -> str:
    return f"{size.entries} entries with {size.fields} fields, {size.groups} groups with {size.buckets} buckets"
