"""Scenarios of independent cable failures: which tunnels are down together, and how likely that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, groupby
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from te_solver.formats.failures_file import load_down
from te_solver.programs.highs import Indices
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.program import Program
from te_solver.programs.settings import NumberSetting, Settings, WordSetting

_Likely = tuple[float, tuple[int, ...]]
"""Probability of a scenario, and the elements that fail in it."""

FAILURE_SETTINGS: Settings = {
    "file": WordSetting("", is_file=True),
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


def scenarios_of(program: Program, cut: NDArray[np.bool_] | None = None) -> Scenarios:
    """Return the scenarios by a program's settings; see `drawn`.

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
    return drawn(program.incidence, of_edge, program.number("cutoff"), cut)


def drawn(incidence: Incidence, down: Vector, cutoff: float, cut: NDArray[np.bool_] | None = None) -> Scenarios:
    """Return all scenarios that are at least as likely as `cutoff`, for the probability that each edge is down.

    Edges that the same tunnels cross are one element, which is down if any of them is; edges without tunnels never
    matter. So scenarios of elements have the probabilities of all scenarios of edges that look alike to tunnels.

    Args:
        incidence: the tunnels.
        down: probability that each edge is down.
        cutoff: least probability of a scenario.
        cut: True for pairs whose loss of all tunnels makes scenarios alike: those in which one failed element does this
            to one of them are merged, and the most likely one stands for all. None to merge none.
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
    lost = _rows([tunnels for _, tunnels in elements], incidence.hops.size)
    if cut is not None:
        found = _merged(found, _cutting(incidence, lost, cut))
    down_together = sp.csr_array(_rows([numbers for _, numbers in found], len(elements)) @ lost)
    down_together.sort_indices()
    down_together.data[:] = 1

    def columns(number: int) -> bytes:
        """Return the tunnels that are down, as bytes that compare as their numbers do."""
        row: Indices = down_together.indices[down_together.indptr[number] : down_together.indptr[number + 1]]
        return row.astype(">i4").tobytes()

    alike: dict[bytes, int] = {}
    probability = np.zeros(len(found))
    for number, (share, _) in enumerate(found):
        probability[alike.setdefault(blake2b(columns(number)).digest(), number)] += share
    by_share = sorted(alike.values(), key=lambda number: -probability[number])
    ordered = [
        number
        for _, tied in groupby(by_share, key=lambda number: probability[number])
        for number in sorted(tied, key=columns)
    ]
    probability = probability[ordered]
    return Scenarios(probability, down_together[ordered], max(0.0, 1.0 - float(probability.sum())))


def _rows(columns: Sequence[Sequence[int]], width: int) -> sp.csr_array:
    """Return a matrix with 1 in these columns of each row."""
    starts = np.cumsum([0, *map(len, columns)], dtype=np.int32)
    places = np.fromiter(chain.from_iterable(columns), dtype=np.int32, count=int(starts[-1]))
    return sp.csr_array((np.ones(places.size, dtype=np.int8), places, starts), shape=(len(columns), width))


def _cutting(incidence: Incidence, lost: sp.csr_array, cut: NDArray[np.bool_]) -> frozenset[int]:
    """Return the elements that take down all tunnels of one of the pairs, for the tunnels that each takes down."""
    of_pair = sp.coo_array(incidence.pairs @ lost.T)
    tunnels = np.bincount(incidence.pair_of_tunnel, minlength=cut.size)
    return frozenset(of_pair.col[cut[of_pair.row] & (of_pair.data == tunnels[of_pair.row])].tolist())


def _merged(found: list[_Likely], cutting: frozenset[int]) -> list[_Likely]:
    """Return the scenarios, one in place of those in which a cutting element fails."""
    others = [scenario for scenario in found if cutting.isdisjoint(scenario[1])]
    alike = [scenario for scenario in found if not cutting.isdisjoint(scenario[1])]
    return [*others, (sum(share for share, _ in alike), max(alike)[1])] if alike else others


def _likely(down: list[float], cutoff: float) -> list[_Likely]:
    """Return the sets of failed elements of at least this probability, each with it.

    Every scenario differs from the most likely one in some elements, each of which makes it less likely.
    """
    usual = {number for number, share in enumerate(down) if share > 1 / 2}
    factor = [min(share, 1 - share) / max(share, 1 - share) for share in down]
    order = sorted(range(len(down)), key=lambda number: -factor[number])
    first = float(np.prod([max(share, 1 - share) for share in down]))
    found: list[_Likely] = []
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
