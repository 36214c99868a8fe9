"""The shuffle in packets under other readings, beside the published figures; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.hedera.shuffle_cases import AUTHORS_RATE
from experiments.hedera.shuffle_report import published_shuffle
from experiments.hedera.testbed_cases import ANNEALING, ECMP, NON_BLOCKING, ONE_TREE
from experiments.results.exhibit import Exhibit, Line, Point

_COLUMNS = {
    "host": "a host's cable",
    "last": "all/a host done",
    ONE_TREE: "one tree",
    ECMP: "hash alone",
    ANNEALING: "annealing",
    "gain": "annealing/tree",
    "lost": "packets lost",
}

_COMPARED = (
    "A host's goodput where nothing blocks, of its cable; the time until all is done, of that until a host is, in the"
    " mean; bandwidth of schemes, of non-blocking; annealing, of one tree; lost packets without blocking."
)


def compared(figures: Mapping[str, Mapping[str, float]], nic_rate: float) -> dict[str, float]:
    """Return the speed of schemes relative to non-blocking, and of hosts relative to their cables."""
    seconds = {scheme: each["mean_completion_seconds"] for scheme, each in figures.items()}
    control = figures[NON_BLOCKING]
    return {
        "host": control["host_goodput_mbps"] / nic_rate,
        "last": control["total_seconds"] / control["mean_completion_seconds"],
        **{scheme: seconds[NON_BLOCKING] / seconds[scheme] for scheme in figures if scheme != NON_BLOCKING},
        "gain": seconds[ONE_TREE] / seconds[ANNEALING],
    }


def published() -> dict[str, float]:
    """Return the same of the authors' figures; their ECMP stands for one tree."""
    theirs = published_shuffle()["schemes"]
    figures = {
        scheme: {
            **theirs[ECMP if scheme == ONE_TREE else scheme],
            "host_goodput_mbps": 8 * theirs[ECMP if scheme == ONE_TREE else scheme]["host_goodput_mbytes"],
        }
        for scheme in (NON_BLOCKING, ONE_TREE, ANNEALING)
    }
    return compared(figures, AUTHORS_RATE)


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the readings beside the published numbers, which are the same for all."""
    theirs = data["published"]
    lines = tuple(
        Line(
            title,
            tuple(
                Point.of(name, [100 * row[column]], 100 * theirs[column] if column in theirs else None)
                for name, row in data["readings"].items()
            ),
        )
        for column, title in _COLUMNS.items()
    )
    return (
        Exhibit(
            data["experiment"],
            f"shuffle of {data['size'] * 240 / 1e9:g} GB under several readings of the paper",
            "Hedera's shuffle",
            data["backend"],
            "reading",
            "percent",
            lines,
            data["source"],
            remarks=(_COMPARED, f"Rounds every {data['period']:g} s; one order of receivers and one hash."),
        ),
    )
