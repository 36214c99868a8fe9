"""The cases of the evaluation on Gscale and the flows of each: an aggregate for every two tunnels of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, get_args

from experiments.compared_schemes import PAPERS_SCHEMES, compared_schemes
from experiments.measuring.failure_run import Phases, SlotMoves, WantedFlow, slot_moves
from experiments.results.result import Protocol, Result, Role
from kuijia_app.tables.queue_layouts import PLAIN
from kuijia_app.tables.slots import DEFAULT_SLOT_COUNT
from kuijia_base.errors import InputError
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.schemes.shipped.kuijia import KUIJIA

EXPERIMENT = "gscale"
"""Name of the experiment in results, whichever of its figures they were measured for."""

Traffic = Literal["tcp", "udp", "priorities"]
"""`priorities` is TCP in two classes of traffic (section 5.4); the others have one class (sections 5.2 and 5.3)."""

Edge = tuple[str, str]

ReadingName = Literal["directed", "shared"]
"""Reading of the paper under which a campaign runs (`experiments.gscale.plans`).

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


AXIS = "demand of each pair, in parts of a link"

FIGURES: Mapping[str, tuple[Protocol, Role]] = {
    "fig10": ("tcp", "direct"),
    "fig11": ("udp", "direct"),
    "fig12": ("tcp", "victim"),
    "fig13": ("udp", "victim"),
}
"""Figure to the traffic and the role whose losses it shows."""

CURVES = tuple(
    (figure, scheme)
    for figure, (_, role) in FIGURES.items()
    for scheme in PAPERS_SCHEMES
    if (role, scheme) != ("direct", "kuijia")
)
"""Curves of the figures, except directly affected flows under Kuijia: they lose exactly 0 in the model."""

_TCP = Phases(warmup=3, before=5, settle=10, after=20, interval=0.2, observe=1)
_UDP = Phases(warmup=1.5, before=3, settle=1, after=5, interval=0.2, observe=1)
_QUICK_TCP = Phases(warmup=2, before=2, settle=3, after=5, interval=0.2, observe=1)
_QUICK_UDP = Phases(warmup=1, before=1.5, settle=0.5, after=2, interval=0.2, observe=1)

LAYOUTS: dict[Traffic, str] = {"tcp": PLAIN, "udp": PLAIN, "priorities": "four"}


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
    def protocol(self) -> Protocol:
        return "udp" if self.traffic == "udp" else "tcp"

    def __lt__(self, other: Case) -> bool:
        return self._rank < other._rank

    @property
    def _rank(self) -> tuple[int, int, float, int, int]:
        traffic, link = TRAFFICS.index(self.traffic), LINKS.index(self.link)
        return self.repetition, traffic, self.demand, link, compared_schemes().index(self.scheme)


def phases_of(protocol: Protocol, *, quick: bool) -> Phases:
    """Return the seconds of a run; TCP is watched longer, as it may need twenty seconds to settle (Table 4)."""
    if protocol == "udp":
        return _QUICK_UDP if quick else _UDP
    return _QUICK_TCP if quick else _TCP


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


MIN_SHARE = 0.02
"""Least share of its pair's traffic that an aggregate must have; a smaller one may get none of 64 hash slots."""


def aggregates_of(
    plan: Plan, link: tuple[str, str], scheme: str = KUIJIA.name, slot_count: int = DEFAULT_SLOT_COUNT
) -> tuple[WantedFlow, ...]:
    """Return the flows of every pair: on tunnel i one aggregate for each other tunnel j, named `SOURCE-TARGET/i-j`.

    Aggregate i-j offers rate_i w_j / sum of w_k over all k but i: of 300 Mbit/s with weights .5, .3 and .2, the two on
    the first tunnel offer 90 and 60 Mbit/s (section 5.1). Where all w_j are zero the shares are equal. An aggregate of
    less than `MIN_SHARE` of its pair joins its largest sibling; a tunnel with less than that in total sends nothing.
    With two classes of traffic, names end in `/high` and `/low`.

    Args:
        plan: rates and weights of the tunnels.
        link: link that will fail. The `backup` of its victims is j or, if j fails too, the alive tunnel of greatest
            weight, as at the ingress; the `backup` of other aggregates is their own tunnel.
        scheme: under one that renormalises, aggregate i-j of a pair that loses a tunnel has the slots that are i's
            before and j's afterwards; its `backup` is j, also where i is alive.
        slot_count: hash slots of a pair.

    Raises:
        ValueError: the link takes all tunnels of a pair.
    """
    suffixes = ("/high", "/low") if any(pair.priority for pair in plan.pairs) else ("",)
    return tuple(
        flow
        for pair in plan.pairs
        for flow in _of_pair(pair, link, suffixes[pair.priority], slot_moves(pair, link, scheme, slot_count))
    )


def _of_pair(pair: PairPlan, link: tuple[str, str], suffix: str, moves: SlotMoves | None) -> list[WantedFlow]:
    flows = []
    for number, tunnel in enumerate(pair.tunnels, start=1):
        for other, share in (_promised(pair, tunnel) if moves is None else _moved(moves, tunnel)).items():
            name = f"{pair.source}-{pair.target}/{number}-{pair.tunnels.index(other) + 1}{suffix}"
            backup = other
            if moves is None:
                backup = _survivor(pair, other, link) if tunnel.crosses(*link) else tunnel
            offered = share * pair.allocated
            flows.append(WantedFlow(name, offered, pair.source, pair.target, tunnel, backup, pair.priority))
    return flows


def _moved(moves: SlotMoves, tunnel: Tunnel) -> dict[Tunnel, float]:
    """Return the share of the pair's traffic that is on `tunnel` and moves to each tunnel, or stays."""
    owned = {after: count for (before, after), count in moves.items() if before == tunnel}
    return _joined(tunnel, {after: tunnel.weight * count / sum(owned.values()) for after, count in owned.items()})


def _promised(pair: PairPlan, tunnel: Tunnel) -> dict[Tunnel, float]:
    """Return the share of the pair's traffic that is on `tunnel` and promised to each other tunnel."""
    others = [other for other in pair.tunnels if other != tunnel]
    weights = [other.weight for other in others]
    total = sum(weights)
    parts = [weight / total if total > 0 else 1 / len(others) for weight in weights]
    return _joined(tunnel, {other: tunnel.weight * part for other, part in zip(others, parts, strict=True)})


def _joined(tunnel: Tunnel, shares: Mapping[Tunnel, float]) -> dict[Tunnel, float]:
    """Return the shares of a tunnel's traffic, with small ones in the largest; none if it has too little in total."""
    kept = {other: share for other, share in shares.items() if share >= MIN_SHARE}
    if len(kept) < len(shares) and tunnel.weight >= MIN_SHARE:
        largest = max(shares, key=shares.__getitem__)
        kept[largest] = tunnel.weight - sum(share for other, share in kept.items() if other != largest)
    return kept


def _survivor(pair: PairPlan, promised: Tunnel, link: tuple[str, str]) -> Tunnel:
    alive = [tunnel for tunnel in pair.tunnels if not tunnel.crosses(*link)]
    if not alive:
        raise ValueError(f"{'-'.join(link)} takes all tunnels from {pair.source} to {pair.target}")
    return promised if promised in alive else max(alive, key=lambda tunnel: tunnel.weight)
