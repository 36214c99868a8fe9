"""Pictures of a study packet by packet: payload that failures keep from arriving, and how much longer flows take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from kuijia_base.picture_style import bars, legend_below, look
from simulator.studies.whatif.figures import PANEL, Parts, ranked_panels
from simulator.studies.whatif_packets.findings import FailureCounts, StudyFindings
from simulator.studies.whatif_packets.run import CLASSES, ROLES, VICTIM

_WIDTH = 0.8
"""Of the bars of all schemes together."""


def figures(found: StudyFindings) -> dict[str, Figure]:
    """Return all pictures by their file names without suffix."""
    return {"missing-ranked": missing_ranked(found), "completion-times": completion_times(found)}


def missing_ranked(found: StudyFindings) -> Figure:
    """Return a panel for each scheme: failures by missing payload, victims' part below, that of others above."""
    parts = {}
    for scheme, outcomes in found.outcomes.items():
        worst_first = sorted(outcomes, key=lambda each: -(each.missing(*ROLES) or 0.0))
        victims, others = (np.maximum(_parts(worst_first, role), 0.0) for role in (VICTIM, ROLES[0]))
        parts[scheme] = victims, others
    return ranked_panels(parts, "missing of all payload")


def completion_times(found: StudyFindings) -> Figure:
    """Return, for flows of each role and size, how many times as long they take under each scheme: mean of all."""
    figure = Figure(figsize=(2 * PANEL[0], PANEL[1] + 0.6), layout="constrained")
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


def _parts(outcomes: Sequence[FailureCounts], role: str) -> Parts:
    """Return what is missing of a role after each failure, as a share of the payload of all."""
    return np.array([each.missing_of_all(role) for each in outcomes])
