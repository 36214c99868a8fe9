"""Finds queues that drop packets although their port sends far less than the plan's rate; pure, time in the counters.

OpenFlow 1.3 does not say at which rate Open vSwitch serves a queue. What it counts does: a queue that is fast enough
drops packets only while its port is busy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.snapshot import QueueCounters, Snapshot
from kuijia_app.tables.needs import SwitchNeeds, port_use

LEAST_INTERVAL = 0.8
"""Seconds between two counts that are compared; bursts fill queues for shorter times."""

INTERVALS = 3
"""Intervals in a row in which a slow queue drops packets."""

BUSY = 0.5
"""Share of its rate that a port must send to explain dropped packets."""

LEAST_DROPPED = 0.01
"""Share of a queue's packets below which dropped ones do not count."""

CALM = 10.0
"""Seconds without such an interval after which a queue is no longer called slow."""

_ADVICE = "compare its queues' rates by `kuijia switches check`; else the link is slower than the plan says"


@dataclass(frozen=True, slots=True)
class _Sight:
    """Interval that showed a queue to be slow: its end, and the Mbit/s that the port sent."""

    time: float
    sent: float


class SlowQueues:
    """The queues of all switches, as their counters show them."""

    def __init__(self) -> None:
        self._last: dict[str, Snapshot] = {}
        self._in_a_row: defaultdict[tuple[str, int, int], int] = defaultdict(int)
        self._slow: dict[tuple[str, int, int], _Sight] = {}

    def left(self, switch: str) -> None:
        """Forget what a switch has counted, as a new connection begins or the old one has ended."""
        self._last.pop(switch, None)
        for known in (self._in_a_row, self._slow):
            for key in [key for key in known if key[0] == switch]:
                del known[key]

    def counted(self, snapshot: Snapshot, needs: SwitchNeeds) -> None:
        """Take in the counters of a switch."""
        switch, last = snapshot.switch, self._last.get(snapshot.switch)
        if last is None or last.queues is None or snapshot.queues is None:
            self.left(switch)
            self._last[switch] = snapshot
            return
        seconds = snapshot.time - last.time
        if seconds < LEAST_INTERVAL:
            return
        self._last[switch] = snapshot
        for port in needs.ports.values():
            if port.number not in snapshot.ports or port.number not in last.ports:
                continue
            sent_bytes = snapshot.ports[port.number].sent_bytes - last.ports[port.number].sent_bytes
            sent = 8e-6 * sent_bytes / seconds
            for queue in needs.queues:
                key = switch, port.number, queue.queue_id
                before, after = last.queues.get(key[1:]), snapshot.queues.get(key[1:])
                if 0 <= sent < BUSY * port.rate and _drops(before, after):
                    self._in_a_row[key] += 1
                    if self._in_a_row[key] >= INTERVALS:
                        self._slow[key] = _Sight(snapshot.time, sent)
                else:
                    self._in_a_row.pop(key, None)
                    sight = self._slow.get(key)
                    if sight is not None and snapshot.time - sight.time >= CALM:
                        del self._slow[key]

    def findings(self, needs: SwitchNeeds) -> Iterator[SwitchFinding]:
        """Yield each queue of a switch that is too slow."""
        for (switch, number, queue_id), sight in self._slow.items():
            port = needs.ports.get(number)
            if switch == needs.switch and port is not None:
                use = port_use(port.leads_to, is_host=port.is_host)
                text = f"queue {queue_id} of port {number} to {use} drops packets, though the port sends only "
                text += f"{sight.sent:.3g} of {port.rate:g} Mbit/s"
                yield SwitchFinding(
                    FindingKey(FindingKind.QUEUE_SLOW, switch, number, f"queue {queue_id}"), text, _ADVICE
                )


def _drops(before: QueueCounters | None, after: QueueCounters | None) -> bool:
    """Return True if a queue has dropped more than a few of its packets between two counts."""
    if before is None or after is None:
        return False
    dropped, sent = after.errors - before.errors, after.sent - before.sent
    return sent >= 0 and dropped > 0 and dropped >= LEAST_DROPPED * (sent + dropped)
