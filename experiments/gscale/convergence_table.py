"""Table 4: the time TCP takes to reach stable throughput, for each failing link and each demand; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import median

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.cases import LINKS, case_of
from experiments.gscale.climb import PAPER_CAPACITY, ROUND_TRIP
from experiments.gscale.convergence import (
    FINAL_PART,
    TOLERANCE,
    convergence_seconds,
    flow_convergence_seconds,
    own_band_seconds,
    settles,
    spared_convergence_seconds,
)
from experiments.gscale.loss_figures import AXIS
from experiments.results.bars import limit, order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Check, Result

QUICK, HEAVY = 1.0, 1.2
"""Kuijia's median must be at most `QUICK` seconds up to a demand of `HEAVY`."""

WELL_BELOW = 0.5
"""Bar for Kuijia's median relative to rescaling's beyond that demand."""


_VARIANTS: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
    ("as here", convergence_seconds),
    (f"within {TOLERANCE:.0%} of each role's own final goodput", own_band_seconds),
    ("directly and indirectly affected flows alone", spared_convergence_seconds),
    ("each single flow, which on a full link never rests", flow_convergence_seconds),
)


def table_4(results: Sequence[Result]) -> Exhibit:
    """Return the table from the TCP runs of one class among the results; there must be at least one."""
    published = published_curves("table4")
    runs = [run for run in results if case_of(run).traffic == "tcp"]
    demands = sorted({case_of(run).demand for run in runs})
    lines = []
    for scheme, link in product(PAPERS_SCHEMES, LINKS):
        label = f"{scheme}, {'-'.join(link)}"
        points = []
        for demand in demands:
            own = [
                run for run in runs if (run.scheme, case_of(run).link, case_of(run).demand) == (scheme, link, demand)
            ]
            point = Point.of(demand, map(convergence_seconds, own), published.at(label, demand))
            restless = point.value is not None and not all(map(settles, own))
            points.append(replace(point, at_least=restless))
        lines.append(Line(label, tuple(points)))
    table = Exhibit(
        "table4",
        "time from the failure until the throughput of all affected TCP flows is stable",
        "Table 4",
        runs[0].backend,
        AXIS,
        "seconds",
        tuple(lines),
        published.source,
        remarks=(*_meaning(runs), "The paper&#x27;s <1 is shown as 1."),
    )
    return replace(table, checks=tuple(_checks(table, demands)))


def _meaning(runs: Sequence[Result]) -> Iterator[str]:
    yield (
        "The paper does not say what stable means. Here it is that the goodput of victims together, of directly and of"
        f" indirectly affected flows, in means over one second, stays as near to its final value as {TOLERANCE:.0%} of"
        " what they offer."
    )
    if runs[0].backend == "flow":
        yield (
            f"In the model flows climb by a segment for each round trip of {1000 * ROUND_TRIP:g} ms, which is assumed,"
            f" on links of {PAPER_CAPACITY / 1000:g} Gbit/s; the seconds grow with the square of the round trip. Losses"
            " before a failure is detected halve the rate of victims under both schemes."
        )
    variants = [f"{meaning} {medians}" for meaning, of in _VARIANTS if (medians := _medians(runs, of))]
    if variants:
        yield f"The medians of all runs, by what is to be stable: {'; '.join(variants)}."
    restless = [run for run in runs if not settles(run)]
    if restless:
        watched = max(run.after.end - run.failure.at for run in restless)
        share = 1 - FINAL_PART
        yield (
            f"In {len(restless)} of {len(runs)} runs something had not settled after {share:.0%} of the time it was"
            f" watched; they count with all of that, {watched:.0f} s, and take at least as long:"
            " numbers they are part of are marked as lower bounds."
        )


def _medians(runs: Sequence[Result], seconds_of: Callable[[Result], float | None]) -> str:
    """Return the median of each scheme's runs, in words; empty if none is known."""
    medians = []
    for scheme in PAPERS_SCHEMES:
        own = [run for run in runs if run.scheme == scheme]
        known = [time for time in map(seconds_of, own) if time is not None]
        if known:
            middle, watched = median(known), min(run.after.end - run.failure.at for run in own)
            medians.append(f"{scheme} {'>= ' if middle >= watched else ''}{middle:.1f} s")
    return ", ".join(medians)


def _checks(table: Exhibit, demands: Sequence[float]) -> Iterator[Check]:
    for demand in demands:
        rescaling, kuijia = (_median(table, scheme, demand) for scheme in PAPERS_SCHEMES)
        if kuijia is None:
            continue
        if demand <= HEAVY:
            yield limit(f"kuijia, median of the links in s at demand {demand}", kuijia, high=QUICK)
        elif rescaling:
            name = f"kuijia to rescaling, medians of the links, at demand {demand}"
            yield order(name, kuijia / rescaling, high=WELL_BELOW)


def _median(table: Exhibit, scheme: str, demand: float) -> float | None:
    values = [line.at(demand).value for line in table.lines if line.label.startswith(f"{scheme}, ")]
    known = [value for value in values if value is not None]
    return median(known) if known else None
