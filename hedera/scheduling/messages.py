"""The scheduler's own OpenFlow messages: count flows at edge switches, request the counters, route elephants.

Edge switches count by themselves: an entry for each host port and protocol makes the switch *learn* an entry for each
flow in the counter table, which packets then visit only to be counted. No packet goes to the controller, and if it dies
the switches continue unchanged. A flow's first packet may be missing from its counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from itertools import product
from typing import Any

from hedera.network.data_centre import ROUTE_TABLE
from hedera.scheduling.polling import TCP, UDP, CounterReading, FiveTuple, ScheduledEntry
from hedera.scheduling.tables import COUNTER_TABLE, SCHEDULED_PRIORITY
from kuijia_app.control.snapshot import ForeignEntry
from kuijia_app.tables.families import Family, family_of
from kuijia_app.tables.rules import ETH_TYPE_OF, Match

COUNTING_COOKIE = 0x4845_4445_5241_0001
COUNTER_COOKIE = 0x4845_4445_5241_0002
SCHEDULED_COOKIE = 0x4845_4445_5241_0003
"""Cookies that distinguish these entries from those that a controller reads back and repairs."""

COUNTING_PRIORITY = 100
COUNTER_IDLE_SECONDS = 10
"""Seconds without a packet after which a flow is forgotten, so that the counter table holds only recent flows."""

_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
_KEEP_IN_PORT = 0xFFF8
_PORT_FIELDS = {TCP: ("tcp_src", "tcp_dst"), UDP: ("udp_src", "udp_dst")}
_ADDRESS_FIELDS = {Family.IPV4: ("ipv4_src", "ipv4_dst"), Family.IPV6: ("ipv6_src", "ipv6_dst")}


class SchedulerMessages:
    """Builder of messages for one connected switch; `datapath` is the connection object of either framework."""

    def __init__(self, datapath: Any) -> None:
        self._datapath = datapath
        self._ofproto = datapath.ofproto
        self._parser = datapath.ofproto_parser

    def count_flows_from(self, port: int, families: Iterable[Family]) -> list[Any]:
        """Return entries that make the switch count each TCP and UDP flow of the host at this port."""
        return [self._counting_entry(port, *each) for each in product(families, _PORT_FIELDS)]

    def ask_for_counters(self) -> Any:
        ofproto = self._ofproto
        return self._parser.OFPFlowStatsRequest(
            self._datapath,
            table_id=COUNTER_TABLE,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            cookie=COUNTER_COOKIE,
            cookie_mask=_ALL_BITS,
        )

    def put(self, entry: ScheduledEntry, idle_timeout: int) -> Any:
        """Return the entry that routes a flow; it expires after `idle_timeout` seconds without a packet."""
        parser, ofproto = self._parser, self._ofproto
        actions = [parser.OFPActionGroup(entry.group_id)]
        return parser.OFPFlowMod(
            self._datapath,
            cookie=SCHEDULED_COOKIE,
            table_id=ROUTE_TABLE,
            priority=SCHEDULED_PRIORITY,
            idle_timeout=idle_timeout,
            match=self._match(entry.flow),
            instructions=[parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)],
        )

    def delete(self, entry: ScheduledEntry) -> Any:
        return self._deletion(self._ofproto.OFPFC_DELETE_STRICT, self._match(entry.flow))

    def delete_all(self) -> Any:
        """Return the deletion of all entries that any scheduler has put."""
        return self._deletion(self._ofproto.OFPFC_DELETE, self._parser.OFPMatch())

    def _counting_entry(self, port: int, family: Family, protocol: int) -> Any:
        parser, ofproto = self._parser, self._ofproto
        learned = [
            parser.NXFlowSpecMatch(src=ETH_TYPE_OF[family], dst=("eth_type_nxm", 0), n_bits=16),
            parser.NXFlowSpecMatch(src=protocol, dst=("ip_proto_nxm", 0), n_bits=8),
        ]
        fields = [(f"{name}_nxm", family.bits) for name in _ADDRESS_FIELDS[family]]
        fields += [(f"{name}_nxm", 16) for name in _PORT_FIELDS[protocol]]
        learned += [parser.NXFlowSpecMatch(src=(name, 0), dst=(name, 0), n_bits=bits) for name, bits in fields]
        actions = [
            parser.NXActionLearn(
                table_id=COUNTER_TABLE,
                specs=learned,
                idle_timeout=COUNTER_IDLE_SECONDS,
                priority=1,
                cookie=COUNTER_COOKIE,
            ),
            parser.NXActionResubmitTable(in_port=_KEEP_IN_PORT, table_id=COUNTER_TABLE),
        ]
        return parser.OFPFlowMod(
            self._datapath,
            cookie=COUNTING_COOKIE,
            table_id=0,
            priority=COUNTING_PRIORITY,
            match=parser.OFPMatch(in_port=port, eth_type=ETH_TYPE_OF[family], ip_proto=protocol),
            instructions=[
                parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions),
                parser.OFPInstructionGotoTable(ROUTE_TABLE),
            ],
        )

    def _deletion(self, command: int, match: Any) -> Any:
        ofproto = self._ofproto
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=SCHEDULED_COOKIE,
            cookie_mask=_ALL_BITS,
            table_id=ROUTE_TABLE,
            command=command,
            priority=SCHEDULED_PRIORITY,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            match=match,
        )

    def _match(self, flow: FiveTuple) -> Any:
        family = family_of(flow.source)
        source, target = _ADDRESS_FIELDS[family]
        source_port, target_port = _PORT_FIELDS[flow.protocol]
        fields = {
            "eth_type": ETH_TYPE_OF[family],
            "ip_proto": flow.protocol,
            source: str(flow.source),
            target: str(flow.target),
            source_port: flow.source_port,
            target_port: flow.target_port,
        }
        return self._parser.OFPMatch(**fields)


def placed(entries: Iterable[ForeignEntry]) -> dict[FiveTuple, ForeignEntry]:
    """Return those entries that route elephants, by their flows."""
    scheduled = (entry for entry in entries if entry.cookie == SCHEDULED_COOKIE)
    return {flow: entry for entry in scheduled if (flow := _flow_of(entry.key.match)) is not None}


def _flow_of(match: object) -> FiveTuple | None:
    """Return the flow that a match names as `SchedulerMessages.put` does, None for any other."""
    if not isinstance(match, Match) or match.source is None or match.destination is None or match.ip_proto is None:
        return None
    is_tcp = match.ip_proto == TCP
    source, target = (match.tcp_src, match.tcp_dst) if is_tcp else (match.udp_src, match.udp_dst)
    if source is None or target is None:
        return None
    ends = match.source.network_address, match.destination.network_address
    return FiveTuple(*ends, match.ip_proto, source, target)


def readings(statistics: Iterable[Any]) -> list[CounterReading]:
    """Return the counters in a part of a reply; entries that belong to no flow are skipped, whatever they hold."""
    found = []
    for each in statistics:
        flow = _flow(dict(each.match.items()))
        if flow is not None:
            found.append(CounterReading(flow, each.byte_count, each.duration_sec + each.duration_nsec / 1e9))
    return found


def _flow(fields: Mapping[str, Any]) -> FiveTuple | None:
    """Return the flow that a match names: each of its fields is there, and has no mask."""
    protocol = fields.get("ip_proto")
    names = _PORT_FIELDS.get(protocol) if isinstance(protocol, int) else None
    if protocol is None or names is None:
        return None
    source_port, target_port = (fields.get(name) for name in names)
    if not isinstance(source_port, int) or not isinstance(target_port, int):
        return None
    for address_names in _ADDRESS_FIELDS.values():
        source, target = (fields.get(name) for name in address_names)
        if isinstance(source, str) and isinstance(target, str):
            return FiveTuple(ip_address(source), ip_address(target), protocol, source_port, target_port)
    return None
