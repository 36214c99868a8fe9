"""Cost of polling the tables and counters of a whole network once, in the process of the controller."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.install import all_pairs
from benchmarks.measure import processor_time
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_app.control.openflow import Messages
from kuijia_app.control.reconciliation import AddGroup, PutFlow
from kuijia_app.control.snapshot import Poll
from kuijia_app.control.table_polls import TablePolls
from kuijia_app.framework import seam
from kuijia_app.gate.answers import Answers
from kuijia_app.gate.frames import FIRST_POLL_XID, HEADER, MULTIPART_HEADER, VERSION, Frame, Kind, Multipart
from kuijia_app.tables.identifiers import COOKIE
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import FlowEntry, Group, SwitchTables

_PARSER: Any = import_module("os_ken.ofproto.ofproto_v1_3_parser")
_TIMES = 20
_GOAL_SHARE = 0.02
_MOST_ENTRIES = 100_000
_TYPES = {
    Poll.OWN_ENTRIES: Multipart.FLOW,
    Poll.GROUPS: Multipart.GROUP_DESC,
    Poll.GROUP_COUNTERS: 6,
    Poll.PORT_COUNTERS: 4,
    Poll.QUEUE_COUNTERS: 5,
}
"""Types of the multipart messages (OpenFlow 1.3.5, 7.3.5)."""


class _Connection:
    """What `Messages` needs of a framework's connection."""

    ofproto = seam.ofproto
    ofproto_parser = _PARSER


class _PolledSwitch:
    """Answers of a switch in bytes, and everything that takes them in, from the gate to the snapshot."""

    def __init__(self, tables: SwitchTables) -> None:
        self._messages = Messages(_Connection())
        self._tables = tables
        self._answers = Answers()
        self._asked: dict[Poll, int] = {}
        self._next = FIRST_POLL_XID
        self._polls = TablePolls("switch", self._messages, _MOST_ENTRIES, self._ask, lambda _: None)
        self._packets = 0

    def _ask(self, poll: Poll) -> int:
        self._next += 1
        self._asked[poll] = self._next
        header = HEADER.pack(VERSION, Kind.MULTIPART_REQUEST, HEADER.size + MULTIPART_HEADER.size, self._next)
        self._answers.asked(header + MULTIPART_HEADER.pack(_TYPES[poll], 0))
        return self._next

    def answers(self) -> dict[Poll, bytes]:
        """Return the bodies of all answers, with other counters each time."""
        self._packets += 1
        groups = self._tables.groups
        return {
            Poll.OWN_ENTRIES: b"".join(map(self._entry, self._tables.flows)),
            Poll.GROUPS: b"".join(map(self._group, groups)),
            Poll.GROUP_COUNTERS: b"".join(map(self._counters, groups)),
            Poll.PORT_COUNTERS: b"".join(struct.pack("!I4x13Q", port, *[self._packets] * 13) for port in range(1, 6)),
            Poll.QUEUE_COUNTERS: b"".join(struct.pack("!IIQQQQ", port, 1, 5, 6, 7, 0) for port in range(1, 16)),
        }

    def _entry(self, entry: FlowEntry) -> bytes:
        message = self._messages.change(PutFlow(entry))
        rest = bytearray()
        message.match.serialize(rest, 0)
        for instruction in message.instructions:
            instruction.serialize(rest, len(rest))
        head = (48 + len(rest), entry.table_id, 9, 9, entry.priority, 0, 0, 1, COOKIE, self._packets, 99)
        return struct.pack("!HBxIIHHHH4xQQQ", *head) + rest

    def _group(self, group: Group) -> bytes:
        message = self._messages.change(AddGroup(group))
        rest = bytearray()
        for bucket in message.buckets:
            bucket.serialize(rest, len(rest))
        return struct.pack("!HBxI", 8 + len(rest), message.type, group.group_id) + rest

    def _counters(self, group: Group) -> bytes:
        count = len(group.buckets)
        fixed = struct.pack("!H2xII4xQQII", 40 + 16 * count, group.group_id, 1, self._packets, 9, 1, 1)
        return fixed + struct.pack(f"!{2 * count}Q", *[self._packets] * (2 * count))

    def poll(self, answers: dict[Poll, bytes]) -> None:
        self._polls.begin(0.0, everything=False)
        for poll, body in answers.items():
            header = HEADER.pack(VERSION, Kind.MULTIPART_REPLY, 16, self._asked[poll])
            data = header + MULTIPART_HEADER.pack(_TYPES[poll], 0) + body
            answer = self._answers.polled(Frame(VERSION, Kind.MULTIPART_REPLY, self._asked[poll], data))
            assert answer is not None
            for _ in self._polls.taken(answer.xid, answer.bodies, lambda: 0.0):
                pass

    def parse(self, answers: dict[Poll, bytes]) -> None:
        """Read entries and groups as the framework does."""
        for poll, parser in (
            (Poll.OWN_ENTRIES, _PARSER.OFPFlowStats),
            (Poll.GROUPS, _PARSER.OFPGroupDescStats),
        ):
            body, start = answers[poll], 0
            while start < len(body):
                start += parser.parser(body, start).length


def _seconds(switches: Sequence[_PolledSwitch], way: Any, times: int) -> float:  # noqa: ANN401  # one of its methods
    answers = [[switch.answers() for switch in switches] for _ in range(times)]
    works = [partial(way, switch, its) for each in answers for switch, its in zip(switches, each, strict=True)]
    return processor_time(lambda: [work() for work in works]) / times


@benchmark("table-polls")
def table_polls(setting: BenchmarkSetting) -> Iterator[Comparison]:
    """Compare a poll of all tables, none of which has changed, with parsing the answers by the framework."""
    setting.progress.show("polling")
    tables = build_tables(all_pairs(3)).values()
    switches = [_PolledSwitch(each) for each in tables]
    first = _seconds(switches, _PolledSwitch.poll, 1)
    ours = _seconds(switches, _PolledSwitch.poll, _TIMES)
    peer = _seconds(switches, _PolledSwitch.parse, 1)
    detail = {
        "entries": sum(len(each.flows) for each in tables),
        "groups": sum(len(each.groups) for each in tables),
        "buckets": sum(len(group.buckets) for each in tables for group in each.groups),
        "ms of the first poll": round(1e3 * first, 1),
        "goals": [goal(f"at most {_GOAL_SHARE:.0%} of a processor at a poll a second", met=ours <= _GOAL_SHARE)],
    }
    yield Comparison(1e3 * ours, 1e3 * peer, "os-ken's parser", "ms of a processor", detail)
