"""Figure 4: random graphs, every link of which fails under both ways of rerouting, at light to heavy demands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import networkx as nx
import numpy as np

from experiments.experiment import Outcome, Settings
from experiments.grid import Execution, Offered, offered
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import refuse_fault
from experiments.results.score import limit
from experiments.results.stored_files import StoredFile, told_apart
from kuijia_base.errors import InputError
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import workers_from
from kuijia_base.validation import make_validator
from simulator.flow.failure_impact import FailureModel
from te_solver.model.demands import Demand
from te_solver.model.failures import Failure, single_links
from te_solver.model.topology import Link, Topology
from te_solver.programs.resolve import WarmThroughput
from te_solver.schemes.making import make_scheme
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.traffic import PlannedTraffic
from te_solver.solve import Planner
from te_solver.tunnels.finder import TunnelFinder

NODES, EDGES, PAIRS, TUNNELS = 100, 200, 40, 3
DEMANDS = tuple(round(0.8 + 0.2 * step, 1) for step in range(12))
"""Demands of every pair, in parts of a link: the paper's 0.8 to 3.0 Gbit/s if links have 1 Gbit/s, as assumed."""

PUBLISHED = "the performance of using original weights is highly comparable to that of precomputing new weights"


@dataclass(frozen=True)
class Draw:
    """One random graph, and one draw of pairs on it."""

    graph: int
    run: int


Losses = dict[str, list[float]]
"""Scheme to the share of throughput lost for each demand, averaged over all failed links."""


def run_figure(run: Execution) -> Outcome:
    """Compute all draws, each as a case of the sweep; write the curves as text, JSON and picture."""
    settings = run.settings
    sweep = figure_sweep(settings, *run.sized((_QUICK_GRAPHS, _QUICK_RUNS), (_GRAPHS, _RUNS), (FULL_GRAPHS, FULL_RUNS)))
    with swept(sweep, workers_from(run.args), run.output, run.progress) as found:
        data = {**summary(found), "seed": settings.seed, "capacity": settings.capacity, "manifest": run.timeless()}
        return run.studied(data, [figure_4_from_json(data, "fig4.json")])


def figure_sweep(settings: Settings, graphs: int, runs: int) -> Sweep[Settings, Settings, Draw]:
    draws = [Draw(graph, run) for graph, run in product(range(1, graphs + 1), range(1, runs + 1))]
    told = {"seed": settings.seed, "capacity": settings.capacity, "graphs": graphs, "runs": runs}
    return Sweep("fig4", told, settings, prepare=no_preparation, work=losses_of, cases=draws)


def losses_of(settings: Settings, draw: Draw) -> Losses:
    """Return the loss of each scheme at each demand, with every link failed in turn."""
    losses: Losses = {name: [] for name in CURVES}
    for traffic in traffic_of(settings, draw):
        failures = tuple(single_links(traffic.plan.topology))
        for name, of_demands in losses.items():
            # The loss is the same whichever tunnels with enough room the victims use.
            of_demands.append(mean_loss(traffic, make_scheme(name, WarmThroughput(fewest_hops=False)), failures))
    return losses


def traffic_of(settings: Settings, draw: Draw) -> Iterator[PlannedTraffic]:
    """Yield the traffic before any failure, for one demand after the other."""
    topology = random_graph(settings.capacity, seed=[settings.seed, draw.graph])
    random = np.random.default_rng([settings.seed, draw.graph, draw.run])
    pairs = random_pairs(topology, random)
    tunnels = dict(zip(pairs, TunnelFinder(topology).tunnels_of_pairs(pairs, TUNNELS), strict=True))
    for demand in DEMANDS:
        demands = [Demand(*pair, demand * settings.capacity) for pair in pairs]
        # Each demand has its own planner: among equally good plans, the choice depends on the plans made before.
        yield PlannedTraffic.of(Planner(topology, tunnels, demands).plan())


def mean_loss(traffic: PlannedTraffic, scheme: Scheme, failures: Iterable[Failure]) -> float:
    """Return the mean over the failures of the share of throughput lost."""
    model = FailureModel(traffic)
    before = float(model.before.goodput.sum())

    def loss(failure: Failure) -> float:
        if not traffic.sent[~traffic.damage(failure).alive].any():
            return 0.0  # there are no victims, so no scheme reroutes anything
        return 1 - float(model.impact(scheme.reroute(traffic, failure)).goodput.sum()) / before

    return fmean(map(loss, failures))


def random_graph(capacity: float, seed: Sequence[int]) -> Topology:
    """Return the first connected random graph of this size: pairs without a path would have nothing to lose."""
    random = np.random.default_rng(seed)
    while True:
        graph = nx.gnm_random_graph(NODES, EDGES, seed=int(random.integers(2**31)))
        if nx.is_connected(graph):
            break
    ends = [(f"n{a}", f"n{b}") for a, b in sorted(graph.edges)]
    links = tuple(Link(*way, capacity) for a, b in ends for way in ((a, b), (b, a)))
    return Topology(f"random-{NODES}-{EDGES}", tuple(f"n{node}" for node in range(NODES)), links)


