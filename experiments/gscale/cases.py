"""The cases of the evaluation on Gscale: pure data, quick to import."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from experiments.compared_schemes import PAPERS_SCHEMES, compared_schemes
from experiments.results.result import Result
from kuijia_base.errors import InputError

EXPERIMENT = "gscale"
"""Name of the experiment in results, whichever of its figures they were measured for."""

Traffic = Literal["tcp", "udp", "priorities"]
"""`priorities` is TCP in two classes of traffic (section 5.4); the others have one class (sections 5.2 and 5.3)."""

Edge = tuple[str, str]

ReadingName = Literal["directed", "shared"]
"""Reading of the paper under which a campaign runs (`experiments.gscale.case_plan`).

In `directed` plans each direction of a link has a capacity of its own; in `shared` ones both have one together.
"""

DEFAULT_READING: ReadingName = "shared"
"""Reading of campaigns: its losses are nearer to the published ones on switches, in packets and in the flow model."""

UNNAMED: ReadingName = "directed"
"""Reading of results that name none: they were the first."""

TRAFFICS: tuple[Traffic, ...] = get_args(Traffic)
READING_NAMES: tuple[ReadingName, ...] = get_args(ReadingName)
DEMANDS = (0.8, 1.0, 1.2, 1.4, 1.6)
"""Demand of every pair, in parts of the capacity that may be planned on a link."""

LINKS: tuple[Edge, ...] = (("2", "3"), ("7", "9"), ("10", "11"))
REPETITIONS = 3

HIGH, LOW = 0, 1
"""The classes of traffic of `priorities`; other traffic belongs to the first."""


@dataclass(frozen=True)
class Case:
    """One run: kind of traffic, demand of every pair in parts of a link, failing link, scheme, and reading.

    Cases are ordered by repetition first, so that an interrupted campaign has whole repetitions.

    Raises:
        ValueError: a value is not part of the evaluation.
    """

    traffic: Traffic
    demand: float
    link: Edge
    scheme: str
    repetition: int
    reading: ReadingName = UNNAMED

    def __post_init__(self) -> None:
        schemes = compared_schemes()
        known = (
            (self.traffic, TRAFFICS),
            (self.demand, DEMANDS),
            (self.link, LINKS),
            (self.scheme, schemes),
            (self.reading, READING_NAMES),
        )
        for value, values in known:
            if value not in values:
                raise ValueError(f"{value} is none of {', '.join(map(str, values))}")
        if self.repetition < 1:
            raise ValueError(f"repetition {self.repetition}, expected one or more")

    @property
    def name(self) -> str:
        """Name such as `tcp-1.2-2-3-kuijia-1`, also of the result file."""
        return f"{self.traffic}-{self.demand:g}-{'-'.join(self.link)}-{self.scheme}-{self.repetition}"

    @property
    def protocol(self) -> Literal["tcp", "udp"]:
        return "udp" if self.traffic == "udp" else "tcp"

    def __lt__(self, other: Case) -> bool:
        return self._rank < other._rank

    @property
    def _rank(self) -> tuple[int, int, float, int, int]:
        traffic, link = TRAFFICS.index(self.traffic), LINKS.index(self.link)
        return self.repetition, traffic, self.demand, link, compared_schemes().index(self.scheme)


def grid(
    traffics: Iterable[Traffic],
    demands: Iterable[float] = DEMANDS,
    links: Iterable[Edge] = LINKS,
    schemes: Iterable[str] = PAPERS_SCHEMES,
    repetitions: int = REPETITIONS,
    reading: ReadingName = UNNAMED,
) -> tuple[Case, ...]:
    """Return every combination as a case, in the order of cases."""
    every = product(traffics, demands, links, schemes, range(1, repetitions + 1))
    return tuple(sorted(Case(*values, reading) for values in every))


def case_of(result: Result) -> Case:
    """Return the case of a result; raises ValueError if it belongs to none."""
    try:
        traffic, demand = result.parameters["traffic"], result.parameters["demand"]
    except KeyError as error:
        raise ValueError(f"a result of {result.experiment} without {error}") from error
    reading = result.parameters.get("reading", UNNAMED)
    return Case(traffic, demand, result.failure.link, result.scheme, result.repetition, reading)


def stored_case(result: Result, source: str | Path) -> Case:
    """Return the case of a result from a file; raises InputError with `source` and the key if it belongs to none."""
    stored = (
        ("parameters.traffic", result.parameters.get("traffic"), TRAFFICS),
        ("parameters.demand", result.parameters.get("demand"), DEMANDS),
        ("failure.link", result.failure.link, LINKS),
        ("scheme", result.scheme, compared_schemes()),
        ("parameters.reading", result.parameters.get("reading", UNNAMED), READING_NAMES),
    )
    for key, value, known in stored:
        if value not in known or isinstance(value, bool):
            problem = "is missing" if value is None else f"{value!r} is not of the evaluation on Gscale"
            raise InputError(source, key, problem, f"one of {', '.join(map(str, known))}")
    return case_of(result)
