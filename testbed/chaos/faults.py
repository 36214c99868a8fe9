"""Draws faults from a seed, orders their beginnings and ends, holds what happened, and shortens a list that fails.

Pure data, the faults also as JSON to be repeated.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, TypeVar

from kuijia_base.errors import InputError, quoted
from te_solver.model.topology import Topology

FOREVER = math.inf


@dataclass(frozen=True)
class FaultSpan:
    """A time in which something was broken, in seconds of `time.monotonic`.

    Attributes:
        kind: of the fault (`faults.KINDS`).
        start: just before it was broken.
        end: when it was mended, `FOREVER` while it is not.
    """

    kind: str
    subject: tuple[str, ...]
    start: float
    end: float = FOREVER

    def overlaps(self, start: float, end: float) -> bool:
        return self.start <= end and start <= self.end

    @property
    def title(self) -> str:
        return f"{self.kind} {'-'.join(self.subject)}".strip()


@dataclass(frozen=True)
class FaultTimeline:
    """All that happened in a run.

    Attributes:
        away: switch to the spans in which no controller could program it, as the controllers' own events tell.
        overloaded: spans in which this machine lost frames that its switches had no time to read.
        stalled: spans in which this machine did not run a process of the switches' priority that asked for it.
        starved: the same for a process of the controllers' priority.
    """

    spans: tuple[FaultSpan, ...]
    away: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    overloaded: tuple[tuple[float, float], ...] = ()
    stalled: tuple[tuple[float, float], ...] = ()
    starved: tuple[tuple[float, float], ...] = ()

    def stood_still(self, start: float, end: float) -> float:
        """Return the seconds between two times in which this machine did not run the switches or the controllers."""
        counted, total = start, 0.0
        for begin, over in sorted({*self.stalled, *self.starved}):
            until = min(over, end)
            if until > counted:
                total += max(until - max(begin, counted), 0.0)
                counted = until
        return total

    def of(self, kinds: Collection[str]) -> Iterable[FaultSpan]:
        return (span for span in self.spans if span.kind in kinds)

    def in_reach_from(self, switches: Sequence[str], at: float) -> float:
        """Return the first time from `at` on at which none of these switches is away."""
        while True:
            ends = [end for switch in switches for start, end in self.away.get(switch, ()) if start <= at < end]
            if not ends:
                return at
            at = max(ends)


def away_spans(
    starts: Iterable[tuple[float, str]], ready: Iterable[tuple[float, str]], end: float
) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return for each switch the spans from a loss of its controller until it is next reported ready.

    Args:
        starts: times at which a switch may have lost its controller, with its name.
        ready: times at which a controller has confirmed all tables of a switch, with its name.
        end: the time that stands for never.
    """
    by_switch: dict[str, list[tuple[float, float]]] = {}
    confirmed: dict[str, list[float]] = {}
    for at, switch in sorted(ready):
        confirmed.setdefault(switch, []).append(at)
    for at, switch in sorted(starts):
        back = next((each for each in confirmed.get(switch, ()) if each > at), end)
        by_switch.setdefault(switch, []).append((at, back))
    return {switch: tuple(spans) for switch, spans in by_switch.items()}


_SECONDS: Final[dict[str, tuple[float, float]]] = {}
"""Kind to its shortest and longest duration in seconds; a fault of no duration is over once it is done."""

_WEIGHTS: Final[dict[str, int]] = {}
"""Kind to how often it is drawn, relative to others."""


def _kind(name: str, shortest: float = 0.0, longest: float = 0.0, weight: int = 2) -> str:
    """Enter a kind of faults with its bounds in seconds; return its name."""
    _SECONDS[name], _WEIGHTS[name] = (shortest, longest), weight
    return name


