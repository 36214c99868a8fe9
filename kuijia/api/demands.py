"""Demands for notebooks: from files, lists, mappings and data frames, or made by a model."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

import numpy as np

from kuijia.api.names import DemandFormatName, MassesName, ModelName, NetworkName, RateUnitName
from kuijia.api.sources import connected_demands, demands_of, holds_demands, line_in
from kuijia.api.table import (
    Column,
    FrameLike,
    Table,
    html_page,
    is_empty,
    is_frame,
    name_of,
    number_in,
    rates,
    records,
    words,
)
from kuijia.api.topology import TopologyLike, load_topology
from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.option_values import positive_number, positive_rate, whole_number
from kuijia_base.options import bad_option, parsed, parsed_or_none, require_known, spelled
from kuijia_base.quantities import counted, rate
from kuijia_base.quantities import rate as in_words
from kuijia_base.reading import uncollected
from kuijia_base.text import parse_number
from te_solver.formats.demands_file import DEMAND_FORMATS, save_demands
from te_solver.model.demand_generators import (
    Progress,
    bimodal,
    gravity,
    random_pairs,
    scaled_to_total,
    scaled_to_utilisation,
    uniform,
)
from te_solver.model.demands import Demand
from te_solver.model.ncflow_demands import NcflowModel, parsed_model
from te_solver.model.topology import Topology

if TYPE_CHECKING:
    import pandas as pd


Row: TypeAlias = tuple[Any, Any, float | str] | tuple[Any, Any, float | str, int]
"""Source, target, rate in Mbit/s or as in "10G", and perhaps priority; names of nodes may be of any type."""

DemandsLike: TypeAlias = (
    NetworkName | str | Path | Iterable[Demand | Row] | Mapping[tuple[Any, Any], float | str] | FrameLike
)
"""Demands in any form: a file or name, demands, tuples of source, target, rate and perhaps priority, a mapping from
(source, target) to rates, or a data frame."""

_NONE = "demands=..., or a network that comes with demands"


class Demands(tuple[Demand, ...]):  # noqa: SLOT001  # a tuple's subclass cannot have slots of its own
    """Demands in Mbit/s, each source, target and priority once.

    Attributes:
        notes: what their reader assumed, and which demands it left out, one sentence each.
        source: their file or name.
    """

    notes: tuple[str, ...] = ()
    source: str = "demands"

    @classmethod
    def of(cls, demands: Iterable[Demand], notes: Iterable[str] = (), source: str = "demands") -> Demands:
        found = cls(demands)
        found.notes = tuple(notes)
        found.source = source
        return found

    @property
    def total(self) -> float:
        """Mbit/s of all demands."""
        return sum(demand.rate for demand in self)

    def scaled(self, factor: float) -> Demands:
        """Return the demands with every rate multiplied by `factor`."""
        rated = (Demand(each.source, each.target, each.rate * factor, each.priority) for each in self)
        return Demands.of(rated, self.notes, self.source)

    def __mul__(self, factor: object) -> NoReturn:
        """Refuse to repeat demands, as tuples do, or to guess that `scaled` is meant."""
        raise TypeError(f"demands times {factor!r}: use demands.scaled({factor!r}) for other rates")

    __rmul__ = __mul__

    def save(self, path: str | Path) -> Path:
        """Write the demands as CSV; raises InputError."""
        save_demands(self, Path(path))
        return Path(path)

    def table(self) -> Table:
        """Return a row for each demand."""
        columns = (words("source"), words("target"), rates("rate"), Column("priority"))
        return Table.of(columns, ((each.source, each.target, each.rate, each.priority) for each in self))

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a data frame, which `load_demands` reads again."""
        return self.table().to_frame()

    def __repr__(self) -> str:
        return f"Demands({counted(len(self), 'demand')}, {rate(self.total)})"

    def _repr_html_(self) -> str:
        return html_page(f"{counted(len(self), 'demand')}, {rate(self.total)}", self.notes, self.table())


