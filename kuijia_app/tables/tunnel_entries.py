"""Flow entries that carry packets along a tunnel: forwarded at every switch on the way, delivered at its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSession
from kuijia_app.tables.families import Family
from kuijia_app.tables.queues import Queue, QueueLayout
from kuijia_app.tables.rules import ETH_TYPE_IPV4, Action, FlowEntry, Match, Output, PopLabel, SetQueue, into_vlan
from kuijia_app.tables.tagging import Tags
from kuijia_app.tables.wiring import HostEnd, Wiring


@dataclass(frozen=True)
class TunnelEntries:
    """The entries of any tunnel, each with the switch it belongs to."""

    wiring: Wiring
    layout: QueueLayout
    tags: Tags

    def of_tunnel(
        self, path_id: int, nodes: tuple[str, ...], queues: Iterable[Queue] | None = None
    ) -> Iterator[tuple[str, FlowEntry]]:
        """Yield one entry per queue, or per queue of some, from the second switch on.

        Packets tagged for a queue stay in it all the way.
        """
        host_port = self.wiring.host_port(nodes[-1])
        tagged = self.layout.queues if queues is None else queues
        yield from self._along(path_id, nodes, tagged, host_port)

    def of_session(self, session: BfdSession) -> Iterator[tuple[str, FlowEntry]]:
        """Yield entries for both directions, from one inner port to the other end's, in the control queue."""
        control = self.layout.control
        for nodes in (session.nodes, session.nodes[::-1]):
            inner = Match(in_port=session.inner_port, eth_type=ETH_TYPE_IPV4)
            mark = self.tags.mark(session.label, control)
            send = (SetQueue(control.queue_id), Output(self.wiring.port(nodes[0], nodes[1])))
            yield nodes[0], FlowEntry(identifiers.BFD_PRIORITY, inner, (*mark, *send))
            yield from self._along(session.label, nodes, [control], session.inner_port, is_session=True)

    def _along(
        self,
        label: int,
        nodes: tuple[str, ...],
        queues: Iterable[Queue],
        last_port: int,
        *,
        is_session: bool = False,
    ) -> Iterator[tuple[str, FlowEntry]]:
        for before, switch, after in zip(nodes, nodes[1:], (*nodes[2:], None), strict=False):
            out_port = last_port if after is None else self.wiring.port(switch, after)
            yield from (
                (switch, entry)
                for entry in self.at(
                    label, before, switch, out_port, queues, is_end=after is None, is_session=is_session
                )
            )

    def at(
        self,
        label: int,
        before: str,
        switch: str,
        out_port: int,
        queues: Iterable[Queue],
        *,
        is_end: bool,
        is_session: bool = False,
    ) -> Iterator[FlowEntry]:
        """Yield the entries of one switch for packets of a tunnel from the switch before it.

        Their families are those of the network, and at its end those of the site; packets of BFD sessions are IPv4.
        """
        in_port = self.wiring.port(switch, before)
        families: tuple[Family, ...] = (Family.IPV4,)
        if not is_session:
            families = self.wiring.families_at(switch) if is_end else self.wiring.families
        priority = identifiers.BFD_PRIORITY if is_session else identifiers.TUNNEL_PRIORITY
        for queue, family in product(queues, self.tags.told_apart(families, is_end=is_end)):
            unmark = self.tags.unmark(queue, family) if is_end else ()
            match, treated = self.tags.match(in_port, label, queue, family), (*unmark, SetQueue(queue.queue_id))
            sites = self.wiring.host_ends(switch) if is_end and not is_session else ()
            if len(sites) > 1 or any(site.gateways for site in sites):
                yield FlowEntry(priority, match, treated, goto_table=identifiers.HOST_TABLE)
            else:
                retag = into_vlan(sites[0].vlan) if sites else ()
                # Below a label's pop, a switch would have to read the packet again before it could push a tag.
                is_labelled = any(isinstance(each, PopLabel) for each in unmark)
                tags: tuple[Action, ...] = (*retag, *unmark) if is_labelled else (*unmark, *retag)
                yield FlowEntry(priority, match, (*tags, SetQueue(queue.queue_id), Output(out_port)))


def delivering_entries(sites: tuple[HostEnd, ...]) -> Iterator[FlowEntry]:
    """Yield the entries of the table of hosts for those of several sites at a switch whose hosts are not learned."""
    for site in sites if len(sites) > 1 else ():
        for prefix in () if site.gateways else site.prefixes:
            deliver: tuple[Action, ...] = (*into_vlan(site.vlan), Output(site.port))
            yield FlowEntry(identifiers.HOST_PRIORITY, Match.to(prefix), deliver, identifiers.HOST_TABLE)
