"""Interruptions of a flow by cuts: kinds of failures, the cuts in turn, results and their exhibit; pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from experiments.experiment import Outcome
from experiments.grid import Execution
from experiments.measuring.load import MachineLoad, overload
from experiments.reporting.exhibit_output import write_tables
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import limit
from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Plan, Tunnel
from te_solver.networks import shipped_demands, shipped_network
from te_solver.solve import solve

if TYPE_CHECKING:  # which only Linux can import
    from testbed.traffic.ticks import TickRecord


BEFORE_SECONDS, AFTER_SECONDS, RATE_SECONDS = 0.5, 1.5, 0.4
"""Seconds examined before and after the cut, and seconds at either end that give the packet rate."""

GUARD_SECONDS = 0.01
"""Seconds before the cut that are left out; the last arrivals may be part of the interruption."""


@dataclass(frozen=True)
class Silence:
    """Time between two successive events, on their clock."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Interruption:
    """Interruption of a flow; times in seconds.

    Attributes:
        gap: longest time without an arrival that ended after the cut.
        gap_before: longest time without an arrival before the cut, caused by the machines alone.
        sender_pause: longest time between two packets sent, before and after the cut.
        sender_pause_in_gap: the same, between the last packet that arrived before the gap and the first after it.
        lost: lost packets of the whole flow.
        before, after: packets per second that arrived before the cut and at the end.
    """

    gap: float
    gap_before: float
    sender_pause: float
    sender_pause_in_gap: float
    lost: int
    before: float
    after: float


def longest_silence(times: Sequence[float], start: float, end: float) -> Silence:
    """Return the longest time between two successive events, among those that overlap `start` to `end`.

    The times are in ascending order, on one clock.

    Raises:
        ValueError: no event up to `start`, or none after it.
    """
    if not times or times[0] > start or times[-1] <= start:
        raise ValueError("there are no events on both sides of the start")
    silences = (Silence(*pair) for pair in pairwise(times) if pair[1] > start and pair[0] < end)
    return max(silences, key=lambda silence: silence.length)


def interruption(record: TickRecord, cut_at: float) -> Interruption:
    """Return the interruption that a cut caused.

    Args:
        record: record of the flow.
        cut_at: earliest possible time of the cut on the receiver's clock. If the cut came later, the length of its gap
            stays right, but a longer silence just before the cut would be taken for the gap.

    Raises:
        ValueError: no packets arrived before the cut, or none after it.
    """
    arrivals = [at for _, at in record.arrivals]
    start, end = cut_at - BEFORE_SECONDS, cut_at + AFTER_SECONDS
    gap = longest_silence(arrivals, cut_at, end)
    return Interruption(
        gap=gap.length,
        gap_before=longest_silence(arrivals, start, cut_at - GUARD_SECONDS).length,
        sender_pause=_sender_pause(record, start, end),
        sender_pause_in_gap=_sender_pause(record, gap.start, gap.end),
        lost=record.lost,
        before=_rate_until(cut_at, arrivals),
        after=_rate_until(end, arrivals),
    )


def _sender_pause(record: TickRecord, start: float, end: float) -> float:
    """Return the longest time between two packets sent, on the sender's clock.

    Considers the packets from the last that had arrived by `start` to the first that arrived at `end` or later.
    """
    arrivals = [at for _, at in record.arrivals]
    first, last = bisect_right(arrivals, start) - 1, bisect_left(arrivals, end)
    numbers = [number for number, _ in record.arrivals[first : last + 1]]
    sent_at = record.sent_at[min(numbers) : max(numbers) + 1]
    return max((later - earlier for earlier, later in pairwise(sent_at)), default=0.0)


def _rate_until(end: float, arrivals: Sequence[float]) -> float:
    return sum(end - RATE_SECONDS < at <= end for at in arrivals) / RATE_SECONDS


NETWORKS = {"gscale": ("1", "11"), "fig1": ("s1", "s4")}
"""Network to ingress and egress of the flow: among its demands, the pair with the longest tunnels in use."""

TICK_SECONDS, TICK_BYTES = 0.001, 8

DEFAULT_CUTS, QUICK_CUTS = 20, 4


