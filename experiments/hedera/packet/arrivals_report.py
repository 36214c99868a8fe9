"""Arriving flows in packets and in the flow model, side by side; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.hedera.large_options import CLASSES
from experiments.hedera.testbed_cases import ANNEALING, ECMP
from experiments.results.bars import order
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check

NAME = "hedera-8192"
BACKENDS = ("packet", "flow")


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the figures of each scheme in packets and in the flow model."""
    schemes = data["schemes"]
    flows = next(iter(schemes.values()))["flows"]
    return (
        Exhibit(
            f"{NAME}-arrivals",
            f"{flows:,} flows of 1 MB and more ({data['flow_sizes']}) come and go among {data['hosts']:,} hosts in"
            f" {data['seconds']:g} s, {data['load']:.0%} of interfaces in the mean",
            "Hedera's simulator",
            data["backend"],
            "measure",
            f"units as in the headings; rounds every {data['period']:g} s",
            tuple(
                Line(f"{scheme}, {backend}", tuple(_points(each[backend])))
                for scheme, each in schemes.items()
                for backend in BACKENDS
            ),
            checks=tuple(_checks(schemes)),
            remarks=("Goodput without the first fifth of the time; means of the flows that ended.",),
            mixed=True,
        ),
    )


def _points(each: Mapping[str, Any]) -> Iterator[Point]:
    yield Point.of("goodput (Gbit/s)", [each["goodput"] / 1000])
    yield Point.of("moves a round", [each["moves per round"]])
    yield Point.of("flows finished", [each["finished"]])
    for size in CLASSES:
        if size in each["mean seconds"]:
            yield Point.of(f"mean ms, {size}", [1000 * each["mean seconds"][size]])


def _checks(schemes: Mapping[str, Any]) -> Iterator[Check]:
    for backend in BACKENDS:
        gain = schemes[ANNEALING][backend]["goodput"] / schemes[ECMP][backend]["goodput"]
        yield order(f"annealing's goodput, of ecmp's, {backend}", gain, low=1.0)
