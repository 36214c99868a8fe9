"""The way of each flow by the switches' own tables: ECMP's groups, and the entries of scheduled flows."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from hedera.network.data_centre import ROUTE_TABLE, DataCentre
from hedera.scheduling.polling import FlowKey, ScheduledEntry
from hedera.scheduling.tables import SCHEDULED_PRIORITY, Routing
from kuijia_app.proof.model.packet import Packet
from kuijia_app.proof.model.switch import ModelSwitch
from kuijia_app.tables.rules import FlowEntry, Match, SwitchTables, ToGroup

Entries = Mapping[tuple[str, FlowKey], ScheduledEntry]
"""The entry of a flow on a switch."""

_MOST_SLOTS = 256
_SENDER = 0
"""Port by which packets enter in the model: none that leads anywhere."""


class Forwarding:
    """The paths that packets of a flow take through switches with the tables of a routing; no cable is down.

    As in Open vSwitch, the hash covers addresses and ports of both ends alike, all switches have the same one, and a
    flow's acknowledgements have that of the flow.
    """

    def __init__(self, centre: DataCentre, routing: Routing, seed: int) -> None:
        self._wiring = centre.wiring
        self._seed = seed
        self._tables = routing.tables()
        self._switches = {name: _switch(name, tables) for name, tables in self._tables.items()}
        self._scheduled: dict[tuple[str, int], ModelSwitch] = {}
        links = {link.ends: number for number, link in enumerate(centre.topology.links)}
        sites = self._wiring.sites
        self._at = {site.address: (links[site.name, site.switch], site.switch) for site in sites}
        hosts = {(site.switch, site.port): site.name for site in sites}
        self._beyond: dict[tuple[str, int], tuple[int, str | None]] = {}
        for switch in self._wiring.topology.nodes:
            for port in self._wiring.ports(switch):
                neighbour = self._wiring.neighbour_at(switch, port)
                other = hosts[switch, port] if neighbour is None else neighbour
                self._beyond[switch, port] = links[switch, other], neighbour

    def path(self, flow: FlowKey, entries: Entries) -> tuple[int, ...]:
        """Return the links from the flow's source to its target."""
        first, switch = self._at[flow.source]
        packet = Packet(_SENDER, flow.source, flow.target, slot=self.slot(flow))
        links, following = [first], str(switch)
        while True:
            port = self._out_port(following, packet, entries.get((following, flow)))
            link, neighbour = self._beyond[following, port]
            links.append(link)
            if neighbour is None:
                return tuple(links)
            following = neighbour

    def slot(self, flow: FlowKey) -> int:
        """Return the slot of a flow, the same in both directions."""
        ends = sorted(
            int(address).to_bytes(4, "big") + port.to_bytes(2, "big")
            for address, port in ((flow.source, flow.source_port), (flow.target, flow.target_port))
        )
        seed = self._seed.to_bytes(8, "big", signed=True)
        return blake2b(b"".join(ends), digest_size=4, key=seed).digest()[0] % _MOST_SLOTS

    def _out_port(self, name: str, packet: Packet, entry: ScheduledEntry | None) -> int:
        switch = self._switches[name] if entry is None else self._scheduling(name, entry.group_id)
        ((port, _),) = switch.process(packet).sent
        return port

    def _scheduling(self, name: str, group: int) -> ModelSwitch:
        """Return the switch as packets see it that match an entry which leads to this group."""
        if (name, group) not in self._scheduled:
            ahead = FlowEntry(SCHEDULED_PRIORITY, Match(), (ToGroup(group),), ROUTE_TABLE)
            tables = self._tables[name]
            self._scheduled[name, group] = _switch(name, SwitchTables(tables.groups, (*tables.flows, ahead)))
        return self._scheduled[name, group]


def reverse_of(flow: FlowKey) -> FlowKey:
    """Return the flow of the acknowledgements."""
    return FlowKey(flow.target, flow.source, flow.protocol, flow.target_port, flow.source_port)


def _switch(name: str, tables: SwitchTables) -> ModelSwitch:
    return ModelSwitch(name, tables, lambda _: True)
