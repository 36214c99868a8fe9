"""Loads of shortest paths as in the evaluation of Parham et al., CoNEXT 2021, whose demands fill a network."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
import scipy.sparse as sp

from benchmarks.published_rows import PublishedRow, first_rows, least_of_any_paths
from benchmarks.registry import BenchmarkSetting
from kuijia_base.errors import InputError
from kuijia_base.text import unheard
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.topology import Link, Topology
from te_solver.programs.incidence import Vector
from te_solver.programs.linear import Linear, column, row

Pair = tuple[str, str]
Weights = Literal["inverse_capacity", "uniform_weights"]

SEED = 318924135
_ACTIVE = 0.2
"""Share of all pairs that have demands."""

_SAME = 1e-6
_OPTIMAL = 1e-9
"""Relative differences: of utilisations that count as equal, and from the greatest sum of demands."""

CLONE = "TE_SR_WAN_simulation"
"""Name of the authors' clone in the folder of references."""

_DEMANDS = {
    "germany50": "directed-germany50-DFN-*",
    "geant": "directed-geant-uhlig-*",
    "abilene": "directed-abilene-zhang-*",
}
"""Folders of SNDlib's measured demands."""

_DRAWN: dict[str, Weights] = {
    "results_all_topologies.json": "inverse_capacity",
    "results_all_algorithms.json": "uniform_weights",
}
"""Tables with demands drawn by seeds, and the weights of links whose rows they alone have."""

OPEN = float("nan")
"""Utilisation that depends on which of several greatest sets of demands was taken."""


class ShortestPaths:
    """All shortest paths; traffic is divided equally over those of a pair, not at each hop.

    By inverse capacity a link's weight is the whole part of the largest capacity divided by its own.
    """

    def __init__(self, topology: Topology, weights: Weights = "inverse_capacity") -> None:
        largest = max(link.capacity for link in topology.links)
        weigh: Callable[[float], int] = (lambda _: 1) if weights == "uniform_weights" else (lambda c: int(largest / c))
        self._graph: nx.DiGraph[str] = nx.DiGraph()
        self._graph.add_weighted_edges_from((*link.ends, weigh(link.capacity)) for link in topology.links)
        self._capacity = np.array([link.capacity for link in topology.links])
        self._place = {link.ends: number for number, link in enumerate(topology.links)}
        self._paths: dict[Pair, list[list[str]]] = {}

    def loads(self, pairs: Sequence[Pair]) -> sp.csr_array:
        """Return the utilisation of each link (row) by one Mbit/s of each pair (column)."""
        rows, columns, entries = [], [], []
        for number, pair in enumerate(pairs):
            if pair not in self._paths:
                self._paths[pair] = list(nx.all_shortest_paths(self._graph, *pair, weight="weight"))
            for path in self._paths[pair]:
                links = [self._place[ends] for ends in pairwise(path)]
                rows += links
                columns += [number] * len(links)
                entries += [1 / len(self._paths[pair])] * len(links)
        shares = np.array(entries) / self._capacity[rows]
        return sp.csr_array((shares, (rows, columns)), shape=(self._capacity.size, len(pairs)))

    def utilisation(self, demands: Sequence[Demand]) -> float:
        """Return the utilisation of the busiest link."""
        loads = self.loads([demand.pair for demand in demands])
        return float((loads @ np.array([demand.rate for demand in demands])).max())


def read_network(file: Path) -> Topology:
    """Return a network as this evaluation reads it, of SNDlib (XML) or the Topology Zoo; nodes are numbers as text.

    A link has the first capacity that the file states for it, 1 without any, in both directions; of parallel links the
    last one counts.
    """
    found = _sndlib(file) if file.suffix == ".xml" else _zoo(file)
    capacities: dict[Pair, float] = {}
    names: set[str] = set()
    for a, b, capacity in found:
        capacities[a, b] = capacities[b, a] = capacity
        names |= {a, b}
    links = tuple(Link(*ends, capacity) for ends, capacity in capacities.items())
    return Topology(file.stem, tuple(str(number) for number in range(len(names))), links)


def _sndlib(file: Path) -> Iterable[tuple[str, str, float]]:
    root = ET.parse(file).getroot()  # noqa: S314  # of a clone that the user chose
    numbers = {node.attrib["id"]: str(number) for number, node in enumerate(root.iterfind(".//{*}node"))}
    for link in root.iterfind(".//{*}link"):
        a, b, capacity = (link.findtext(f".//{{*}}{tag}", "") for tag in ("source", "target", "capacity"))
        yield numbers[a], numbers[b], float(capacity)


def _zoo(file: Path) -> Iterable[tuple[str, str, float]]:
    for a, b, of_link in nx.read_graphml(file).edges(data=True):
        yield a, b, float(of_link.get("LinkSpeedRaw", 1))


def drawn_pairs(nodes: int, sample: int) -> list[Pair]:
    """Return the pairs that have demands in a sample."""
    random = np.random.RandomState(SEED + sample)
    found: set[tuple[int, int]] = set()
    while len(found) < int(nodes * (nodes - 1) * _ACTIVE):
        source = target = random.randint(0, nodes)
        while source == target:
            target = random.randint(0, nodes)
        found.add((source, target))
    return [(str(source), str(target)) for source, target in sorted(found)]


