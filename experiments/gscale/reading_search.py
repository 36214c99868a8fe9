"""Search for the reading nearest to the published losses: every combination of some choices, and the choice; pure.

The nearest of many is near by chance too. So the reading is chosen on some draws of pairs and judged on others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any, get_args

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.gscale.cases import AXIS, CURVES, DEMANDS, REPETITIONS
from experiments.gscale.plans import DIRECTED, PLANNED_SHARE, Average, Direct, GscaleReading, Rates
from experiments.gscale.readings import BACKEND, BAND, PUBLISHED, ReadingSummary, losses_of_draw, summary_of
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.stored_files import each_file

FORMAT, VERSION = "kuijia-readings-search", 1

_ANY = replace(DIRECTED, redrawn=False)
_PAIRS: Mapping[str, GscaleReading] = {
    "any five": _ANY,
    "ten sites, two tunnels left": replace(_ANY, ten_sites=True, two_left=True),
    "three disjoint tunnels": replace(_ANY, three_disjoint=True),
}
_RATES: tuple[Rates, ...] = ("spread", "interior point", "equal")
_DIRECTS: tuple[Direct, ...] = ("one direction", "both directions")
_AVERAGES: tuple[Average, ...] = get_args(Average)

_SHOWN = 12
"""Number of the nearest readings that are shown."""


def combinations() -> dict[str, GscaleReading]:
    """Return all combinations by a name that says every choice.

    These are the pairs, the links in the plan, the planned share, the rates, the direct flows and the average.
    """
    return {
        name: reading
        for pairs, shared, planned, rates, direct, average in product(
            _PAIRS, (False, True), (PLANNED_SHARE, 1.0), _RATES, _DIRECTS, _AVERAGES
        )
        for name, reading in [
            (
                f"{pairs}; {'shared' if shared else 'duplex'}; {planned:.0%}; {rates}; {direct}; {average}",
                replace(
                    _PAIRS[pairs], shared=shared, planned_share=planned, rates=rates, direct=direct, average=average
                ),
            )
        ]
    }


def nearest(summaries: Mapping[str, ReadingSummary]) -> str:
    """Return the name of the reading with the smallest distance."""
    return min(summaries, key=lambda name: summaries[name].distance)


def search_to_json(
    chosen_on: Mapping[str, ReadingSummary], draws: int, held_out: ReadingSummary, held_out_draws: int
) -> dict[str, Any]:
    """Return the distances of all readings, and the curves of the chosen one on the draws that were held out."""
    chosen = nearest(chosen_on)
    return {
        "format": FORMAT,
        "version": VERSION,
        "draws": draws,
        "held_out_draws": held_out_draws,
        "demands": list(DEMANDS),
        "band": list(BAND),
        "combinations": {
            name: {"distance": summary.distance, "held": summary.held} for name, summary in chosen_on.items()
        },
        "chosen": {
            "name": chosen,
            "reading": asdict(combinations()[chosen]),
            "distance": chosen_on[chosen].distance,
            "held_out_distance": held_out.distance,
            "held_out_nearest_campaign": held_out.nearest,
            "held_out_held": held_out.held,
            "curves": held_out.curves_to_json(),
        },
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the chosen reading's curves on the draws that were held out, and the distances of the nearest readings."""
    chosen, tried, cells = data["chosen"], data["combinations"], len(CURVES) * len(data["demands"])
    near = sorted(tried, key=lambda name: float(tried[name]["distance"]))[:_SHOWN]
    band = f"{BAND[0]} % to {BAND[1]} % of campaigns"
    return (
        Exhibit(
            data["experiment"],
            f"losses on Gscale under the nearest of {len(tried)} readings, on draws that it was not chosen on",
            "Figures 10 to 13",
            BACKEND,
            AXIS,
            f"loss (%); lowest and highest run are those of {band}",
            tuple(
                Line(curve, tuple(_points(data["demands"], chosen["curves"][curve])))
                for curve in map(", ".join, CURVES)
            ),
            PUBLISHED,
            remarks=tuple(_told(data, cells, band)),
        ),
        Exhibit(
            f"{data['experiment']}-nearest",
            f"the {len(near)} nearest of {len(tried)} readings",
            "Figures 10 to 13",
            BACKEND,
            "reading",
            "distance in percentage points, and published numbers held",
            (
                Line("distance", tuple(Point(name, tried[name]["distance"]) for name in near)),
                Line("held", tuple(Point(name, float(tried[name]["held"])) for name in near)),
            ),
        ),
    )


def _points(demands: Sequence[float], cells: Sequence[Mapping[str, Any]]) -> Iterator[Point]:
    for demand, cell in zip(demands, cells, strict=True):
        yield Point(demand, cell["mean"], cell["low"], cell["high"], 1, cell["published"])


def _told(data: Mapping[str, Any], cells: int, band: str) -> Iterator[str]:
    chosen = data["chosen"]
    yield f"Chosen among {len(data['combinations'])} combinations on {data['draws']} draws: {chosen['name']}."
    yield (
        f"Its distance is {chosen['distance']:.1f} percentage points there, and {chosen['held_out_distance']:.1f} on"
        f" {data['held_out_draws']} other draws, where {chosen['held_out_held']} of {cells} published numbers are"
        f" where {band} are."
    )


NAME = "gscale-search"

_QUICK, _CAMPAIGNS, _FULL = 1, 8, 67
"""Campaigns of three draws of pairs in each of the two parts, unless `--repetitions` sets their number."""


def gscale_search(run: Execution) -> Outcome:
    """Choose on some campaigns of three draws, judge on as many others, and write both."""
    campaigns = run.args.repetitions or run.sized(_QUICK, _CAMPAIGNS, _FULL)
    draws, tried = campaigns * REPETITIONS, combinations()
    told = {"seed": run.seed, "draws": draws}
    with run.swept_cases(losses_of_draw, (run.settings, tried), range(1, draws + 1), told) as found:
        summaries = {name: summary_of([draw[name] for draw in found]) for name in tried}
        name = nearest(summaries)
        held, told = (run.settings, {name: tried[name]}), {**told, "reading": asdict(tried[name])}
        with run.swept_cases(losses_of_draw, held, range(draws + 1, 2 * draws + 1), told, "-held-out") as others:
            data = {
                **search_to_json(summaries, draws, summary_of([draw[name] for draw in others]), draws),
                "experiment": NAME,
                "seed": run.seed,
                "manifest": run.timeless(),
            }
            return run.studied(data, exhibits(data))


SIZE_BARS = {"gscale-search*": None}  # shows readings beside each other

EXPERIMENTS = offered(
    {
        NAME: Offered(
            gscale_search,
            full="67 campaigns in each part of the search (default: 8)",
            repetitions="N campaigns of 3 draws of pairs in each part (default: 8, with --quick 1, with --full 67)",
            reader=each_file(exhibits),
        )
    }
)
