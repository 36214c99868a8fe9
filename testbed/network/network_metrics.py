"""Metrics of a network of switches: links, queues and BFD sessions, written from what was read of them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kuijia_app.framework.metrics.tally import Labels, Metric, Tally

_QUEUE = ("switch", "to", "queue")
_COUNTED = {
    "sent_bytes": "queue_sent_bytes_total",
    "sent_packets": "queue_sent_packets_total",
    "dropped_packets": "queue_dropped_packets_total",
    "waiting_packets": "queue_waiting_packets",
}


def network_metrics(prefix: str) -> tuple[Metric, ...]:
    """Return the metrics of a network whose names begin with `prefix`."""
    return (
        Metric(f"{prefix}_links", "gauge", "Links between switches."),
        Metric(f"{prefix}_links_down", "gauge", "Links that are down."),
        Metric(f"{prefix}_link_up", "gauge", "1 if this link is up.", ("link",)),
        Metric(f"{prefix}_queue_sent_bytes_total", "counter", "Bytes that a queue has sent.", _QUEUE),
        Metric(f"{prefix}_queue_sent_packets_total", "counter", "Packets that a queue has sent.", _QUEUE),
        Metric(f"{prefix}_queue_dropped_packets_total", "counter", "Packets that a queue has dropped.", _QUEUE),
        Metric(f"{prefix}_queue_waiting_packets", "gauge", "Packets that wait in a queue.", _QUEUE),
        Metric(f"{prefix}_bfd_session_ends", "gauge", "Ends of BFD sessions that are up or down.", ("state",)),
    )


def note_links(tally: Tally, prefix: str, links: Mapping[tuple[str, str], bool]) -> None:
    """Note which links are up, by their two ends."""
    tally.set(f"{prefix}_links", len(links))
    tally.set(f"{prefix}_links_down", sum(not is_up for is_up in links.values()))
    tally.replace(f"{prefix}_link_up", {(f"{a}-{b}",): float(is_up) for (a, b), is_up in links.items()})


def note_queues(tally: Tally, prefix: str, queues: Iterable[Mapping[str, Any]]) -> None:
    """Note counters of queues, each with its `switch`, the switch `to` which the port leads, and its `queue`."""
    found: dict[str, dict[Labels, float]] = {metric: {} for metric in _COUNTED.values()}
    for queue in queues:
        labels = tuple(str(queue[name]) for name in _QUEUE)
        for counter, metric in _COUNTED.items():
            found[metric][labels] = queue[counter]
    for metric, values in found.items():
        tally.replace(f"{prefix}_{metric}", values)


def note_sessions(tally: Tally, prefix: str, ends: Iterable[bool]) -> None:
    """Note for each end of a BFD session whether it is up."""
    states = list(ends)
    tally.set(f"{prefix}_bfd_session_ends", sum(states), "up")
    tally.set(f"{prefix}_bfd_session_ends", len(states) - sum(states), "down")
