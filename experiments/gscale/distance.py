"""Distance of a whole campaign's losses from the published ones, curve by curve and over all 30 means; pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from experiments.gscale.loss_figures import LOSS_FIGURES
from experiments.gscale.readings.summary import CURVES
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Result

ALL = "all"

MEANS = 30
"""Published means of Figures 10 to 13, without those of directly affected flows under Kuijia."""


def distance_exhibit(results: Sequence[Result]) -> Exhibit:
    """Return by how many percentage points our means miss the published ones; without lines if any is not measured.

    Directly affected flows under Kuijia are left out, as in `gscale-readings`: they lose nothing here.
    """
    figures = {figure.name: figure.exhibit(results) for figure in LOSS_FIGURES if figure.name in dict(CURVES)}
    gaps = {f"{name}, {scheme}": _gaps(figures[name].line(scheme)) for name, scheme in CURVES}
    gaps[ALL] = [gap for of_curve in gaps.values() for gap in of_curve]
    if len(gaps[ALL]) < MEANS:
        gaps = {}
    known = {name: np.array(found) for name, found in gaps.items() if found}
    return Exhibit(
        "losses-distance",
        "distance of the losses from the published ones",
        "Figures 10 to 13",
        results[0].backend,
        "figure and scheme",
        "percentage points",
        (
            Line(
                "root mean square", tuple(Point(name, float(np.sqrt(np.mean(gap**2)))) for name, gap in known.items())
            ),
            Line("largest", tuple(Point(name, float(np.abs(gap).max())) for name, gap in known.items())),
        ),
        remarks=(f"{MEANS} of the {MEANS} published means are measured.",),
    )


def _gaps(line: Line) -> list[float]:
    return [
        point.value - point.published
        for point in line.points
        if point.value is not None and point.published is not None
    ]
