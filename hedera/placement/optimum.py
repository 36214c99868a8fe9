"""Optimal placement by an integer program: a yardstick for small networks."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.interface import Elephants, Placement, without_dead_paths
from te_solver.programs.solver import Solver


class Optimum(Placement):
    """Placement that maximises the sum of demands carried over one equal-cost path per flow.

    The program has a binary for each flow and path; its time grows exponentially with their number. Some dozens of
    flows on a fat-tree of 4-port switches take less than a second.

    Args:
        per_host: True to give all flows to a host one label, as simulated annealing does: its best possible result.

    Raises (in `place`):
        SolverError: the solver found no optimum.
    """

    name = "optimum"

    def __init__(self, *, per_host: bool = False) -> None:
        self._per_host = per_host

    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:
        choice = np.full(flows.size, HASHED, np.int32)
        ways = _Ways.of(fabric, flows, per_host=self._per_host)
        if not ways.label.size:
            return choice
        options, option = np.unique(
            flows.target[ways.flow] * fabric.labels + ways.label if self._per_host else np.arange(ways.label.size),
            return_inverse=True,
        )
        is_chosen = cp.Variable(options.size, boolean=True)[option]
        carried = cp.Variable(ways.label.size, nonneg=True)
        demand = flows.demand[ways.flow]
        problem = cp.Problem(
            cp.Maximize(cp.sum(carried)),
            [
                carried <= cp.multiply(demand, is_chosen),
                ways.of_flow @ is_chosen <= np.ones(flows.size),
                ways.on_link @ carried <= capacity,
            ],
        )
        Solver().run(problem)
        chosen = np.flatnonzero(is_chosen.value > 0.5)
        choice[ways.flow[chosen]] = ways.label[chosen]
        return without_dead_paths(fabric, flows, choice, capacity)


class _Ways:
    """Every path of every flow, with its flow, label and links."""

    def __init__(self, flow: Ints, label: Ints, of_flow: sp.csr_array, on_link: sp.csr_array) -> None:
        self.flow, self.label, self.of_flow, self.on_link = flow, label, of_flow, on_link

    @classmethod
    def of(cls, fabric: Fabric, flows: Elephants, *, per_host: bool) -> _Ways:
        """List the paths; one with several labels counts once, or once per label if labels are chosen per host."""
        ways = [
            (flow, -(-number * fabric.labels // count))
            for flow in range(flows.size)
            for paths in [fabric.path_count(int(flows.source[flow]), int(flows.target[flow]))]
            for count in [fabric.labels if per_host and paths else paths]
            for number in range(count)
        ]
        flow, label = np.array(ways, np.int32).reshape(-1, 2).T
        paths = fabric.flow_paths(flows.source[flow], flows.target[flow], label)
        places = np.arange(flow.size)
        of_flow = sp.csr_array((np.ones(flow.size), (flow, places)), shape=(flows.size, flow.size))
        crossing = np.repeat(places, np.diff(paths.first))
        on_link = sp.csr_array((np.ones(crossing.size), (paths.links, crossing)), shape=(fabric.links, flow.size))
        return cls(flow, label, of_flow, on_link)
