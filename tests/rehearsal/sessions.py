"""Simulated BFD sessions: each is up while the switches carry its packets both ways, and notices changes late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address

from kuijia_app.proof.model.packet import Packet
from kuijia_app.tables.identifiers import FIRST_BFD_PORT
from kuijia_app.tables.wiring import Wiring
from tests.rehearsal.switch import SimulatedSwitch
from tests.rehearsal.timeline import SimulatedTime
from tests.rehearsal.traffic import RehearsedTraffic

_NOTICED = 0.1
"""Seconds without packets after which a session goes down."""

_RISES = (0.3, 3.0)
"""Seconds that a session takes to come up: its ends send one packet a second until then (RFC 5880, 6.8.3)."""

_SOURCE, _DESTINATION, _DSCP = IPv4Address("169.254.1.0"), IPv4Address("169.254.1.1"), 48

End = tuple[str, int]
"""A switch and the port that it watches."""


class Sessions:
    """The sessions of all tunnels whose ports a group watches.

    Attributes:
        up: ends of sessions that are up.
        changes: how often one has gone up or down.
    """

    def __init__(
        self,
        time: SimulatedTime,
        wiring: Wiring,
        switches: Mapping[str, SimulatedSwitch],
        traffic: RehearsedTraffic,
    ) -> None:
        self.up: set[End] = set()
        self.changes = 0
        self._time = time
        self._wiring = wiring
        self._switches = switches
        self._traffic = traffic
        self._rising: set[End] = set()
        self._forced: dict[End, float] = {}
        self._is_due = False

    def changed(self) -> None:
        """Take in that tables or ports have changed."""
        if not self._is_due:
            self._is_due = True
            self._time.after(_NOTICED, self._look)

    def force_down(self, end: End, seconds: float) -> None:
        """Keep a session down for some time though its packets get through."""
        self._forced[end] = self._time.now + seconds
        self._goes(end, is_up=False)
        self._time.after(seconds, self._look)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Have all sessions down in the block, while no time passes."""
        up, self.up = self.up, set()
        self._traffic.ports_changed()
        try:
            yield
        finally:
            self.up = up
            self._traffic.ports_changed()

    def end_faults(self) -> None:
        self._forced.clear()
        self._look()

    def _look(self) -> None:
        self._is_due = False
        watched = set(self._watched())
        whole = {end for end in watched if self._is_whole(end)}
        for end in self.up - whole:
            self._goes(end, is_up=False)
        for end in sorted(whole - self.up - self._rising):
            self._rising.add(end)
            self._time.after(self._time.random.uniform(*_RISES), partial(self._rise, end))

    def _rise(self, end: End) -> None:
        self._rising.discard(end)
        if self._forced.get(end, 0.0) <= self._time.now and self._is_whole(end):
            self._goes(end, is_up=True)

    def _goes(self, end: End, *, is_up: bool) -> None:
        if (end in self.up) != is_up:
            (self.up.add if is_up else self.up.discard)(end)
            self.changes += 1
            self._traffic.ports_changed()

    def _watched(self) -> Iterator[End]:
        for name, switch in self._switches.items():
            for group in switch.groups.values():
                for bucket in group.buckets:
                    if bucket.watch_port is not None and bucket.watch_port >= FIRST_BFD_PORT:
                        yield name, bucket.watch_port

    def _is_whole(self, end: End) -> bool:
        """Return True if packets get from one end to another one and back."""
        switch, port = end
        far = self._far_end(switch, port + 1)
        return far is not None and self._far_end(far, port + 1) == switch

    def _far_end(self, switch: str, inner: int) -> str | None:
        where, packet = switch, Packet(inner, _SOURCE, _DESTINATION, _DSCP)
        for _ in self._wiring.topology.nodes:
            sent = self._traffic.sent(where, packet)
            if len(sent) != 1:
                return None
            ((port, packet),) = sent
            if port == inner:
                return where
            neighbour = self._wiring.neighbour_at(where, port)
            if neighbour is None or not self._carries(where, neighbour):
                return None
            where, packet = neighbour, replace(packet, in_port=self._wiring.port(neighbour, where), queue=None)
        return None

    def _carries(self, one: str, other: str) -> bool:
        ends = ((one, other), (other, one))
        return all(self._switches[near].ports[self._wiring.port(near, far)] for near, far in ends)
