"""Published optima of other projects, and shares of them, computed again from a user's clones: how many agree."""

from __future__ import annotations

import ast
import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx
import numpy as np
import scipy.sparse as sp

from benchmarks.measure import Timed, processor_timed
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from benchmarks.sr_wan import ShortestPaths, Weights, drawn_pairs, read_network, utilisation_of_greatest
from kuijia_base.errors import InputError
from kuijia_base.progress import Progress
from kuijia_base.text import unheard
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.connectivity import largest_part
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import NcflowModel, parsed_model
from te_solver.model.topology import Topology
from te_solver.programs.column_generation import most_throughput
from te_solver.programs.edge_flow import edge_flow
from te_solver.programs.incidence import Incidence, Vector
from te_solver.programs.linear import Linear
from te_solver.programs.max_concurrent import least_utilisation
from te_solver.programs.ncflow import ContractedNetwork, Contraction
from te_solver.programs.pop import Pop
from te_solver.programs.program import Options
from te_solver.programs.solver import Solver
from te_solver.programs.tunnel_links import TunnelLinks
from te_solver.tunnels.finder import Paths
from te_solver.tunnels.path_choice import PathFinder, PathQuestion
from te_solver.tunnels.path_choices.edge_disjoint_flow import CHOICE
from te_solver.tunnels.path_choices.file import load_paths

Item = TypeVar("Item")

TableRow = dict[str, str]
ZooSolve = Callable[[Incidence, Vector, Vector], float]

_NCFLOW, _POP, _FIGRET, _TEAVAR, _REPETITA = "ncflow", "pop-ncflow-lptop", "figret", "teavar", "Repetita"
_SR_WAN = "TE_SR_WAN_simulation"
"""Names of the clones in the folder of references."""

_ZOO_CAPACITY = 1000.0
_PATHS = 4
_OPTIMA = "total-flow/path-form-total_flow-slice_0_1_2_3_4.csv"
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

Its optima are those over the shortest simple paths, disjoint or not.
"""

_SEEDS = 1, 2, 3
"""Seeds over which a share of POP is averaged."""

_SR_WAN_DEMANDS = {
    "germany50": "directed-germany50-DFN-*",
    "geant": "directed-geant-uhlig-*",
    "abilene": "directed-abilene-zhang-*",
}
"""Folders of SNDlib's measured demands."""

_SR_WAN_DRAWN: dict[str, Weights] = {
    "results_all_topologies.json": "inverse_capacity",
    "results_all_algorithms.json": "uniform_weights",
}
"""Tables with demands drawn by seeds, and the weights of links whose rows they alone have."""

_REPETITA_UTILISATION, _REPETITA_TOLERANCE, _REPETITA_NODES = 0.9, 1e-4, 100
_KBIT = 1e-3
_SAME_TOTAL = 1e-6
"""Relative difference of the sums of demands, which are published in single precision."""

_KEPT_FOR_LATER = frozenset({"ATT", "XNet"})
_OPTIMAL = "smore", "semimcf"
"""Beginnings of the names of files with weights that are optimal for the first matrix."""

_SOME_PRICE = 1e-6
"""Sum of prices of links, each up to one, above which some are not zero."""

_UNKNOWN = 1.0
"""Difference of a row whose demands are not those of any model."""


@dataclass(frozen=True)
class _Row:
    """A published optimum.

    Attributes:
        of: its network, or the file of a network.
        name: what tells it from others of the network.
        published: the published value.
        compute: computes it again; None if that is not possible, NaN if several values are right, this one too.
    """

    of: str
    name: str
    published: float
    compute: Callable[[], float | None]


@dataclass(frozen=True)
class _Source:
    """A set of published optima.

    Attributes:
        what: what they are, and where they were published.
        clone: name of the clone.
        tolerance: largest relative difference of rows that agree.
        rows: yields the rows; its arguments are the folder of references and the setting.
        drawn: True if rows are shares of optima by algorithms that draw: means are compared, within the tolerance.
    """

    what: str
    clone: str
    tolerance: float
    rows: Callable[[Path, BenchmarkSetting], Iterator[_Row]]
    drawn: bool = False


