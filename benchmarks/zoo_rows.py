"""Rows of the tables in POP's repository, on networks of the Topology Zoo as NCFlow reads them."""

from __future__ import annotations

import ast
import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from benchmarks.published_rows import PublishedRow, first_rows
from benchmarks.registry import BenchmarkSetting
from kuijia_base.errors import InputError
from kuijia_base.progress import Progress
from kuijia_base.text import unheard
from te_solver.formats.topology_file import load_topology
from te_solver.model.connectivity import largest_part
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import Matrix, NcflowGravity, NcflowModel, parsed_model
from te_solver.model.topology import Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.ncflow import ContractedNetwork, Contraction
from te_solver.programs.pop import Pop
from te_solver.programs.program import Options
from te_solver.tunnels.finder import Paths
from te_solver.tunnels.path_choice import PathFinder, PathQuestion
from te_solver.tunnels.path_choices.edge_disjoint_flow import CHOICE

TableRow = dict[str, str]
ZooSolve = Callable[[Incidence, Vector, Vector], float]

NCFLOW, POP = "ncflow", "pop-ncflow-lptop"
"""Names of the clones in the folder of references."""

_ZOO_CAPACITY = 1000.0
_PATHS = 4

TOTAL_FLOW = "total-flow/path-form-total_flow-slice_0_1_2_3_4.csv"
CONCURRENT_FLOW = "mcf/path-form-mcf-slice_0_1_2_3_4.csv"
"""Tables of optima."""

_INFERRED_MODELS = {
    "AttMpls.graphml": (
        "uniform,most=10",
        "gravity,total=3600",
        "bimodal,large=0.2,small_from=0,small_to=4.75,large_from=9.5,large_to=19",
        "poisson,mean=1000,decay=0.001,unit=0.02",
        "poisson,mean=100,decay=0.95,unit=0.06",
    ),
}
"""Models of a network that NCFlow's source lacks: they have the published sum for each published seed.

Its optima are those over the shortest simple paths, disjoint or not. Sums depend on the order of nodes, which is that
of the file that the Zoo publishes (NY54 first), not that of its yEd sources.
"""

_SEEDS = 1, 2, 3
"""Seeds over which a share of POP is averaged."""

_SAME_TOTAL = 1e-6
"""Relative difference of the sums of demands, which are published in single precision."""


