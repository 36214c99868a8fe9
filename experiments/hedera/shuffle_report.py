"""Results of a shuffle beside the authors' measurements: figures, summary and exhibit; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from experiments.hedera.shuffle_cases import ShuffleOptions
from experiments.hedera.testbed_cases import ANNEALING, ECMP, ONE_TREE
from experiments.results.bars import order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers
from experiments.results.result import Check
from testbed.traffic.transfers import Transfer

NAME = "hedera-shuffle"

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
    return published_numbers("hedera_shuffle")


def summary(found: Mapping[str, Mapping[str, Any]], options: ShuffleOptions, seed: int, backend: str) -> dict[str, Any]:
    theirs = published_shuffle()
    return {
        "experiment": NAME,
        "backend": backend,
        "seed": seed,
        **asdict(options),
        "measured": found,
        "published": theirs["schemes"],
        "source": theirs["source"],
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the authors' four figures beside theirs, scaled to our rate and time; the gain has a bar."""
    measured = data["measured"]
    gains = (f"{scheme} {_gain(measured, scheme, ECMP):.2f}" for scheme in measured if scheme != ECMP)
    disturbed = [f"{scheme}: {'; '.join(ours['disturbed'])}" for scheme, ours in measured.items() if ours["disturbed"]]
    remarks = [f"Bisection bandwidth relative to ecmp: {', '.join(gains)}."] if ECMP in measured else []
    if disturbed:
        remarks += ["Measured on a machine that was too busy, which costs goodput:", *disturbed]
    return (
        Exhibit(
            NAME,
            f"shuffle among 16 hosts, {data['size'] / 1e6:g} MB from each to each, {data['at_once']} at a time,"
            f" over links of {data['nic_rate']:g} Mbit/s",
            "Hedera's shuffle",
            data["backend"],
            "figure",
            "units as in the headings; published numbers are scaled to these links and sizes",
            tuple(Line(scheme, tuple(_points(data, scheme))) for scheme in measured),
            data["source"],
            tuple(_checks(measured)),
            tuple(remarks),
            mixed=True,
        ),
    )


def _points(data: Mapping[str, Any], scheme: str) -> Iterator[Point]:
    rate, scale = data["nic_rate"] / 1000, data["time_scale"]
    ours, theirs = data["measured"][scheme], _published(data, scheme)
    yield Point.of("all done (s)", [ours["total_seconds"]], theirs["total_seconds"] * scale)
    yield Point.of("a host done (s)", [ours["mean_completion_seconds"]], theirs["mean_completion_seconds"] * scale)
    yield Point.of("bisection (Mbit/s)", [ours["bisection_mbps"]], theirs["bisection_gbps"] * 1000 * rate)
    yield Point.of("a host (Mbit/s)", [ours["host_goodput_mbps"]], theirs["host_goodput_mbytes"] * 8 * rate)


def _checks(measured: Mapping[str, Mapping[str, float]]) -> Iterator[Check]:
    if {ONE_TREE, ANNEALING} <= measured.keys():
        gain = _gain(measured, ANNEALING, ONE_TREE)
        yield order("annealing's bisection bandwidth, of one tree's", gain, low=GAIN)


def _gain(measured: Mapping[str, Mapping[str, float]], better: str, worse: str) -> float:
    return measured[better]["bisection_mbps"] / measured[worse]["bisection_mbps"]


def _published(data: Mapping[str, Any], scheme: str) -> Mapping[str, float]:
    figures_of: Mapping[str, Mapping[str, float]] = data["published"]
    return figures_of[ECMP if scheme == ONE_TREE else scheme]