@benchmark("te-truth")
def te_truth(setting: BenchmarkSetting) -> Iterator[Comparison]:
    if setting.reference is None:
        setting.progress.say("left out: no folder with clones of the projects is given (--reference)")
        return
    if not setting.reference.is_dir():
        raise InputError(setting.reference, "", "is no folder", "a folder with clones of the projects")
    kept = _Kept(setting.kept)
    for source in _SOURCES:
        if setting.source is not None and setting.source not in source.what:
            continue
        if not (setting.reference / source.clone).is_dir():
            setting.progress.say(f"left out: {source.what}: there is no {source.clone} in {setting.reference}")
            continue
        compare = _compared_means if source.drawn else _compared
        yield compare(source, source.rows(setting.reference, setting), setting, kept)


class _Kept:
    """Rows computed before: a file of JSON lines, to which each row is appended as soon as it is computed."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._found: dict[tuple[str, str, str], Timed[float | None]] = {}
        if file is None or not file.exists():
            return
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                what, of, name, value, seconds = json.loads(line)
                self._found[what, of, name] = Timed(value, seconds)
            except (ValueError, TypeError):
                raise InputError(file, f"line {number}", "is no row", "a line that te-truth has written") from None

    def value(self, source: _Source, row: _Row) -> Timed[float | None]:
        """Return the value of a row, computed unless it is kept."""
        key = source.what, row.of, row.name
        if key not in self._found:
            self._found[key] = found = processor_timed(row.compute)
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([*key, found.value, found.seconds]) + "\n")
        return self._found[key]


def _compared(source: _Source, rows: Iterable[_Row], setting: BenchmarkSetting, kept: _Kept) -> Comparison:
    agreeing, undecided, worst, seconds = 0, 0, 0.0, 0.0
    counts: dict[str, list[int]] = {}
    others: list[str] = []
    for number, row in enumerate(rows, start=1):
        setting.progress.show(f"{source.what}: row {number}, {row.of} {row.name}")
        found = kept.value(source, row)
        seconds += found.seconds
        if found.value is not None and math.isnan(found.value):
            undecided += 1
            continue
        difference = _UNKNOWN if found.value is None else abs(found.value - row.published) / abs(row.published)
        count = counts.setdefault(row.of, [0, 0])
        count[1] += 1
        if difference <= source.tolerance:
            agreeing += 1
            count[0] += 1
            worst = max(worst, difference)
        else:
            others.append(f"{row.of} {row.name}: {found.value}, published {row.published}")
    of = sum(all_of for _, all_of in counts.values())
    return Comparison(
        max(worst, np.finfo(float).eps),
        source.tolerance,
        f"the tolerance for {source.what}",
        "largest relative difference of rows that agree",
        {
            "rows that agree": f"{agreeing} of {of}",
            "rows for which several values are right": undecided,
            "rows by network": {name: f"{agree} of {all_of}" for name, (agree, all_of) in counts.items()},
            "other rows": others,
            "seconds of a processor": seconds,
            "goals": [goal("every row agrees", met=0 < of == agreeing)],
        },
    )


def _compared_means(source: _Source, rows: Iterable[_Row], setting: BenchmarkSetting, kept: _Kept) -> Comparison:
    """Compare the shares of all rows whose demands are known with the published ones: means, and quartiles."""
    shares: dict[str, list[tuple[float, float]]] = defaultdict(list)
    seconds, unknown = 0.0, 0
    for number, row in enumerate(rows, start=1):
        setting.progress.show(f"{source.what}: row {number}, {row.of} {row.name}")
        found = kept.value(source, row)
        seconds += found.seconds
        if found.value is None:
            unknown += 1
        else:
            shares[row.of].append((found.value, row.published))
    pairs = np.array([pair for of_network in shares.values() for pair in of_network]).reshape(-1, 2)
    means = pairs.mean(axis=0) if pairs.size else np.zeros(2)
    ours, published = np.maximum(1 - means, np.finfo(float).eps).tolist()
    quartiles = np.quantile(pairs, [0, 0.25, 0.5, 0.75, 1], axis=0).T.round(4).tolist() if pairs.size else [[], []]
    by_network = {name: np.mean(of_network, axis=0).round(4).tolist() for name, of_network in shares.items()}
    return Comparison(
        ours,
        published,
        f"published {source.what}",
        "missing share of the optimum, mean",
        {
            "rows": f"{len(pairs)}, and {unknown} whose demands are unknown",
            "quartiles": f"{quartiles[0]}, published {quartiles[1]}",
            "means, ours and published": by_network,
            "seconds of a processor": seconds,
            "goals": [
                goal(
                    f"a mean at most {source.tolerance:g} below the published one",
                    met=pairs.size > 0 and ours <= published + source.tolerance,
                )
            ],
        },
    )


class _Zoo:
    """A network of the Topology Zoo as NCFlow and POP read it, with the tunnels of all pairs."""

    def __init__(self, file: Path, progress: Progress) -> None:
        def found(count: int, of: int) -> None:
            progress.show(f"{file.stem}: paths of {count} of {of} pairs")

        read = load_topology(file, "graphml", note=unheard)
        self.topology = largest_part(read).with_capacity(_ZOO_CAPACITY)
        self.capacity = np.array([link.capacity for link in self.topology.links])
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


def _rows_of_zoo(
    read: Callable[[Path], Iterable[_ZooRow]], reference: Path, setting: BenchmarkSetting
) -> Iterator[_Row]:
    """Yield the rows of a table of POP's repository whose networks are in NCFlow's."""
    models = _models_of_zoo(reference / _POP / "lib" / "problems.py")
    by_network: dict[str, list[_ZooRow]] = defaultdict(list)
    for each in read(reference / _POP / "benchmarks" / "csvs"):
        by_network[each.row["problem"]].append(each)
    for name, rows in sorted(by_network.items(), key=lambda item: int(item[1][0].row["num_nodes"])):
        folders = reference / _NCFLOW / "topologies" / "topology-zoo", setting.networks
        graph = next((each / name for each in folders if each is not None and (each / name).is_file()), None)
        nodes = int(rows[0].row["num_nodes"])
        if graph is None or name not in models:
            setting.progress.say(f"left out: {name}, which is not in {_NCFLOW}, nor in --networks")
            continue
        if setting.nodes is not None and nodes > setting.nodes:
            setting.progress.say(f"left out: {name}, which has {nodes} nodes")
            continue
        for each in _some(rows, setting):
            row = each.row
            words = f"{row['tm_model']} seed {row['traffic_seed']} scale {row['scale_factor']}{each.how}"
            yield _Row(name, words, each.published, partial(_value_of_zoo, graph, setting.progress, models[name], each))


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
    return {_instance(row): float(row["obj_val"]) for row in _table(folder / _OPTIMA)}


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


def most_total_flow(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the greatest sum of tunnels' rates within capacities and demands."""
    return float(most_throughput(TunnelLinks.of(incidence), capacity, demand).rates.sum())


