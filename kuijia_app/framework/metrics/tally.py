"""Metrics of a program and their values, in plain numbers; pure.

A program writes into a `Tally` wherever something happens: that costs an addition and takes no lock, so each metric
must have only one thread that writes it. Any other thread may read meanwhile.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

Kind = Literal["gauge", "counter", "histogram"]
Labels = tuple[str, ...]

REACTION_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds, in seconds, for what should take milliseconds."""

WORK_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds, in seconds, for what may take a minute."""


@dataclass(frozen=True)
class Metric:
    """A metric as Prometheus knows it.

    Attributes:
        name: with its unit, base units only; that of a counter ends in `_total`.
        kind: its type.
        help: one line for its reader.
        labels: names of its labels. Their values must be bounded by the network, never chosen by peers.
        buckets: upper bounds of a histogram.
    """

    name: str
    kind: Kind
    help: str
    labels: Labels = ()
    buckets: tuple[float, ...] = ()


@dataclass(frozen=True)
class Distribution:
    """Value of a histogram: observations up to each bound and, last, all of them; and the sum of what was observed."""

    cumulative: tuple[int, ...]
    sum: float


class _Observed:
    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def read(self) -> Distribution:
        return Distribution(tuple(accumulate(self._counts)), self._sum)


class Tally:
    """Values of metrics. Counters and histograms without labels begin at zero, all others with their first value."""

    def __init__(self, metrics: Iterable[Metric], look: Callable[[Tally], None] = lambda _: None) -> None:
        """Begin; `look` is called before each reading, in the reader's thread, to set values that nobody writes."""
        self.metrics = tuple(metrics)
        self._look = look
        self._metric = {metric.name: metric for metric in self.metrics}
        self._numbers: dict[str, dict[Labels, float]] = {}
        self._observed: dict[str, dict[Labels, _Observed]] = {}
        for metric in self.metrics:
            if metric.kind == "histogram":
                self._observed[metric.name] = {} if metric.labels else {(): _Observed(metric.buckets)}
            else:
                self._numbers[metric.name] = {(): 0.0} if metric.kind == "counter" and not metric.labels else {}

    def set(self, name: str, value: float, *labels: str) -> None:
        self._numbers[name][labels] = value

    def add(self, name: str, amount: float = 1.0, *labels: str) -> None:
        numbers = self._numbers[name]
        numbers[labels] = numbers.get(labels, 0.0) + amount

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Give a metric these values only."""
        self._numbers[name] = dict(values)

    def observe(self, name: str, value: float, *labels: str) -> None:
        observed = self._observed[name]
        if labels not in observed:
            observed[labels] = _Observed(self._metric[name].buckets)
        observed[labels].add(value)

    def read(self) -> Iterator[tuple[Metric, list[tuple[Labels, float | Distribution]]]]:
        """Yield each metric with its values by labels."""
        self._look(self)
        for metric in self.metrics:
            if metric.kind == "histogram":
                observed = list(self._observed[metric.name].items())
                yield metric, [(labels, each.read()) for labels, each in observed]
            else:
                yield metric, list(self._numbers[metric.name].items())
