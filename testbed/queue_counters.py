"""What the queues of a switch port have sent and dropped, read from their leaf qdiscs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kuijia_app.queues import QueueLayout
from testbed.commands import run_command
from testbed.errors import TestbedError
from testbed.queues import leaf_class


@dataclass(frozen=True)
class QueueCounters:
    """Totals of one queue since it was made, and the packets waiting in it now."""

    queue: str
    sent_packets: int
    sent_bytes: int
    dropped_packets: int
    waiting_packets: int


def read_queue_counters(interface: str, layout: QueueLayout) -> tuple[QueueCounters, ...]:
    """The counters of every queue of a port, in the order the queues are served.

    Raises:
        TestbedError: the port or its queues have vanished.
    """
    qdiscs = json.loads(run_command(["tc", "-json", "-statistics", "qdisc", "show", "dev", interface]))
    by_parent: Mapping[str, Any] = {qdisc["parent"]: qdisc for qdisc in qdiscs if "parent" in qdisc}
    if not by_parent.keys() >= {leaf_class(queue) for queue in layout.queues}:
        raise TestbedError(f"interface {interface} has lost its queues")
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
