"""Plans for notebooks: solved, read from files, shown as tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from kuijia.api.demands import Demands, DemandsLike, demands_for, load_demands
from kuijia.api.names import DemandFormatName, ObjectiveName, PathsName, RateUnitName, TopologyFormatName
from kuijia.api.plan_summary import path_of, plan_summary
from kuijia.api.solving import DEFAULT_SOLVER, DEFAULT_TUNNELS, SolveOptions, planned
from kuijia.api.table import Column, Picture, Table, Text, html_page, name_of, rates, share, words
from kuijia.api.topology import Topology, TopologyLike, load_topology
from kuijia_base.additions import require_installed
from kuijia_base.errors import InputError, quoted
from kuijia_base.options import from_keywords, require_known
from kuijia_base.picture_file import LIBRARY
from kuijia_base.progress import progress_line
from kuijia_base.quantities import counted, rate_of
from te_solver.formats.plan_file import load_plan as load_core_plan
from te_solver.formats.plan_file import plan_to_json, save_plan
from te_solver.model import plan as core
from te_solver.model.demands import Demand
from te_solver.model.plan import DISJOINT, Weight
from te_solver.programs.registry import MAX_THROUGHPUT, STATIC_SPLITS, objective_names
from te_solver.programs.settings import base_name
from te_solver.tunnels.path_choices.file import ListedPath, routes_of

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Part = Literal["pairs", "tunnels", "links"]

_SHOWN = 10
"""Rows of each table that a notebook shows of a plan."""


@dataclass(frozen=True, repr=False, eq=False)
class Plan(core.Plan):
    """Tunnels for the demands of a network, and the rate of each; rates are Mbit/s.

    Attributes:
        topology: the network.
        notes: what readers assumed about the network and its demands, one sentence each.
    """

    topology: Topology
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, plan: core.Plan, notes: tuple[str, ...] = ()) -> Plan:
        if isinstance(plan, cls):
            return plan
        values: dict[str, Any] = {field.name: getattr(plan, field.name) for field in fields(core.Plan)}
        return cls(**{**values, "topology": Topology.of(plan.topology), "notes": notes})

    @property
    def demands(self) -> Demands:
        """The demands that the plan was made for."""
        asked = (Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in self.pairs)
        return Demands.of(asked)

    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON, for the commands and for `load_plan`; raises InputError."""
        save_plan(self, Path(path))
        return Path(path)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON data, as `save` writes it."""
        return plan_to_json(self)

    def summary(self, listed: int | None = _SHOWN) -> Text:
        """Return the summary that `kuijia solve` prints; each part names at most `listed` pairs or links."""
        tunnels = max((len(pair.tunnels) for pair in self.pairs), default=0)
        return Text.of(plan_summary(self, tunnels, listed))

    def table(self, of: Part = "pairs") -> Table:
        """Return a row for each pair, each tunnel or each directed link."""
        require_known("of", of, get_args(Part))
        if of == "pairs":
            return Table.of(_PAIRS, self._pair_rows())
        return Table.of(_LINKS, self._link_rows()) if of == "links" else Table.of(_TUNNELS, self._tunnel_rows())

    def to_frame(self, of: Part = "pairs") -> pd.DataFrame:
        """Return a table as a data frame; raises MissingPackageError without pandas."""
        return self.table(of).to_frame()

    def to_networkx(self) -> nx.DiGraph[str]:
        """Return the graph of the network with `load` and `utilisation` of edges."""
        graph = self.topology.to_networkx()
        for source, target, _, load, used in self._link_rows():
            graph.edges[source, target].update(load=load, utilisation=used)
        return graph

    def plot(self, seed: int = 1) -> Picture:
        """Draw the network with the utilisation of every link; `seed` is for random places of nodes."""
        require_installed(LIBRARY, "pictures")
        from te_solver.pictures.plan_picture import plan_figure  # noqa: PLC0415  # slow to import: matplotlib

        return Picture(plan_figure(self, seed), f"{self.topology.name}, {self.objective}")

    def _repr_html_(self) -> str:
        allocated = rate_of(self.allocated, self.demand)
        return html_page(
            f"{self.topology.name}, {self.objective}: {allocated}",
            [f"{counted(len(self.pairs), 'pair')}, {counted(len(self.tunnels), 'tunnel')}", *self.notes],
            self.table("links").sort("utilisation").head(_SHOWN),
            self.table("pairs").head(_SHOWN),
        )

    def _pair_rows(self) -> Iterator[tuple[object, ...]]:
        for pair in self.pairs:
            yield pair.source, pair.target, pair.priority, pair.demand, pair.allocated, len(pair.tunnels)

    def _tunnel_rows(self) -> Iterator[tuple[object, ...]]:
        for pair in self.pairs:
            for tunnel in pair.tunnels:
                path = path_of(tunnel)
                yield pair.source, pair.target, pair.priority, tunnel.path_id, path, tunnel.weight, tunnel.rate

    def _link_rows(self) -> Iterator[tuple[str, str, float, float, float]]:
        for link in self.topology.links:
            load = self.link_loads[link.ends]
            yield link.source, link.target, link.capacity, load, load / link.capacity


_ENDS = (words("source"), words("target"))
_PAIRS = (*_ENDS, Column("priority"), rates("demand"), rates("allocated"), Column("tunnels"))
_TUNNELS = (
    *_ENDS,
    Column("priority"),
    Column("path_id"),
    words("path"),
    Column("weight", share),
    rates("rate"),
)
_LINKS = (*_ENDS, rates("capacity"), rates("load"), Column("utilisation", share))

PathsLike: TypeAlias = Mapping[tuple[Any, Any], Sequence[Any]]
"""Paths of each (source, target): a path is a sequence of nodes, or a tuple of such a sequence and its share."""

PlanLike = core.Plan | str | Path
"""A plan, or a file that holds one."""


def load_plan(source: PlanLike) -> Plan:
    """Return the plan in a JSON file, as `Plan.save` and `kuijia solve -o` write it; raises InputError."""
    if isinstance(source, core.Plan):
        return Plan.of(source)
    if not isinstance(source, str | Path):
        raise InputError("plan", "", f"{quoted(type(source).__name__)} is not a plan", "a plan or its file")
    return Plan.of(load_core_plan(Path(source)))


def solve(  # noqa: PLR0913  # options are keywords
    topology: TopologyLike,
    demands: DemandsLike | None = None,
    *,
    tunnels: int = DEFAULT_TUNNELS,
    objective: ObjectiveName | str = MAX_THROUGHPUT,
    tunnel_weight: Weight = "hops",
    node_disjoint: bool = False,
    paths: PathsName | str = DISJOINT,
    protect: int | None = None,
    spread: bool = False,
    partitions: int | None = None,
    solver: str = DEFAULT_SOLVER,
    format: TopologyFormatName | str | None = None,  # noqa: A002  # its name
    default_capacity: float | str | None = None,
    demand_format: DemandFormatName | None = None,
    row: int | None = None,
    drop_unreachable: bool = False,
    seed: int = 1,
    rate_unit: RateUnitName | None = None,
    progress: bool = True,
) -> Plan:
    """Return the plan that serves demands best: tunnels, and the rate of each.

    Args:
        topology: the network in any form, see `load_topology`.
        demands: the demands in any form, see `load_demands`; by default those in the file of the network.
        tunnels: tunnels per pair, edge-disjoint where possible.
        objective: "max-throughput", "max-min", "ffc", "min-max-utilisation", "static-splits", "max-concurrent",
            "edge-max-throughput", "edge-max-concurrent", "edge-min-max-utilisation", "cspf", "smore", "hedging",
            "demand-pinning", "lp-top", "swan", "adaptive-waterfilling", "equi-depth-bins", "b4", "pop", "ncflow",
            "fleischer", "teavar", "flexile", "oblivious" or "cope"; with settings if any, as in `swan:alpha=1.5`. See
            `docs/te_solver.md`.
        tunnel_weight: metric that tunnels minimise, "hops", "delay" or "inverse-capacity".
        node_disjoint: tunnels of a pair have no node in common where possible; the same as "node-disjoint" for `paths`.
        paths: how tunnels are chosen, "disjoint", "node-disjoint", "ksp", "ecmp", "vlb", "raeke", "edge-disjoint-flow",
            "srlg-disjoint:FILE" or "file:FILE"; see `docs/te_solver.md`.
        protect: ffc: failed links that the plan survives without loss; 1 by default.
        spread: use all tunnels of a pair equally instead of preferring shorter ones.
        partitions: max-throughput: parts that are solved on all processors; with more than 20,000 demands several by
            default.
        solver: any installed one that CVXPY knows.
        format: format of the network's file; by default chosen by its suffix.
        default_capacity: capacity of links without one, in Mbit/s or as in "10G"; 1 Gbit/s by default.
        demand_format: format of the demand file; by default chosen by its suffix.
        row: matrix to read from a file of several, counted from 1.
        drop_unreachable: ignore demands between nodes that are not connected.
        seed: seed of the partitions, and of random paths.
        rate_unit: unit of rates in files that do not state it, such as "kbit/s".
        progress: show the progress of work that takes seconds.

    Raises:
        InputError: an input or an option cannot be used.
        SolverError: the solver gave up.
    """
    given = {**locals(), "node_disjoint": bool(node_disjoint), "spread": bool(spread), "reproducible": False}
    if isinstance(objective, str):  # its name is what may be unknown, whatever its settings
        require_known("objective", base_name(objective), objective_names())
    how = from_keywords(SolveOptions, given)
    how.require_sense()
    network = load_topology(topology, format=format, default_capacity=default_capacity, rate_unit=rate_unit)
    reading = {"format": demand_format, "row": row, "drop_unreachable": drop_unreachable, "rate_unit": rate_unit}
    asked = demands_for(demands, topology, network, reading)
    with progress_line(patient=True, silent=not progress) as line:
        plan = planned(network, asked, how, asked.source, line)
    return Plan.of(plan, (*network.notes, *asked.notes))


def plan_from_paths(topology: TopologyLike, demands: DemandsLike, paths: PathsLike) -> Plan:
    """Return the plan that sends each demand over the given paths in the given shares: a scheme's own result.

    Nothing is optimised, so that links may be overloaded: `whatif` and `packet` say what is lost then.

    >>> paths = {("s1", "s4"): [(["s1", "s4"], 0.75), (["s1", "s2", "s4"], 0.25)]}
    >>> plan_from_paths("fig1", {("s1", "s4"): 2000}, paths).maximum_utilisation
    1.5

    Args:
        topology: the network in any form, see `load_topology`.
        demands: the demands in any form, see `load_demands`.
        paths: the paths of each pair. Shares of a pair are in proportion: they need not sum to one; paths without
            shares share equally.

    Raises:
        InputError: an input cannot be used, a path is not one of the network, or a demand has no path.
    """
    network = load_topology(topology)
    asked = load_demands(demands, network)
    routes = routes_of("paths", list(_listed(paths)), network)
    for number, demand in enumerate(asked):
        if demand.pair not in routes:
            place = f"[{number}]"
            raise InputError(asked.source, place, f"no path from {demand.source} to {demand.target}", "one in paths")
    from te_solver.solve import Planner  # noqa: PLC0415  # slow to import: CVXPY

    tunnels = {pair: tuple(nodes for nodes, _ in of_pair) for pair, of_pair in routes.items()}
    shares = {pair: tuple(share for _, share in of_pair) for pair, of_pair in routes.items()}
    planner = Planner(network, tunnels, asked, STATIC_SPLITS, shares_of=shares.get, source=asked.source)
    return Plan.of(planner.plan(), (*network.notes, *asked.notes))


def _listed(paths: object) -> Iterator[ListedPath]:
    """Yield the paths with their places for messages; raises InputError."""
    if not isinstance(paths, Mapping):
        problem = f"{quoted(type(paths).__name__)} holds no paths"
        raise InputError("paths", "", problem, "a mapping from (source, target) to paths")
    for pair, of_pair in paths.items():
        if not isinstance(of_pair, list | tuple):
            raise InputError("paths", str(pair), f"found {quoted(str(of_pair))}", "a list of paths")
        for number, each in enumerate(of_pair):
            place = f"{pair} [{number}]"
            nodes, share = each if _has_share(each) else (each, None)
            if not isinstance(nodes, list | tuple):
                raise InputError("paths", place, f"found {quoted(str(each))}", "nodes, or a tuple of nodes and a share")
            if share is not None and not (isinstance(share, Real) and 0 <= float(share) < math.inf):
                raise InputError("paths", place, f"share {quoted(str(share))}", "a number, zero or more")
            found = tuple(map(name_of, nodes))
            if not found or (found[0], found[-1]) != tuple(map(name_of, pair)):
                problem = f"the path {quoted(' '.join(found))} does not join the pair"
                raise InputError("paths", place, problem, f"one from {pair[0]} to {pair[1]}")
            yield ListedPath(place, found, None if share is None else float(share))


def _has_share(path: object) -> bool:
    return isinstance(path, tuple) and len(path) == 2 and isinstance(path[0], list | tuple)
