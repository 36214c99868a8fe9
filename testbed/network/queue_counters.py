"""Packets sent and dropped by the queues of a switch port, read from their leaf qdiscs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
