"""How far the fluid model and the emulation are apart: every point of the figures of losses, of the same runs; pure."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.exhibit import Exhibit, Line, Point
from experiments.gscale.cases import case_of
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.loss_figures import AXIS, LOSS_FIGURES
from experiments.result import Check, Result

TOLERANCE = 3.0
"""Percentage points."""

_JUDGED = ("tcp", "udp")


def agreement(emulated: Sequence[Result], computed: Sequence[Result]) -> Exhibit | None:
    """What the emulation loses less what the model says; None when they have no case in common."""
    common = {case_of(result) for result in emulated if not result.invalid} & {case_of(result) for result in computed}
    names = [figure.name for figure in LOSS_FIGURES]
    measured, modelled = (
        {each.name: each for each in exhibits_of([run for run in runs if case_of(run) in common], names)}
        for runs in (emulated, computed)
    )
    traffic = {(figure.name, line.label): line.traffic for figure in LOSS_FIGURES for line in figure.lines}
    lines, checks = [], []
    for name, figure in measured.items():
        for line in figure.lines:
            points = []
            for point in line.points:
                other = modelled[name].line(line.label).at(point.x).value
                if point.value is None or other is None:
                    continue
                points.append(Point.of(point.x, [point.value - other]))
                if traffic[name, line.label] in _JUDGED:
                    what = f"{name}, {line.label}, at demand {point.x}"
                    checks.append(
                        Check(f"{what}: emulation less flow model", point.value - other, -TOLERANCE, TOLERANCE)
                    )
            lines.append(Line(f"{name}, {line.label}", tuple(points)))
    if not lines:
        return None
    return Exhibit(
        "agreement",
        "loss on switches less loss in the fluid model",
        "Emulation and model",
        "emulation less flow",
        AXIS,
        "percentage points",
        tuple(lines),
        checks=tuple(checks),
        remarks=(f"Means over the same {len(common)} runs of both; the bar is {TOLERANCE:g} percentage points.",),
    )
