"""Forward fault correction: the most traffic that survives the failure of any k edges, by rescaling, without loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from pathlib import Path
from typing import ClassVar

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from kuijia_base.errors import UnsoundError
from te_solver.formats.failures_file import load_failures
from te_solver.formats.plan_file import load_plan
from te_solver.model.exposure import Exposure, Mask, unions
from te_solver.model.failures import Failure
from te_solver.programs.incidence import Incidence, Vector, scaled, within_capacity
from te_solver.programs.program import Allocation, Formulation, Objective, Options, Program, total
from te_solver.programs.scale import Scale
from te_solver.programs.settings import NumberSetting, Settings, WordSetting
from te_solver.programs.spread import most_even
from te_solver.programs.tunnel_rates import TunnelRates


class ForwardFaultCorrection(Program):
    """The program of the greatest sum of b_f that survives the failure of any k edges within the reserved rates.

    Liu et al., Traffic engineering with forward fault correction, SIGCOMM 2014: a_t is the rate reserved for tunnel t,
    b_f <= d_f the rate that pair f may send. For every set of at most k failed edges the remaining tunnels of f have
    room for b_f:

        sum(a_t for the t of f that cross no failed edge) >= b_f

    Rescaling sends b_f a_t / sum(remaining a) over each of them, which is at most a_t: no link is overloaded.

    Each pair is formulated in one of two ways, both exact:

    - enumeration: a row for every set of its tunnels that k edges can take down (subsets of another such set are
      redundant). Tunnels that share an edge fail together.
    - compact, for pairs whose tunnels fail in groups without a common tunnel, such as edge-disjoint tunnels, which are
      groups of one: the greatest rate of k groups is the minimum of k theta + sum(u_g) over theta >= 0, u_g >= 0,
      u_g >= sum(a_t for t of group g) - theta (Boyd and Vandenberghe, Convex Optimization, exercise 5.19), and b_f is
      at most the pair's rates less this. There are as many rows as groups, for any k.

    `Options.formulation` selects it: `smaller` takes the one with fewer rows, pair by pair; with `compact`, pairs whose
    groups overlap are still enumerated, since the k largest rates would not bound the effect of k failures.

    Settings add other faults (sections 4.2 and 4.3), each together with the failed edges:

    - `switches`: transit nodes that fail; what starts or ends at a failed one is not counted as lost.
    - `risks`: a file of what fails together (CSV), and `shared`: how many of these failures happen at a time.
    - `control`: ingresses that are not reached by the update from the plan in the file `before`. They send b_f in its
      weights w: max(a_t, w_t b_f) at most on tunnel t. Links have room for any such ingresses, before any failure. The
      sum of the largest excesses of a link is written like the compact form above.

    Of the solutions with the greatest sum the one that reserves the fewest hops is taken; `Options.spread` then divides
    the reservation of each pair evenly over its tunnels.
    """

    settings: ClassVar[Settings] = {
        "switches": NumberSetting(0, 0, 15, whole=True),
        "risks": WordSetting("", is_file=True),
        "shared": NumberSetting(1, 1, 15, whole=True),
        "control": NumberSetting(0, 0, 1000, whole=True),
        "before": WordSetting("", is_file=True),
    }

    def __init__(self, incidence: Incidence, options: Options | None = None) -> None:
        super().__init__(incidence, options)
        self._columns = [columns.tolist() for columns in incidence.tunnels_of_pair]
        self._exposures = [
            Exposure.of([incidence.edges_of_tunnel(column) for column in columns]) for columns in self._columns
        ]
        self._others = self._other_losses()
        self._weight_before = _weights_before(self)

    def _other_losses(self) -> list[tuple[tuple[Mask, ...], ...]]:
        """Return for each pair what failures of switches and of shared risks can take down; nothing without both."""
        incidence, switches, file = self.incidence, int(self.number("switches")), self.word("risks")
        found: list[tuple[tuple[Mask, ...], ...]] = [() for _ in self._columns]
        if switches:
            of_pair = [
                Exposure.of([_transit(incidence, column) for column in columns]).losses(switches)
                for columns in self._columns
            ]
            found = [(*others, lost) for others, lost in zip(found, of_pair, strict=True)]
        if file:
            risks = load_failures(Path(file), incidence.topology)
            crossed = [_risks(incidence, risks, tunnel) for tunnel in range(incidence.hops.size)]
            shared = int(self.number("shared"))
            of_pair = [Exposure.of([crossed[column] for column in columns]).losses(shared) for columns in self._columns]
            found = [(*others, lost) for others, lost in zip(found, of_pair, strict=True)]
        return found

    def _losses(self, pair: int) -> tuple[Mask, ...]:
        """Return the sets of a pair's tunnels that failures can take down, without subsets of others."""
        return unions(self._exposures[pair].losses(self.options.protect), *self._others[pair])

    def _compile(self, scale: Scale) -> None:
        self._tunnels = tunnels = TunnelRates(self.incidence, scale)
        self._share = cp.Variable(scale.most.size, nonneg=True)
        self._sum = cp.Parameter(nonneg=True)
        self._granted = cp.Parameter(scale.most.size, nonneg=True)
        safe = [*tunnels.bounds, self._share <= tunnels.demand, *self._protection(scale), *self._unreached(scale)]
        total = (scale.most / scale.unit) @ self._share
        self._most = cp.Problem(cp.Maximize(total), safe)
        self._shortest = cp.Problem(cp.Minimize(tunnels.hops), [*safe, total >= self._sum])
        self._even = most_even(tunnels, [*safe, self._share >= self._granted]) if self.options.spread else None

    def _protection(self, scale: Scale) -> list[cp.Constraint]:
        """Return the constraints that each pair's grant survives, in shares of `scale.most`."""
        share, failures = self._tunnels.share, self.options.protect
        compact = [
            pair
            for pair, exposure in enumerate(self._exposures)
            if not self._others[pair] and _takes_compact(exposure, failures, self.options.formulation)
        ]
        rows = [
            (pair, self._columns_of(pair, ~lost))
            for pair in sorted(set(range(len(self._exposures))) - set(compact))
            for lost in self._losses(pair)
        ]
        constraints = []
        if rows:
            left = self._sums(scale, rows)
            constraints.append(left @ share >= _picked([pair for pair, _ in rows], scale.most.size) @ self._share)
        if compact:
            groups = [
                (pair, self._columns_of(pair, group)) for pair in compact for group in self._exposures[pair].groups
            ]
            position = {pair: number for number, pair in enumerate(compact)}
            of_group = _picked([position[pair] for pair, _ in groups], len(compact))
            threshold = cp.Variable(len(compact), nonneg=True)
            above = cp.Variable(len(groups), nonneg=True)
            everything = self._sums(scale, [(pair, self._columns[pair]) for pair in compact])
            constraints += [
                above + of_group @ threshold >= self._sums(scale, groups) @ share,
                everything @ share - failures * threshold - of_group.T @ above
                >= _picked(compact, scale.most.size) @ self._share,
            ]
        return constraints

    def _unreached(self, scale: Scale) -> list[cp.Constraint]:
        """Return the constraints that links have room for ingresses that an update does not reach."""
        faults, before = int(self.number("control")), self._weight_before
        if not faults or not before.any():
            return []
        incidence, tunnels = self.incidence, self._tunnels
        of_tunnel = incidence.pair_of_tunnel
        excess = cp.Variable(before.size, nonneg=True)
        sent = sp.csr_array(
            (before * scale.most[of_tunnel] / scale.alone, (np.arange(before.size), of_tunnel)),
            shape=(before.size, scale.most.size),
        )
        places: dict[tuple[str, int], int] = {}
        entries = [
            (places.setdefault((incidence.pair_ends(tunnel)[0], link), len(places)), tunnel, link)
            for tunnel in np.flatnonzero(before).tolist()
            for link in incidence.links_of_tunnel(tunnel).tolist()
        ]
        rows, columns, links = np.array(entries, dtype=np.int64).T
        of_ingress = sp.csr_array(
            (scale.alone[columns] / scale.capacity[links], (rows, columns)), shape=(len(places), before.size)
        )
        on_link = _picked([link for _, link in places], scale.capacity.size)
        threshold = cp.Variable(scale.capacity.size, nonneg=True)
        above = cp.Variable(len(places), nonneg=True)
        return [
            excess + tunnels.share >= sent @ self._share,
            above + on_link @ threshold >= of_ingress @ excess,
            tunnels.load + faults * threshold + on_link.T @ above <= tunnels.capacity,
        ]

    def _columns_of(self, pair: int, mask: Mask) -> list[int]:
        return [column for position, column in enumerate(self._columns[pair]) if mask >> position & 1]

    def _sums(self, scale: Scale, rows: Sequence[tuple[int, Iterable[int]]]) -> sp.csc_array:
        """Return a row for each pair and some of its tunnels that sums their rates, in shares of the pair's `most`."""
        entries = [(row, column) for row, (_, columns) in enumerate(rows) for column in columns]
        row_indices, column_indices = np.array(entries, dtype=np.int64).reshape(-1, 2).T
        ones = sp.csc_array((np.ones(len(entries)), (row_indices, column_indices)), shape=(len(rows), scale.alone.size))
        return scaled(ones, scale.alone, scale.most[[pair for pair, _ in rows]])

    def _solve(self, room: Vector, demand: Vector, carried: Vector) -> Allocation:
        del carried  # `room` excludes it
        tunnels, solver = self._tunnels, self.options.solver
        tunnels.put(room, demand)

        def answer() -> tuple[Vector, Vector]:
            rates = within_capacity(self.incidence, room, tunnels.rates())
            granted = np.minimum(self._surviving(rates), demand)
            if self._weight_before.any():  # old weights may leave room for less than survives
                granted = np.minimum(granted, np.maximum(self._share.value, 0.0) * tunnels.scale.most)
            return rates, granted

        seconds = solver.run(self._most)
        _, granted = answer()
        self._sum.value = granted.sum() / tunnels.scale.unit
        seconds += solver.run(self._shortest)
        rates, granted = answer()
        if self._even is not None:
            self._granted.value = tunnels.of_most(granted)
            seconds += solver.run(self._even)
            rates, granted = answer()
        return Allocation(rates, granted, solver.title, seconds)

    def _surviving(self, rates: Vector) -> Vector:
        """Return the Mbit/s of each pair's rates that survive the worst failure."""
        left = [
            min(rates[self._columns_of(pair, ~lost)].sum() for lost in self._losses(pair))
            if self._others[pair]
            else exposure.surviving(rates[columns].tolist(), self.options.protect)
            for pair, (columns, exposure) in enumerate(zip(self._columns, self._exposures, strict=True))
        ]
        return np.array(left)


