"""Results of a shuffle beside the authors' measurements: figures, summary, table and bars; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from statistics import fmean
from typing import Any

from matplotlib.figure import Figure

from experiments.hedera.bars import bar_figure
from experiments.hedera.shuffle_cases import ShuffleOptions
from experiments.hedera.testbed_cases import ANNEALING, ECMP, ONE_TREE
from testbed.transfers import Transfer

GAIN = 1.30
"""Least ratio of annealing's bisection bandwidth to one tree's; the authors have 1.37 times their ECMP."""

ON_THE_WIRE = 1518 / 1448
"""Bytes of a full frame per byte of TCP data in it: the authors' bisection bandwidth exceeds their hosts' goodput by
this factor."""


def figures(transfers: Sequence[Transfer], size: int) -> dict[str, float]:
    """Return the authors' four figures, in seconds, Mbit/s and Mbit/s per host, of transfers of `size` bytes each."""
    ended: dict[str, float] = {}
    sent: dict[str, int] = {}
    for each in transfers:
        ended[each.source] = max(ended.get(each.source, 0.0), each.ended)
        sent[each.source] = sent.get(each.source, 0) + size
    completion = fmean(ended.values())
    goodput = fmean(sent.values()) * 8 / 1e6 / completion
    return {
        "total_seconds": max(ended.values()),
        "mean_completion_seconds": completion,
        "bisection_mbps": goodput * len(ended) * ON_THE_WIRE,
        "host_goodput_mbps": goodput,
    }


def published_shuffle() -> dict[str, Any]:
    """Return the authors' figures."""
    text = (files("experiments.published") / "hedera_shuffle.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def summary(found: Mapping[str, Mapping[str, Any]], options: ShuffleOptions, seed: int, backend: str) -> dict[str, Any]:
    theirs = published_shuffle()
    return {
        "experiment": "hedera-shuffle",
        "backend": backend,
        "seed": seed,
        **asdict(options),
        "measured": found,
        "published": theirs["schemes"],
        "source": theirs["source"],
    }


def missed_bars(data: Mapping[str, Any]) -> list[str]:
    """Return the missed bars, in words."""
    measured = data["measured"]
    if not {ONE_TREE, ANNEALING} <= measured.keys():
        return []
    gain = _gain(measured, ANNEALING, ONE_TREE)
    return (
        [] if gain >= GAIN else [f"annealing has {gain:.2f} times one tree's bisection bandwidth, expected {GAIN:.2f}"]
    )


def _gain(measured: Mapping[str, Mapping[str, float]], better: str, worse: str) -> float:
    return measured[better]["bisection_mbps"] / measured[worse]["bisection_mbps"]


def table_text(data: Mapping[str, Any]) -> str:
    """Return the table as text; the authors' figures are scaled to our rate and time."""
    rate, scale = data["nic_rate"] / 1000, data["time_scale"]
    lines = [
        f"Shuffle among 16 hosts, {data['size'] / 1e6:g} MB from each to each, {data['at_once']} at a time,",
        f"over links of {data['nic_rate']:g} Mbit/s [published, scaled to that]",
        "",
        f"{'':<22}{'all done (s)':>18}{'a host done (s)':>18}{'bisection (Mbit/s)':>20}{'host (Mbit/s)':>18}",
    ]
    for scheme, ours in data["measured"].items():
        theirs = _published(data, scheme)
        cells = (
            f"{ours['total_seconds']:.1f} [{theirs['total_seconds'] * scale:.1f}]",
            f"{ours['mean_completion_seconds']:.1f} [{theirs['mean_completion_seconds'] * scale:.1f}]",
            f"{ours['bisection_mbps']:.1f} [{theirs['bisection_gbps'] * 1000 * rate:.1f}]",
            f"{ours['host_goodput_mbps']:.2f} [{theirs['host_goodput_mbytes'] * 8 * rate:.2f}]",
        )
        widths = (18, 18, 20, 18)
        lines.append(f"{scheme:<22}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    measured = data["measured"]
    if ECMP in measured:
        gains = (f"{scheme} {_gain(measured, scheme, ECMP):.2f}" for scheme in measured if scheme != ECMP)
        lines += ["", f"Bisection bandwidth, of ecmp's: {', '.join(gains)}"]
    disturbed = [f"{scheme}: {'; '.join(ours['disturbed'])}" for scheme, ours in measured.items() if ours["disturbed"]]
    if disturbed:
        lines += ["", "Measured on a machine that was too busy, which costs goodput:", *disturbed]
    return "\n".join(lines)


def figure(data: Mapping[str, Any]) -> Figure:
    """Return a bar for each scheme's bisection bandwidth, with the authors' scaled to our links."""
    measured = data["measured"]
    ours = [each["bisection_mbps"] for each in measured.values()]
    theirs = [_published(data, scheme)["bisection_gbps"] * data["nic_rate"] for scheme in measured]
    return bar_figure(list(measured), {"ours": ours}, "bisection bandwidth (Mbit/s)", {"ours": theirs})


def _published(data: Mapping[str, Any], scheme: str) -> Mapping[str, float]:
    figures_of: Mapping[str, Mapping[str, float]] = data["published"]
    return figures_of[ECMP if scheme == ONE_TREE else scheme]