CUT: Final = _kind("cut", 0.5, 8.0, weight=4)
CUT_END: Final = _kind("cut-end", 0.5, 8.0)
FLAP: Final = _kind("flap", 0.2, 2.0)
SLOW: Final = _kind("slow", 1.0, 8.0)
SWITCH_WIPED: Final = _kind("switch-wiped")
SWITCHES_FROZEN: Final = _kind("switches-frozen", 0.1, 1.0, weight=1)
SWITCHES_KILLED: Final = _kind("switches-killed", 0.2, 1.0, weight=1)
DATABASE_FROZEN: Final = _kind("database-frozen", 0.5, 6.0)
DATABASE_KILLED: Final = _kind("database-killed", 0.1, 2.0)
DISK_FULL: Final = _kind("disk-full", 1.0, 8.0)
CONTROLLER_KILLED: Final = _kind("controller-killed", 0.5, 6.0)
CONTROLLER_FROZEN: Final = _kind("controller-frozen", 0.2, 8.0)
CLOCK_FORWARD: Final = _kind("clock-forward", 0.5, 8.0)
CLOCK_BACK: Final = _kind("clock-back", 0.5, 8.0)
STANDBY_KILLED: Final = _kind("standby-killed", 0.5, 6.0)
HANDOVER: Final = _kind("handover")
PEERS_CUT: Final = _kind("peers-cut", 0.5, 6.0)
FROM_ACTING_CUT: Final = _kind("from-acting-cut", 0.5, 6.0)
TO_ACTING_CUT: Final = _kind("to-acting-cut", 0.5, 6.0)
PEERS_LATE: Final = _kind("peers-late", 1.0, 6.0)
PEERS_LOSSY: Final = _kind("peers-lossy", 1.0, 6.0)
CONNECTION_RESET: Final = _kind("connection-reset")
CONNECTION_LATE: Final = _kind("connection-late", 1.0, 6.0)
CONNECTION_LOSSY: Final = _kind("connection-lossy", 1.0, 6.0)
FROM_SWITCH_CUT: Final = _kind("from-switch-cut", 0.5, 9.0)
TO_SWITCH_CUT: Final = _kind("to-switch-cut", 0.5, 9.0)
PLAN_REPLACED: Final = _kind("plan-replaced")
PLAN_REFUSED: Final = _kind("plan-refused")
PLAN_WITHDRAWN: Final = _kind("plan-withdrawn", 0.02, 2.0)

STANDSTILL_KINDS: Final = (SWITCHES_FROZEN, SWITCHES_KILLED, DATABASE_KILLED)
"""Those in which no switch does anything: `ovs-vswitchd` waits until it has its database again."""

FLAP_DOWN: Final = "flap-down"
"""Not drawn by itself: one of the times in which a flapping link was down."""

LINK_DOWN: Final = (CUT, CUT_END, FLAP_DOWN)
"""Those in which a link carries nothing."""

SLOW_SHARE: Final = 0.25
"""Rate of a slow link, as a share of its normal rate."""

LINK_KINDS: Final = (CUT, CUT_END, FLAP, SLOW)
CONNECTION_KINDS: Final = (CONNECTION_RESET, CONNECTION_LATE, CONNECTION_LOSSY, FROM_SWITCH_CUT, TO_SWITCH_CUT)
SWITCH_KINDS: Final = (SWITCH_WIPED, *CONNECTION_KINDS, PLAN_REFUSED)
PLAN_KINDS: Final = (PLAN_REPLACED, PLAN_REFUSED, PLAN_WITHDRAWN)
PEER_KINDS: Final = (PEERS_CUT, FROM_ACTING_CUT, TO_ACTING_CUT, PEERS_LATE, PEERS_LOSSY)
"""Those in which a controller does not hear another one, or not in time."""

PAIR_KINDS: Final = (STANDBY_KILLED, HANDOVER, *PEER_KINDS)
"""Those that need two controllers."""

KINDS: Final = tuple(_SECONDS)

_THINGS: Final[Mapping[str, Collection[tuple[str, ...]]]] = {
    PLAN_REFUSED: {("plan",), ("tables",)},
    SWITCHES_KILLED: {("switches",), ("database",)},  # what is started again reads its ports there
    DATABASE_KILLED: {("switches",), ("database",)},
    STANDBY_KILLED: {("controller",)},
    HANDOVER: {("controller",)},
    **{kind: {("peers",), ("plan",)} for kind in PEER_KINDS},  # docs/pair.md, Limits
}
"""Things that faults of a kind take hold of, where it is not the first word of its name."""

