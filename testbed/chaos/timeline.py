"""Holds what happened to a lab: spans of time, and which switch was out of reach when. Pure data."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
