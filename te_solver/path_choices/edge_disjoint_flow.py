"""Edge-disjoint paths of a maximum flow, the shortest of them: what NCFlow and POP choose paths by."""

from __future__ import annotations

import networkx as nx

from te_solver.cost_graph import CostGraph
from te_solver.path_choice import PairRoutes, PathChoice, PathQuestion, Routes


def _routes(question: PathQuestion) -> PairRoutes:
    """Abuzaid et al., NSDI 2021 (section 6.1), take the paths of networkx.

    Which of several maximum flows it finds is its own affair. A link counts by itself: paths may use both
    directions of a cable. Paths are sorted by cost, then by nodes.
    """
    graph = CostGraph(question.topology, question.weight)
    links: nx.DiGraph[int] = nx.DiGraph()
    links.add_nodes_from(range(len(graph.names)))
    links.add_edges_from(sorted(graph.cost))

    def of_pair(source: str, target: str, count: int) -> Routes:
        ends = graph.position[source], graph.position[target]
        if not nx.has_path(links, *ends):
            return ()
        paths = [tuple(path) for path in nx.edge_disjoint_paths(links, *ends)]
        kept = sorted(paths, key=lambda path: (graph.length(path), path))[:count]
        return tuple((graph.named(path), 1 / len(kept)) for path in kept)

    return of_pair


CHOICE = PathChoice("edge-disjoint-flow", _routes)