def utilisation_of_greatest(topology: Topology, pairs: Sequence[Pair], loads: sp.csr_array, published: float) -> float:
    """Return the utilisation of shortest paths by demands of the greatest sum that fits over any paths.

    Several sets of demands can have this sum. `OPEN` says that the published utilisation is that of some of them; if it
    is that of none, the nearest one is returned.
    """
    greatest = _Greatest(topology, pairs, loads)
    least = greatest.least()
    if published < least * (1 - _SAME):
        return least
    busiest = 0.0
    for link in np.argsort(-loads.sum(axis=1)).tolist():
        busiest = max(busiest, greatest.most_of(link))
        if busiest > published * (1 + _SAME):
            return OPEN
    return OPEN if least < busiest * (1 - _SAME) and busiest >= published * (1 - _SAME) else busiest


class _Greatest:
    """The program of all sets of demands with the greatest sum, in units of the largest capacity."""

    def __init__(self, topology: Topology, pairs: Sequence[Pair], loads: sp.csr_array) -> None:
        nodes = {node: number for number, node in enumerate(topology.nodes)}
        capacity = np.array([link.capacity for link in topology.links])
        unit = capacity.max()
        self._loads = loads * unit
        self._program = program = Linear()
        self._demands = program.variables(len(pairs), cost=-1.0)
        sources = {source: number for number, source in enumerate(dict.fromkeys(source for source, _ in pairs))}
        flows = program.variables(len(sources) * capacity.size)
        balance = np.zeros((len(nodes), capacity.size))
        for number, link in enumerate(topology.links):
            balance[nodes[link.target], number], balance[nodes[link.source], number] = 1, -1
        places = [sources[source] * len(nodes) + nodes[target] for source, target in pairs]
        height = len(sources) * len(nodes)
        asked = sp.csr_array((np.ones(len(pairs)), (places, range(len(pairs)))), shape=(height, len(pairs)))
        kept = np.setdiff1d(range(height), [number * len(nodes) + nodes[each] for each, number in sources.items()])
        arriving = sp.csr_array(sp.kron(sp.identity(len(sources)), balance))
        program.rows((flows, arriving[kept]), (self._demands, -asked[kept]), at_least=0.0, at_most=0.0)
        on_link = sp.kron(np.ones((1, len(sources))), sp.identity(capacity.size), format="csr")
        program.rows((flows, on_link), at_most=capacity / unit)
        total = -program.solve().objective
        program.rows((self._demands, row(np.ones(len(pairs)))), at_least=total * (1 - _OPTIMAL))
        self._highest = program.variables(1)
        program.rows((self._demands, self._loads), (self._highest, column(-np.ones(capacity.size))), at_most=0.0)

    def least(self) -> float:
        """Return the least utilisation of the busiest link."""
        self._program.price(self._highest, 1.0)
        return self._program.solve().objective

    def most_of(self, link: int) -> float:
        """Return the greatest utilisation of a link."""
        of_link: Vector = self._loads[[link]].toarray().reshape(-1)
        self._program.price(self._demands, -of_link)
        return -self._program.solve().objective


def measured_rows(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the rows of SNDlib's measured demands over shortest paths by inverse capacity, as multiples of the optimum.

    Which file a row has depends on the order of a folder on the authors' machine: the file with the nearest value is
    taken.
    """
    root = reference / CLONE
    rows = json.loads((root / "results_paper" / "results_real_demands.json").read_text(encoding="utf-8"))
    for network, folder in _DEMANDS.items():
        topology = load_topology(root / "data" / "topologies" / "sndlib" / f"{network}.xml", note=unheard)
        files = sorted((root / "data" / "demands" / "sndlib").glob(f"{folder}/*.xml"))
        of_network = [
            each for each in rows if (each["topology_name"], each["algorithm"]) == (network, "inverse_capacity")
        ]
        found: list[float] = []
        for each in first_rows(of_network, setting):
            compute = partial(_nearest_of_files, found, topology, files, each["objective"], setting)
            yield PublishedRow(network, f"sample {each['sample_idx']}", each["objective"], compute)


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


def drawn_rows(reference: Path, setting: BenchmarkSetting) -> Iterator[PublishedRow]:
    """Yield the rows of demands that fill a network, drawn by seeds, over shortest paths by two kinds of weights."""
    root = reference / CLONE
    folders = root / "data" / "topologies" / "sndlib", root / "data" / "topologies" / "topology_zoo", setting.networks
    of_folders = [file for folder in folders if folder is not None for file in folder.glob("*")]
    files = {file.stem.lower(): file for file in of_folders if file.suffix in {".xml", ".graphml"}}
    by_network: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, algorithm in _DRAWN.items():
        for each in json.loads((root / "results_paper" / table).read_text(encoding="utf-8")):
            if each["algorithm"] == algorithm:
                by_network[each["topology_name"]].append(each)
    for name, rows in sorted(by_network.items(), key=lambda item: (item[1][0]["#nodes"], item[0])):
        file = files.get({"di": "di-yuan"}.get(name, name))
        nodes = rows[0]["#nodes"]
        if file is None or nodes > (setting.nodes or nodes):
            setting.progress.say(f"left out: {name}, {'which is not there' if file is None else f'of {nodes} nodes'}")
            continue
        topology = read_network(file)
        for each in first_rows(rows, setting):
            compute = partial(_drawn_value, topology, each["algorithm"], each["sample_idx"], each["objective"])
            yield PublishedRow(name, f"{each['algorithm']} sample {each['sample_idx']}", each["objective"], compute)


def _drawn_value(topology: Topology, weights: Weights, sample: int, published: float) -> float:
    pairs = drawn_pairs(len(topology.nodes), sample)
    return utilisation_of_greatest(topology, pairs, ShortestPaths(topology, weights).loads(pairs), published)