@dataclass(frozen=True)
class Mode:
    """A kind of failure and the party that notices it.

    Attributes:
        liveness: as in `testbed.lab.lab.LabOptions`.
        bfd_interval_ms: time between two packets of a BFD session, None without sessions.
        links: positions of the tunnel's links to cut in turn, the ingress's own being 0; those beyond its end are
            skipped.
        without_controller: True if the controller is killed before the first cut.
        median, maximum: longest interruption that passes, in seconds; None is no bar.
    """

    name: str
    title: str
    liveness: str
    bfd_interval_ms: int | None
    links: tuple[int, ...]
    without_controller: bool
    median: float | None = None
    maximum: float | None = None


MODES = {
    mode.name: mode
    for mode in (
        Mode("local", "first link, its port watched", "bfd", 30, (0,), without_controller=True, median=0.020),
        Mode(
            "bfd-30",
            "second or third link, BFD every 30 ms",
            "bfd",
            30,
            (1, 2),
            without_controller=True,
            median=0.130,
            maximum=0.200,
        ),
        Mode(
            "bfd-10",
            "second or third link, BFD every 10 ms",
            "bfd",
            10,
            (1, 2),
            without_controller=True,
            maximum=0.200,
        ),
        Mode(
            "controller",
            "second or third link, reported by the controller",
            "controller",
            None,
            (1, 2),
            without_controller=False,
        ),
    )
}


@dataclass(frozen=True)
class RecoveryOptions:
    """Modes to measure, number of cuts of each, and the network."""

    modes: tuple[str, ...]
    cuts: int
    network: str

    @property
    def ends(self) -> tuple[str, str]:
        """Ingress and egress of the flow."""
        return NETWORKS[self.network]


def recovery_plan(network: str, capacity: float) -> Plan:
    """Return the plan of a shipped network with its own demands and its largest link at `capacity` Mbit/s."""
    topology = load_topology(shipped_network(network))
    demands = load_demands(shipped_demands(network), topology)
    factor = capacity / max(link.capacity for link in topology.links)
    return solve(topology.scaled(factor), [replace(demand, rate=demand.rate * factor) for demand in demands])