SPARE_SECONDS: Final = 0.5
"""Time for which a thing is left alone after it was mended."""


@dataclass(frozen=True)
class ChaosFault:
    """A fault of a run.

    Attributes:
        at: seconds from the start of the run.
        kind: one of KINDS.
        subject: the two ends of a link, one switch, or nothing where the whole lab is concerned. Of `cut-end`, the
            first end is the one that is taken down.
        seconds: time until it is mended.
    """

    at: float
    kind: str
    subject: tuple[str, ...]
    seconds: float

    @property
    def things(self) -> frozenset[tuple[str, ...]]:
        """Parts that the fault takes hold of: two faults that share a thing are never under way together."""
        if self.kind in LINK_KINDS:
            return frozenset({tuple(sorted(self.subject))})
        if self.kind in CONNECTION_KINDS:
            return frozenset({("connection", *self.subject)})
        if self.kind == SWITCH_WIPED:
            return frozenset({("tables",), ("switches",), ("connection", *self.subject)})  # which must answer
        return frozenset(_THINGS.get(self.kind, {(self.kind.partition("-")[0],)}))

    @property
    def title(self) -> str:
        place = f" {'-'.join(self.subject)}" if self.subject else ""
        return f"{self.kind}{place}" + (f" for {self.seconds:.1f} s" if self.seconds else "")


def draw_faults(
    topology: Topology, seed: int, seconds: float, interval: float, kinds: Collection[str] = KINDS
) -> tuple[ChaosFault, ...]:
    """Return the faults of a run, one each `interval` seconds on average, in order.

    Args:
        topology: the lab's.
        seed: equal arguments and seeds give equal faults.
        seconds: length of the run, by whose end every fault is mended.
        interval: mean time between two faults.
        kinds: those to draw from.
    """
    chance = random.Random(seed)
    wanted = [kind for kind in KINDS if kind in kinds]
    weights = [_WEIGHTS[kind] for kind in wanted]
    free_at: dict[tuple[str, ...], float] = {}
    faults = []
    at = 0.0
    while wanted and (at := at + chance.uniform(0.5, 1.5) * interval) < seconds:
        (kind,) = chance.choices(wanted, weights)
        length = chance.uniform(*_SECONDS[kind])
        fault = ChaosFault(round(at, 3), kind, _subject(kind, topology, chance), round(length, 3))
        end = at + length + SPARE_SECONDS
        if end <= seconds and all(free_at.get(thing, 0.0) <= at for thing in fault.things):
            free_at.update(dict.fromkeys(fault.things, end))
            faults.append(fault)
    return tuple(faults)


def _subject(kind: str, topology: Topology, chance: random.Random) -> tuple[str, ...]:
    if kind in LINK_KINDS:
        a, b = chance.choice(topology.edges)
        return (b, a) if chance.random() < 0.5 else (a, b)
    if kind in SWITCH_KINDS:
        return (chance.choice(topology.nodes),)
    return ()


def faults_to_json(faults: Sequence[ChaosFault]) -> list[dict[str, object]]:
    return [asdict(fault) for fault in faults]


def faults_from_json(document: object, topology: Topology, source: str) -> tuple[ChaosFault, ...]:
    """Return the faults of a file, in order of time.

    Raises:
        InputError: it is no list of faults, or one is not of this network; the place is its position.
    """
    if not isinstance(document, list):
        raise InputError(source, "faults", "is not a list", "faults with at, kind, subject and seconds")
    return tuple(
        sorted(
            (_fault(row, topology, source, f"faults[{place}]") for place, row in enumerate(document)),
            key=lambda fault: fault.at,
        )
    )


