"""Packets sent and dropped by the queues of a switch port, read from their leaf qdiscs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kuijia_app.tables.queues import QueueLayout
from testbed.machine.commands import run_command
from testbed.machine.errors import TestbedError
from testbed.network.queues import leaf_class


@dataclass(frozen=True)
class QueueCounters:
    """Totals of one queue since its creation, and the packets waiting in it now."""

    queue: str
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    waiting_packets: int


def read_queue_counters(interface: str, layout: QueueLayout) -> tuple[QueueCounters, ...]:
    """Return the counters of every queue of a port, in the order of service.

    Raises:
        TestbedError: the port or its queues have vanished.
    """
    shown = run_command(["tc", "-json", "-statistics", "qdisc", "show", "dev", interface])
    return parse_queue_counters(interface, shown, layout)


def parse_queue_counters(interface: str, shown: str, layout: QueueLayout) -> tuple[QueueCounters, ...]:
    """Return the counters in the output of `tc -json -statistics qdisc show`; raises as `read_queue_counters`."""
    qdiscs = json.loads(shown)
    by_parent: Mapping[str, Any] = {qdisc["parent"]: qdisc for qdisc in qdiscs if "parent" in qdisc}
    missing = [queue.name for queue in layout.queues if leaf_class(queue) not in by_parent]
    if missing:
        lost = "queues" if len(missing) == len(layout.queues) else f"queue {', '.join(missing)}"
        raise TestbedError(f"interface {interface} has lost its {lost}")
    return tuple(
        QueueCounters(
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
    """Rates of queues since the previous call.

    Args:
        clock: returns seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last: dict[tuple[str, str, str], tuple[float, int, int]] = {}

    def since_last(self, queues: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the queues with `rate` (Mbit/s) and `newly_dropped` (packets) since the last call; None at first.

        Args:
            queues: counters of each, with its `switch` and the switch `to` which the port leads.
        """
        now = self._clock()
        result = []
        for queue in queues:
            key = (queue["switch"], queue["to"], queue["queue"])
            rate, dropped = None, None
            if key in self._last:
                then, sent_bytes, drops = self._last[key]
                rate = (queue["sent_bytes"] - sent_bytes) * 8 / 1e6 / max(now - then, 1e-9)
                dropped = queue["dropped_packets"] - drops
            self._last[key] = now, queue["sent_bytes"], queue["dropped_packets"]
            result.append({**queue, "rate": rate, "newly_dropped": dropped})
        return result
