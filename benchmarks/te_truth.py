"""Published optima of other projects, and shares of them, computed again from a user's clones: how many agree."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks import sr_wan, zoo_rows
from benchmarks.measure import Timed, processor_timed
from benchmarks.published_rows import (
    PublishedRow,
    busiest,
    concurrency,
    first_rows,
    least_of_any_paths,
    least_of_tunnels,
    most_total_flow,
    optimal_for_some_demands,
)
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_base.errors import InputError
from kuijia_base.progress import Progress
from kuijia_base.text import unheard
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Topology
from te_solver.programs.incidence import Incidence, Vector
from te_solver.tunnels.path_choices.file import load_paths

Item = TypeVar("Item")

TableRow = dict[str, str]
ZooSolve = Callable[[Incidence, Vector, Vector], float]

_FIGRET, _TEAVAR, _REPETITA = "figret", "teavar", "Repetita"
"""Names of the clones in the folder of references."""

_REPETITA_UTILISATION, _REPETITA_TOLERANCE, _REPETITA_NODES = 0.9, 1e-4, 100
_KBIT = 1e-3
_KEPT_FOR_LATER = frozenset({"ATT", "XNet"})
_OPTIMAL = "smore", "semimcf"
"""Beginnings of the names of files with weights that are optimal for the first matrix."""

_UNKNOWN = 1.0
"""Difference of a row whose demands are not those of any model."""


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
    rows: Callable[[Path, BenchmarkSetting], Iterator[PublishedRow]]
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

    def value(self, source: _Source, row: PublishedRow) -> Timed[float | None]:
        """Return the value of a row, computed unless it is kept."""
        key = source.what, row.of, row.name
        if key not in self._found:
            self._found[key] = found = processor_timed(row.compute)
            if self._file is not None:
                with self._file.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([*key, found.value, found.seconds]) + "\n")
        return self._found[key]


def _compared(source: _Source, rows: Iterable[PublishedRow], setting: BenchmarkSetting, kept: _Kept) -> Comparison:
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


def _compared_means(
    source: _Source, rows: Iterable[PublishedRow], setting: BenchmarkSetting, kept: _Kept
) -> Comparison:
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


def _rows_of_figret(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
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
            for number, (rates, optimum) in enumerate(first_rows(lines, setting), start=1):
                demand = np.array([float(rate) for rate in rates.split()])[wanted]
                compute = partial(_least_of_asking, incidence, tunnels, topology, capacity, demand)
                yield PublishedRow(f"{folder.name} {optima.name}", f"matrix {number}", float(optimum), compute)


def _least_of_asking(
    incidence: Incidence, tunnels: list[list[tuple[str, ...]]], topology: Topology, capacity: Vector, demand: Vector
) -> float:
    asking = np.flatnonzero(demand > 0)
    if asking.size < demand.size:
        incidence = Incidence.of(topology, [tunnels[number] for number in asking.tolist()])
    return least_of_tunnels(incidence, capacity, demand[asking])


def _rows_of_teavar(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
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
        for file in first_rows(files, setting):
            routes = load_paths(file, topology, unheard)
            asking = [demand for demand in demands if demand.pair in routes]
            incidence = Incidence.of(topology, [[nodes for nodes, _ in routes[each.pair]] for each in asking])
            rates = np.array([demand.rate for demand in asking])
            weights = np.array([share for each in asking for _, share in routes[each.pair]])
            published = busiest(incidence, capacity, rates, weights)
            compute = partial(least_of_tunnels, incidence, capacity, rates)
            yield PublishedRow(folder.name, file.name, published, compute)


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


def _rows_of_repetita(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the files of demands of networks of up to `_REPETITA_NODES`: all are scaled to the same utilisation."""
    for folder in sorted((reference / _REPETITA / "data").glob("2016TopologyZooUCL_*")):
        for graph in sorted(folder.glob("*.graph")):
            topology = load_topology(graph, note=unheard)
            if len(topology.nodes) > min(_REPETITA_NODES, setting.nodes or _REPETITA_NODES):
                continue
            for file in first_rows(sorted(folder.glob(f"{graph.stem}.*.demands")), setting):
                yield PublishedRow(
                    folder.name, file.name, _REPETITA_UTILISATION, partial(_value_of_repetita, topology, file)
                )


def _value_of_repetita(topology: Topology, file: Path) -> float:
    """Return the least utilisation; of those that demands can have before they are cut to whole kbit/s the nearest."""
    demands = load_demands(file, topology)
    least = least_of_any_paths(topology, demands)
    if least > _REPETITA_UTILISATION - _REPETITA_TOLERANCE:
        return least
    larger = [replace(demand, rate=demand.rate + _KBIT) for demand in demands]
    return min(_REPETITA_UTILISATION, least_of_any_paths(topology, larger))


_SOURCES = (
    _Source("weights in TEAVAR's repository (SMORE)", _TEAVAR, 1e-4, _rows_of_teavar),
    _Source("least utilisation in FIGRET's repository", _FIGRET, 1e-9, _rows_of_figret),
    _Source(
        "demands scaled to a utilisation of 0.9 in REPETITA's repository",
        _REPETITA,
        _REPETITA_TOLERANCE / _REPETITA_UTILISATION,
        _rows_of_repetita,
    ),
    _Source("shortest paths in the repository of Parham et al., CoNEXT 2021", sr_wan.CLONE, 1e-6, sr_wan.measured_rows),
    _Source("drawn demands over shortest paths in the same repository", sr_wan.CLONE, 1e-6, sr_wan.drawn_rows),
    _Source(
        "total flow in POP's repository",
        zoo_rows.POP,
        1e-6,
        partial(zoo_rows.optima, zoo_rows.TOTAL_FLOW, most_total_flow),
    ),
    _Source(
        "maximum concurrent flow in POP's repository",
        zoo_rows.POP,
        1e-6,
        partial(zoo_rows.optima, zoo_rows.CONCURRENT_FLOW, concurrency),
    ),
    _Source("shares of the optimum by POP", zoo_rows.POP, 0.01, zoo_rows.shares_of_pop, drawn=True),
    _Source("shares of the optimum by NCFlow", zoo_rows.POP, 0.01, zoo_rows.shares_of_ncflow, drawn=True),
)
