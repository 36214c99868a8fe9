"""Picture of a run of faults: what was broken when, and how long each gap in the probes was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kuijia_base.picture_file import picture_bytes, plain
from kuijia_base.quantities import counted
from testbed.chaos.faults import KINDS

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