def _transit(incidence: Incidence, tunnel: int) -> frozenset[str]:
    """Return the nodes of a tunnel between its ends."""
    return frozenset(node for hop in incidence.hops_of_tunnel(tunnel) for node in hop) - {*incidence.pair_ends(tunnel)}


def _risks(incidence: Incidence, risks: Sequence[Failure], tunnel: int) -> tuple[int, ...]:
    """Return the failures, by their numbers, that take a tunnel down."""
    edges = {frozenset(hop) for hop in incidence.hops_of_tunnel(tunnel)}
    transit = _transit(incidence, tunnel)
    return tuple(
        number
        for number, risk in enumerate(risks)
        if not edges.isdisjoint(map(frozenset, risk.edges)) or not transit.isdisjoint(risk.nodes)
    )


def _weights_before(program: ForwardFaultCorrection) -> Vector:
    """Return the weight of each tunnel in the plan before, zero without one; of several classes the first counts.

    Raises:
        InputError: the plan cannot be read.
        UnsoundError: control faults without a plan before, or one with other tunnels; its `where` is `objective`.
    """
    incidence, file = program.incidence, program.word("before")
    weights = np.zeros(incidence.hops.size)
    if not program.number("control"):
        return weights
    if not file:
        raise UnsoundError(("objective",), "control faults leave weights of a plan that is not named", "before=PLAN")
    known: dict[tuple[str, str], dict[frozenset[tuple[str, str]], float]] = {}
    for pair in load_plan(Path(file)).pairs:
        own = {frozenset(tunnel.hops): tunnel.weight for tunnel in pair.tunnels}
        known.setdefault((pair.source, pair.target), own)
    for columns in incidence.tunnels_of_pair:
        ends = incidence.pair_ends(int(columns[0]))
        left = dict(known.get(ends, {}))
        for column in columns.tolist():
            weights[column] = left.pop(incidence.hops_of_tunnel(column), 0.0)
        if any(left.values()):
            problem = f"the plan before uses other tunnels from {ends[0]} to {ends[1]}"
            raise UnsoundError(("objective",), problem, "the same tunnels in both plans")
    return weights


def _takes_compact(exposure: Exposure, failures: int, formulation: Formulation) -> bool:
    if formulation == "enumeration" or not exposure.is_disjoint:
        return False
    groups = len(exposure.groups)
    return formulation == "compact" or comb(groups, min(failures, groups)) > groups + 1


def _picked(columns: Sequence[int], count: int) -> sp.csr_array:
    """Return the matrix whose rows select these of `count` entries."""
    return sp.csr_array((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), count))


OBJECTIVE = Objective("ffc", ForwardFaultCorrection, total, protects=True, settings=ForwardFaultCorrection.settings)
