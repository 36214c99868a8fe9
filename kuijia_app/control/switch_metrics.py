"""Metrics of an application that programs switches, from its events and from what it does to its switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from kuijia_app.control.findings import Findings
from kuijia_app.control.neighbours import LearnedHosts
from kuijia_app.framework import event_log
from kuijia_app.framework.metrics.tally import REACTION_BUCKETS, WORK_BUCKETS, Metric, Tally
from kuijia_app.tables.rules import SwitchTables

COUNTED_EVENTS = (
    event_log.SWITCH_READY,
    event_log.SWITCH_GONE,
    event_log.SWITCH_UNKNOWN,
    event_log.SWITCH_NOT_OURS,
    event_log.SWITCH_UNFIT,
    event_log.SWITCH_ERROR,
    event_log.SWITCH_REFUSED,
    event_log.SWITCH_DUPLICATE,
    event_log.SWITCH_UNBOUND,
    event_log.SWITCH_DROPPED,
    event_log.TABLES_WRONG,
    event_log.HOSTS_WRONG,
    event_log.ROLE_TAKEN,
    event_log.ROLE_YIELDED,
    event_log.ROLE_LOST,
    event_log.ROLE_DENIED,
    event_log.PEER_UNLISTED,
    event_log.SUCCESSOR_READY,
    event_log.SUCCESSOR_GONE,
    event_log.HANDOVER_REFUSED,
    event_log.CERTIFICATE_EXPIRES,
    event_log.PORT_STATUS,
    event_log.PORT_DAMPED,
    event_log.PROBLEM_FOUND,
    event_log.PROBLEM_GONE,
    event_log.FAILURE,
)
"""Events that either application logs."""


def switch_metrics(prefix: str) -> tuple[Metric, ...]:
    """Return the metrics of an application whose names begin with `prefix`."""
    return (
        Metric(f"{prefix}_switches", "gauge", "Switches of the network."),
        Metric(f"{prefix}_switches_connected", "gauge", "Switches that are connected."),
        Metric(f"{prefix}_switches_ready", "gauge", "Connected switches that have acknowledged all wanted tables."),
        Metric(f"{prefix}_switch_ready", "gauge", "1 if this switch has acknowledged all wanted tables.", ("switch",)),
        Metric(f"{prefix}_flow_entries", "gauge", "Flow entries in force at a switch.", ("switch",)),
        Metric(f"{prefix}_groups", "gauge", "Groups in force at a switch.", ("switch",)),
        Metric(
            f"{prefix}_install_seconds",
            "histogram",
            "Time from a switch's connection, or from a change of its wanted tables, until it has acknowledged them.",
            buckets=WORK_BUCKETS,
        ),
        Metric(
            f"{prefix}_problems",
            "gauge",
            "What is wrong now, by kind, switch and, where there is one, port.",
            ("kind", "switch", "port"),
        ),
        Metric(
            f"{prefix}_table_repairs_total",
            "counter",
            "Times that tables of a switch, which somebody else had changed, were put right.",
            ("switch",),
        ),
        Metric(
            f"{prefix}_hosts_known", "gauge", "Hosts that are known at a site where hosts are learned.", ("switch",)
        ),
        Metric(
            f"{prefix}_host_frames_ignored_total",
            "counter",
            "Frames of hosts that came faster than the controller looks at them; more are dropped in the switch.",
            ("switch",),
        ),
        Metric(
            f"{prefix}_host_packets_dropped_total",
            "counter",
            "Packets from a switch's hosts that nothing carries: to addresses without a planned pair, or no IP.",
            ("switch",),
        ),
        Metric(f"{prefix}_events_total", "counter", "Events in the event log, by kind.", ("event",)),
        Metric(
            f"{prefix}_tick_delay_seconds",
            "histogram",
            "Lateness of the application's clock: how long everything else has kept it waiting.",
            buckets=REACTION_BUCKETS,
        ),
        Metric(f"{prefix}_acts", "gauge", "1 if it programs the switches, 0 if it stands by for a peer that does."),
        Metric(
            f"{prefix}_successor_ready",
            "gauge",
            "1 if this program acts and a peer could take over; only of those with peers.",
        ),
        Metric(
            f"{prefix}_certificate_expiry_timestamp_seconds",
            "gauge",
            "Unix time at which the certificate in use, or the first of its authorities', expires.",
            ("certificate",),
        ),
    )


class SwitchMetrics:
    """Writes the metrics of one application. The application's thread calls everything but `look`."""

    def __init__(
        self,
        prefix: str,
        clock: Callable[[], float],
        *,
        further: Iterable[Metric] = (),
        events: Iterable[str] = (),
    ) -> None:
        """Begin, with further metrics, and further events to be counted; `clock` returns seconds."""
        self.tally = Tally((*switch_metrics(prefix), *further), lambda _: self.look())
        self._prefix = prefix
        self._clock = clock
        self._switches: frozenset[str] = frozenset()
        self._connected: set[str] = set()
        self._ready: set[str] = set()
        self._wanted_since: dict[str, float] = {}
        self._ticked_at: float | None = None
        self._learned: LearnedHosts | None = None
        self._dropped: dict[tuple[str, Hashable], int] = {}
        self._events = frozenset((*COUNTED_EVENTS, *events))
        self.tally.set(f"{prefix}_acts", 1)
        for event in sorted(self._events):
            self.tally.add(f"{prefix}_events_total", 0, event)

    def look(self) -> None:
        """Set values that are read from the application's state; the server's thread calls this."""
        if self._learned is None:
            return
        for switch in self._learned.switches:
            self.tally.set(f"{self._prefix}_hosts_known", self._learned.known(switch), switch)
            self.tally.set(f"{self._prefix}_host_frames_ignored_total", self._learned.ignored(switch), switch)

    def follow_hosts(self, learned: LearnedHosts) -> None:
        """Read which hosts are known from these, from now on."""
        self._learned = learned

    def expect(self, switches: Iterable[str]) -> None:
        """Note which switches the network has."""
        self._switches = frozenset(switches)
        self.tally.set(f"{self._prefix}_switches", len(self._switches))
        for switch in sorted(self._switches):
            self.tally.add(f"{self._prefix}_table_repairs_total", 0, switch)
            self._count(switch)

    def heard(self, event: str, details: dict[str, Any]) -> None:
        """Take in an event of the log."""
        if event in self._events:
            self.tally.add(f"{self._prefix}_events_total", 1, event)
        if event == event_log.SWITCH_READY:
            self._ready.add(details["switch"])
            self._count(details["switch"])
        elif event == event_log.SWITCH_GONE:
            self._left(details["switch"])

    def began(self, switch: str) -> None:
        """Note that a switch has connected."""
        self._connected.add(switch)
        self._ready.discard(switch)
        self._wanted_since[switch] = self._clock()
        self._count(switch)

    def left_to_peer(self, switch: str) -> None:
        """Note that a peer programs the switch from now on."""
        self._ready.discard(switch)
        self._wanted_since.pop(switch, None)
        self._count(switch)

    def wants(self, switch: str) -> None:
        """Note that a switch is to get other tables."""
        self._ready.discard(switch)
        self._wanted_since.setdefault(switch, self._clock())
        self._count(switch)

    def installed(self, switch: str, tables: SwitchTables) -> None:
        """Note that a switch has acknowledged all of its tables."""
        since = self._wanted_since.pop(switch, None)
        if since is not None:
            self.tally.observe(f"{self._prefix}_install_seconds", self._clock() - since)
        self._hold(switch, len(tables.flows), len(tables.groups))

    def tables_left(self, switch: str, entries: int, groups: int) -> None:
        """Note that a switch keeps tables that somebody else has changed: it is not ready until it has ours again."""
        self._ready.discard(switch)
        self._count(switch)
        self._hold(switch, entries, groups)

    def tables_put_right(self, switch: str) -> None:
        """Note that tables are put right which somebody else has changed."""
        self.tally.add(f"{self._prefix}_table_repairs_total", 1, switch)

    def dropped(self, switch: str, packets: Mapping[Any, int]) -> None:
        """Take in a switch's counters of dropped packets of its hosts, by entries; one starts again with its entry."""
        for entry, count in packets.items():
            before = self._dropped.get((switch, entry), 0)
            self._dropped[switch, entry] = count
            more = count - before if count >= before else count
            self.tally.add(f"{self._prefix}_host_packets_dropped_total", more, switch)

    def has(self, findings: Findings) -> None:
        """Note what is wrong now."""
        places = ((each.key.kind.value, each.key.switch, str(each.key.port or "")) for each in findings)
        self.tally.replace(f"{self._prefix}_problems", Counter(places))

    def certificate_expires(self, certificate: str, until: float) -> None:
        """Note when a certificate expires."""
        self.tally.set(f"{self._prefix}_certificate_expiry_timestamp_seconds", until, certificate)

    def part_among_peers(self, *, is_acting: bool, has_successor: bool) -> None:
        """Note this program's part among its peers, and whether one of them could take over."""
        self.tally.set(f"{self._prefix}_acts", float(is_acting))
        self.tally.set(f"{self._prefix}_successor_ready", float(has_successor))

    def ticked(self, period: float) -> None:
        """Note a tick of the application's clock, which ticks at least once a `period`."""
        before, self._ticked_at = self._ticked_at, self._clock()
        if before is not None:
            self.tally.observe(f"{self._prefix}_tick_delay_seconds", max(self._ticked_at - before - period, 0.0))

    def _hold(self, switch: str, entries: int, groups: int) -> None:
        self.tally.set(f"{self._prefix}_flow_entries", entries, switch)
        self.tally.set(f"{self._prefix}_groups", groups, switch)

    def _left(self, switch: str) -> None:
        self._connected.discard(switch)
        self._ready.discard(switch)
        self._wanted_since.pop(switch, None)
        self._count(switch)

    def _count(self, switch: str) -> None:
        self.tally.set(f"{self._prefix}_switches_connected", len(self._connected))
        self.tally.set(f"{self._prefix}_switches_ready", len(self._ready))
        self.tally.set(f"{self._prefix}_switch_ready", float(switch in self._ready), switch)
