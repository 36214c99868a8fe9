"""Entries of the paper's Emulab switches as far as it describes them: one for each aggregate at each switch; pure.

On tunnel i of a pair there is an aggregate for each other tunnel j, in each class. Each has a tag of its own. Switches
of i send it to the queue of its class; switches of j, to which a failure moves it, to the queue of its class's victims.
"""

from __future__ import annotations

from itertools import count, permutations

from kuijia_app.tables.rules import ETH_TYPE_MPLS, FlowEntry, Match, Output, SetQueue
from te_solver.plan import FIRST_PATH_ID, Plan, Tunnel

_PRIORITY = 100


def aggregate_tables(plan: Plan) -> dict[str, tuple[FlowEntry, ...]]:
    """Return the entries of each switch: an aggregate's packets, by port, tag and class, go to a queue and a port."""
    ports = _ports(plan)
    tables: dict[str, list[FlowEntry]] = {node: [] for node in plan.topology.nodes}
    tags = count(FIRST_PATH_ID)
    for pair in plan.pairs:
        for tunnel, backup in permutations(pair.tunnels, 2):
            tag = next(tags)
            for path, queue in ((tunnel, 2 * pair.priority), (backup, 2 * pair.priority + 1)):
                for node, in_port, out_port in _places(path, ports):
                    match = Match(in_port=in_port, eth_type=ETH_TYPE_MPLS, mpls_label=tag, mpls_tc=queue)
                    tables[node].append(FlowEntry(_PRIORITY, match, (SetQueue(queue), Output(out_port))))
    return {node: tuple(entries) for node, entries in tables.items()}


def _ports(plan: Plan) -> dict[tuple[str, str], int]:
    """Return the port of a switch (first) to each neighbour (second), and to its own host (itself)."""
    ports: dict[tuple[str, str], int] = {}
    for node in plan.topology.nodes:
        ends = (end for link in plan.topology.links if node in link.ends for end in link.ends)
        others = dict.fromkeys((node, *ends))
        ports |= {(node, other): number for number, other in enumerate(others, start=1)}
    return ports


def _places(tunnel: Tunnel, ports: dict[tuple[str, str], int]) -> list[tuple[str, int, int]]:
    """Return each switch of a tunnel with the ports that packets come in by and leave by."""
    nodes = tunnel.nodes
    before, after = (nodes[0], *nodes[:-1]), (*nodes[1:], nodes[-1])
    return [
        (node, ports[node, earlier], ports[node, later])
        for node, earlier, later in zip(nodes, before, after, strict=True)
    ]
