"""Pictures of a what-if study: distribution of losses, who bears them, and the vacant capacity that buys them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kuijia_base.picture_file import COLOURS, in_percent, look, new_figure
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import ABORIGINAL, FailureOutcome, loss_share, ranked
from simulator.studies.whatif.study import SchemeNumbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VICTIMS, _OTHERS = COLOURS[1], COLOURS[0]
_COLUMNS = 3
_SIZE = (6.4, 3.8)
PANEL = (3.1, 2.5)
"""Inches of a panel: width, height."""

DPI = 100

Parts = np.ndarray[tuple[int], np.dtype[np.float64]]
"""Part of the traffic by failure."""


def figures(schemes: Sequence[SchemeNumbers]) -> dict[str, Figure]:
    """Return all pictures by their file names without suffix."""
    return {
        "loss-distribution": loss_distribution(schemes),
        "loss-and-vacancy": loss_and_vacancy(schemes),
        "loss-ranked": ranked_losses(schemes),
    }


def loss_distribution(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return, for each scheme, the share of failures that cost more than a given part of the traffic sent."""
    figure = new_figure(*_SIZE, DPI)
    axes = figure.subplots()
    for position, scheme in enumerate(schemes):
        losses = np.sort([loss_share(outcome.total()) for outcome in scheme.outcomes])
        more = 1 - np.arange(1, losses.size + 1) / losses.size
        axes.step(
            np.concatenate([[0], losses, [1]]),
            np.concatenate([[1], more, [0]]),
            where="post",
            color=look(position).colour,
            linestyle=look(position).dashes,
            label=scheme.name,
        )
    most = max(loss_share(outcome.total()) for scheme in schemes for outcome in scheme.outcomes)
    axes.set_xlim(0, min(1.0, most * 1.08) or 1.0)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("part of the traffic sent that is lost")
    axes.set_ylabel("failures that cost more")
    for axis in (axes.xaxis, axes.yaxis):
        in_percent(axis)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def ranked_losses(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return a panel for each scheme: failures ranked by cost, victims' part below, that of others above."""
    worst_first = {scheme.name: ranked(scheme.outcomes) for scheme in schemes}
    lost = {scheme: (_lost(each, (Role.VICTIM,)), _lost(each, ABORIGINAL)) for scheme, each in worst_first.items()}
    return ranked_panels(lost, "lost of all traffic sent")


def ranked_panels(parts: Mapping[str, tuple[Parts, Parts]], quantity: str) -> Figure:
    """Return a panel for each scheme: parts of victims and, above them, of others, the worst failure first."""
    rows, columns = -(-len(parts) // _COLUMNS), min(_COLUMNS, len(parts))
    width, height = PANEL
    figure = new_figure(max(width * columns, width + 2), height * rows + 0.5, DPI)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel in panels[len(parts) :]:
        panel.set_visible(False)
    for panel, (scheme, (victims, others)) in zip(panels, parts.items(), strict=False):
        rank = np.arange(len(victims) + 1) + 0.5
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
    panels[0].set_xlim(0.5, len(next(iter(parts.values()))[0]) + 0.5)
    panels[0].set_ylim(bottom=0)
    in_percent(panels[0].yaxis)
    figure.supxlabel("failures, the worst first", fontsize="medium")
    figure.supylabel(quantity, fontsize="medium")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def loss_and_vacancy(schemes: Sequence[SchemeNumbers]) -> Figure:
    """Return the cost of failures under each scheme, the mean and a line up to the worst, above its vacant capacity."""
    figure = new_figure(*_SIZE, DPI)
    losses, vacancies = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    # Schemes on one plan leave the same capacity vacant: places of their own keep them apart.
    for place, scheme in enumerate(schemes):
        found = scheme.figures[None]
        how = look(place)
        losses.plot([place] * 2, [found.lost, found.lost_worst], color=how.colour, linewidth=1, marker="_")
        losses.plot(place, found.lost, marker=how.mark, color=how.colour, clip_on=False, linestyle="none")
        vacancies.bar(place, scheme.recovery.vacant, width=0.5, color=how.colour)
    losses.set_ylim(bottom=0)
    losses.set_ylabel("lost of the traffic sent:\nmean, worst")
    vacancies.set_ylim(0, 1)
    vacancies.set_ylabel("vacant before\nanything fails")
    vacancies.set_xticks(range(len(schemes)), [scheme.name for scheme in schemes])
    for axes in (losses, vacancies):
        in_percent(axes.yaxis)
        axes.grid(axis="y", alpha=0.3)
    return figure


def _lost(outcomes: Sequence[FailureOutcome], roles: Sequence[Role]) -> Parts:
    """Return the loss of these roles in each failure, as a share of all traffic sent."""
    return np.array([outcome.total(roles).lost / (outcome.total().sent or 1.0) for outcome in outcomes])
