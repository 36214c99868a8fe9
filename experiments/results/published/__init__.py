"""Numbers printed or drawn in the paper, one JSON file for each of its tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


def published_numbers(name: str) -> dict[str, Any]:
    """Return the data of a file, such as `hermes`; raises FileNotFoundError for an unknown one."""
    data: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return data


@dataclass(frozen=True)
class PublishedThroughput:
    """Throughput per flow around a link failure, in Mbit/s on links of `capacity` Mbit/s; `after` by scheme."""

    source: str
    capacity: float
    offered: Mapping[str, float]
    before: Mapping[str, float]
    after: Mapping[str, Mapping[str, float]]

    def for_scheme(self, scheme: str) -> dict[str, Any] | None:
        """Return the published numbers for a result with this scheme, as JSON data; None when there are none."""
        if scheme not in self.after:
            return None
        return {
            "source": self.source,
            "unit": "Mbit/s",
            "capacity": self.capacity,
            "flows": {
                name: {"offered": self.offered[name], "before": self.before[name], "after": after}
                for name, after in self.after[scheme].items()
            },
        }


@cache
def published_throughput(table: str) -> PublishedThroughput:
    """Return the figures of a table, such as `table2`; raises FileNotFoundError for an unknown one."""
    data = published_numbers(table)
    return PublishedThroughput(data["source"], data["capacity"], data["offered"], data["before"], data["after"])


@dataclass(frozen=True)
class PublishedCurves:
    """Numbers of a figure: for each curve, by its label, the values by `x`, and their unit."""

    source: str
    quantity: str
    curves: Mapping[str, Mapping[str, float]]

    def at(self, curve: str, x: float | str) -> float | None:
        """Return the number at `x`; None if the paper has none."""
        key = x if isinstance(x, str) else str(float(x))
        return self.curves.get(curve, {}).get(key)


@cache
def published_curves(figure: str) -> PublishedCurves:
    """Return the numbers of a figure, such as `fig10`; raises FileNotFoundError for an unknown one."""
    data = published_numbers(figure)
    return PublishedCurves(data["source"], data["quantity"], data["curves"])