def load_demands(
    source: DemandsLike,
    topology: TopologyLike,
    *,
    format: DemandFormatName | None = None,  # noqa: A002  # its name
    row: int | None = None,
    drop_unreachable: bool = False,
    rate_unit: RateUnitName | None = None,
) -> Demands:
    """Return demands for a network, from a source in any form.

    Args:
        source: a file (CSV, SNDlib, TEAVAR, REPETITA, YATES, FIGRET, Flexile), the name of a shipped network or one of
            topohub, demands, tuples (source, target, rate) with a priority or without one, a mapping from (source,
            target) to rates, or a data frame: with the columns source, target, rate and perhaps priority, or a matrix
            with nodes as its index and its columns.
        topology: the network.
        format: format of the file; by default chosen by its suffix.
        row: matrix to read from a file of several, counted from 1.
        drop_unreachable: ignore demands between nodes that are not connected.
        rate_unit: unit of rates in a file that does not state it, such as "kbit/s".

    Raises:
        InputError: the demands cannot be read, or do not fit the network.
    """
    network = load_topology(topology, rate_unit=rate_unit)
    if format is not None:
        require_known("format", format, DEMAND_FORMATS)
    notes: list[str] = []
    if isinstance(source, str | Path):
        name = str(source)
        number_of = parsed_or_none("row", row, whole_number(1, 10**9, expected="a whole number, one or more"))
        found = demands_of(name, network, format, number_of, notes.append, rate_unit=rate_unit)
        place = line_in(name, format)
    else:
        name = source.source if isinstance(source, Demands) else "demands"
        notes += source.notes if isinstance(source, Demands) else ()
        found = _checked(_listed(source), network)
        place = "[{}]".format
    found = connected_demands(found, network, name, notes.append, place, drop=drop_unreachable)
    return Demands.of(found, notes, name)


def demands_for(
    demands: DemandsLike | None, topology: TopologyLike, network: Topology, options: Mapping[str, Any]
) -> Demands:
    """Return demands, by default those in the file of the network or of its name; `options` are of `load_demands`.

    Raises:
        InputError: there are none.
    """
    if demands is not None:
        return load_demands(demands, network, **options)
    if not isinstance(topology, str | Path):
        raise InputError("demands", "", "are not given", _NONE)
    if not holds_demands(str(topology)):
        raise InputError(str(topology), "", "has no demands", _NONE)
    return load_demands(topology, network, **options)


def _listed(source: object) -> Iterator[tuple[str, Demand]]:
    """Yield each demand with its place for messages; raises InputError and UnsoundError."""
    if is_frame(source):
        yield from _of_frame(source)
    elif isinstance(source, Mapping):
        for key, rate in source.items():
            place = quoted(str(key))
            if not (isinstance(key, tuple) and len(key) == 2):
                raise InputError("demands", "", f"{place} is not a pair of nodes", "(source, target) as keys")
            yield place, _demand(place, *key, rate)
    elif isinstance(source, Iterable):
        for number_of, each in enumerate(source):
            place = f"[{number_of}]"
            if not isinstance(each, Demand | tuple | list):
                expected = "demands, or tuples of source, target and rate"
                raise InputError("demands", place, f"found {quoted(type(each).__name__)}", expected)
            yield place, each if isinstance(each, Demand) else _of_row(place, tuple(each))
    else:
        problem = f"{quoted(type(source).__name__)} holds no demands"
        raise InputError("demands", "", problem, "a file, a name, a list, a mapping or a data frame")


def _of_row(place: str, row: tuple[Any, ...]) -> Demand:
    if not 3 <= len(row) <= 4:
        raise InputError("demands", place, f"{len(row)} values", "source, target, rate and perhaps priority")
    return _demand(place, *row)


def _demand(place: str, source: object, target: object, rate: object, priority: object = 0) -> Demand:
    cells = {"rate": rate, "priority": priority}
    found = {name: number_in(cells, name, place, "demands") for name in cells}
    level = found["priority"] or 0.0
    if not level.is_integer():
        raise InputError("demands", place, f"priority {priority}", "a whole number, zero or more")
    try:
        return Demand(name_of(source), name_of(target), found["rate"] or 0.0, int(level))
    except UnsoundError as error:
        raise InputError("demands", place, error.problem, error.expected) from error