def optima(table: str, solve: ZooSolve, reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the rows of a table of optima."""
    return _rows(partial(_optima, table, solve), reference, setting)


def shares_of_pop(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the shares of the greatest total flow that POP has reached."""
    return _rows(_shares_of_pop, reference, setting)


def shares_of_ncflow(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the same of NCFlow, all its iterations together."""
    return _rows(_shares_of_ncflow, reference, setting)


@dataclass(frozen=True)
class _GravityWithLoops(NcflowGravity):
    """Gravity by capacities that count links from a node to itself, as NCFlow's do; our topologies have none."""

    loops: tuple[str, ...]

    def _capacities(self, topology: Topology) -> tuple[Matrix, Matrix]:
        leaving, entering = super()._capacities(topology)
        for node in self.loops:
            leaving[topology.nodes.index(node)] += _ZOO_CAPACITY
            entering[topology.nodes.index(node)] += _ZOO_CAPACITY
        return leaving, entering


class _Zoo:
    """A network of the Topology Zoo as NCFlow and POP read it, with the tunnels of all pairs."""

    def __init__(self, file: Path, progress: Progress) -> None:
        def found(count: int, of: int) -> None:
            progress.show(f"{file.stem}: paths of {count} of {of} pairs")

        read = load_topology(file, "graphml", note=unheard)
        self.topology = largest_part(read).with_capacity(_ZOO_CAPACITY)
        self.capacity = np.array([link.capacity for link in self.topology.links])
        graph: nx.Graph[str] = nx.read_graphml(file)
        name = dict(zip(graph, read.nodes, strict=True))
        self.loops = tuple(name[node] for node in nx.nodes_with_selfloops(graph))
        nodes = self.topology.nodes
        pairs = [(a, b) for a in nodes for b in nodes if a != b]
        if file.name in _INFERRED_MODELS:
            tunnels = _shortest_simple(self.topology, pairs)
        else:
            finder = PathFinder(CHOICE, PathQuestion(self.topology, "inverse-capacity", seed=1), found)
            tunnels = finder.tunnels_of_pairs(pairs, _PATHS)
        self._tunnels = dict(zip(pairs, tunnels, strict=True))
        self._last = pairs, Incidence.of(self.topology, list(self._tunnels.values()))

    def incidence(self, demands: Iterable[Demand]) -> Incidence:
        """Return the tunnels of the pairs that ask for something: in most rows the same as in the last one."""
        pairs = [demand.pair for demand in demands]
        if pairs != self._last[0]:
            self._last = pairs, Incidence.of(self.topology, [self._tunnels[pair] for pair in pairs])
        return self._last[1]


def _shortest_simple(topology: Topology, pairs: Iterable[tuple[str, str]]) -> Iterator[Paths]:
    """Yield the first of the shortest simple paths of each pair, in the order of networkx, on which optima depend."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(topology.nodes)
    by_source = sorted(topology.links, key=lambda link: topology.nodes.index(link.source))
    graph.add_weighted_edges_from((*link.ends, 1 / link.capacity) for link in by_source)
    for pair in pairs:
        yield tuple(tuple(path) for path in islice(nx.shortest_simple_paths(graph, *pair, weight="weight"), _PATHS))


@dataclass(frozen=True)
class _ZooRow:
    """A row of a table in POP's repository.

    Attributes:
        row: its columns.
        published: the optimum, or a share of it.
        solve: computes the same from tunnels, capacities and demands.
        how: what tells it from other rows of the same demands.
    """

    row: TableRow
    published: float
    solve: ZooSolve
    how: str = ""


def _rows(
    read: Callable[[Path], Iterable[_ZooRow]], reference: Path, setting: BenchmarkSetting
) -> Iterator[PublishedRow]:
    """Yield the rows of a table of POP's repository whose networks are in NCFlow's."""
    models = _models_of_zoo(reference / POP / "lib" / "problems.py")
    by_network: dict[str, list[_ZooRow]] = defaultdict(list)
    for each in read(reference / POP / "benchmarks" / "csvs"):
        by_network[each.row["problem"]].append(each)
    for name, rows in sorted(by_network.items(), key=lambda item: int(item[1][0].row["num_nodes"])):
        folders = reference / NCFLOW / "topologies" / "topology-zoo", setting.networks
        graph = next((each / name for each in folders if each is not None and (each / name).is_file()), None)
        nodes = int(rows[0].row["num_nodes"])
        if graph is None or name not in models:
            setting.progress.say(f"left out: {name}, which is not in {NCFLOW}, nor in --networks")
            continue
        if setting.nodes is not None and nodes > setting.nodes:
            setting.progress.say(f"left out: {name}, which has {nodes} nodes")
            continue
        for each in first_rows(rows, setting):
            row = each.row
            words = f"{row['tm_model']} seed {row['traffic_seed']} scale {row['scale_factor']}{each.how}"
            yield PublishedRow(
                name, words, each.published, partial(_value_of_zoo, graph, setting.progress, models[name], each)
            )


@lru_cache(maxsize=1)
def _zoo(graph: Path, progress: Progress) -> _Zoo:
    """Return a network, whose paths are found for the first row that is not kept, and forgotten with the next one."""
    return _Zoo(graph, progress)


def _value_of_zoo(graph: Path, progress: Progress, models: dict[str, NcflowModel], each: _ZooRow) -> float | None:
    """Return the value of a row; None if no model of its kind has its sum of demands."""
    row, zoo = each.row, _zoo(graph, progress)
    for name, model in models.items():
        if not name.startswith(row["tm_model"]):
            continue
        if zoo.loops and isinstance(model, NcflowGravity):
            model = _GravityWithLoops(model.total, zoo.loops)  # noqa: PLW2901
        demands = model.demands(zoo.topology, int(row["traffic_seed"]), float(row["scale_factor"]))
        rates = np.array([demand.rate for demand in demands])
        if abs(rates.sum() / float(row["total_demand"]) - 1) <= _SAME_TOTAL:
            return each.solve(zoo.incidence(demands), zoo.capacity, rates)
    return None


def _optima(table: str, solve: ZooSolve, folder: Path) -> Iterator[_ZooRow]:
    for row in _table(folder / table):
        yield _ZooRow(row, float(row["obj_val"]), solve)


def _shares_of_pop(folder: Path) -> Iterator[_ZooRow]:
    best = _best(folder)
    for row in _table(folder / "total-flow" / "pop-total_flow-slice_0_1_2_3_4-k_16.csv"):
        parts, clients = int(row["num_subproblems"]), float(row["split_fraction"])
        if optimum := best.get(_instance(row)):
            solve = partial(_share_of_pop, parts, clients, optimum)
            yield _ZooRow(row, float(row["obj_val"]) / optimum, solve, f" clients {clients:g}")


def _share_of_pop(
    parts: int, clients: float, optimum: float, incidence: Incidence, capacity: Vector, demand: Vector
) -> float:
    found = (
        Pop(incidence, Options(settings={"parts": parts, "clients": clients, "seed": seed})).solve(capacity, demand)
        for seed in _SEEDS
    )
    return float(np.mean([each.granted.sum() for each in found])) / optimum


def _shares_of_ncflow(folder: Path) -> Iterator[_ZooRow]:
    """Yield a row for all iterations of NCFlow on the same demands: each has a row with what it adds."""
    best = _best(folder)
    iterations: dict[tuple[str, ...], list[TableRow]] = defaultdict(list)
    for row in _table(folder / "total-flow" / "ncflow-total_flow-slices_0_1_2_3_4.csv"):
        iterations[_instance(row)].append(row)
    for instance, rows in iterations.items():
        if optimum := best.get(instance):
            solve = partial(_share_of_ncflow, int(rows[0]["num_partitions"]), len(rows), optimum)
            yield _ZooRow(rows[0], sum(float(row["obj_val"]) for row in rows) / optimum, solve)


def _share_of_ncflow(
    clusters: int, iterations: int, optimum: float, incidence: Incidence, capacity: Vector, demand: Vector
) -> float:
    pairs = [incidence.pair_ends(int(own[0])) for own in incidence.tunnels_of_pair]
    network = ContractedNetwork(incidence.topology, capacity, pairs, demand, Contraction(clusters, iterations))
    network.fill()
    return sum(sum(own.values()) for own in network.flows) / optimum


def _best(folder: Path) -> dict[tuple[str, ...], float]:
    return {_instance(row): float(row["obj_val"]) for row in _table(folder / TOTAL_FLOW)}


def _instance(row: TableRow) -> tuple[str, ...]:
    return tuple(row[column] for column in ("problem", "tm_model", "traffic_seed", "scale_factor"))


def _table(file: Path) -> Iterator[TableRow]:
    with file.open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def _models_of_zoo(problems: Path) -> dict[str, dict[str, NcflowModel]]:
    """Return the models of each network from the table in NCFlow's source, which is a literal."""
    for statement in ast.parse(problems.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PROBLEM_ARGS":
            table: dict[str, dict[str, Any]] = ast.literal_eval(statement.value)
            return {
                each["fname"]: {name: model for name in each if (model := _model(name, each[name])) is not None}
                for each in table.values()
                if "fname" in each
            } | {file: {text: parsed_model(text) for text in texts} for file, texts in _INFERRED_MODELS.items()}
    raise InputError(problems, "", "there is no PROBLEM_ARGS", "NCFlow's parameters of demands")


def _model(name: str, given: object) -> NcflowModel | None:
    if not isinstance(given, dict) or not given:
        return None
    kind = name.partition("-")[0]
    if kind == "uniform":
        return parsed_model(f"uniform,most={given['max_demand']}")
    if kind == "gravity":
        return parsed_model(f"gravity,total={given['total_demand']}")
    if kind == "bimodal":
        (a, b), (c, d) = given["low_range"], given["high_range"]
        return parsed_model(
            f"bimodal,large={given['fraction']},small_from={a},small_to={b},large_from={c},large_to={d}"
        )
    if kind == "poisson":
        return parsed_model(f"poisson,mean={given['lam']},decay={given['decay']},unit={given['const_factor']}")
    return None
