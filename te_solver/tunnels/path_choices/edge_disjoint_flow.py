"""Edge-disjoint paths of a maximum flow, the shortest of them: what NCFlow and POP choose paths by."""

from __future__ import annotations

import networkx as nx
from networkx.algorithms.connectivity import build_auxiliary_edge_connectivity
from networkx.algorithms.flow import build_residual_network

from te_solver.tunnels.cost_graph import CostGraph
from te_solver.tunnels.path_choice import PairRoutes, PathChoice, PathQuestion, Routes


def _routes(question: PathQuestion) -> PairRoutes:
    """Abuzaid et al., NSDI 2021 (section 6.1), take the paths of networkx, in its order.

    Which of several maximum flows networkx finds depends on the order of nodes and links: they come as in the topology,
    so that a file of a peer leads to the peer's paths. A link counts by itself: paths may use both directions of a
    cable. Loops of a path are cut out. Paths are sorted by cost.
    """
    graph = CostGraph(question.topology, question.weight)
    links: nx.DiGraph[int] = nx.DiGraph()
    links.add_nodes_from(range(len(graph.names)))
    links.add_edges_from((graph.position[link.source], graph.position[link.target]) for link in question.topology.links)
    auxiliary = build_auxiliary_edge_connectivity(links)
    residual = build_residual_network(auxiliary, "capacity")

    def of_pair(source: str, target: str, count: int) -> Routes:
        ends = graph.position[source], graph.position[target]
        try:
            found = list(nx.edge_disjoint_paths(links, *ends, auxiliary=auxiliary, residual=residual))
        except nx.NetworkXNoPath:
            return ()
        paths = [_without_loops(path) for path in found]
        kept = sorted(paths, key=graph.length)[:count]
        return tuple((graph.named(path), 1 / len(kept)) for path in kept)

    return of_pair


def _without_loops(walk: list[int]) -> tuple[int, ...]:
    path: list[int] = []
    for node in walk:
        if node in path:
            del path[path.index(node) :]
        path.append(node)
    return tuple(path)


CHOICE = PathChoice("edge-disjoint-flow", _routes)