def _of_frame(frame: FrameLike) -> Iterator[tuple[str, Demand]]:
    nodes = [name_of(column) for column in frame.columns]
    if nodes == [name_of(name) for name in frame.index]:
        for source, row in zip(nodes, frame.itertuples(index=False, name=None), strict=True):
            for target, rate in zip(nodes, row, strict=True):
                place = f"{source}, {target}"
                if source != target and is_empty(rate):
                    raise InputError("data frame", place, "rate is empty", "a value")
                if source != target and rate != 0:
                    yield place, _demand(place, source, target, rate)
        return
    for place, cells in records(frame, ("source", "target", "rate"), ("priority",)):
        yield place, _demand(place, *cells.values())


def _checked(listed: Iterator[tuple[str, Demand]], topology: Topology) -> tuple[Demand, ...]:
    seen: dict[tuple[str, str, int], Demand] = {}
    for place, demand in listed:
        key = (*demand.pair, demand.priority)
        try:
            demand.require_nodes_of(topology)
        except UnsoundError as error:
            raise InputError("demands", place, error.problem, error.expected) from error
        if key in seen:
            problem = f"a second demand from {demand.source} to {demand.target} with priority {demand.priority}"
            raise InputError("demands", place, problem, "one for each source, target and priority")
        seen[key] = demand
    if not seen:
        raise InputError("demands", "", "there is no demand", "at least one")
    return tuple(seen.values())


MODELS: tuple[ModelName, ...] = get_args(ModelName)
MASSES: tuple[MassesName, ...] = get_args(MassesName)
DEFAULT_UTILISATION = 1.0

Drawn = tuple[tuple[Demand, ...], str]
"""Demands and how they were made, in words."""


@dataclass(frozen=True)
class DemandModel:
    """A model of demands and their scale: `rate`, else `total`, else `max_utilisation`; see `make_demands`."""

    model: str = MODELS[0]
    masses: str = MASSES[0]
    large_share: float = 0.2
    large_to_small: float = 4.0
    pairs: int = 5
    rate: float | None = None
    total: float | None = None
    max_utilisation: float = DEFAULT_UTILISATION
    seed: int = 1
    ncflow: NcflowModel | None = None
    factor: float = 1.0


def share_of(text: str) -> float:
    """Return a number from 0 to 1; raises ArgumentTypeError."""
    share = parse_number(text)
    if share is None or not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected a number from 0 to 1")
    return abs(share)  # -0 is 0


def pairs_of(text: str) -> int:
    """Return a number of pairs; raises ArgumentTypeError."""
    return whole_number(1, 10**9, expected="a whole number, one or more")(text)


def ncflow_model_of(text: str) -> NcflowModel:
    """Return a model of NCFlow with its parameters; raises ArgumentTypeError."""
    try:
        return parsed_model(text)
    except UnsoundError as error:
        raise argparse.ArgumentTypeError(f"{error.problem}, expected {error.expected}") from error


def require_scale(how: DemandModel) -> None:
    """Raise InputError for a scale that the model does not have."""
    if how.rate is not None and (how.model != "pairs" or how.ncflow is not None):
        name = how.model if how.ncflow is None else "of NCFlow"
        raise bad_option("rate", f"given for the model {name}", f"{spelled('total')} or {spelled('max_utilisation')}")
    if how.ncflow is None and how.factor != 1:
        raise bad_option("factor", "given without a model of NCFlow", spelled("ncflow"))


def drawn(topology: Topology, how: DemandModel, source: str, show: Progress) -> Drawn:
    """Return scaled demands; `show` receives progress. Raises InputError, whose source is that of the topology."""
    try:
        with uncollected():
            return _scaled(topology, how, *_drawn(topology, how), show)
    except UnsoundError as error:
        raise InputError(source, "", error.problem, error.expected) from error