def least_of_tunnels(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the least utilisation of the busiest link for demands above zero, as `max-concurrent` finds it."""
    most = np.ones(incidence.hops.size)
    shares, _ = least_utilisation(incidence, capacity, demand, most, Solver(), fewest_hops=False)
    return _busiest(incidence, capacity, demand, shares)


def least_of_any_paths(topology: Topology, demands: Sequence[Demand]) -> float:
    """Return the same if demands may be divided over all paths, as `edge-min-max-utilisation` finds it."""
    return edge_flow(topology, demands, "utilisation").value


def _busiest(incidence: Incidence, capacity: Vector, demand: Vector, shares: Vector) -> float:
    """Return the utilisation of the busiest link if each tunnel has its share of its pair's demand."""
    return float((incidence.links @ (shares * demand[incidence.pair_of_tunnel]) / capacity).max())


def optimal_for_some_demands(incidence: Incidence, weights: Vector) -> bool:
    """Return False if the weights have the least utilisation for no demands above zero and no capacities.

    By duality they have it only if some links, not all of them free, have prices by which each tunnel that is used is
    the cheapest one of its pair.
    """
    pair = incidence.pair_of_tunnel
    others = [
        (used, other) for used in np.flatnonzero(weights).tolist() for other in np.flatnonzero(pair == pair[used])
    ]
    used, other = np.array(others).T
    dearer = sp.csr_array(incidence.links.T.tocsr()[used] - incidence.links.T.tocsr()[other])
    program = Linear()
    prices = program.variables(incidence.links.shape[0], cost=-1.0, caps=1.0)
    program.rows((prices, dearer), at_most=0.0)
    return -program.solve().objective > _SOME_PRICE


def concurrency(incidence: Incidence, capacity: Vector, demand: Vector) -> float:
    """Return the greatest share of all demands that fits, at most 1: without a program if a simple division fits."""
    alike = 1 / np.bincount(incidence.pair_of_tunnel)[incidence.pair_of_tunnel]
    shortest = np.zeros(alike.size)
    shortest[incidence.shortest_tunnels] = 1
    if any(_busiest(incidence, capacity, demand, shares) <= 1 for shares in (alike, shortest)):
        return 1.0
    return min(1.0, 1 / least_of_tunnels(incidence, capacity, demand))


def _rows_of_figret(reference: Path, setting: BenchmarkSetting) -> Iterator[_Row]:
    for folder in sorted((reference / _FIGRET / "Data").iterdir()):
        graph = folder / f"{folder.name}.json"
        if not graph.is_file():
            continue
        topology = load_topology(graph, "node-link", note=unheard)
        routes = load_paths(folder / "tunnels.txt", topology, unheard)
        pairs = [(a, b) for a in topology.nodes for b in topology.nodes]
        wanted = [number for number, pair in enumerate(pairs) if pair in routes]
        tunnels = [[nodes for nodes, _ in routes[pairs[number]]] for number in wanted]
        incidence = Incidence.of(topology, tunnels)
        capacity = np.array([link.capacity for link in topology.links])
        for optima in sorted(folder.glob("*/*.opt")):
            history = optima.with_suffix(".hist")
            if not history.is_file():
                setting.progress.say(f"left out: {history}, which is not there")
                continue
            lines = zip(history.open(encoding="utf-8"), optima.open(encoding="utf-8"), strict=False)
            for number, (rates, optimum) in enumerate(_some(lines, setting), start=1):
                demand = np.array([float(rate) for rate in rates.split()])[wanted]
                compute = partial(_least_of_asking, incidence, tunnels, topology, capacity, demand)
                yield _Row(f"{folder.name} {optima.name}", f"matrix {number}", float(optimum), compute)


def _least_of_asking(
    incidence: Incidence, tunnels: list[list[tuple[str, ...]]], topology: Topology, capacity: Vector, demand: Vector
) -> float:
    asking = np.flatnonzero(demand > 0)
    if asking.size < demand.size:
        incidence = Incidence.of(topology, [tunnels[number] for number in asking.tolist()])
    return least_of_tunnels(incidence, capacity, demand[asking])


def _rows_of_teavar(reference: Path, setting: BenchmarkSetting) -> Iterator[_Row]:
    """Yield the utilisation of the first matrix under the published weights; it is the least one over these paths."""
    for folder in sorted((reference / _TEAVAR / "code" / "data").iterdir()):
        if folder.name in _KEPT_FOR_LATER or not (folder / "paths").is_dir():
            continue
        topology = load_topology(folder, note=unheard)
        capacity = np.array([link.capacity for link in topology.links])
        files = [each for each in sorted((folder / "paths").iterdir()) if each.name.lower().startswith(_OPTIMAL)]
        try:
            demands = load_demands(folder, topology, row=1)
        except InputError as error:  # IBM's matrices have 18 nodes, its topology 17
            setting.progress.say(f"left out: {error}")
            for file in files:
                _say_if_never_optimal(file, topology, setting.progress)
            continue
        for file in _some(files, setting):
            routes = load_paths(file, topology, unheard)
            asking = [demand for demand in demands if demand.pair in routes]
            incidence = Incidence.of(topology, [[nodes for nodes, _ in routes[each.pair]] for each in asking])
            rates = np.array([demand.rate for demand in asking])
            weights = np.array([share for each in asking for _, share in routes[each.pair]])
            published = _busiest(incidence, capacity, rates, weights)
            compute = partial(least_of_tunnels, incidence, capacity, rates)
            yield _Row(folder.name, file.name, published, compute)


def _say_if_never_optimal(file: Path, topology: Topology, progress: Progress) -> None:
    try:
        routes = load_paths(file, topology, unheard)
    except InputError as error:  # IBM's second file has other names of nodes
        progress.say(f"left out: {error}")
        return
    tunnels = [[nodes for nodes, _ in own] for own in routes.values()]
    weights = np.array([share for own in routes.values() for _, share in own])
    if not optimal_for_some_demands(Incidence.of(topology, tunnels), weights):
        progress.say(f"{file}: these weights are optimal for no demands above zero")


def _rows_of_repetita(reference: Path, setting: BenchmarkSetting) -> Iterator[_Row]:
    """Yield the files of demands of networks of up to `_REPETITA_NODES`: all are scaled to the same utilisation."""
    for folder in sorted((reference / _REPETITA / "data").glob("2016TopologyZooUCL_*")):
        for graph in sorted(folder.glob("*.graph")):
            topology = load_topology(graph, note=unheard)
            if len(topology.nodes) > min(_REPETITA_NODES, setting.nodes or _REPETITA_NODES):
                continue
            for file in _some(sorted(folder.glob(f"{graph.stem}.*.demands")), setting):
                yield _Row(folder.name, file.name, _REPETITA_UTILISATION, partial(_value_of_repetita, topology, file))


def _value_of_repetita(topology: Topology, file: Path) -> float:
    """Return the least utilisation; of those that demands can have before they are cut to whole kbit/s the nearest."""
    demands = load_demands(file, topology)
    least = least_of_any_paths(topology, demands)
    if least > _REPETITA_UTILISATION - _REPETITA_TOLERANCE:
        return least
    larger = [replace(demand, rate=demand.rate + _KBIT) for demand in demands]
    return min(_REPETITA_UTILISATION, least_of_any_paths(topology, larger))


def _rows_of_sr_wan(reference: Path, setting: BenchmarkSetting) -> Iterator[_Row]:
    """Yield the rows of SNDlib's measured demands over shortest paths by inverse capacity, as multiples of the optimum.

    Which file a row has depends on the order of a folder on the authors' machine: the file with the nearest value is
    taken.
    """
    root = reference / _SR_WAN
    rows = json.loads((root / "results_paper" / "results_real_demands.json").read_text(encoding="utf-8"))
    for network, folder in _SR_WAN_DEMANDS.items():
        topology = load_topology(root / "data" / "topologies" / "sndlib" / f"{network}.xml", note=unheard)
        files = sorted((root / "data" / "demands" / "sndlib").glob(f"{folder}/*.xml"))
        of_network = [row for row in rows if (row["topology_name"], row["algorithm"]) == (network, "inverse_capacity")]
        found: list[float] = []
        for row in _some(of_network, setting):
            compute = partial(_nearest_of_files, found, topology, files, row["objective"], setting)
            yield _Row(network, f"sample {row['sample_idx']}", row["objective"], compute)


def _nearest_of_files(
    found: list[float], topology: Topology, files: list[Path], published: float, setting: BenchmarkSetting
) -> float:
    """Return the value nearest to the published one; `found` keeps the values of all files."""
    if not found:
        paths = ShortestPaths(topology)
        for file in files:
            try:
                demands = load_demands(file, topology)
            except InputError as error:  # nothing was measured for a quarter of an hour
                setting.progress.say(f"left out: {error}")
                continue
            found.append(paths.utilisation(demands) / least_of_any_paths(topology, demands))
    return min(found, key=lambda value: abs(value - published))


def _drawn_rows_of_sr_wan(reference: Path, setting: BenchmarkSetting) -> Iterator[_Row]:
    """Yield the rows of demands that fill a network, drawn by seeds, over shortest paths by two kinds of weights."""
    root = reference / _SR_WAN
    folders = root / "data" / "topologies" / "sndlib", root / "data" / "topologies" / "topology_zoo", setting.networks
    of_folders = [file for folder in folders if folder is not None for file in folder.glob("*")]
    files = {file.stem.lower(): file for file in of_folders if file.suffix in {".xml", ".graphml"}}
    by_network: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, algorithm in _SR_WAN_DRAWN.items():
        for row in json.loads((root / "results_paper" / table).read_text(encoding="utf-8")):
            if row["algorithm"] == algorithm:
                by_network[row["topology_name"]].append(row)
    for name, rows in sorted(by_network.items(), key=lambda item: (item[1][0]["#nodes"], item[0])):
        file = files.get({"di": "di-yuan"}.get(name, name))
        nodes = rows[0]["#nodes"]
        if file is None or nodes > (setting.nodes or nodes):
            setting.progress.say(f"left out: {name}, {'which is not there' if file is None else f'of {nodes} nodes'}")
            continue
        topology = read_network(file)
        for row in _some(rows, setting):
            compute = partial(_drawn_value_of_sr_wan, topology, row["algorithm"], row["sample_idx"], row["objective"])
            yield _Row(name, f"{row['algorithm']} sample {row['sample_idx']}", row["objective"], compute)


def _drawn_value_of_sr_wan(topology: Topology, weights: Weights, sample: int, published: float) -> float:
    pairs = drawn_pairs(len(topology.nodes), sample)
    return utilisation_of_greatest(topology, pairs, ShortestPaths(topology, weights).loads(pairs), published)


def _some(items: Iterable[Item], setting: BenchmarkSetting) -> Iterable[Item]:
    """Return the first items, as many as the user wants of each network."""
    return islice(items, setting.rows)


_SOURCES = (
    _Source("weights in TEAVAR's repository (SMORE)", _TEAVAR, 1e-4, _rows_of_teavar),
    _Source("least utilisation in FIGRET's repository", _FIGRET, 1e-9, _rows_of_figret),
    _Source(
        "demands scaled to a utilisation of 0.9 in REPETITA's repository",
        _REPETITA,
        _REPETITA_TOLERANCE / _REPETITA_UTILISATION,
        _rows_of_repetita,
    ),
    _Source("shortest paths in the repository of Parham et al., CoNEXT 2021", _SR_WAN, 1e-6, _rows_of_sr_wan),
    _Source("drawn demands over shortest paths in the same repository", _SR_WAN, 1e-6, _drawn_rows_of_sr_wan),
    _Source(
        "total flow in POP's repository",
        _POP,
        1e-6,
        partial(_rows_of_zoo, partial(_optima, _OPTIMA, most_total_flow)),
    ),
    _Source(
        "maximum concurrent flow in POP's repository",
        _POP,
        1e-6,
        partial(_rows_of_zoo, partial(_optima, "mcf/path-form-mcf-slice_0_1_2_3_4.csv", concurrency)),
    ),
    _Source("shares of the optimum by POP", _POP, 0.01, partial(_rows_of_zoo, _shares_of_pop), drawn=True),
    _Source("shares of the optimum by NCFlow", _POP, 0.01, partial(_rows_of_zoo, _shares_of_ncflow), drawn=True),
)
