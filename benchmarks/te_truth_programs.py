"""The programs of published optima over given tunnels, as small as they can be: one value each, by HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import highspy
import networkx as nx
import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import SolverError
from te_solver.demands import Demand
from te_solver.highs import OPTIONS, Vector
from te_solver.programs.incidence import Incidence, scaled
from te_solver.topology import Topology

Method = Literal["simplex", "interior"]
"""`interior`: the interior point method without crossover, exact to about one part in a billion."""

_METHODS = {"simplex": {}, "interior": {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-9}}


def most_total_flow(incidence: Incidence, capacity: Vector, demand: Vector, method: Method = "interior") -> float:
    """Return the greatest sum of tunnels' rates within capacities and demands."""
    unit = float(capacity.max())
    matrix = sp.vstack([incidence.links, incidence.pairs], format="csc")
    most = np.concatenate([capacity, demand]) / unit
    return -unit * _least(-np.ones(incidence.hops.size), matrix, np.full(most.size, -np.inf), most, method)


def least_utilisation(incidence: Incidence, capacity: Vector, demand: Vector, method: Method = "interior") -> float:
    """Return the least utilisation of the busiest link, in the fractions of demands that each tunnel takes.

    Its reciprocal is the greatest share that all demands, which are above zero, can get at the same time.
    """
    load = scaled(incidence.links, demand[incidence.pair_of_tunnel], capacity)
    unit = float(load.data.max())
    highest = sp.csc_array(-np.ones((capacity.size, 1)))
    whole = sp.csc_array((demand.size, 1))
    matrix = sp.vstack([sp.hstack([load / unit, highest]), sp.hstack([incidence.pairs, whole])], format="csc")
    lower = np.concatenate([np.full(capacity.size, -np.inf), np.ones(demand.size)])
    upper = np.concatenate([np.zeros(capacity.size), np.ones(demand.size)])
    return unit * _least(np.append(np.zeros(incidence.hops.size), 1.0), matrix, lower, upper, method)


def least_utilisation_of_any_paths(topology: Topology, demands: Sequence[Demand]) -> float:
    """Return the least utilisation of the busiest link if demands may be divided over all paths.

    The flow from a source to all its targets is one commodity: a variable for each source and link, and a row for each
    source and node, which balances the flow there.
    """
    position = {node: number for number, node in enumerate(topology.nodes)}
    sources = list(dict.fromkeys(demand.source for demand in demands))
    capacity = np.array([link.capacity for link in topology.links])
    nodes, links = len(position), capacity.size
    columns = np.tile(np.arange(links), 2)
    ends = [position[link.source] for link in topology.links], [position[link.target] for link in topology.links]
    signs = np.repeat([-1.0, 1.0], links)
    unit = sum(demand.rate for demand in demands)
    arriving = sp.csc_array((signs, (np.concatenate(ends), columns)), shape=(nodes, links))
    wanted = np.zeros((len(sources), nodes))
    row_of = {source: row for row, source in enumerate(sources)}
    for demand in demands:
        wanted[row_of[demand.source], position[demand.target]] += demand.rate / unit
        wanted[row_of[demand.source], position[demand.source]] -= demand.rate / unit
    flows = sp.kron(sp.eye_array(len(sources)), arriving)
    load = sp.kron(np.ones((1, len(sources))), sp.diags_array(unit / capacity / (unit / capacity).max()))
    highest = sp.csc_array(-np.ones((links, 1)))
    matrix = sp.csc_array(sp.block_array([[flows, None], [load, highest]]))
    lower = np.concatenate([wanted.ravel(), np.full(links, -np.inf)])
    upper = np.concatenate([wanted.ravel(), np.zeros(links)])
    cost = np.append(np.zeros(flows.shape[1]), 1.0)
    return float((unit / capacity).max()) * _least(cost, matrix, lower, upper, "interior")


class ShortestPaths:
    """All shortest paths by inverse capacity; traffic is divided equally over those of a pair, not at each hop.

    A link's weight is the whole part of the largest capacity divided by its own.
    """

    def __init__(self, topology: Topology) -> None:
        largest = max(link.capacity for link in topology.links)
        self._topology = topology
        self._graph: nx.DiGraph[str] = nx.DiGraph()
        self._graph.add_weighted_edges_from((*link.ends, int(largest / link.capacity)) for link in topology.links)
        self._paths: dict[tuple[str, str], list[list[str]]] = {}

    def utilisation(self, demands: Sequence[Demand]) -> float:
        """Return the utilisation of the busiest link."""
        loads = dict.fromkeys((link.ends for link in self._topology.links), 0.0)
        for demand in demands:
            if demand.pair not in self._paths:
                self._paths[demand.pair] = list(nx.all_shortest_paths(self._graph, *demand.pair, weight="weight"))
            paths = self._paths[demand.pair]
            for path in paths:
                for ends in pairwise(path):
                    loads[ends] += demand.rate / len(paths)
        return max(load / self._topology.link(*ends).capacity for ends, load in loads.items())


def _least(cost: Vector, matrix: sp.csc_array, lower: Vector, upper: Vector, method: Method) -> float:
    """Return the least cost of variables that are not negative, within rows."""
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_, program.col_lower_ = cost, np.zeros(cost.size)
    program.col_upper_ = np.full(cost.size, np.inf)
    program.row_lower_, program.row_upper_ = lower, upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    highs = highspy.Highs()
    tolerances = {f"{kind}_feasibility_tolerance": 1e-9 for kind in ("primal", "dual")}
    for option, value in {**OPTIONS, **tolerances, **_METHODS[method]}.items():
        highs.setOptionValue(option, value)
    highs.passModel(program)
    highs.run()
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS gave up with status {highs.modelStatusToString(status)}")
    return float(highs.getInfo().objective_function_value)
