"""A switch that does what it is told: keeps groups and entries from one connection to the next, and describes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from hedera.scheduling.messages import COUNTER_COOKIE
from kuijia_app.control.openflow_reading import read_flow, read_group
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.framework.seam import ofproto
from kuijia_app.tables.identifiers import COOKIE, path_id_of_liveness_group
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables
from tests.kuijia_app.control.applications import Application
from tests.kuijia_app.control.fake_switch import PARSER, FakeSwitch

FlowName = tuple[int, int, str]
"""Table, priority and match."""

_Error = tuple[int, int]
_FULL = (ofproto.OFPET_GROUP_MOD_FAILED, ofproto.OFPGMFC_OUT_OF_GROUPS)


@dataclass
class Box:
    """A switch between its connections.

    Attributes:
        name, datapath_id: as the network has them.
        ports: number to whether it is live.
        knows_bundles: whether it takes bundles (ONF EXT-230).
        is_full: it refuses new groups.
        counters: what it has counted for a scheduler; entries of a description.
        groups: the messages that added or changed them last.
        flows: likewise.
    """

    name: str
    datapath_id: int
    ports: dict[int, bool]
    knows_bundles: bool = True
    is_full: bool = False
    counters: list[Any] = field(default_factory=list)
    groups: dict[int, Any] = field(default_factory=dict)
    flows: dict[FlowName, Any] = field(default_factory=dict)

    def restart(self) -> None:
        """Lose all that it has been told."""
        self.groups.clear()
        self.flows.clear()

    def own_flows(self) -> list[Any]:
        """Return the entries that carry the cookie of tables."""
        return [each for each in self.flows.values() if each.cookie == COOKIE]

    def described(self) -> tuple[dict[int, Group | None], dict[FlowKey, FlowEntry | None]]:
        """Return its groups and entries as a controller reads them."""
        groups = {group_id: read_group(ofproto, each) for group_id, each in self.groups.items()}
        return groups, dict(read_flow(ofproto, each) for each in self.own_flows())

    def differs_from(self, tables: SwitchTables, told_dead: Collection[int] | None = ()) -> str:
        """Return in words how it differs from these tables, with the tunnels of these path ids held for dead.

        None does not ask which tunnels are held for dead.
        """
        groups, flows = self.described()
        wanted: dict[int, Group | None] = {}
        for group in tables.groups:
            path_id = path_id_of_liveness_group(group.group_id)
            wanted[group.group_id] = group
            if path_id is not None and told_dead is None:
                wanted[group.group_id] = groups.get(group.group_id, group)
            elif path_id is not None and told_dead is not None and path_id in told_dead:
                wanted[group.group_id] = Group(group.group_id, group.group_type, ())
        entries = {FlowKey.of(entry): entry for entry in tables.flows}
        found = [_difference("groups", groups, wanted), _difference("entries", flows, entries)]
        return "; ".join(filter(None, found))

    def apply(self, message: Any) -> _Error | None:  # noqa: ANN401  # a class of the untyped parser
        """Do what a message says; return the error if it cannot be done."""
        if isinstance(message, PARSER.OFPGroupMod):
            return self._apply_to_groups(message)
        return self._apply_to_flows(message)

    def _apply_to_groups(self, message: Any) -> _Error | None:  # noqa: ANN401
        failed = ofproto.OFPET_GROUP_MOD_FAILED
        is_there = message.group_id in self.groups
        if message.command == ofproto.OFPGC_DELETE:
            self.groups.pop(message.group_id, None)
            for name in [name for name, each in self.flows.items() if message.group_id in _groups_of(each)]:
                del self.flows[name]
            return None
        if message.command == ofproto.OFPGC_ADD and (is_there or self.is_full):
            return (failed, ofproto.OFPGMFC_GROUP_EXISTS) if is_there else _FULL
        if message.command == ofproto.OFPGC_MODIFY and not is_there:
            return failed, ofproto.OFPGMFC_UNKNOWN_GROUP
        self.groups[message.group_id] = message
        return None

    def _apply_to_flows(self, message: Any) -> _Error | None:  # noqa: ANN401
        name = message.table_id, message.priority, repr(sorted(message.match.items()))
        if message.command == ofproto.OFPFC_DELETE:
            for each in [each for each, entry in self.flows.items() if entry.cookie == message.cookie]:
                del self.flows[each]
        elif message.command == ofproto.OFPFC_DELETE_STRICT:
            if name in self.flows and self.flows[name].cookie == message.cookie:
                del self.flows[name]
        elif not self.groups.keys() >= set(_groups_of(message)):
            return ofproto.OFPET_BAD_ACTION, ofproto.OFPBAC_BAD_OUT_GROUP
        else:
            self.flows[name] = message
        return None


class ModelSwitch(FakeSwitch):
    """A connection of a box, on which messages are done when they are answered.

    `refused` is called with an error that the box had no reason to be full for.

    Attributes:
        is_described: it has described its ports.
        is_replaced: the box has another connection, and does nothing any more that it was told on this one.
        has_ended: the application knows that it has.
    """

    answered_at_once = 0

    def __init__(self, application: Application, box: Box, refused: Callable[[str], None]) -> None:
        super().__init__(application, box.datapath_id)
        self.box = box
        self.ports = box.ports
        self.is_described = False
        self.is_replaced = False
        self.has_ended = False
        self._refused = refused
        self._was_full = False
        self._bundles: dict[int, list[Any]] = {}

    @property
    def unanswered(self) -> int:
        return len(self.sent) - self._answered

    @property
    def open_bundles(self) -> Collection[int]:
        return self._bundles.keys()

    def send_msg(self, message: object) -> None:
        assert not self.has_ended, f"{message} is sent on a connection that has ended"
        assert not self.is_closed.is_set(), f"{message} is sent on a connection that was given up"
        super().send_msg(message)

    def _reply(self, message: Any) -> None:  # noqa: ANN401  # a class of the untyped parser
        match message:
            case PARSER.OFPGroupMod() | PARSER.OFPFlowMod() | PARSER.ONFBundleCtrlMsg() if self.is_replaced:
                pass
            case PARSER.OFPGroupMod() | PARSER.OFPFlowMod():
                self._answer_with(message, self.box.apply(message))
            case PARSER.OFPGroupDescStatsRequest():
                descriptions = list(self.box.groups.values())
                self._application.groups_described(self._event(xid=message.xid, body=descriptions, flags=0))
            case PARSER.OFPFlowStatsRequest():
                is_count = message.cookie == COUNTER_COOKIE
                body = list(self.box.counters) if is_count else self.box.own_flows()
                self._application.flows_described(self._event(xid=message.xid, body=body, flags=0))
            case PARSER.ONFBundleCtrlMsg() if self.box.knows_bundles:
                self._control_bundle(message)
            case PARSER.ONFBundleAddMsg():
                self._bundles.setdefault(message.bundle_id, []).append(message)
            case _:
                super()._reply(message)
                self.is_described = self.is_described or isinstance(message, PARSER.OFPPortDescStatsRequest)

    def _control_bundle(self, message: Any) -> None:  # noqa: ANN401
        if message.type == ofproto.ONF_BCT_OPEN_REQUEST:
            self._bundles[message.bundle_id] = []
            return
        added = self._bundles.pop(message.bundle_id)
        if message.type != ofproto.ONF_BCT_COMMIT_REQUEST:
            return
        before = copy(self.box.groups), copy(self.box.flows)
        for each in added:
            error = self.box.apply(each.message)
            if error is not None:
                self.box.groups, self.box.flows = before
                self._answer_with(each, error)
                return

    def _answer_with(self, message: Any, error: _Error | None) -> None:  # noqa: ANN401
        if error is None:
            return
        self._was_full = self._was_full or error == _FULL
        if not self._was_full:
            self._refused(f"{self.box.name} answers {message} with {error}")
        self.refuse(message, *error)


def _groups_of(message: Any) -> list[int]:  # noqa: ANN401
    instructions = [each for each in message.instructions if hasattr(each, "actions")]
    actions = (action for each in instructions for action in each.actions)
    return [action.group_id for action in actions if isinstance(action, PARSER.OFPActionGroup)]


def _difference(kind: str, has: Mapping[Any, object], wanted: Mapping[Any, object]) -> str:
    missing = [each for each in wanted if each not in has]
    other = [each for each in wanted if each in has and has[each] != wanted[each]]
    surplus = [each for each in has if each not in wanted]
    named = (("lacks", missing), ("has another of", other), ("has besides", surplus))
    return ", ".join(f"{words} {kind} {which}" for words, which in named if which)
