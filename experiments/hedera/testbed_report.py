"""Goodput on the emulated testbed beside the authors' measurements: summary and exhibits; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Any

from experiments.hedera.backends_report import beside
from experiments.hedera.testbed_cases import ANNEALING, ECMP, FIRST_FIT, NON_BLOCKING, ONE_TREE, MatrixOptions
from experiments.results.bars import order, size
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check

NAME = "hedera-testbed"

WITHIN = {ONE_TREE: 0.10, FIRST_FIT: 0.08, ANNEALING: 0.08}
"""Tolerance of the mean share of non-blocking goodput around the published one; the tree's stands in for ECMP's."""

_TESTBEDS = {"emulation": "an emulated testbed", "packet": "a testbed in the packet model"}

QUICK_GAIN = 1.2
"""Bar for two patterns on which the authors' placements were worth 2.2 and 3 times ECMP."""


@dataclass(frozen=True)
class Measured:
    """Result of a matrix under a scheme.

    Attributes:
        goodput: of each flow, in the matrix's order, in Mbit/s.
        moved: number of times the scheduler gave a flow another path than before.
        switch: processors kept busy by the process that forwards packets; None when the kernel forwards them.
        disturbed: reasons not to trust it, in words; empty for a good one.
    """

    goodput: tuple[float, ...]
    moved: int
    switch: float | None
    disturbed: tuple[str, ...]


Results = dict[str, dict[str, list[Measured]]]
"""Results by pattern and scheme, one for each repetition."""


def published() -> dict[str, Any]:
    """Return the authors' table."""
    return published_numbers("hedera_testbed")


def published_goodput(pattern: str) -> dict[str, float]:
    """Return the goodput that the authors measured, in Mbit/s by scheme.

    Their ECMP also stands for the one tree: in every row it is within 14 % of a tree's goodput, and 5 % on average.
    """
    table = published()
    row: dict[str, float] = dict(zip(table["columns"], table["rows"][pattern], strict=True))
    return {**row, ONE_TREE: row[ECMP]}


def summary(results: Results, options: MatrixOptions, seed: int, backend: str = "emulation") -> dict[str, Any]:
    """Return goodput and shares of the control, by pattern and on average, beside the published ones."""
    patterns = {}
    for name, by_scheme in results.items():
        total = {scheme: [sum(each.goodput) for each in runs] for scheme, runs in by_scheme.items()}
        row = published_goodput(name)
        patterns[name] = {
            "goodput": {scheme: fmean(totals) for scheme, totals in total.items()},
            "spread": {scheme: pstdev(totals) for scheme, totals in total.items()},
            "part": {scheme: fmean(totals) / fmean(total[NON_BLOCKING]) for scheme, totals in total.items()},
            "published": {scheme: row[scheme] for scheme in by_scheme},
            "published_part": {scheme: row[scheme] / row[NON_BLOCKING] for scheme in by_scheme},
            "switch": {scheme: [each.switch for each in runs] for scheme, runs in by_scheme.items()},
            "moved": {scheme: [each.moved for each in runs] for scheme, runs in by_scheme.items()},
            "disturbed": {s: [each.disturbed for each in runs] for s, runs in by_scheme.items()},
        }
    return {
        "experiment": NAME,
        "backend": backend,
        "seed": seed,
        "schemes": list(options.schemes),
        "capacity": options.nic_rate,
        "period": options.period,
        "seconds": [options.span.begin, options.span.end],
        "quick": options.quick,
        "patterns": patterns,
        "mean": {s: _mean_part(patterns, "part", s) for s in options.schemes},
        "published_mean": {s: _mean_part(patterns, "published_part", s) for s in options.schemes},
        "source": published()["source"],
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return goodput and its parts of the control's beside the authors', scaled to our links, with the bars."""
    patterns, schemes = data["patterns"], data["schemes"]
    scale = data["capacity"] / 1000
    place = f"{_TESTBEDS[data['backend']]} of 16 hosts"
    begin, end = data["seconds"]
    about = ("Hedera's testbed", data["backend"])
    goodput = (
        Line(
            scheme,
            tuple(
                replace(
                    Point.of(name, [entry["goodput"][scheme]], scale * entry["published"][scheme]),
                    spread=entry["spread"][scheme],
                )
                for name, entry in patterns.items()
            ),
        )
        for scheme in schemes
    )
    parts = (
        Line(
            scheme,
            (
                *(
                    Point.of(name, [100 * entry["part"][scheme]], 100 * entry["published_part"][scheme])
                    for name, entry in patterns.items()
                ),
                Point.of("mean", [100 * data["mean"][scheme]], 100 * data["published_mean"][scheme]),
            ),
        )
        for scheme in schemes[1:]
    )
    return (
        Exhibit(
            NAME,
            f"goodput of all flows on {place} with links of {data['capacity']:g} Mbit/s",
            *about,
            "matrix",
            f"aggregate goodput (Mbit/s), second {begin:g} to {end:g}",
            tuple(goodput),
            data["source"],
            remarks=tuple(_to_be_measured_again(patterns)),
        ),
        Exhibit(
            f"{NAME}-parts",
            "part of the goodput at one switch that does not block",
            *about,
            "matrix",
            "part of goodput without blocking (%)",
            tuple(parts),
            data["source"],
            tuple(_checks(data)),
        ),
        *(beside(data) if "beside" in data else ()),
    )


def _checks(data: Mapping[str, Any]) -> Iterator[Check]:
    ours, theirs = data["mean"], data["published_mean"]
    if not data["quick"]:
        for scheme, within in WITHIN.items():
            if scheme in ours:
                expected = theirs[scheme]
                yield size(f"{scheme} of non-blocking", ours[scheme], expected, within)
    elif ECMP in ours:
        for scheme in [each for each in ours if each not in {NON_BLOCKING, ONE_TREE, ECMP}]:
            yield order(f"{scheme}, times what ecmp carries", ours[scheme] / ours[ECMP], low=QUICK_GAIN)


def _to_be_measured_again(patterns: Mapping[str, Any]) -> list[str]:
    found = {
        f"{scheme}, {name}: {'; '.join(reasons)}"
        for name, entry in patterns.items()
        for scheme, runs in entry["disturbed"].items()
        for reasons in runs
        if reasons
    }
    return ["To be measured again:", *sorted(found)] if found else []


def _mean_part(patterns: Mapping[str, Any], key: str, scheme: str) -> float:
    return fmean(entry[key][scheme] for entry in patterns.values())