def make_demands(  # noqa: PLR0913  # options are keywords
    topology: TopologyLike,
    model: ModelName = MODELS[0],
    *,
    masses: MassesName = MASSES[0],
    large_share: float = 0.2,
    large_to_small: float = 4.0,
    pairs: int = 5,
    rate: float | str | None = None,
    total: float | str | None = None,
    max_utilisation: float | None = None,
    seed: int = 1,
    ncflow: str | None = None,
    factor: float = 1.0,
) -> Demands:
    """Generate demands for a network by a model.

    Args:
        topology: the network.
        model: "gravity", "uniform", "bimodal" or "pairs" (random pairs).
        masses: gravity: a node's mass is the "capacity" of its links, or a "random" number.
        large_share: bimodal: share of large demands.
        large_to_small: bimodal: ratio of the mean large demand to the mean small one.
        pairs: pairs: number of pairs.
        rate: pairs: rate of each pair, in Mbit/s or as in "10G".
        total: rate of all demands together.
        max_utilisation: utilisation of the busiest link when all demands take their shortest path; 1 by default.
        seed: seed of every random choice.
        ncflow: a model of NCFlow instead of `model`, such as "uniform,most=0.46": the numbers that NCFlow and POP draw
            from the same seed. They are not scaled unless `total` is given.
        factor: ncflow: factor for all rates.

    Raises:
        InputError: an option has no such value, or the network cannot have such demands.
    """
    require_known("model", model, MODELS)
    require_known("masses", masses, MASSES)
    if sum(scale is not None for scale in (rate, total, max_utilisation)) > 1:
        raise bad_option("rate", "several scales", "one of rate, total and max_utilisation")
    how = DemandModel(
        model,
        masses,
        parsed("large_share", large_share, share_of),
        parsed("large_to_small", large_to_small, positive_number),
        parsed("pairs", pairs, pairs_of),
        parsed_or_none("rate", rate, positive_rate),
        parsed_or_none("total", total, positive_rate),
        parsed_or_none("max_utilisation", max_utilisation, positive_number) or DEFAULT_UTILISATION,
        parsed("seed", seed, whole_number(0)),
        parsed_or_none("ncflow", ncflow, ncflow_model_of),
        parsed("factor", factor, positive_number),
    )
    require_scale(how)
    network = load_topology(topology)
    demands, words = drawn(network, how, network.name, lambda _done, _of: None)
    return Demands.of(demands, [words])


def _drawn(topology: Topology, how: DemandModel) -> Drawn:
    if how.ncflow is not None:
        values = ", ".join(f"{field.name} {getattr(how.ncflow, field.name):g}" for field in fields(how.ncflow))
        words = f"NCFlow's {how.ncflow.name} model with {values}, seed {how.seed}, times {how.factor:g}"
        return how.ncflow.demands(topology, how.seed, how.factor), words
    random = np.random.default_rng(how.seed)
    if how.model == "gravity" and how.masses == "capacity":
        return gravity(topology), "gravity with the capacity of a node's links as its mass"
    seed = f"seed {how.seed}"
    if how.model == "gravity":
        return gravity(topology, random), f"gravity with random masses, {seed}"
    if how.model == "uniform":
        return uniform(topology, random), f"uniform, {seed}"
    if how.model == "bimodal":
        words = f"bimodal, {how.large_share:.0%} of them {how.large_to_small:g} times as large, {seed}"
        return bimodal(topology, random, how.large_share, how.large_to_small), words
    pairs = random_pairs(topology, random, how.pairs, how.rate or 1.0)
    return pairs, f"{counted(how.pairs, 'random pair')} with equal demands, {seed}"


def _scaled(topology: Topology, how: DemandModel, demands: tuple[Demand, ...], words: str, show: Progress) -> Drawn:
    if how.rate is not None:
        return demands, f"{words}, {in_words(how.rate)} each"
    if how.total is not None:
        return scaled_to_total(demands, how.total), f"{words}, scaled to {in_words(how.total)} in all"
    if how.ncflow is not None:
        return demands, words
    scaled = scaled_to_utilisation(topology, demands, how.max_utilisation, show)
    return scaled, f"{words}, scaled to a busiest link at {how.max_utilisation * 100:.6g}% on shortest paths"
