"""Finds which counters of which switches count the packets of a tunnel, hop by hop; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise, product

from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.reconciliation import FlowKey, IndexedTables
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.families import Family
from kuijia_app.tables.identifiers import TUNNEL_PRIORITY
from kuijia_app.tables.options import Form, Liveness, PipelineOptions
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import Action, Group, Output, SwitchTables
from kuijia_app.tables.tagging import paths_of, tags_of
from te_solver.model.plan import Plan


@dataclass(frozen=True, slots=True)
class CountedHop:
    """A link of a tunnel and the entries that count what arrives over it.

    Attributes:
        sender, receiver: names of the switches.
        out_port, in_port: OpenFlow numbers of the link's ports at the two.
        capacity: Mbit/s of the link.
        entries: keys of the receiver's flow entries: one, or one for each family of IP.
    """

    sender: str
    out_port: int
    receiver: str
    in_port: int
    capacity: float
    entries: tuple[FlowKey, ...]


@dataclass(frozen=True, slots=True)
class CountedStream:
    """Packets of a tunnel in some queues: counted by buckets of the ingress, then by an entry at each further switch.

    Attributes:
        queues: ids of the queues, the same at every hop: all of them if a table of its own selects the queue.
        may_be_full: True if one of them is served after others, which may leave nothing to it.
    """

    tunnel: Tunnel
    queues: frozenset[int]
    may_be_full: bool
    hops: tuple[CountedHop, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Kept, as streams are looked up thousands of times a second, and hashing their hops takes microseconds.
        object.__setattr__(self, "_hash", hash((self.tunnel, self.queues, self.hops)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def nodes(self) -> tuple[str, ...]:
        """The switches of the tunnel, from its ingress on."""
        return (self.tunnel[0], *(hop.receiver for hop in self.hops))


class TunnelCounters:
    """The streams of some plans, found by their counters."""

    def __init__(self) -> None:
        """Begin without plans."""
        self.of_entry: dict[str, dict[FlowKey, tuple[CountedStream, int]]] = {}
        """For each switch and key of an entry, the stream and the position of the hop."""
        self.of_mark: dict[tuple[str, tuple[Action, ...]], CountedStream] = {}
        """For each ingress and the actions by which it marks packets, the stream."""

    def named(self, stream: CountedStream) -> str:
        """Return in words what a stream counts."""
        return f"packets of tunnel {stream.tunnel[1]} {'-'.join(stream.nodes)}"

    @property
    def streams(self) -> frozenset[CountedStream]:
        return frozenset(self.of_mark.values())

    def adding(self, plan: Plan, options: PipelineOptions, tables: Mapping[str, SwitchTables]) -> Iterator[None]:
        """Return a task that adds the streams of a plan, whose tables these are."""
        for stream, marks in _streams(plan, options, tables):
            for mark in marks:
                self.of_mark[stream.tunnel[0], mark] = stream
            for position, hop in enumerate(stream.hops):
                counted = self.of_entry.setdefault(hop.receiver, {})
                counted.update(dict.fromkeys(hop.entries, (stream, position)))
            yield

    def of_bucket(self, ingress: str, group: Group) -> tuple[CountedStream | None, ...]:
        """Return the stream into which each bucket of an ingress's group sends."""
        return tuple(
            self.of_mark.get((ingress, bucket.actions[:-2]))
            if len(bucket.actions) > 2 and isinstance(bucket.actions[-1], Output)  # after the queue
            else None
            for bucket in group.buckets
        )


def _streams(
    plan: Plan, options: PipelineOptions, tables: Mapping[str, SwitchTables]
) -> Iterator[tuple[CountedStream, tuple[tuple[Action, ...], ...]]]:
    """Yield each stream, and the actions by which its ingress marks its packets."""
    layout, wiring = options.layout, options.wired(plan.topology)
    sessions = BfdSessions(plan) if options.liveness is Liveness.BFD else ()
    tags = tags_of(options, plan.topology, paths_of([plan]), sessions)
    first = {layout.control, layout.classes[0].normal}
    entries = {switch: IndexedTables.of(each).entry_of for switch, each in tables.items()}
    capacity = {link.ends[::-1]: link.capacity for link in plan.topology.links}  # the way back of one-way links
    capacity.update((link.ends, link.capacity) for link in plan.topology.links)
    together = [layout.queues] if options.form is Form.DECOMPOSED else [(queue,) for queue in layout.queues]

    def keys(switch: str, in_port: int, path_id: int, queues: Iterable[Queue]) -> tuple[FlowKey, ...]:
        """Return those in table 0, whose entries match the queue, or leave it to a table of its own."""
        matches = [tags.match(in_port, path_id, *kind) for kind in product(queues, (None, *Family))]
        each_or_all = (*matches, *(replace(match, **{tags.queue_field: None}) for match in matches))
        found = dict.fromkeys(FlowKey(0, TUNNEL_PRIORITY, match) for match in each_or_all)
        return tuple(key for key in found if key in entries[switch])

    routes = dict.fromkeys((route.path_id, route.nodes) for each in directions(plan) for route in each.routes)
    for path_id, nodes in routes:
        for queues in together:
            hops = tuple(
                CountedHop(
                    sender,
                    wiring.port(sender, receiver),
                    receiver,
                    in_port := wiring.port(receiver, sender),
                    capacity[sender, receiver],
                    keys(receiver, in_port, path_id, queues),
                )
                for sender, receiver in pairwise(nodes)
            )
            if all(hop.entries for hop in hops):
                ids = frozenset(queue.queue_id for queue in queues)
                stream = CountedStream((nodes[0], path_id), ids, not first.issuperset(queues), hops)
                yield stream, tuple(tags.mark(path_id, queue) for queue in queues)
