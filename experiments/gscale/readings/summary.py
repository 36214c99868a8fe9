"""Results of campaigns of three draws under each reading, beside the paper's; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import DEMANDS, REPETITIONS
from experiments.gscale.readings.losses import FIGURES, Losses
from experiments.results.published import published_curves

BAND = (5, 95)
"""Percentiles that enclose most campaigns."""

CURVES = tuple(
    (figure, scheme)
    for figure, (_, role) in FIGURES.items()
    for scheme in PAPERS_SCHEMES
    if (role, scheme) != ("direct", "kuijia")
)
"""Curves of the figures, except directly affected flows under Kuijia: they lose exactly 0 in the model."""


@dataclass(frozen=True)
class Cell:
    """A point of a curve, in %, over all campaigns.

    Attributes:
        mean: of all runs.
        low, high: ends of the `BAND` of the campaigns' means.
        below: share of the campaigns whose mean is below the published number.
    """

    mean: float
    low: float
    high: float
    published: float
    below: float

    @property
    def holds_published(self) -> bool:
        return self.low <= self.published <= self.high


@dataclass(frozen=True)
class Summary:
    """A reading's curves, a cell for each demand.

    Attributes:
        distance: root mean square of the differences of all cells' means from the published numbers, in percentage
            points.
        nearest: distance of the campaign nearest to the published numbers.
    """

    curves: Mapping[tuple[str, str], tuple[Cell, ...]]
    distance: float
    nearest: float

    @property
    def held(self) -> int:
        """Number of cells with the published number inside the band."""
        return sum(cell.holds_published for cells in self.curves.values() for cell in cells)

    def curves_to_json(self) -> dict[str, list[dict[str, Any]]]:
        return {
            f"{figure}, {scheme}": [asdict(cell) for cell in cells] for (figure, scheme), cells in self.curves.items()
        }


def summary_of(draws: Sequence[Losses]) -> Summary:
    """Return the summary of campaigns of three successive draws; a mean covers all links with flows of the role.

    Raises:
        ValueError: fewer than three draws, or a curve without any number at some demand.
    """
    campaigns = [draws[at : at + REPETITIONS] for at in range(0, len(draws) - REPETITIONS + 1, REPETITIONS)]
    if not campaigns:
        raise ValueError(f"{len(draws)} draws, expected at least {REPETITIONS}")
    curves = {
        (figure, scheme): tuple(_cell(campaigns, figure, scheme, at) for at in range(len(DEMANDS)))
        for figure, scheme in CURVES
    }
    of_each = np.array([_distance([campaign]) for campaign in campaigns])
    return Summary(curves, _distance(campaigns), float(np.nanmin(of_each)))


def _cell(campaigns: Sequence[Sequence[Losses]], figure: str, scheme: str, at: int) -> Cell:
    of_campaigns = [runs for campaign in campaigns if (runs := _runs(campaign, figure, scheme, at))]
    if not of_campaigns:
        raise ValueError(f"nothing is lost or kept in {figure} under {scheme} at {DEMANDS[at]}")
    means = [fmean(runs) for runs in of_campaigns]
    low, high = np.percentile(means, BAND)
    published = _published(figure, scheme, at)
    below = fmean(mean < published for mean in means)
    return Cell(fmean(loss for runs in of_campaigns for loss in runs), float(low), float(high), published, below)


def _runs(campaign: Sequence[Losses], figure: str, scheme: str, at: int) -> list[float]:
    return [loss for draw in campaign for loss in draw[figure][scheme][at]]


def _distance(campaigns: Sequence[Sequence[Losses]]) -> float:
    """Return the distance of the joint means of these campaigns; not a number if a cell has none."""
    gaps = []
    for figure, scheme in CURVES:
        for at in range(len(DEMANDS)):
            runs = [loss for campaign in campaigns for loss in _runs(campaign, figure, scheme, at)]
            gaps.append((fmean(runs) if runs else np.nan) - _published(figure, scheme, at))
    return float(np.sqrt(np.mean(np.square(gaps))))


def _published(figure: str, scheme: str, at: int) -> float:
    number = published_curves(figure).at(scheme, DEMANDS[at])
    if number is None:
        raise ValueError(f"{figure} of the paper has nothing for {scheme} at {DEMANDS[at]}")
    return number
