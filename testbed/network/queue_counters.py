"""Packets sent and dropped by a port's queues, from their leaf qdiscs, and metrics of queues, links and sessions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kuijia_app.framework.metrics.tally import Labels, Metric, Tally
from kuijia_app.preparation.queues import leaf_class
from kuijia_app.tables.queues import QueueLayout
from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError

_Port = TypeVar("_Port", bound=Hashable)


@dataclass(frozen=True)
class QueueTotals:
    """Totals of one queue since its creation, and the packets waiting in it now."""

    queue: str
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    waiting_packets: int


PortCounters = tuple[QueueTotals, ...] | TestbedError
"""The counters of a port's queues, or what is wrong with them."""

SHOW_ALL = ("tc", "-json", "-statistics", "qdisc", "show")
"""The command that shows the queues of all interfaces of a network namespace."""


def read_queue_counters(interface: str, layout: QueueLayout) -> tuple[QueueTotals, ...]:
    """Return the counters of every queue of a port, in the order of service.

    Raises:
        TestbedError: the port or its queues have vanished.
    """
    return parse_queue_counters(interface, run_command([*SHOW_ALL, "dev", interface]), layout)


def parse_queue_counters(interface: str, shown: str, layout: QueueLayout) -> tuple[QueueTotals, ...]:
    """Return the counters in the output of `tc -json -statistics qdisc show`; raises as `read_queue_counters`."""
    return _counters(interface, json.loads(shown), layout)


def read_all_queue_counters(interfaces: Mapping[_Port, str], layout: QueueLayout) -> dict[_Port, PortCounters]:
    """Return the counters of many ports, given with their interfaces, by one command."""
    return parse_all_queue_counters(interfaces, run_command(SHOW_ALL), layout)


def parse_all_queue_counters(
    interfaces: Mapping[_Port, str], shown: str, layout: QueueLayout
) -> dict[_Port, PortCounters]:
    """Return the counters in the output of `SHOW_ALL` for the interfaces of these ports."""
    by_interface: dict[str, list[Any]] = {}
    for qdisc in json.loads(shown):
        by_interface.setdefault(qdisc.get("dev", ""), []).append(qdisc)
    found: dict[_Port, PortCounters] = {}
    for port, interface in interfaces.items():
        try:
            found[port] = _counters(interface, by_interface.get(interface, ()), layout)
        except TestbedError as error:
            found[port] = error
    return found


def _counters(interface: str, qdiscs: Sequence[Mapping[str, Any]], layout: QueueLayout) -> tuple[QueueTotals, ...]:
    by_parent: Mapping[str, Any] = {qdisc["parent"]: qdisc for qdisc in qdiscs if "parent" in qdisc}
    missing = [queue.name for queue in layout.queues if leaf_class(queue) not in by_parent]
    if missing:
        lost = "queues" if len(missing) == len(layout.queues) else f"queue {', '.join(missing)}"
        raise TestbedError(f"interface {interface} has lost its {lost}")
    return tuple(
        QueueTotals(
            queue.name,
            sent_packets=leaf["packets"],
            sent_bytes=leaf["bytes"],
            dropped_packets=leaf["drops"],
            waiting_packets=leaf["qlen"],
        )
        for queue in layout.queues
        for leaf in (by_parent[leaf_class(queue)],)
    )


class QueueRates:
    """Rates of queues since the previous call, by any thread.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: dict[tuple[str, str, str], tuple[float, int, int]] = {}
        self._at_work = threading.Lock()

    def since_last(self, queues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the queues with `rate` (Mbit/s) and `newly_dropped` (packets) since the last call; None at first.

        Args:
            queues: counters of each, with its `switch` and the switch `to` which the port leads.
        """
        with self._at_work:
            now = self._clock()
            return [self._since_last(queue, now) for queue in queues]

    def _since_last(self, queue: Mapping[str, Any], now: float) -> dict[str, Any]:
        key = (queue["switch"], queue["to"], queue["queue"])
        rate, dropped = None, None
        if key in self._last:
            then, sent_bytes, drops = self._last[key]
            rate = (queue["sent_bytes"] - sent_bytes) * 8 / 1e6 / max(now - then, 1e-9)
            dropped = queue["dropped_packets"] - drops
        self._last[key] = now, queue["sent_bytes"], queue["dropped_packets"]
        return {**queue, "rate": rate, "newly_dropped": dropped}


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
