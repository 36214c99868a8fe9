"""Builds OpenFlow 1.3 messages from rules: the only module that uses a library's message classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kuijia_app.control import openflow_reading as reading
from kuijia_app.control import poll_bodies
from kuijia_app.control.port_states import PortState
from kuijia_app.control.reconciliation import AddGroup, Change, DeleteFlow, DeleteGroup, FlowKey, ModifyGroup, PutFlow
from kuijia_app.control.snapshot import ForeignEntry, Poll, PortCounters, QueueCounters, Room
from kuijia_app.framework.switch_limits import SwitchFaultError
from kuijia_app.gate.answers import checked_entry
from kuijia_app.gate.frames import Multipart, RefusedError
from kuijia_app.tables.identifiers import (
    COMMON_COOKIE,
    COMMON_COOKIE_MASK,
    COOKIE,
    LINK_PROBE_COOKIE,
    LINK_PROBE_PRIORITY,
    NEIGHBOUR_COOKIE,
    NO_PRIORITY,
)
from kuijia_app.tables.rules import (
    ANY_VLAN,
    ETH_TYPE_MPLS,
    MEASURED,
    VLAN_PRESENT,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    LookUpAgain,
    LowerTtl,
    Match,
    Measure,
    Output,
    PopLabel,
    PopVlan,
    PushLabel,
    PushVlan,
    SetDscp,
    SetEcn,
    SetEthernet,
    SetQueue,
    TagAction,
    ToController,
    ToGroup,
    UnreportedEntry,
)

_ALL_BITS = 0xFFFFFFFFFFFFFFFF
_NICIRA = 0x2320
"""The experimenter of Open vSwitch's extensions (openflow/nicira-ext.h)."""

_WHOLE_COOKIE = 0xFFFF_FFFF_FFFF_FFFF
_COOKIE_BYTES = COOKIE.to_bytes(8, "big")
_HOST_COOKIE_BYTES = NEIGHBOUR_COOKIE.to_bytes(8, "big")


