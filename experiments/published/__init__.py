"""Figures that the paper printed, one JSON file for each of its tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class PublishedThroughput:
    """Throughput per flow around a link failure, in Mbit/s on links of `capacity` Mbit/s; `after` by scheme."""

    source: str
    capacity: float
    offered: Mapping[str, float]
    before: Mapping[str, float]
    after: Mapping[str, Mapping[str, float]]

    def for_scheme(self, scheme: str) -> dict[str, Any]:
        """What a result with this scheme is to be compared with, as JSON data."""
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
    """The figures of a table, such as `table2`; raises FileNotFoundError for a table that is not held."""
    data = json.loads(files(__name__).joinpath(f"{table}.json").read_text(encoding="utf-8"))
    return PublishedThroughput(data["source"], data["capacity"], data["offered"], data["before"], data["after"])
