"""Figure 4 on the paper's whole grid, and some of its cases with their linear programs solved through CVXPY."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from benchmarks.measure import Timed, timed
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from experiments import fig4
from experiments.experiment import Settings
from experiments.fig4 import CURVES, FULL_GRAPHS, FULL_RUNS, Draw, figure_sweep, mean_loss, traffic_of
from kuijia_base.parallel import processors
from kuijia_base.sweep.sweep import swept
from kuijia_base.sweep.workers import Workers
from te_solver.model.failures import single_links
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.resolve import WarmThroughput
from te_solver.schemes.making import make_scheme
from te_solver.schemes.models.interface import RateSolver

_GRAPHS, _RUNS = FULL_GRAPHS, FULL_RUNS
_SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=False, seed=1)
_EVERY_DEMAND, _EVERY_FAILURE = 4, 5
"""Steps between the compared demands and failures of the first draw."""

_GOAL_SECONDS = 180.0


@benchmark("fig4-full")
def fig4_full(setting: BenchmarkSetting) -> Iterator[Comparison]:
    processes = processors()
    whole = timed(lambda: _losses(processes, setting))
    cases = _GRAPHS * _RUNS * len(fig4.DEMANDS) * fig4.EDGES
    setting.progress.show("ours, some of the cases")
    compared, ours = _sample(_ours)
    detail = {
        "problem": f"{cases:,} failures of a link, each under original and under precomputed weights, which take a "
        f"linear program; {fig4.NODES} nodes, {fig4.EDGES} links, {fig4.PAIRS} pairs",
        "s for all of them": whole.seconds,
        "processes": processes,
        "cases compared": compared,
        "goals": [goal(f"at most {_GOAL_SECONDS:g} s on two processors", met=whole.seconds <= _GOAL_SECONDS)],
    }
    for name, solver in (("CVXPY compiled once per plan", _compiled_once), ("CVXPY built anew", _built_anew)):
        setting.progress.show(f"{name}, the same cases")
        _, peer = _sample(solver)
        told = {**detail, "difference in loss": float(np.abs(np.subtract(peer.value, ours.value)).max())}
        yield Comparison(ours.seconds / compared * 1e3, peer.seconds / compared * 1e3, name, "ms per case", told)


def _losses(processes: int, setting: BenchmarkSetting) -> list[Any]:
    with swept(figure_sweep(_SETTINGS, _GRAPHS, _RUNS), Workers(processes), None, setting.progress) as losses:
        return losses


def _sample(solver: Callable[[], RateSolver]) -> tuple[int, Timed[list[float]]]:
    """Return the number of cases, and their timed losses, without the time of the initial plans."""
    planned = list(traffic_of(_SETTINGS, Draw(1, 1)))[::_EVERY_DEMAND]
    failures = list(single_links(planned[0].plan.topology))[::_EVERY_FAILURE]
    return len(planned) * len(failures), timed(
        lambda: [mean_loss(traffic, make_scheme(name, solver()), failures) for traffic in planned for name in CURVES]
    )


def _ours() -> WarmThroughput:
    return WarmThroughput(fewest_hops=False)


class _ThroughCvxpy:
    """The same program, written in CVXPY and also solved by HiGHS."""

    def __init__(self, *, anew: bool) -> None:
        self._anew = anew
        self._program: _Program | None = None

    def __call__(self, incidence: Incidence, capacity: Vector, demand: Vector, /) -> _Rates:
        if self._program is None or self._anew:
            self._program = _Program.of(incidence)
        program = self._program
        program.capacity.value, program.demand.value = capacity, demand
        program.problem.solve(solver=cp.HIGHS)
        return _Rates(np.maximum(program.rates.value, 0.0))


def _compiled_once() -> _ThroughCvxpy:
    return _ThroughCvxpy(anew=False)


def _built_anew() -> _ThroughCvxpy:
    return _ThroughCvxpy(anew=True)


@dataclass(frozen=True)
class _Rates:
    rates: Vector


@dataclass(frozen=True)
class _Program:
    problem: cp.Problem
    rates: cp.Variable
    capacity: cp.Parameter
    demand: cp.Parameter

    @classmethod
    def of(cls, incidence: Incidence) -> _Program:
        rates = cp.Variable(incidence.hops.size, nonneg=True)
        capacity = cp.Parameter(incidence.links.shape[0], nonneg=True)
        demand = cp.Parameter(incidence.pairs.shape[0], nonneg=True)
        bounds = [incidence.links @ rates <= capacity, incidence.pairs @ rates <= demand]
        return cls(cp.Problem(cp.Maximize(cp.sum(rates)), bounds), rates, capacity, demand)