def _fault(row: object, topology: Topology, source: str, place: str) -> ChaosFault:
    match row:
        case {
            "at": int() | float() as at,
            "kind": str(kind),
            "subject": list(subject),
            "seconds": int() | float() as length,
        }:
            pass
        case _:
            raise InputError(source, place, "is not a fault", "an object with at, kind, subject and seconds")
    if kind not in KINDS:
        raise InputError(source, f"{place}.kind", f"unknown kind {quoted(kind)}", f"one of {', '.join(KINDS)}")
    if not (0 <= at < float("inf") and 0 <= length < float("inf")):
        raise InputError(source, place, "has an impossible time", "seconds of zero or more")
    fits: Callable[[list[object]], bool] = _fits(kind, topology)
    if not fits(subject):
        raise InputError(source, f"{place}.subject", f"{quoted(str(subject))} is not in this network", _expected(kind))
    return ChaosFault(float(at), kind, tuple(map(str, subject)), float(length))


def _fits(kind: str, topology: Topology) -> Callable[[list[object]], bool]:
    if kind in LINK_KINDS:
        edges = {frozenset(edge) for edge in topology.edges}
        return lambda subject: (
            len(subject) == 2 and all(isinstance(end, str) for end in subject) and set(subject) in edges
        )
    if kind in SWITCH_KINDS:
        return lambda subject: len(subject) == 1 and subject[0] in topology.nodes
    return lambda subject: not subject


def _expected(kind: str) -> str:
    if kind in LINK_KINDS:
        return "the two ends of a link"
    return "a switch" if kind in SWITCH_KINDS else "an empty list"


@dataclass(frozen=True)
class AgendaStep:
    """A fault that is to begin, or to be mended, at a time in seconds."""

    at: float
    fault: ChaosFault
    begins: bool


class Agenda:
    """Steps of a run, earliest first; the run says when it has made one, as it may be late.

    Faults are drawn apart, but a run that is behind mends a fault late and would begin the next one before. What
    nobody mends meanwhile, since one thread does both, would then wait for itself.

    Args:
        start: time from which those of the faults count.
    """

    def __init__(self, faults: Iterable[ChaosFault], start: float) -> None:
        self._order = itertools.count()
        self._due = [(start + fault.at, next(self._order), fault, True) for fault in faults]
        heapq.heapify(self._due)
        self._free_at: dict[tuple[str, ...], float] = {}

    def next_step(self) -> AgendaStep | None:
        """Return the next step, None after the last one; a fault waits for things that others hold."""
        while self._due:
            at, _, fault, begins = heapq.heappop(self._due)
            free_at = max((self._free_at.get(thing, at) for thing in fault.things), default=at)
            if not begins or free_at <= at:
                return AgendaStep(at, fault, begins)
            self._push(free_at, fault, begins=True)
        return None

    def began(self, fault: ChaosFault, now: float) -> None:
        """Note that a fault has begun: it is to be mended when its time is over."""
        self._push(now + fault.seconds, fault, begins=False)
        self._hold(fault, now + fault.seconds)

    def mended(self, fault: ChaosFault, now: float) -> None:
        """Note that a fault is mended, perhaps late: what it held is left alone for a while."""
        self._hold(fault, now)

    def _push(self, at: float, fault: ChaosFault, *, begins: bool) -> None:
        heapq.heappush(self._due, (at, next(self._order), fault, begins))

    def _hold(self, fault: ChaosFault, until: float) -> None:
        self._free_at.update(dict.fromkeys(fault.things, until + SPARE_SECONDS))


T = TypeVar("T")


def shortest_failing(items: Sequence[T], fails: Callable[[tuple[T, ...]], bool], runs: int) -> tuple[T, ...]:
    """Return a part of `items`, in order, that fails and that nothing can be left out of, as far as `runs` trials tell.

    Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input (IEEE TSE 28(2), 2002), algorithm ddmin.
    """
    kept, parts = tuple(items), 2
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        starts = range(0, len(kept), size)
        tried = [kept[at : at + size] for at in starts] if parts > 1 else []
        tried += [kept[:at] + kept[at + size :] for at in starts]
        for number, part in enumerate(tried):
            if not part or len(part) == len(kept):
                continue
            if runs == 0:
                return kept
            runs -= 1
            if fails(part):
                kept, parts = part, 2 if number < len(starts) else max(parts - 1, 2)
                break
        else:
            if size == 1:
                return kept
            parts = min(2 * parts, len(kept))
    return kept
