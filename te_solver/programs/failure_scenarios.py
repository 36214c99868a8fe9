"""Scenarios of independent cable failures: which tunnels are down together, and how likely that is."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.formats.probabilities_file import load_down
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Program
from te_solver.programs.settings import NumberSetting, Settings, WordSetting

FAILURE_SETTINGS: Settings = {
    "file": WordSetting(""),
    "probability": NumberSetting(0.001, 0.0, 1.0, excluded="both"),
    "cutoff": NumberSetting(1e-6, 1e-9, 0.1),
}
"""Settings of objectives that know how likely failures are: a file of cables with their probabilities; without one
those of the topology's file, without these `probability` for each cable. Scenarios less likely than `cutoff` are left
out."""


@dataclass(frozen=True)
class Scenarios:
    """Q scenarios with different tunnels down, the most likely first.

    Attributes:
        probability: of each, shape (Q,).
        down: 1 where a tunnel (column) is down in a scenario (row), shape (Q, T).
        left_out: probability of all other scenarios.
    """

    probability: Vector
    down: sp.csr_array
    left_out: float


def scenarios_of(program: Program) -> Scenarios:
    """Return the scenarios by a program's settings.

    Raises:
        InputError: the file of probabilities cannot be used.
        UnsoundError: a cable is always down; its `where` is `objective`.
    """
    topology = program.incidence.topology
    file = program.word("file")
    if file:
        down = load_down(Path(file), topology)
    else:
        down = dict(topology.down) or dict.fromkeys(map(frozenset, topology.edges), program.number("probability"))
    of_edge = np.array([down.get(frozenset(edge), 0.0) for edge in topology.edges])
    if (of_edge >= 1).any():
        a, b = topology.edges[int(np.argmax(of_edge))]
        raise UnsoundError(("objective",), f"cable {a}-{b} is down with probability 1", "probabilities below 1")
    return drawn(program.incidence, of_edge, program.number("cutoff"))


def drawn(incidence: Incidence, down: Vector, cutoff: float) -> Scenarios:
    """Return all scenarios that are at least as likely as `cutoff`, for the probability that each edge is down.

    Edges that the same tunnels cross are one element, which is down if any of them is; edges without tunnels never
    matter. So scenarios of elements have the probabilities of all scenarios of edges that look alike to tunnels.
    """
    crossing: dict[int, set[int]] = defaultdict(set)
    for tunnel in range(incidence.hops.size):
        for edge in incidence.edges_of_tunnel(tunnel):
            crossing[edge].add(tunnel)
    up: dict[frozenset[int], float] = defaultdict(lambda: 1.0)
    for edge, tunnels in crossing.items():
        up[frozenset(tunnels)] *= 1 - down[edge]
    elements = [(1 - share, sorted(tunnels)) for tunnels, share in up.items() if share < 1]
    found = _likely([share for share, _ in elements], cutoff)
    together: dict[tuple[int, ...], float] = defaultdict(float)
    for share, failed in found:
        together[tuple(sorted({tunnel for element in failed for tunnel in elements[element][1]}))] += share
    ordered = sorted(together.items(), key=lambda each: (-each[1], each[0]))
    probability = np.array([share for _, share in ordered])
    starts = np.cumsum([0, *(len(tunnels) for tunnels, _ in ordered)])
    columns = np.array([tunnel for tunnels, _ in ordered for tunnel in tunnels], dtype=np.int64)
    shape = (len(ordered), incidence.hops.size)
    matrix = sp.csr_array((np.ones(columns.size), columns, starts), shape=shape)
    return Scenarios(probability, matrix, max(0.0, 1.0 - float(probability.sum())))


def _likely(down: list[float], cutoff: float) -> list[tuple[float, tuple[int, ...]]]:
    """Return the sets of failed elements of at least this probability, each with it.

    Every scenario differs from the most likely one in some elements, each of which makes it less likely.
    """
    usual = {number for number, share in enumerate(down) if share > 1 / 2}
    factor = [min(share, 1 - share) / max(share, 1 - share) for share in down]
    order = sorted(range(len(down)), key=lambda number: -factor[number])
    first = float(np.prod([max(share, 1 - share) for share in down]))
    found: list[tuple[float, tuple[int, ...]]] = []
    pending: list[tuple[float, int, frozenset[int]]] = [(first, 0, frozenset(usual))]
    while pending:
        probability, begin, failed = pending.pop()
        if probability < cutoff and failed != usual:
            continue
        found.append((probability, tuple(failed)))
        for place in range(begin, len(order)):
            if probability * factor[order[place]] < cutoff:
                break
            pending.append((probability * factor[order[place]], place + 1, failed ^ {order[place]}))
    return found
