"""Pictures of a study packet by packet: payload that failures keep from arriving, and how much longer flows take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from kuijia_base.picture_style import COLOURS, bars, legend_below, look
from simulator.studies.whatif_packets.findings import Findings, Outcome
from simulator.studies.whatif_packets.run import CLASSES, ROLES, VICTIM

_VICTIMS, _OTHERS = COLOURS[1], COLOURS[0]
_COLUMNS = 3
_PANEL = (3.1, 2.5)
_WIDTH = 0.8
"""Of the bars of all schemes together."""


def figures(found: Findings) -> dict[str, Figure]:
    """Return all pictures by their file names without suffix."""
    return {"missing-ranked": missing_ranked(found), "completion-times": completion_times(found)}


def missing_ranked(found: Findings) -> Figure:
    """Return a panel for each scheme: failures by missing payload, victims' part below, that of others above."""
    schemes = list(found.outcomes)
    rows, columns = -(-len(schemes) // _COLUMNS), min(_COLUMNS, len(schemes))
    width, height = _PANEL
    figure = Figure(figsize=(max(width * columns, width + 2), height * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel in panels[len(schemes) :]:
        panel.set_visible(False)
    for panel, scheme in zip(panels, schemes, strict=False):
        worst_first = sorted(found.outcomes[scheme], key=lambda each: -(each.missing(*ROLES) or 0.0))
        victims, others = (np.maximum(_parts(worst_first, role), 0.0) for role in (VICTIM, ROLES[0]))
        rank = np.arange(len(worst_first) + 1) + 0.5
        panel.stairs(victims, rank, fill=True, color=_VICTIMS, label="victims")
        panel.stairs(
            victims + others,
            rank,
            baseline=victims,
            fill=True,
            facecolor=_OTHERS,
            hatch="////",
            edgecolor="white",
            linewidth=0,
            label="aboriginal traffic",
        )
        panel.set_title(scheme, fontsize="medium")
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_xlim(0.5, len(found.outcomes[schemes[0]]) + 0.5)
    panels[0].set_ylim(bottom=0)
    panels[0].yaxis.set_major_formatter(PercentFormatter(1.0))
    figure.supxlabel("failures, the worst first", fontsize="medium")
    figure.supylabel("missing of all payload", fontsize="medium")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def completion_times(found: Findings) -> Figure:
    """Return, for flows of each role and size, how many times as long they take under each scheme: mean of all."""
    figure = Figure(figsize=(2 * _PANEL[0], _PANEL[1] + 0.6), layout="constrained")
    axes = figure.subplots()
    groups = [(role, size) for role in ROLES for size in CLASSES]
    schemes = list(found.figures.items())
    width = _WIDTH / len(schemes)
    for position, (scheme, of) in enumerate(schemes):
        means = [of["slowdown"][role][size]["mean"]["mean"] for role, size in groups]
        known = [(place, mean) for place, mean in enumerate(means) if mean is not None]
        places = [place + (position - (len(schemes) - 1) / 2) * width for place, _ in known]
        if known:
            bars(axes, places, [mean for _, mean in known], width, look(position), scheme)
    axes.axhline(1.0, color="0.3", linewidth=0.8)
    axes.set_xticks(range(len(groups)), [f"{role},\n{size} flows" for role, size in groups])
    axes.set_ylabel("completion time,\ntimes that without failure")
    axes.grid(axis="y", alpha=0.3)
    legend_below(figure, axes)
    return figure


def _parts(outcomes: Sequence[Outcome], role: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return what is missing of a role after each failure, as a share of the payload of all."""
    return np.array([each.missing_of_all(role) for each in outcomes])
