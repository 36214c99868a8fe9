"""The report on a run of faults: as JSON, from which the run can be repeated, and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kuijia_base.picture_file import picture_bytes, plain
from kuijia_base.quantities import counted
from testbed.chaos.controller_verdicts import LIMITS, Takeover
from testbed.chaos.faults import FOREVER, KINDS, FaultSpan, faults_to_json
from testbed.chaos.load import LoadCount, Stream
from testbed.chaos.oracle import OVERLOAD, LossWindows, UnexcusedLoss
from testbed.chaos.run import ChaosResult

VERSION = 1
_SHOWN = 20


def report_json(result: ChaosResult, topology: str, seed: int, windows: LossWindows, manifest: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """Return everything that a reader, or a repetition, needs; times are seconds from the first probe."""
    return {
        "format": "kuijia-chaos",
        "version": VERSION,
        "topology": topology,
        "seed": seed,
        "windows": {name: value for name, value in asdict(windows).items() if value != FOREVER},
        "seconds": round(result.seconds, 3),
        "passed": result.passed,
        "faults": faults_to_json(result.faults),
        "spans": [
            {
                "kind": span.kind,
                "subject": list(span.subject),
                "start": _since(result, span.start),
                "end": _since(result, span.end),
            }
            for span in result.timeline.spans
        ],
        "overloaded": _spans(result, result.timeline.overloaded),
        "stalled": _spans(result, result.timeline.stalled),
        "starved": _spans(result, result.timeline.starved),
        "flows": [{**asdict(flow), **asdict(count)} for flow, count in zip(result.flows, result.counts, strict=True)],
        "streams": [_stream(result, stream) for stream in result.streams],
        "load": [
            {**asdict(each.flow), "rate": round(each.rate, 3), "sent": each.sent, "came": each.came}
            for each in result.load
        ],
        "losses": [
            {
                "flow": loss.flow,
                "first": _since(result, loss.first),
                "last": _since(result, loss.last),
                "packets": loss.packets,
            }
            for loss in result.losses
        ],
        "findings": [_finding(result, each) for each in result.lost_without_excuse],
        "owed_to_the_machine": [_finding(result, each) for each in result.owed_to_the_machine],
        "takeovers": [{**asdict(each), "at": _since(result, each.at)} for each in result.takeovers],
        "false_alarms": [{**asdict(each), "at": _since(result, each.at)} for each in result.false_alarms],
        "own_ends": [{**asdict(each), "at": _since(result, each.at)} for each in result.own_ends],
        "tables": list(result.tables),
        "leaks": list(result.leaks),
        "sizes": {
            name: {"first": asdict(first), "largest": asdict(largest)}
            for name, (first, largest) in result.sizes.items()
        },
        "errors": list(result.errors),
        "manifest": manifest,
    }


def report_text(result: ChaosResult) -> str:
    """Return what a reader at a terminal wants to know."""
    kinds = Counter(span.kind for span in result.timeline.spans if span.kind in KINDS)
    sent = sum(count.sent for count in result.counts)
    lost = sum(loss.packets for loss in result.losses)
    bad = sum(finding.loss.packets for finding in result.lost_without_excuse)
    longest = max((loss.last - loss.first for loss in result.losses), default=0.0)
    lines = [
        f"{counted(kinds.total(), 'fault')} in {result.seconds:.0f} s: "
        + ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())),
        f"{sent:,} probes of {counted(len(result.flows), 'flow')}; {lost:,} lost, {bad:,} of them without an excuse",
        f"longest gap {longest * 1000:.0f} ms",
    ]
    if result.timeline.overloaded:
        lines.append(f"in {len(result.timeline.overloaded)} quarters of a second, {OVERLOAD}: not judged")
    lines += _stream_lines(result)
    lines += _load_lines(result.load)
    lines += _machine_lines(result)
    if result.sizes:
        grown = (
            f"{name} {first.memory_kb / 1024:.0f} to {most.memory_kb / 1024:.0f}"
            for name, (first, most) in result.sizes.items()
        )
        lines.append(f"MB of memory at first and at most: {', '.join(grown)}")
    lines += _takeover_lines(result)
    if result.twice:
        lines.append(f"{result.twice:,} probes arrived twice")
    lines += [f"FINDING  {finding_text(result, each)}" for each in result.lost_without_excuse[:_SHOWN]]
    left = len(result.lost_without_excuse) - _SHOWN
    lines += [f"and {left} more findings"] if left > 0 else []
    lines += [f"TAKEOVER {_takeover_text(result, each)}" for each in result.late_takeovers]
    lines += [
        f"ALARM    {_since(result, each.at):.3f} s: {each.text}; nothing was lossy" for each in result.false_alarms
    ]
    lines += [
        f"ENDED    {_since(result, each.at):.3f} s: controller {each.number} by itself: {each.reason}"
        for each in result.own_ends
    ]
    lines += [f"TABLES   {line}" for line in result.tables]
    lines += [f"LEAK     {line}" for line in result.leaks]
    lines += [f"ERROR    {line}" for line in result.errors]
    lines.append("passed" if result.passed else "failed")
    return "\n".join(lines)


def finding_text(result: ChaosResult, finding: UnexcusedLoss) -> str:
    """Return a finding as a line."""
    loss = finding.loss
    first, length = _since(result, loss.first), (loss.last - loss.first) * 1000
    broken = (f"{span.title} from {_since(result, span.start):.3f} to {_until(result, span)}" for span in finding.near)
    near = f"; broken then: {', '.join(broken)}" if finding.near else "; nothing was broken then"
    return f"{first:.3f} s: {finding.flow.title} lost {loss.packets} in {length:.0f} ms{near}"


def _stream(result: ChaosResult, stream: Stream) -> dict[str, object]:
    samples = [[_since(result, at), round(rate, 3)] for at, rate in stream.samples]
    return {**asdict(stream), "samples": samples, "mean": round(stream.mean, 3), "silent": stream.silent}


def _stream_lines(result: ChaosResult) -> list[str]:
    """Return what the flows of iperf3 got, of each kind the best and the worst."""
    lines = []
    for kind in ("tcp", "udp"):
        streams = [stream for stream in result.streams if stream.kind == kind]
        if streams:
            means, silent = [stream.mean for stream in streams], [stream.silent for stream in streams]
            failed = sum(stream.failed for stream in streams)
            lines.append(
                f"{counted(len(streams), 'flow')} of iperf3 by {kind.upper()} at {streams[0].rate:.2g} Mbit/s got "
                f"{min(means):.2g} to {max(means):.2g} Mbit/s, nothing in {min(silent)} to {max(silent)} seconds, "
                f"and ended early {counted(failed, 'time')}"
            )
    return lines


def _load_lines(load: Sequence[LoadCount]) -> list[str]:
    """Return how the packets that filled the links fared, class by class."""
    lines = []
    for priority in sorted({each.flow.priority for each in load}):
        of_class = [each for each in load if each.flow.priority == priority]
        sent, came = sum(each.sent for each in of_class), sum(each.came for each in of_class)
        rate = sum(each.rate for each in of_class)
        lines.append(
            f"load of class {priority}: {counted(len(of_class), 'flow')}, {rate:.3g} Mbit/s together; "
            f"{sent:,} packets sent, {sent - came:,} lost"
        )
    return lines


def _machine_lines(result: ChaosResult) -> list[str]:
    """Return how far this machine itself fell behind, and what that excuses."""
    lines = []
    for whose, spans in (("switches", result.timeline.stalled), ("controllers", result.timeline.starved)):
        if spans:
            longest = max(end - start for start, end in spans)
            lines.append(
                f"this machine did not run a process like the {whose} for 10 ms or more {len(spans):,} times, "
                f"at most for {longest * 1000:.0f} ms"
            )
    owed = result.owed_to_the_machine
    if owed:
        packets = sum(each.loss.packets for each in owed)
        lines.append(f"{packets:,} lost in {counted(len(owed), 'gap')} are excused by nothing but this machine")
    return lines


def _takeover_lines(result: ChaosResult) -> list[str]:
    seconds = [each.seconds for each in result.takeovers if each.seconds is not None]
    if not result.takeovers:
        return []
    spread = f": after {min(seconds):.2f} to {max(seconds):.2f} s" if seconds else ""
    return [f"{counted(len(result.takeovers), 'takeover')}{spread}"]


def _takeover_text(result: ChaosResult, takeover: Takeover) -> str:
    when = "nobody took over" if takeover.seconds is None else f"another acted after {takeover.seconds:.2f} s"
    return f"{_since(result, takeover.at):.3f} s: {takeover.kind}, {when}; expected {LIMITS[takeover.kind]:g} s"


def _spans(result: ChaosResult, spans: Iterable[tuple[float, float]]) -> list[list[float]]:
    return [[_since(result, start), _since(result, end)] for start, end in spans]


def _finding(result: ChaosResult, finding: UnexcusedLoss) -> dict[str, object]:
    loss = finding.loss
    return {
        "flow": loss.flow,
        "first": _since(result, loss.first),
        "last": _since(result, loss.last),
        "packets": loss.packets,
        "near": [span.title for span in finding.near],
    }


def _until(result: ChaosResult, span: FaultSpan) -> str:
    return "the end" if span.end == FOREVER else f"{_since(result, span.end):.3f} s"


def _since(result: ChaosResult, at: float) -> float:
    return round(at - result.began, 4)


_SHORTEST_SECONDS = 0.3
"""Width of a fault that is over at once."""

_INCHES = 10.0
_ROW_INCHES = 0.2
_GAPS_INCHES = 2.6


def chaos_picture(document: Mapping[str, Any], suffix: str) -> bytes:
    """Return the content of a picture file with this suffix, such as ".svg", from a report on a run."""
    spans = [span for span in document["spans"] if span["kind"] in KINDS]
    kinds = [kind for kind in KINDS if any(span["kind"] == kind for span in spans)]
    rows_inches = _ROW_INCHES * len(kinds) + 0.6
    figure = Figure(figsize=(_INCHES, rows_inches + _GAPS_INCHES), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[rows_inches, _GAPS_INCHES])
    for row, kind in enumerate(kinds):
        of_kind = [span for span in spans if span["kind"] == kind]
        bars = [(span["start"], max(span["end"] - span["start"], _SHORTEST_SECONDS)) for span in of_kind]
        above.broken_barh(bars, (row - 0.4, 0.8), color="#3b6ea8", linewidth=0)
    above.set_yticks(range(len(kinds)), [kind.replace("-", " ") for kind in kinds])
    above.invert_yaxis()
    above.set_title(plain(_title(document, len(spans))))
    unexcused = {(finding["flow"], finding["first"]) for finding in document["findings"]}
    for label, colour, wanted in (("excused", "0.6", False), ("without an excuse", "#b2182b", True)):
        chosen = [loss for loss in document["losses"] if ((loss["flow"], loss["first"]) in unexcused) is wanted]
        _draw_gaps(below, chosen, label, colour)
    below.set_yscale("log")
    below.set_ylabel("gap (ms)")
    below.set_xlabel("seconds from the first probe")
    below.legend(loc="upper right", frameon=False)
    below.grid(visible=True, axis="y", linewidth=0.4)
    return picture_bytes(figure, suffix)


def _draw_gaps(axes: Axes, losses: Sequence[Mapping[str, Any]], label: str, colour: str) -> None:
    # A single missing packet has no length: it stands for one millisecond.
    lengths = [max(1000 * (loss["last"] - loss["first"]), 1.0) for loss in losses]
    axes.plot([loss["first"] for loss in losses], lengths, ".", color=colour, label=f"{label}: {len(losses)}")


def _title(document: Mapping[str, Any], faults: int) -> str:
    sent = sum(flow["sent"] for flow in document["flows"])
    bad = sum(finding["packets"] for finding in document["findings"])
    return f"{document['topology']}: {counted(faults, 'fault')}, {sent:,} probes, {bad:,} lost without an excuse"
