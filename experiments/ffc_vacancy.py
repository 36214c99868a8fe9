"""Capacity that FFC keeps vacant for failures, as section 2 says of it, from light demands to more than fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.gscale.plans import TUNNELS, gscale
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.score import size
from te_solver.model.demand_generators import gravity, scaled_to_total
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology
from te_solver.programs.program import Options
from te_solver.programs.registry import FFC
from te_solver.solve import solve

NAME = "ffc-vacancy"
DEMANDS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0)
"""Demands in parts of the most that fits the network if all of them grow alike."""

FITTING = 1.0
PROTECTED = {1: "one link", 2: "two links"}
"""Failed links that a plan survives without loss."""

PUBLISHED = 7.5
"""Percent: "about 5 to 10 %"."""


def run_vacancy(run: Execution) -> Outcome:
    """Draw gravity demands and compare the throughput of FFC with that of plans without protection."""
    network = gscale()
    draws = run.args.repetitions or run.sized(_QUICK_DRAWS, _DRAWS, _FULL_DRAWS)
    found: dict[tuple[int, float], list[float]] = {(links, demand): [] for links in PROTECTED for demand in DEMANDS}
    for draw in range(draws):
        run.show(f"{draw} of {draws} draws")
        most = fitting(gravity(network, np.random.default_rng([run.seed, draw])), network)
        for demand in DEMANDS:
            for links, percent in vacant(most, demand, network).items():
                found[links, demand].append(percent)
    lines = tuple(
        Line(label, tuple(Point.of(demand, found[links, demand]) for demand in DEMANDS))
        for links, label in PROTECTED.items()
    )
    name = f"{PROTECTED[1]}, demands that just fit"
    exhibit = Exhibit(
        name=NAME,
        title=f"capacity that FFC keeps vacant, Gscale, {TUNNELS} tunnels a pair",
        reproduces="Section 2, FFC",
        backend="flow",
        axis="demand, in parts of what fits",
        quantity="throughput less than without protection (%)",
        lines=lines,
        published="Zhang et al., Kuijia, section 2, which cites the paper of FFC",
        checks=(size(name, float(np.mean(found[1, FITTING])), PUBLISHED),),
        remarks=(
            'Published, in words alone: "about 5 to 10 %" of the capacity; network and demands are not told.',
            f"Means of {draws} draws of gravity demands between all sites.",
        ),
    )
    return run.written(exhibit)


def fitting(demands: Sequence[Demand], network: Topology) -> tuple[Demand, ...]:
    """Return the demands scaled to the most that fits the network if all grow alike."""
    busiest = solve(network, demands, TUNNELS, "min-max-utilisation").objective_value
    return scaled_to_total(demands, sum(demand.rate for demand in demands) / busiest)


def vacant(most: Sequence[Demand], demand: float, network: Topology) -> dict[int, float]:
    """Return the percents of throughput that protection costs, by the failed links that plans survive.

    Demands are those that just fit, `most`, times a factor.
    """
    wanted = scaled_to_total(most, demand * sum(each.rate for each in most))
    free = solve(network, wanted, TUNNELS).objective_value
    protected = {
        links: solve(network, wanted, TUNNELS, FFC, options=Options(protect=links)).objective_value
        for links in PROTECTED
    }
    return {links: 100 * (1 - rate / free) for links, rate in protected.items()}


_DRAWS, _QUICK_DRAWS, _FULL_DRAWS = 10, 1, 50


EXPERIMENTS = offered(
    {
        NAME: Offered(
            run_vacancy,
            full="50 draws of demands (default: 10)",
            repetitions="N draws of demands (default: 10, with --quick 1, with --full 50)",
            sweeps=False,
        )
    }
)