class Messages:
    """Builds messages for one connected switch.

    `datapath` is the connection object of either framework: both carry the protocol constants as `ofproto` and the
    message classes as `ofproto_parser`, which are the same for the two. Polls pass over the entries with the cookies
    `unwatched`; those with `own_cookies` belong to the application, too.
    """

    def __init__(self, datapath: Any, unwatched: Iterable[int] = (), own_cookies: Iterable[int] = ()) -> None:
        self._datapath = datapath
        self._unwatched = frozenset(cookie.to_bytes(8, "big") for cookie in unwatched)
        self._own_cookies = frozenset(cookie.to_bytes(8, "big") for cookie in own_cookies)
        self._ofproto = datapath.ofproto
        self._parser = datapath.ofproto_parser

    def change(self, change: Change) -> Any:
        """Return the message that makes one change to the switch's tables."""
        ofproto = self._ofproto
        match change:
            case AddGroup(group):
                return self._group_mod(ofproto.OFPGC_ADD, group)
            case ModifyGroup(group):
                return self._group_mod(ofproto.OFPGC_MODIFY, group)
            case DeleteGroup(group_id):
                return self._parser.OFPGroupMod(
                    self._datapath, ofproto.OFPGC_DELETE, ofproto.OFPGT_INDIRECT, group_id, []
                )
            case PutFlow(entry):
                return self._flow_mod(entry)
            case DeleteFlow(key):
                return self._delete_flow(key)

    def can_name(self, key: FlowKey) -> bool:
        """Return True if a message can name the entry with this key; a switch may describe entries that none can."""
        try:
            message = self._delete_flow(key)
            message.set_xid(0)
            message.serialize()
        except Exception:  # noqa: BLE001  # the parser raises whatever its encoders do
            return False
        return True

    def count_now(self) -> Any:
        """Return the message that brings a switch's counters up to date: the deletion of an entry that nobody has.

        Open vSwitch adds up what its datapath has counted whenever its tables may have changed, and else twice a second
        (`other_config:max-revalidator`).
        """
        return self._delete_flow(FlowKey(0, NO_PRIORITY, Match()))

    def barrier(self) -> Any:
        return self._parser.OFPBarrierRequest(self._datapath)

    def claim_role(self, generation: int) -> Any:
        """Return the request for the role of master, which alone may change anything (OpenFlow 1.3.5, 7.3.9)."""
        return self._parser.OFPRoleRequest(self._datapath, self._ofproto.OFPCR_ROLE_MASTER, generation)

    def ask_for_role(self) -> Any:
        """Return the request that changes no role; the reply has the greatest generation id that the switch has seen.

        As Open vSwitch does it; the specification leaves the generation id in the reply open.
        """
        return self._parser.OFPRoleRequest(self._datapath, self._ofproto.OFPCR_ROLE_NOCHANGE, 0)

    def claim_slave(self, generation: int) -> Any:
        """Return the request for the role of slave, which reads and is told of ports, but changes nothing."""
        return self._parser.OFPRoleRequest(self._datapath, self._ofproto.OFPCR_ROLE_SLAVE, generation)

    def reports_of_ports(self) -> Any:
        """Return the request for port reports as slave or master, and for packets and removed entries as master.

        Packets are those that entries send, and those whose TTL has ended.

        A switch keeps this over a change of the role (OpenFlow 1.3.5, 7.3.10).
        """
        ofproto = self._ofproto
        ports = 1 << ofproto.OFPPR_ADD | 1 << ofproto.OFPPR_DELETE | 1 << ofproto.OFPPR_MODIFY
        removals = 1 << ofproto.OFPRR_IDLE_TIMEOUT | 1 << ofproto.OFPRR_HARD_TIMEOUT
        removals |= 1 << ofproto.OFPRR_DELETE | 1 << ofproto.OFPRR_GROUP_DELETE
        packets = 1 << ofproto.OFPR_ACTION | 1 << ofproto.OFPR_INVALID_TTL
        return self._parser.OFPSetAsync(self._datapath, [packets, 0], [ports, ports], [removals, 0])

    def port_descriptions(self) -> Any:
        return self._parser.OFPPortDescStatsRequest(self._datapath, 0)

    def group_descriptions(self) -> Any:
        return self._parser.OFPGroupDescStatsRequest(self._datapath, 0)

    def own_flows(self) -> Any:
        """Return the request for the flow entries of all tables with our cookie."""
        return self._flows(COOKIE, _ALL_BITS)

    def poll(self, poll: Poll) -> Any:
        """Return a question of a poll."""
        ofproto = self._ofproto
        match poll:
            case Poll.OWN_ENTRIES:
                return self._flows(COOKIE, _WHOLE_COOKIE)
            case Poll.OUR_ENTRIES:
                return self._flows(COMMON_COOKIE, COMMON_COOKIE_MASK)
            case Poll.ALL_ENTRIES:
                return self._flows(0, 0)
            case Poll.GROUPS:
                return self.group_descriptions()
            case Poll.GROUP_COUNTERS:
                request, of_what = self._parser.OFPGroupStatsRequest, [ofproto.OFPG_ALL]
            case Poll.PORT_COUNTERS:
                request, of_what = self._parser.OFPPortStatsRequest, [ofproto.OFPP_ANY]
            case Poll.QUEUE_COUNTERS:
                request, of_what = self._parser.OFPQueueStatsRequest, [ofproto.OFPP_ANY, ofproto.OFPQ_ALL]
            case _:
                request, of_what = self._parser.OFPMeterConfigStatsRequest, [ofproto.OFPM_ALL]
        return request(self._datapath, 0, *of_what)

    def ask_for_room(self, room: Room) -> Any:
        """Return the question how many entries a table, or groups a switch, can hold."""
        if room is Room.OF_ENTRIES:
            return self._parser.OFPTableFeaturesStatsRequest(self._datapath, 0, [])
        return self._parser.OFPGroupFeaturesStatsRequest(self._datapath, 0)

    def room(self, room: Room, answer: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """Yield tables, or types of groups, with the most that fit; raises SwitchFaultError for a malformed answer."""
        return poll_bodies.table_sizes(answer) if room is Room.OF_ENTRIES else poll_bodies.group_sizes(answer)

    def polled_entries(self, answer: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
        found = poll_bodies.flow_entries(answer)
        if not self._unwatched:
            return found
        return (each for each in found if poll_bodies.cookie_of(each[0]) not in self._unwatched)

    def entry_shape(self, answer: Sequence[bytes]) -> poll_bodies.EntryShape:
        return poll_bodies.EntryShape(answer, _COOKIE_BYTES)

    def bucket_shape(self, answer: Sequence[bytes]) -> poll_bodies.BucketShape:
        return poll_bodies.BucketShape(answer)

    def is_of_application(self, entry: bytes) -> bool:
        return poll_bodies.cookie_of(entry) in self._own_cookies

    def is_for_hosts(self, entry: bytes) -> bool:
        """Return True for an entry of `put_neighbour`."""
        return poll_bodies.cookie_of(entry) == _HOST_COOKIE_BYTES

    def polled_host_entry(self, entry: bytes) -> tuple[FlowKey, tuple[FlowEntry, int | None] | None]:
        """Return key, entry and meter of one of those; raises SwitchFaultError if it is malformed."""
        return reading.read_metered(self._ofproto, self._statistics(entry))

    def is_own(self, entry: bytes) -> bool:
        return poll_bodies.cookie_of(entry) == _COOKIE_BYTES

    def polled_entry(self, entry: bytes) -> tuple[FlowKey, FlowEntry | None]:
        """Return key and entry of one of our entries; raises SwitchFaultError if it is malformed."""
        return reading.read_flow(self._ofproto, self._statistics(entry))

    def polled_foreign(self, entry: bytes) -> ForeignEntry:
        """Return an entry with another cookie; raises SwitchFaultError if it is malformed."""
        return reading.read_foreign(self._ofproto, self._statistics(entry))

    def polled_groups(self, answer: Sequence[bytes]) -> Iterator[bytes]:
        return poll_bodies.groups(answer)

    def polled_group(self, group: bytes) -> tuple[int, Group | None]:
        """Return id and rule of a group; raises SwitchFaultError if it is malformed."""
        description = self._parsed(Multipart.GROUP_DESC, group, self._parser.OFPGroupDescStats)
        return description.group_id, reading.read_group(self._ofproto, description)

    def polled_buckets(self, answer: Sequence[bytes]) -> Iterator[tuple[int, tuple[int, ...]]]:
        return poll_bodies.bucket_counters(answer)

    def polled_ports(self, answer: Sequence[bytes]) -> Iterator[tuple[int, PortCounters]]:
        return poll_bodies.port_counters(answer)

    def polled_queues(self, answer: Sequence[bytes]) -> Iterator[tuple[tuple[int, int], QueueCounters]]:
        return poll_bodies.queue_counters(answer)

    def polled_meters(self, answer: Sequence[bytes]) -> Iterator[tuple[int, tuple[int, int] | None]]:
        return poll_bodies.meters(answer)

    def _statistics(self, entry: bytes) -> Any:
        return self._parsed(Multipart.FLOW, poll_bodies.whole_entry(entry), self._parser.OFPFlowStats)

    def _parsed(self, kind: Multipart, entry: bytes, statistics: Any) -> Any:
        try:
            return statistics.parser(checked_entry(kind, entry), 0)
        except RefusedError as error:
            raise SwitchFaultError(f"its answer to a poll has {error.reason}") from error
        except Exception as error:
            raise SwitchFaultError(f"{type(error).__name__} on its answer to a poll in the framework") from error

    def _flows(self, cookie: int, mask: int) -> Any:
        ofproto = self._ofproto
        return self._parser.OFPFlowStatsRequest(
            self._datapath,
            table_id=ofproto.OFPTT_ALL,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            cookie=cookie,
            cookie_mask=mask,
        )

    def catch_probes(self, match: Match) -> Any:
        """Return the entry that sends frames with this match to us, whole; it belongs to no plan."""
        return self._catch(self._match(match), LINK_PROBE_COOKIE, LINK_PROBE_PRIORITY)

    def _catch(self, match: Any, cookie: int, priority: int, hard_timeout: int = 0) -> Any:
        parser, ofproto = self._parser, self._ofproto
        actions = [parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)]
        return parser.OFPFlowMod(
            self._datapath,
            cookie=cookie,
            command=ofproto.OFPFC_ADD,
            priority=priority,
            hard_timeout=hard_timeout,
            match=match,
            instructions=[parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)],
        )

    def put_neighbour(self, entry: FlowEntry, lifetime: int, meter: int | None) -> Any:
        """Return what adds or replaces an entry for hosts that are learned; it belongs to no plan.

        `lifetime` is in seconds, 0 for no end; `meter` limits the packets, None does not.
        """
        metered = [] if meter is None else [self._parser.OFPInstructionMeter(meter)]
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=NEIGHBOUR_COOKIE,
            table_id=entry.table_id,
            priority=entry.priority,
            hard_timeout=lifetime,
            match=self._match(entry.match),
            instructions=[*metered, *self._instructions(entry)],
        )

    def delete_neighbour(self, entry: FlowEntry) -> Any:
        """Return the deletion of such an entry."""
        return self._delete_flow(FlowKey.of(entry), NEIGHBOUR_COOKIE)

    def put_meter(self, number: int, rate: int, burst: int) -> tuple[Any, Any]:
        """Return what makes a meter drop packets beyond a rate, in packets a second (OpenFlow 1.3.5, 5.7).

        The switch refuses one of the two messages: the first if it has no such meter, the second if it has one.
        """
        parser, ofproto = self._parser, self._ofproto
        bands = [parser.OFPMeterBandDrop(rate, burst)]
        flags = ofproto.OFPMF_PKTPS | ofproto.OFPMF_BURST
        modify, add = (
            parser.OFPMeterMod(self._datapath, command, flags, number, bands)
            for command in (ofproto.OFPMC_MODIFY, ofproto.OFPMC_ADD)
        )
        return modify, add

    def send_frame(self, port: int, frame: bytes, queue_id: int | None = None) -> Any:
        """Return the message that sends a frame out of a port, by a queue if one is given."""
        parser, ofproto = self._parser, self._ofproto
        queue = [] if queue_id is None else [parser.OFPActionSetQueue(queue_id)]
        return parser.OFPPacketOut(
            datapath=self._datapath,
            buffer_id=ofproto.OFP_NO_BUFFER,
            in_port=ofproto.OFPP_CONTROLLER,
            actions=[*queue, parser.OFPActionOutput(port)],
            data=frame,
        )

    def open_bundle(self, bundle_id: int) -> Any:
        return self._bundle_control(bundle_id, self._ofproto.ONF_BCT_OPEN_REQUEST)

    def commit_bundle(self, bundle_id: int) -> Any:
        return self._bundle_control(bundle_id, self._ofproto.ONF_BCT_COMMIT_REQUEST)

    def discard_bundle(self, bundle_id: int) -> Any:
        return self._bundle_control(bundle_id, self._ofproto.ONF_BCT_DISCARD_REQUEST)

    def in_bundle(self, bundle_id: int, message: Any) -> Any:
        """Return the message that adds another to an open bundle (ONF EXT-230)."""
        return self._parser.ONFBundleAddMsg(self._datapath, bundle_id, self._bundle_flags, message, [])

    def port(self, description: Any) -> PortState:
        """Return the state of a described port."""
        return reading.port_state(self._ofproto, description)

    def group(self, description: Any) -> tuple[int, Group | None, bool] | None:
        """Return the id of a described group, our rule that it is (or None), and True if it has no buckets.

        Return None for an id that no group has: in a message it would mean all groups.
        """
        if description.group_id > self._ofproto.OFPG_MAX:
            return None
        return description.group_id, reading.read_group(self._ofproto, description), not description.buckets

    def own_flow(self, statistics: Any) -> tuple[FlowKey, FlowEntry | None] | None:
        """Return key and entry of a described flow entry, as `read_flow` does; None if it is not ours.

        An entry of an earlier version, whose removal the switch would not report, differs from all that are wanted.
        """
        if not reading.is_ours(statistics):
            return None
        key, entry = reading.read_flow(self._ofproto, statistics)
        if entry is None or reading.reports_removal(self._ofproto, statistics):
            return key, entry
        return key, UnreportedEntry.of(entry)

    def error_name(self, error: Any) -> str:
        return reading.error_name(self._ofproto, error)

    @property
    def _bundle_flags(self) -> int:
        flags: int = self._ofproto.ONF_BF_ATOMIC | self._ofproto.ONF_BF_ORDERED
        return flags

    def _bundle_control(self, bundle_id: int, kind: int) -> Any:
        return self._parser.ONFBundleCtrlMsg(self._datapath, bundle_id, kind, self._bundle_flags, [])

    def _delete_flow(self, key: FlowKey, cookie: int = COOKIE) -> Any:
        ofproto = self._ofproto
        match = self._match(key.match) if isinstance(key.match, Match) else self._parser.OFPMatch(**dict(key.match))
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=cookie,
            cookie_mask=_ALL_BITS,
            table_id=key.table_id,
            command=ofproto.OFPFC_DELETE_STRICT,
            priority=key.priority,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            match=match,
        )

    def _group_mod(self, command: int, group: Group) -> Any:
        buckets = [self._bucket(bucket, group.group_type) for bucket in group.buckets]
        return self._parser.OFPGroupMod(
            self._datapath, command, _group_types(self._ofproto)[group.group_type], group.group_id, buckets
        )

    def _bucket(self, bucket: Bucket, group_type: GroupType) -> Any:
        return self._parser.OFPBucket(
            # OpenFlow 1.3.5, 7.3.4.2: the weight is defined for SELECT groups only; all slots are equal.
            weight=1 if group_type is GroupType.SELECT else 0,
            watch_port=self._ofproto.OFPP_ANY if bucket.watch_port is None else bucket.watch_port,
            watch_group=self._ofproto.OFPG_ANY if bucket.watch_group is None else bucket.watch_group,
            actions=self._actions(bucket.actions),
        )

    def _flow_mod(self, entry: FlowEntry) -> Any:
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=COOKIE,
            table_id=entry.table_id,
            priority=entry.priority,
            flags=self._ofproto.OFPFF_SEND_FLOW_REM,
            match=self._match(entry.match),
            instructions=self._instructions(entry),
        )

    def _instructions(self, entry: FlowEntry) -> list[Any]:
        parser, ofproto = self._parser, self._ofproto
        instructions = []
        if entry.actions:
            actions = self._actions(entry.actions)
            instructions.append(parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions))
        if entry.written:
            written = self._actions(entry.written)
            instructions.append(parser.OFPInstructionActions(ofproto.OFPIT_WRITE_ACTIONS, written))
        if entry.goto_table is not None:
            instructions.append(parser.OFPInstructionGotoTable(entry.goto_table))
        return instructions

    def _match(self, match: Match) -> Any:
        fields: dict[str, Any] = {
            "in_port": match.in_port,
            "eth_type": match.eth_type,
            "ip_dscp": match.ip_dscp,
            "ip_ecn": match.ip_ecn,
            "mpls_label": match.mpls_label,
            "mpls_tc": match.mpls_tc,
            "mpls_bos": match.mpls_bos,
            "eth_dst": match.eth_dst,
            "vlan_vid": _vlan_field(match.vlan_vid),
            "vlan_pcp": match.vlan_pcp,
            "ip_proto": match.ip_proto,
            "tcp_src": match.tcp_src,
            "tcp_dst": match.tcp_dst,
            "udp_src": match.udp_src,
            "udp_dst": match.udp_dst,
            "metadata": match.metadata,
        }
        for name in ("ipv4_dst", "ipv6_dst", "ipv4_src", "ipv6_src"):
            prefix = getattr(match, name)
            if prefix is not None:
                fields[name] = (str(prefix.network_address), str(prefix.netmask))
        return self._parser.OFPMatch(**{name: value for name, value in fields.items() if value is not None})

    def _actions(self, actions: tuple[Action, ...]) -> list[Any]:
        return [message for action in actions for message in self._action(action)]

    def _action(self, action: Action) -> list[Any]:
        parser = self._parser
        match action:
            case SetDscp() | SetEcn() | SetEthernet():
                return [parser.OFPActionSetField(**{name: value}) for name, value in _fields(action).items()]
            case PushLabel() | PopLabel() | PushVlan() | PopVlan():
                return self._of_tag(action)
            case SetQueue() | ToGroup() | Output() | ToController() | LowerTtl():
                return [self._plain(action)]
            case Measure() | LookUpAgain():
                mark = [parser.OFPActionSetField(metadata=MEASURED)] if isinstance(action, Measure) else []
                return [*mark, parser.OFPActionExperimenterUnknown(_NICIRA, reading.extension(action))]

    def _of_tag(self, action: TagAction) -> list[Any]:
        parser = self._parser
        match action:
            case PushLabel(label, traffic_class):
                return [
                    parser.OFPActionPushMpls(ETH_TYPE_MPLS),
                    parser.OFPActionSetField(mpls_label=label),
                    parser.OFPActionSetField(mpls_tc=traffic_class),
                ]
            case PopLabel(eth_type):
                return [parser.OFPActionPopMpls(eth_type)]
            case PushVlan(vid, pcp, eth_type):
                return [
                    parser.OFPActionPushVlan(eth_type),
                    parser.OFPActionSetField(vlan_vid=VLAN_PRESENT | vid),
                    parser.OFPActionSetField(vlan_pcp=pcp),
                ]
            case PopVlan():
                return [parser.OFPActionPopVlan()]

    def _plain(self, action: SetQueue | ToGroup | Output | ToController | LowerTtl) -> Any:
        parser, ofproto = self._parser, self._ofproto
        match action:
            case SetQueue(queue_id):
                return parser.OFPActionSetQueue(queue_id)
            case ToGroup(group_id):
                return parser.OFPActionGroup(group_id)
            case Output(port):
                return parser.OFPActionOutput(port)
            case ToController():
                return parser.OFPActionOutput(ofproto.OFPP_CONTROLLER, ofproto.OFPCML_NO_BUFFER)
            case LowerTtl():
                return parser.OFPActionDecNwTtl()


def _vlan_field(vlan_id: int | None) -> int | tuple[int, int] | None:
    """Return OpenFlow's value of a VLAN id, with a mask if any will do (1.3.5, 7.2.3.7)."""
    if vlan_id == ANY_VLAN:
        return VLAN_PRESENT, VLAN_PRESENT
    return vlan_id and VLAN_PRESENT | vlan_id


def _group_types(ofproto: Any) -> dict[GroupType, int]:
    return {GroupType.SELECT: ofproto.OFPGT_SELECT, GroupType.FAST_FAILOVER: ofproto.OFPGT_FF}


def _fields(action: SetDscp | SetEcn | SetEthernet) -> dict[str, int | str]:
    match action:
        case SetDscp(dscp):
            return {"ip_dscp": dscp}
        case SetEcn(ecn):
            return {"ip_ecn": ecn}
        case SetEthernet(source, destination):
            return {"eth_src": source, "eth_dst": destination}
