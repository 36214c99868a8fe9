"""Demands for notebooks: from files, lists, mappings and data frames, or made by a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from kuijia.api.frames import FrameLike, is_empty, is_frame, name_of, number_in, records
from kuijia.api.sources import connected_demands, demands_of, holds_demands, line_in
from kuijia.api.table import Column, Table, html_page, words
from kuijia.api.topology import Topology, TopologyLike, load_topology
from kuijia_base.errors import InputError, UnsoundError, quoted
from kuijia_base.option_values import whole_number
from kuijia_base.options import parsed_or_none, require_known
from kuijia_base.quantities import counted, rate
from te_solver.formats.demands_file import DEMAND_FORMATS, save_demands
from te_solver.model.demands import Demand

if TYPE_CHECKING:
    import pandas as pd

Row: TypeAlias = tuple[Any, Any, float | str] | tuple[Any, Any, float | str, int]
"""Source, target, rate in Mbit/s or as in "10G", and perhaps priority; names of nodes may be of any type."""

DemandsLike: TypeAlias = str | Path | Iterable[Demand | Row] | Mapping[tuple[Any, Any], float | str] | FrameLike
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
        columns = (words("source"), words("target"), Column("rate", rate), Column("priority"))
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
    format: str | None = None,  # noqa: A002  # its name
    row: int | None = None,
    drop_unreachable: bool = False,
    rate_unit: str | None = None,
) -> Demands:
    """Return demands in any form, for a network.

    Args:
        source: a file (CSV, SNDlib, TEAVAR, REPETITA, YATES, FIGRET, Flexile), the name of a shipped network or one of
            topohub, demands, tuples (source, target, rate) with a priority or without one, a mapping from (source,
            target) to rates, or a data frame: with the columns source, target, rate and perhaps priority, or a matrix
            with nodes as its index and its columns.
        topology: the network.
        format: format of the file; by default that of its suffix.
        row: number of the matrix in a file of several, from 1.
        drop_unreachable: leave out demands between nodes that are not connected.
        rate_unit: unit of rates in a file whose format leaves it open, such as "kbit/s".

    Raises:
        InputError: these are no demands of the network.
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
                raise InputError("demands", "", f"{place} is no pair of nodes", "(source, target) as keys")
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
