"""A study packet by packet as pictures, and as one self-contained HTML page with tables and provenance."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from kuijia_base.manifest import python_versions
from kuijia_base.picture_file import bars, legend_below, look, new_figure
from kuijia_base.quantities import counted
from kuijia_base.text_table import TextTable
from simulator.studies.whatif.html_report import DPI, PANEL, Parts, data_uri, page_environment, ranked_panels, who_loses
from simulator.studies.whatif_packets.findings import FailureCounts, PacketStudy, StudyFindings, percent
from simulator.studies.whatif_packets.run import ABORIGINAL, CLASSES, ROLES, VICTIM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    figure = new_figure(2 * PANEL[0], PANEL[1] + 0.6, DPI)
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


LISTED = 25
"""Failures that the page lists for each scheme; a file lists all."""

_CAPTIONS = {
    "missing-ranked": "Failures by the payload that does not arrive because of them, and who misses it.",
    "completion-times": "Means over all failures. Flows whose tunnels have all failed have no completion time.",
}


def html_report(study: PacketStudy, command: str) -> str:
    """Return the page; `command` reproduces the study."""
    environment = page_environment("simulator.studies.whatif_packets")
    environment.filters |= {"percent": percent, "counted": counted}
    first, *conditions = study.heading()
    return environment.get_template("report.html.j2").render(
        study=study,
        answer=answer(study.found),
        first=first,
        conditions=conditions,
        tables=[
            (
                "Losses",
                "Shares of data packets and of payload; every failure counts the same.",
                *_table(study.found.losses()),
            ),
            ("Completion times", "Relative to those without the failure.", *_table(study.found.times())),
        ],
        pictures=[(name, _CAPTIONS[name], data_uri(figure)) for name, figure in figures(study.found).items()],
        listed=LISTED,
        roles=ROLES,
        command=command,
        versions=python_versions(),
    )


def answer(found: StudyFindings) -> str:
    """Return the sentence that opens the page: who misses payload in the failure that costs the first scheme most."""
    worst = next((ranked[0].failure for scheme in found.outcomes if (ranked := found.ranked(scheme))), None)
    losses = {
        scheme: (each.missing(VICTIM) or 0.0, each.missing(ABORIGINAL) or 0.0)
        for scheme, of in found.outcomes.items()
        for each in of
        if each.failure == worst
    }
    return who_loses(worst, losses)


def _table(table: TextTable) -> tuple[list[tuple[str, int]], Sequence[str], Sequence[Sequence[str]]]:
    """Return the groups of columns with their widths, the headings, and rows that are all as long as these."""
    groups, head, *rows = table.rows
    names = [*groups, *([""] * (len(head) - len(groups)))]
    places = [place if name else None for place, name in enumerate(names)]
    for place in range(1, len(names)):
        places[place] = places[place - 1] if places[place] is None else places[place]
    spans = [(place, len(list(same))) for place, same in groupby(places)]
    return (
        [("" if place is None else names[place].rstrip(":"), width) for place, width in spans],
        head,
        [[*row, *([""] * (len(head) - len(row)))] for row in rows],
    )
