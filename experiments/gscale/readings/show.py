"""The comparison of readings as JSON data and as exhibits of it; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from experiments.gscale.cases import DEMANDS
from experiments.gscale.loss_figures import AXIS
from experiments.gscale.readings.reading import READINGS
from experiments.gscale.readings.summary import BAND, CURVES, Summary
from experiments.results.exhibit import Exhibit, Line, Point

FORMAT, VERSION = "kuijia-readings", 1
SHOWN = ("as reproduced", "nearest")
"""Readings whose curves are shown in full."""

_CAMPAIGNS = 2
"""Any number beyond one has the band shown."""

BACKEND = "flow"
"""Of files that name none."""

PUBLISHED = "the paper's Figures 10 to 13"


def readings_to_json(summaries: Mapping[str, Summary], draws: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "draws": draws,
        "demands": list(DEMANDS),
        "band": list(BAND),
        "readings": {
            name: {
                "reading": asdict(READINGS[name]),
                "distance": summary.distance,
                "nearest_campaign": summary.nearest,
                "held": summary.held,
                "curves": summary.curves_to_json(),
            }
            for name, summary in summaries.items()
        },
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the curves of `SHOWN` with the band of campaigns, and all readings at the heaviest demand."""
    readings, draws, backend = data["readings"], data["draws"], data.get("backend", BACKEND)
    band = f"{BAND[0]} % to {BAND[1]} % of campaigns"
    cells = len(CURVES) * len(data["demands"])
    return (
        Exhibit(
            data["experiment"],
            "losses on Gscale as reproduced and under the reading nearest to the published losses",
            "Figures 10 to 13",
            backend,
            AXIS,
            f"loss (%); lowest and highest run are those of {band}",
            tuple(
                Line(f"{figure}, {scheme}, {name}", tuple(_points(data["demands"], readings[name], curve, name)))
                for curve in map(", ".join, CURVES)
                for figure, scheme in [curve.split(", ")]
                for name in SHOWN
            ),
            PUBLISHED,
            remarks=(f"Means over {draws} draws of pairs in campaigns of three.",),
        ),
        Exhibit(
            f"{data['experiment']}-all",
            f"losses on Gscale under {len(readings)} readings of section 5 at a demand of {data['demands'][-1]:g}",
            "Figures 10 to 13",
            backend,
            "reading",
            "loss (%)",
            tuple(
                Line(
                    curve,
                    tuple(
                        Point(name, each["curves"][curve][-1]["mean"], published=each["curves"][curve][-1]["published"])
                        for name, each in readings.items()
                    ),
                )
                for curve in map(", ".join, CURVES)
            ),
            PUBLISHED,
            remarks=tuple(
                f"{name}: {each['distance']:.1f} percentage points off, as the root mean square of all differences;"
                f" {each['held']} of {cells} published numbers are where {band} are."
                for name, each in readings.items()
            ),
        ),
    )


def _points(demands: Sequence[float], reading: Mapping[str, Any], curve: str, name: str) -> Iterator[Point]:
    for demand, cell in zip(demands, reading["curves"][curve], strict=True):
        published = cell["published"] if name == SHOWN[0] else None
        yield Point(demand, cell["mean"], cell["low"], cell["high"], _CAMPAIGNS, published)