def random_pairs(topology: Topology, random: np.random.Generator) -> list[tuple[str, str]]:
    """Return different ordered pairs, all equally likely."""
    nodes = topology.nodes
    chosen = random.choice(len(nodes) * (len(nodes) - 1), PAIRS, replace=False)
    pairs = []
    for number in chosen.tolist():
        source, other = divmod(number, len(nodes) - 1)
        pairs.append((nodes[source], nodes[other + (other >= source)]))
    return pairs


def summary(found: Sequence[Losses]) -> dict[str, object]:
    """Return the curves (means over all draws) and the largest gap between them."""
    curves = {
        name: [fmean(of_draws) for of_draws in zip(*(losses[name] for losses in found), strict=True)] for name in CURVES
    }
    gaps = [ours - theirs for ours, theirs in zip(curves["kuijia"], curves["precomputed"], strict=True)]
    return {
        "experiment": "fig4",
        "backend": "flow",
        "draws": len(found),
        "demands": list(DEMANDS),
        "loss": curves,
        "largest_gap": max(gaps),
        "published": PUBLISHED,
        "passed": max(gaps) <= COMPARABLE,
    }


CURVES = {"kuijia": "original weights", "precomputed": "precomputed weights"}
"""Scheme to its name in the paper's figure."""

COMPARABLE = 0.02
"""Share of the throughput that original weights may lose beyond precomputed ones: "highly comparable" as a number."""

_NUMBER = {"description": "a number", "type": "number"}
_NUMBERS = {"description": "numbers", "type": "array", "minItems": 1, "items": _NUMBER}
_SCHEMA = {
    "description": "an object that `kuijia run fig4` wrote",
    "type": "object",
    "required": ["backend", "demands", "loss", "largest_gap", "published"],
    "properties": {
        "backend": {"description": "a name", "type": "string"},
        "demands": _NUMBERS,
        "loss": {
            "description": f"an object with {' and '.join(CURVES)}",
            "type": "object",
            "required": list(CURVES),
            "properties": dict.fromkeys(CURVES, _NUMBERS),
        },
        "largest_gap": _NUMBER,
        "published": {"description": "what the paper says", "type": "string"},
        "capacity": _NUMBER,
    },
}


def figure_4_from_json(data: Mapping[str, Any], source: str | Path) -> Exhibit:
    """Return the figure that JSON data holds; raises InputError with `source` and the key when the data are damaged."""
    refuse_fault(data, make_validator(_SCHEMA), source)
    demands = data["demands"]
    for name in CURVES:
        if len(data["loss"][name]) != len(demands):
            problem = f"has {len(data['loss'][name])} numbers"
            raise InputError(source, f"loss.{name}", problem, f"one for each of {len(demands)} demands")
    lines = (
        Line(label, tuple(Point.of(x, [100 * loss]) for x, loss in zip(demands, data["loss"][name], strict=True)))
        for name, label in CURVES.items()
    )
    return Exhibit(
        "fig4",
        "mean throughput lost over all single failures of random graphs",
        "Figure 4",
        data["backend"],
        "demand of each pair, in parts of a link",
        "throughput loss (%)",
        tuple(lines),
        "Zhang et al., Kuijia, section 2.3, in words",
        checks=(limit("what original weights lose more, in %", 100 * data["largest_gap"], high=100 * COMPARABLE),),
        remarks=(
            f'The paper\'s curves have no numbers that can be read; it says that "{data["published"]}".',
            f"The paper does not give the capacity of links: {_assumed(data)}. Unconnected graphs are drawn again.",
        ),
    )


def _assumed(data: Mapping[str, Any]) -> str:
    here = f", here {data['capacity']:g} Mbit/s with demands in proportion" if "capacity" in data else ""
    return f"1 Gbit/s is assumed{here}"


FULL_GRAPHS = FULL_RUNS = 10
"""Numbers of the paper: ten random graphs, ten draws of pairs on each."""

_GRAPHS, _RUNS = 2, 2
_QUICK_GRAPHS, _QUICK_RUNS = 1, 1


def _read(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    made = ((file.path, figure_4_from_json(file.data, file.path)) for file in files if "loss" in file.data)
    return tuple(told_apart(made))


EXPERIMENTS = offered(
    {
        "fig4": Offered(
            run_figure,
            without=("repetitions",),
            has_capacity=True,
            full="10 graphs with 10 draws of pairs each, as in the paper (default: 2 with 2)",
            reader=_read,
        )
    }
)
