"""Turns tallies into the text that Prometheus reads: the only module that uses `prometheus_client`."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from kuijia_app.framework.metrics.tally import Distribution, Labels, Metric, Tally


class MetricsPage(Collector):
    """The page of metrics of this process: those of its tally, and those of Prometheus's standard for processes.

    It is not registered anywhere: two pages in one process know nothing of each other.
    """

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._process = ProcessCollector(registry=None)

    def collect(self) -> Iterable[Family]:
        for metric, values in self._tally.read():
            yield _family(metric, values)
        yield from self._process.collect()

    def text(self, accept: str) -> tuple[bytes, str]:
        """Return the page and its type, in the newest format that a request with this header `Accept` knows."""
        encode, content_type = choose_encoder(accept)
        return encode(self), content_type


def _family(metric: Metric, values: Iterable[tuple[Labels, float | Distribution]]) -> Family:
    if metric.kind == "histogram":
        histogram = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
        for labels, value in values:
            assert isinstance(value, Distribution)
            bounds = (*map(str, metric.buckets), "+Inf")
            histogram.add_metric(labels, list(zip(bounds, value.cumulative, strict=True)), value.sum)
        return histogram
    family: CounterMetricFamily | GaugeMetricFamily
    if metric.kind == "counter":
        family = CounterMetricFamily(metric.name.removesuffix("_total"), metric.help, labels=metric.labels)
    else:
        family = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, value in values:
        assert not isinstance(value, Distribution)
        family.add_metric(labels, value)
    return family
