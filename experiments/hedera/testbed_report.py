"""What the emulated testbed carried, beside what the authors measured: summary, table, picture and bars; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from statistics import fmean, pstdev
from typing import Any

from matplotlib.figure import Figure

from experiments.hedera.bars import bar_figure
from experiments.hedera.testbed import SCHEMES, MatrixOptions

CONTROL, ECMP = SCHEMES[0], SCHEMES[1]

WITHIN = {"ecmp": 0.10, "global-first-fit": 0.08, "simulated-annealing": 0.08}
"""How far the mean part of the control may lie from the published one."""

QUICK_GAIN = 1.2
"""On two patterns on which the authors' placements were worth 2.2 and 3 times ECMP, they are to be worth this."""


@dataclass(frozen=True)
class Measured:
    """A matrix under a scheme.

    Attributes:
        goodput: of each flow, in the matrix's order, in Mbit/s.
        moved: how often the scheduler gave a flow another path than before.
        disturbed: in words, why it should not be trusted; empty for a good one.
    """

    goodput: tuple[float, ...]
    moved: int
    disturbed: tuple[str, ...]


Results = dict[str, dict[str, list[Measured]]]
"""By pattern and scheme, one for each repetition."""


def published() -> dict[str, Any]:
    """The authors' table."""
    text = (files("experiments.published") / "hedera_testbed.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def summary(results: Results, options: MatrixOptions, seed: int) -> dict[str, Any]:
    """Goodput and parts of the control, pattern by pattern and in the mean, beside the published ones."""
    theirs = published()
    patterns = {}
    for name, by_scheme in results.items():
        total = {scheme: [sum(each.goodput) for each in runs] for scheme, runs in by_scheme.items()}
        row = dict(zip(theirs["columns"], theirs["rows"][name], strict=True))
        patterns[name] = {
            "goodput": {scheme: fmean(totals) for scheme, totals in total.items()},
            "spread": {scheme: pstdev(totals) for scheme, totals in total.items()},
            "part": {scheme: fmean(totals) / fmean(total[CONTROL]) for scheme, totals in total.items()},
            "published": row,
            "published_part": {scheme: row[scheme] / row[CONTROL] for scheme in by_scheme},
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
        "source": theirs["source"],
    }


def missed_bars(data: Mapping[str, Any]) -> list[str]:
    """In words, what is not as published."""
    ours, theirs = data["mean"], data["published_mean"]
    if data["quick"]:
        return [
            f"{scheme} carries {ours[scheme] / ours[ECMP]:.2f} times what ecmp does, expected {QUICK_GAIN:g}"
            for scheme in ours
            if ECMP in ours and scheme not in (CONTROL, ECMP) and ours[scheme] < QUICK_GAIN * ours[ECMP]
        ]
    return [
        f"{scheme}: {ours[scheme]:.3f} of non-blocking, expected {theirs[scheme]:.3f} within {within:g}"
        for scheme, within in WITHIN.items()
        if scheme in ours and abs(ours[scheme] - theirs[scheme]) > within
    ]


def table_text(data: Mapping[str, Any]) -> str:
    """For people."""
    others = data["schemes"][1:]
    begin, end = data["seconds"]
    lines = [
        f"Hedera's testbed, emulated with links of {data['capacity']:g} Mbit/s: goodput of all flows in Mbit/s from",
        f"second {begin:g} to {end:g} at one switch that does not block, else the part of that [published]",
        "",
        f"{'':<14}{CONTROL:>14}" + "".join(f"{scheme:>22}" for scheme in others),
    ]
    for name, entry in data["patterns"].items():
        cells = [f"{entry['part'][s]:.3f} [{entry['published_part'][s]:.3f}]" for s in others]
        lines.append(f"{name:<14}{entry['goodput'][CONTROL]:>14.1f}" + "".join(f"{cell:>22}" for cell in cells))
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
        lines += ["", "Measured on a machine that was too busy, which costs goodput:", *sorted(disturbed)]
    return "\n".join(lines)


def figure(data: Mapping[str, Any]) -> Figure:
    """Bars as on the authors' slides; published values scaled to our links."""
    patterns = data["patterns"]
    scale = data["capacity"] / 1000
    bars = {s: [entry["goodput"][s] for entry in patterns.values()] for s in data["schemes"]}
    marks = {s: [entry["published"][s] * scale for entry in patterns.values()] for s in data["schemes"]}
    return bar_figure(list(patterns), bars, "aggregate goodput (Mbit/s)", marks)


def _mean_part(patterns: Mapping[str, Any], key: str, scheme: str) -> float:
    return fmean(entry[key][scheme] for entry in patterns.values())