def cuts_in_turn(mode: Mode, tunnels: Sequence[Tunnel], count: int) -> list[tuple[Tunnel, int]]:
    """Return the cuts, as tunnels and positions of their links: tunnel by tunnel, then link by link.

    Raises:
        ValueError: no tunnel has a link that the mode cuts.
    """
    fit = [tunnel for tunnel in tunnels if len(tunnel.hops) > min(mode.links)]
    if not fit:
        raise ValueError(f"no tunnel with traffic has the {mode.title}")
    cuts = []
    for number in range(count):
        tunnel = fit[number % len(fit)]
        positions = [position for position in mode.links if position < len(tunnel.hops)]
        cuts.append((tunnel, positions[number // len(fit) % len(positions)]))
    return cuts


MAX_SENDER_PAUSE = 0.005
"""Seconds of the interruption that the sender itself may cause."""

LEAST_RATE = 0.9
"""Part of the packet rate before a cut that a flow must have again at the end of the time examined after it."""

MAX_CLOCK_ERROR = 0.05
"""Uncertainty of a cut on the receiver's clock, in seconds: a tenth of the time examined before it."""


@dataclass(frozen=True)
class CutRecord(Interruption):
    """A cut and its effect; times in seconds.

    Attributes:
        position: of the link in the tunnel, the ingress's own being 0.
        path_id, backup_path_id: tunnel of the flow before and after.
        source_address: of the flow; decides its slot. In a simulation, the slot itself.
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
    load: MachineLoad

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
        bars = [limit(f"{self.mode.name}: {name}", value, high=bar) for name, value, bar in named if bar is not None]
        back = min(cut.after / cut.before if cut.before else 0.0 for cut in self.cuts if not cut.invalid)
        bars.append(limit(f"{self.mode.name}: least packet rate after a cut, of that before", back, low=LEAST_RATE))
        low = sum(cut.low_after for cut in self.cuts) / len(self.cuts)
        return (*bars, Check(f"{self.mode.name}: part of the cuts after which the flow was tagged low", low, 1.0, 1.0))


def unused_cuts(modes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the modes, as JSON data, that have cuts that do not count, in words."""
    for mode in modes:
        unused = [cut for cut in mode["cuts"] if cut["invalid"]]
        if unused:
            share = f"{len(unused)} of {len(mode['cuts'])} cuts"
            yield f"{mode['mode']['name']}: the machine was too busy for {share} ({'; '.join(unused[0]['invalid'])})"


def exhibits(
    modes: Sequence[Mapping[str, Any]], network: str, backend: str, told: Sequence[str] = ()
) -> tuple[Exhibit, ...]:
    """Return the interruptions of all modes, given as JSON data, with their bars."""
    ingress, egress = NETWORKS[network]
    used = {mode["mode"]["name"]: [cut for cut in mode["cuts"] if not cut["invalid"]] for mode in modes}

    def line(label: str, key: str, statistic: Callable[[Sequence[float]], float]) -> Line:
        return Line(
            label, tuple(_point(name, [1000 * cut[key] for cut in cuts], statistic) for name, cuts in used.items())
        )

    remarks = [
        f"{mode['mode']['name']}: {mode['mode']['title']}; {len(used[mode['mode']['name']])} cuts count"
        + ("" if mode["false_alarms"] is None else f"; {mode['false_alarms']} false alarms of BFD before the first cut")
        for mode in modes
    ]
    error = max((cut["clock_error"] for mode in modes for cut in mode["cuts"]), default=0.0)
    if error > 0:
        remarks.append(f"The receiver has its own clock: the moment of a cut is known on it within {_ms(error)} ms.")
    return (
        Exhibit(
            "recovery",
            f"longest time without one of the packets sent every millisecond from {ingress} to {egress} of {network}",
            "Recovery",
            backend,
            "what fails and who notices",
            "milliseconds; lowest and highest cut",
            (
                line("after a cut, median", "gap", median),
                line("before the cut, median", "gap_before", median),
                line("sender's longest pause", "sender_pause", max),
            ),
            checks=tuple(
                Check(each["name"], each["measured"], each["low"], each["high"])
                for mode in modes
                for each in mode["checks"]
            ),
            remarks=(*remarks, *told, *unused_cuts(modes)),
        ),
    )


def exhibits_of_modes(modes: Sequence[Mapping[str, Any]]) -> tuple[Exhibit, ...]:
    """Return the exhibits of the files of one run, each of a mode, in the order of `MODES`."""
    ordered = sorted(modes, key=lambda mode: list(MODES).index(mode["mode"]["name"]))
    first = ordered[0]
    return exhibits(ordered, first["manifest"]["options"]["network"], first["backend"], first.get("remarks", ()))


def write_mode(run: Execution, result: ModeResult, scheme: str, manifest: Mapping[str, Any], **more: object) -> None:
    """Write the file of a mode; `more` are further members of it."""
    data = {
        "experiment": "recovery",
        "backend": run.backend,
        "scheme": scheme,
        "seed": run.seed,
        "capacity": run.settings.capacity,
        "published": None,
        **mode_data(result),
        **more,
        "manifest": manifest,
    }
    run.output.write_json(f"recovery-{result.mode.name}.json", data)


def write_outcome(
    run: Execution, results: Sequence[ModeResult], options: RecoveryOptions, told: Sequence[str] = ()
) -> Outcome:
    """Write the summary of all modes and their table, with the sentences of `told` below it."""
    modes = [mode_data(result) for result in results]
    shown = exhibits(modes, options.network, run.backend, told)
    failures = tuple(unused_cuts(modes))
    summary: dict[str, object] = {
        "experiment": "recovery",
        "published": None,
        "passed": not failures and all(exhibit.passed for exhibit in shown),
        "modes": {mode["mode"]["name"]: _without_cuts(mode) for mode in modes},
    }
    run.output.write_json("recovery-summary.json", summary)
    return write_tables("recovery", summary, shown, run.output, failures, with_json=True)


def _point(x: str, values: Sequence[float], statistic: Callable[[Sequence[float]], float]) -> Point:
    return replace(Point.of(x, values), value=statistic(values)) if values else Point(x)


def mode_data(result: ModeResult) -> dict[str, Any]:
    """Return a mode as JSON data: every cut, their summary, and the bars; times in seconds."""
    return {
        "mode": asdict(result.mode),
        "gap": _spread(result.gaps),
        "false_alarms": result.false_alarms,
        "checks": [{**asdict(check), "passed": check.passed} for check in result.checks],
        "passed": all(check.passed for check in result.checks) and not any(cut.invalid for cut in result.cuts),
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


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


def _without_cuts(mode: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in mode.items() if key not in ("cuts", "flows")}
