"""Interruptions of a steady flow by cuts, as numbers, text and JSON data; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from experiments.interruption import Interruption
from experiments.load import Load, overload
from experiments.recovery_cases import NETWORKS, TICK_BYTES, Mode
from experiments.result import Check

MAX_SENDER_PAUSE = 0.005
"""Seconds of the interruption that the sender itself may cause."""

MAX_CLOCK_ERROR = 0.05
"""Uncertainty of a cut on the receiver's clock, in seconds: a tenth of the time examined before it."""

_LABEL_WIDTH, _CELL_WIDTH = 60, 8


@dataclass(frozen=True)
class CutRecord(Interruption):
    """A cut and its effect; times in seconds.

    Attributes:
        position: of the link in the tunnel, the ingress's own being 0.
        path_id, backup_path_id: tunnel of the flow before and after.
        source_address: of the flow; decides its slot.
        low_after: True if the flow was tagged as a victim.
        noticed: switch at an end of the link to the seconds from the cut to its port report.
        clock_error: uncertainty of the cut on the receiver's clock; 0 where that is our own clock.
        load: of this machine and the boxes around the cut.
    """

    link: tuple[str, str]
    position: int
    path_id: int
    backup_path_id: int
    source_address: str
    low_after: bool
    noticed: dict[str, float]
    clock_error: float
    load: Load

    @property
    def invalid(self) -> tuple[str, ...]:
        """Reasons not to use the cut, in words; empty for a good one."""
        # A switch in userspace may take all of a processor long before it is late: only its lateness counts.
        reasons = list(overload(self.load))
        if self.sender_pause_in_gap > MAX_SENDER_PAUSE:
            limit = f"more than {_ms(MAX_SENDER_PAUSE)} ms"
            reasons.append(f"the sender itself paused for {_ms(self.sender_pause_in_gap)} ms, {limit}")
        if self.clock_error > MAX_CLOCK_ERROR:
            known = f"to {_ms(self.clock_error)} ms only, more than {_ms(MAX_CLOCK_ERROR)} ms"
            reasons.append(f"the receiver's clock was known {known}")
        return tuple(reasons)


@dataclass(frozen=True)
class ModeResult:
    """All cuts of one mode.

    Attributes:
        cuts: include those on a machine that stayed too busy, which do not count.
        false_alarms: times that BFD sessions went down before the first cut, None without sessions.
    """

    mode: Mode
    cuts: tuple[CutRecord, ...]
    false_alarms: int | None

    @property
    def gaps(self) -> list[float]:
        """Interruptions in seconds of the cuts that count."""
        return [cut.gap for cut in self.cuts if not cut.invalid]

    @property
    def checks(self) -> tuple[Check, ...]:
        """Checks of the mode's bars; empty when no cut counts."""
        if not self.gaps:
            return ()
        named = (
            ("median gap in s", median(self.gaps), self.mode.median),
            ("longest gap in s", max(self.gaps), self.mode.maximum),
        )
        bars = [Check(f"{self.mode.name}: {name}", value, None, bar) for name, value, bar in named if bar is not None]
        low = sum(cut.low_after for cut in self.cuts) / len(self.cuts)
        return (*bars, Check(f"{self.mode.name}: part of the cuts after which the flow was tagged low", low, 1.0, 1.0))


def missed_bars(results: Iterable[ModeResult]) -> Iterator[str]:
    """Yield the reasons why modes did not pass, in words."""
    for result in results:
        unused = [cut for cut in result.cuts if cut.invalid]
        if unused:
            reasons = "; ".join(unused[0].invalid)
            share = f"{len(unused)} of {len(result.cuts)} cuts"
            yield f"{result.mode.name}: the machine was too busy for {share} ({reasons})"
        for check in result.checks:
            if not check.passed:
                yield f"{check.name} is {check.measured:.3f}, expected {check.bar}"


def table_text(results: Sequence[ModeResult], network: str) -> str:
    """Return the interruptions of every mode in milliseconds, then the bars and whether they were met."""
    ingress, egress = NETWORKS[network]
    lines = [
        f"A packet a millisecond from {ingress} to {egress} of {network}: longest time without one after a cut, in ms",
        "",
        _line("", ["cuts", "min", "median", "max", "before", "sender", "alarms"]),
        *(_line(f"{result.mode.name}: {result.mode.title}", _cells(result)) for result in results),
        "",
        "before: median of the longest times without a packet before the cut; sender: its longest pause around a cut;",
        "alarms: how often an end of a BFD session went down before the first cut.",
    ]
    error = max(cut.clock_error for result in results for cut in result.cuts)
    if error > 0:
        lines.append(f"The receiver's clock is another than ours: cuts are placed on it to {_ms(error)} ms.")
    lines.append("")
    for result in results:
        lines += [f"BUSY  {result.mode.name}: {'; '.join(cut.invalid)}" for cut in result.cuts if cut.invalid]
        lines += [
            f"{'ok  ' if check.passed else 'MISS'}  {check.name} {check.measured:.3f} ({check.bar})"
            for check in result.checks
        ]
    return "\n".join(lines)


def mode_data(result: ModeResult) -> dict[str, Any]:
    """Return a mode as JSON data: every cut, their summary, and the bars; times in seconds."""
    return {
        "mode": asdict(result.mode),
        "gap": _spread(result.gaps),
        "false_alarms": result.false_alarms,
        "checks": [{**asdict(check), "passed": check.passed} for check in result.checks],
        "passed": not any(missed_bars([result])),
        "flows": [
            {
                "name": f"cut {number}",
                "role": "victim",
                "before": _mbits(cut.before),
                "after": _mbits(cut.after),
                "loss": 1 - cut.after / cut.before if cut.before else None,
            }
            for number, cut in enumerate(result.cuts, start=1)
        ],
        "cuts": [{**asdict(cut), "invalid": list(cut.invalid)} for cut in result.cuts],
    }


def _spread(gaps: Sequence[float]) -> dict[str, float] | None:
    return {"min": min(gaps), "median": median(gaps), "max": max(gaps)} if gaps else None


def _mbits(packets_per_second: float) -> float:
    """Return the payload rate in Mbit/s."""
    return packets_per_second * TICK_BYTES * 8 / 1e6


def _cells(result: ModeResult) -> list[str]:
    used = [cut for cut in result.cuts if not cut.invalid]
    alarms = "-" if result.false_alarms is None else str(result.false_alarms)
    if not used:
        return ["0", *["-"] * 5, alarms]
    before, pause = median(cut.gap_before for cut in used), max(cut.sender_pause for cut in used)
    gaps = result.gaps
    return [str(len(used)), *map(_ms, (min(gaps), median(gaps), max(gaps), before, pause)), alarms]


def _line(label: str, cells: Sequence[str]) -> str:
    return f"{label:<{_LABEL_WIDTH}}{''.join(f'{cell:>{_CELL_WIDTH}}' for cell in cells)}".rstrip()


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"
