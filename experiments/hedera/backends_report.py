"""Parts of non-blocking goodput in the packet model, the emulation and the flow model, side by side; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from experiments.hedera.testbed_cases import ANNEALING, FIRST_FIT
from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check

NAME = "hedera-testbed-backends"
_PACKET = "packet"

_WITHIN = 0.05
"""Bar: parts that a scheduler may reach more or less in packets than in the emulation, in the mean."""

_QUANTITY = "part of goodput without blocking (%)"


def parts_by_backend(data: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the parts by backend, pattern and scheme."""
    ours = {pattern: dict(entry["part"]) for pattern, entry in data["patterns"].items()}
    return {_PACKET: ours, **data["beside"]}


def beside(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the means of each backend with the bars, and all matrices."""
    parts, schemes = parts_by_backend(data), data["schemes"][1:]
    published = {pattern: entry["published_part"] for pattern, entry in data["patterns"].items()}
    about = ("Hedera's testbed", data["backend"])
    means = tuple(
        Line(
            backend,
            tuple(
                Point.of(scheme, [100 * _mean(found, scheme)], 100 * data["published_mean"][scheme])
                for scheme in schemes
            ),
        )
        for backend, found in parts.items()
    )
    matrices = tuple(
        Line(
            f"{scheme}, {backend}",
            tuple(
                Point.of(
                    pattern,
                    [100 * row[scheme]],
                    100 * published[pattern][scheme] if backend == _PACKET else None,
                )
                for pattern, row in found.items()
            ),
        )
        for scheme in schemes
        for backend, found in parts.items()
    )
    return (
        Exhibit(
            NAME,
            "part of the goodput at one switch that does not block, by backend",
            *about,
            "scheme",
            _QUANTITY,
            means,
            data["source"],
            tuple(_checks(data, parts)),
            remarks=("Means over the matrices; the flow model has the hash of the packet model.",),
        ),
        Exhibit(
            f"{NAME}-matrices",
            "part of the goodput at one switch that does not block, by matrix and backend",
            *about,
            "matrix",
            _QUANTITY,
            matrices,
            data["source"],
        ),
    )


def _checks(data: Mapping[str, Any], parts: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[Check]:
    if "emulation" not in parts or data["quick"]:
        return
    for scheme in (FIRST_FIT, ANNEALING):
        if scheme in data["schemes"]:
            more = _mean(parts[_PACKET], scheme) - _mean(parts["emulation"], scheme)
            yield limit(f"{scheme} in packets less in the emulation, parts", more, low=-_WITHIN, high=_WITHIN)


def _mean(found: Mapping[str, Mapping[str, float]], scheme: str) -> float:
    return fmean(row[scheme] for row in found.values())
