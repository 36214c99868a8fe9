"""Counts what each cable of a fabric carries by the ports at its ends, in the form in which tunnels are counted; pure.

Entries of a fabric match destinations, so none of them says over which cable a packet came. Ports do: what the near
port of a cable has sent, the far one receives. What waits in a queue or is dropped there has not been sent.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.tunnel_counters import CountedHop, CountedStream, TunnelCounters
from kuijia_app.tables.rules import Bucket, Group, GroupType, Match, Output
from kuijia_app.tables.wiring import Wiring

_UNCOUNTED = (1 << 64) - 1
"""Counter of a switch that does not count this (OpenFlow 1.3.5, 7.3.5.6)."""


class LinkCounters(TunnelCounters):
    """One stream for each direction of each cable; its tunnel is the sending switch with its port."""

    def __init__(self, wiring: Wiring) -> None:
        """Begin with the cables between switches."""
        super().__init__()
        self._of_port: dict[tuple[str, int], CountedStream] = {}
        self._into: defaultdict[str, dict[int, CountedStream]] = defaultdict(dict)
        self._groups: defaultdict[str, dict[int, Group]] = defaultdict(dict)
        self._silent: dict[str, frozenset[Tunnel]] = {}
        capacity = {link.ends[::-1]: link.capacity for link in wiring.topology.links}  # the way back of one-way links
        capacity.update((link.ends, link.capacity) for link in wiring.topology.links)
        for ends in wiring.topology.edges:
            for sender, receiver in (ends, ends[::-1]):
                out_port, in_port = wiring.port(sender, receiver), wiring.port(receiver, sender)
                entry = FlowKey(0, 0, Match(in_port=in_port))
                hop = CountedHop(sender, out_port, receiver, in_port, capacity[sender, receiver], (entry,))
                stream = CountedStream((sender, out_port), frozenset(), may_be_full=False, hops=(hop,))
                self.of_entry.setdefault(receiver, {})[entry] = stream, 0
                self.of_mark[sender, (Output(out_port),)] = stream
                self._of_port[sender, out_port] = self._into[receiver][in_port] = stream
                bucket = Bucket((Output(out_port),))
                self._groups[sender][out_port] = Group(out_port, GroupType.SELECT, (bucket,))

    def of_bucket(self, ingress: str, group: Group) -> tuple[CountedStream | None, ...]:
        """Return the stream of the port that a group of `counted` stands for."""
        return (self._of_port.get((ingress, group.group_id)),)

    def named(self, stream: CountedStream) -> str:
        """Return what a cable carries, in words."""
        del stream  # the ends of the cable follow
        return "frames"

    @property
    def uncounted(self) -> frozenset[Tunnel]:
        """The streams of which an end does not count frames, as of the last snapshots: nothing can be said of them."""
        return frozenset[Tunnel]().union(*self._silent.values())

    def counted(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of a switch with the frames of its ports in place of what entries and buckets count."""
        switch = snapshot.switch
        out = {port: each.sent for port, each in snapshot.ports.items() if port in self._groups[switch]}
        into = {port: each.received for port, each in snapshot.ports.items() if port in self._into[switch]}
        silent = [self._of_port[switch, port].tunnel for port in self._groups[switch] if not _counts(out.get(port))]
        silent += [stream.tunnel for port, stream in self._into[switch].items() if not _counts(into.get(port))]
        self._silent[switch] = frozenset(silent)
        return replace(
            snapshot,
            packets={
                stream.hops[0].entries[0]: into[port] for port, stream in self._into[switch].items() if port in into
            },
            groups=self._groups[switch],
            buckets={port: (frames,) for port, frames in out.items()},
            queues=None,
        )


def _counts(frames: int | None) -> bool:
    return frames is not None and frames != _UNCOUNTED
