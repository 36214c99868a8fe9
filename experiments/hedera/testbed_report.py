"""Goodput on the emulated testbed beside the authors' measurements: summary, table, picture and bars; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean, pstdev
from typing import Any

from matplotlib.figure import Figure

from experiments.hedera.bars import bar_figure
from experiments.hedera.testbed_cases import ANNEALING, ECMP, FIRST_FIT, NON_BLOCKING, ONE_TREE, MatrixOptions

WITHIN = {ONE_TREE: 0.10, FIRST_FIT: 0.08, ANNEALING: 0.08}
"""Tolerance of the mean share of non-blocking goodput around the published one; the tree's stands in for ECMP's."""

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
"""By pattern and scheme, one result for each repetition."""


def published() -> dict[str, Any]:
    """Return the authors' table."""
    text = (files("experiments.published") / "hedera_testbed.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def published_goodput(pattern: str) -> dict[str, float]:
    """Return the goodput that the authors measured, in Mbit/s by scheme.

    Their ECMP also stands for the one tree: in every row it is within 14 % of a tree's goodput, and 5 % on average.
    """
    table = published()
    row: dict[str, float] = dict(zip(table["columns"], table["rows"][pattern], strict=True))
    return {**row, ONE_TREE: row[ECMP]}


def summary(results: Results, options: MatrixOptions, seed: int) -> dict[str, Any]:
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
        "experiment": "hedera-testbed",
        "backend": "emulation",
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


def missed_bars(data: Mapping[str, Any]) -> list[str]:
    """Return the missed bars, in words."""
    ours, theirs = data["mean"], data["published_mean"]
    if data["quick"]:
        return [
            f"{scheme} carries {ours[scheme] / ours[ECMP]:.2f} times what ecmp does, expected {QUICK_GAIN:g}"
            for scheme in ours
            if ECMP in ours and scheme not in (NON_BLOCKING, ONE_TREE, ECMP) and ours[scheme] < QUICK_GAIN * ours[ECMP]
        ]
    return [
        f"{scheme}: {ours[scheme]:.3f} of non-blocking, expected {theirs[scheme]:.3f} within {within:g}"
        for scheme, within in WITHIN.items()
        if scheme in ours and abs(ours[scheme] - theirs[scheme]) > within
    ]


def table_text(data: Mapping[str, Any]) -> str:
    """Return the table as text."""
    others = data["schemes"][1:]
    begin, end = data["seconds"]
    lines = [
        f"Hedera's testbed, emulated with links of {data['capacity']:g} Mbit/s: goodput of all flows in Mbit/s from",
        f"second {begin:g} to {end:g} at one switch that does not block, else the part of that [published]",
        "",
        f"{'':<14}{NON_BLOCKING:>14}" + "".join(f"{scheme:>22}" for scheme in others),
    ]
    for name, entry in data["patterns"].items():
        cells = [f"{entry['part'][s]:.3f} [{entry['published_part'][s]:.3f}]" for s in others]
        lines.append(f"{name:<14}{entry['goodput'][NON_BLOCKING]:>14.1f}" + "".join(f"{cell:>22}" for cell in cells))
    means = [f"{data['mean'][s]:.3f} [{data['published_mean'][s]:.3f}]" for s in others]
    lines.append(f"{'mean':<28}" + "".join(f"{cell:>22}" for cell in means))
    disturbed = {
        f"{scheme}, {name}: {'; '.join(reasons)}"
        for name, entry in data["patterns"].items()
        for scheme, runs in entry["disturbed"].items()
        for reasons in runs
        if reasons
    }
    if disturbed:
        lines += ["", "To be measured again:", *sorted(disturbed)]
    return "\n".join(lines)


def figure(data: Mapping[str, Any]) -> Figure:
    """Return bars as on the authors' slides, with published values scaled to our links."""
    patterns = data["patterns"]
    scale = data["capacity"] / 1000
    bars = {s: [entry["goodput"][s] for entry in patterns.values()] for s in data["schemes"]}
    marks = {s: [entry["published"][s] * scale for entry in patterns.values()] for s in data["schemes"]}
    return bar_figure(list(patterns), bars, "aggregate goodput (Mbit/s)", marks)


def _mean_part(patterns: Mapping[str, Any], key: str, scheme: str) -> float:
    return fmean(entry[key][scheme] for entry in patterns.values())
