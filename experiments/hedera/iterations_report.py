"""Exhibits on annealing's iterations: ours over iterations, and every reading at the fewest, beside the published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from experiments.hedera.iterations_cases import NEAREST, OURS
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_numbers

NAME = "hedera-iterations"

_SHARE = "part of goodput without blocking (%)"
_REMARKS = (
    "Flows go to random hosts; annealing begins from nothing, and all flows to a host have one label.",
    "Published: bisection bandwidth, divided by that of the network that does not block.",
)


def published() -> dict[str, Any]:
    """Return the authors' table."""
    return published_numbers("hedera_iterations")


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the share over iterations of ours and of the nearest reading, and all readings at the fewest."""
    theirs = data["published"]
    ports = list(dict.fromkeys(row["ports"] for row in data["rows"]))

    def exhibit(name: str, title: str, axis: str, quantity: str, lines: Iterator[Line]) -> Exhibit:
        about = ("Hedera's table of iterations", data["backend"])
        seeds = f"Means over {data['seeds']} seeds."
        return Exhibit(name, title, *about, axis, quantity, tuple(lines), theirs["source"], remarks=(*_REMARKS, seeds))

    return (
        exhibit(
            NAME,
            "random destinations under annealing, one flow from each host",
            "iterations",
            _SHARE,
            _over_iterations(data, ports, OURS),
        ),
        exhibit(
            f"{NAME}-nearest",
            f"the same in the nearest reading: {NEAREST}",
            "iterations",
            _SHARE,
            _over_iterations(data, ports, NEAREST),
        ),
        exhibit(
            f"{NAME}-readings",
            f"every reading after {theirs['iterations'][0]:,} iterations and before the first one",
            "reading",
            _SHARE,
            (
                Line(f"{each} ports{label}", tuple(_by_reading(data, each, iterations)))
                for each in ports
                for label, iterations in (("", theirs["iterations"][0]), (", at first", 0))
            ),
        ),
        exhibit(
            f"{NAME}-control",
            "goodput where nothing blocks",
            "reading",
            "part of all hosts' interfaces (%)",
            (Line(f"{each} ports", tuple(_controls(data, each))) for each in ports),
        ),
    )


def _over_iterations(data: Mapping[str, Any], ports: list[int], reading: str) -> Iterator[Line]:
    for each in ports:
        rows = [row for row in data["rows"] if (row["ports"], row["reading"]) == (each, reading)]
        points = (_point(row["iterations"], row, _share(data["published"], each, row["iterations"])) for row in rows)
        yield Line(f"{each} ports", tuple(points))


def _by_reading(data: Mapping[str, Any], ports: int, iterations: int) -> Iterator[Point]:
    for row in data["rows"]:
        if (row["ports"], row["iterations"]) == (ports, iterations):
            yield _point(row["reading"], row, _share(data["published"], ports, iterations))


def _controls(data: Mapping[str, Any], ports: int) -> Iterator[Point]:
    fewest, theirs = data["published"]["iterations"][0], data["published"]["non-blocking"]
    for row in data["rows"]:
        if (row["ports"], row["iterations"]) == (ports, fewest):
            yield Point.of(row["reading"], [100 * each for each in row["control"]], theirs.get(str(ports)))


def _point(x: float | str, row: Mapping[str, Any], theirs: float | None) -> Point:
    return Point.of(x, [100 * fmean(row["parts"])], theirs)


def _share(theirs: Mapping[str, Any], ports: int, iterations: int) -> float | None:
    """Return the published share of the non-blocking bandwidth in percent, or None."""
    if str(ports) not in theirs["percent"] or iterations not in theirs["iterations"]:
        return None
    percent: float = theirs["percent"][str(ports)][theirs["iterations"].index(iterations)]
    control: float = theirs["non-blocking"][str(ports)]
    return 100 * percent / control
