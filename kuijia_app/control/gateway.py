"""Is the gateway of sites over the connections of their switches; `kuijia_app.control.neighbours` decides."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Container, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from kuijia_app.control.findings import FindingKey, FindingKind, Findings, SwitchFinding
from kuijia_app.control.host_frames import tagged
from kuijia_app.control.neighbours import ASKED_EVERY, LIFETIME, PORT_BURST, PORT_RATE, LearnedHosts, NeighbourStep
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.roles import DENIALS
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.switch_connection import SwitchConnection
from kuijia_app.control.switch_messages import SwitchMessages
from kuijia_app.control.table_differences import Differing
from kuijia_app.tables.neighbours import Standing
from kuijia_app.tables.rules import FlowEntry, Match

_METER = "OFPET_METER_MOD_FAILED/"
_PASSING = _METER + "OFPMMFC_METER_EXISTS", _METER + "OFPMMFC_UNKNOWN_METER"
"""Errors of a meter that is ours already, or that somebody has deleted: with its entries it will be put again."""

_UNMEASURED = ("_BAD_EXPERIMENTER", "_BAD_EXP_TYPE", "OFPBAC_BAD_TYPE", "OFPBMC_BAD_FIELD", "OFPBAC_BAD_SET_TYPE")
"""The same for a switch that cannot find out the length of packets."""

_METERLESS = ("OFPBIC_UNSUP_INST", "OFPFMFC_UNKNOWN", "OFPFMFC_BAD_COMMAND", "OFPBRC_BAD_TYPE")
"""Ends of the names of errors by which a switch without meters refuses one, or an entry that uses it."""

PORTLESS = 60.0
"""Seconds for which a switch that lacks the port of a host is not watched for entries of hosts."""

_STEP, _PARSING = 200, 20
"""Known entries for which a step of a task has time, and how many of them take as long as reading or building one."""


class _Hashes:
    """A mapping of hashes to hashes that never changes, in a tenth of a dictionary's memory."""

    def __init__(self, pairs: Mapping[int, int]) -> None:
        self._names = array("q", sorted(pairs))
        self._values = array("q", map(pairs.__getitem__, self._names))

    def get(self, name: int) -> int | None:
        place = bisect_left(self._names, name)
        return self._values[place] if place < len(self._names) and self._names[place] == name else None


@dataclass
class _Seen:
    """Entries for hosts of one switch, as polls have shown them.

    Only hashes of keys and bytes are kept, as there may be ten thousand entries.

    Attributes:
        known: hash of the key of each entry that is as wanted, or that nobody wants, by that of its bytes.
        put_at: when an entry was put on the switch last, by the hash of its key; after the last poll that was judged.
        all_put_at: when all were; infinity while they are about to be.
        complete: number of entries when all were right; None if any was put or deleted since.
        packets: packets of each entry that refuses them.
        lost: entries that packets for their hosts have missed, since the last poll that was judged.
    """

    known: _Hashes = field(default_factory=lambda: _Hashes({}))
    put_at: dict[int, float] = field(default_factory=dict)
    all_put_at: float = math.inf
    complete: int | None = None
    packets: dict[int, int] = field(default_factory=dict)
    lost: dict[FlowKey, None] = field(default_factory=dict)

    def sorted_out(
        self, snapshot: Snapshot, messages: SwitchMessages, refusing: Container[int]
    ) -> Generator[None, None, tuple[dict[int, int], dict[int, tuple[int, int]]]]:
        """Return the known entries of a poll, hashes of their bytes by those of keys; and the others.

        These also have the hash of what was read: an entry with its meter, which takes a kilobyte.
        """
        present: dict[int, int] = {}
        others: dict[int, tuple[int, int]] = {}
        steps = 0
        for identity, packets in messages.polled_entries(snapshot.answer):
            steps += 1
            if messages.is_for_hosts(identity):
                key = self.known.get(hash(identity))
                if key is not None and key not in self.put_at:
                    present[key] = hash(identity)
                else:
                    its, found = messages.polled_host_entry(identity)
                    key = _named(its)
                    others[key] = hash(identity), hash(found)
                    steps += _PARSING
                if key in refusing:
                    self.packets[key] = packets
            if steps >= _STEP:
                steps = 0
                yield
        return present, others


class Gateway:
    """The gateway of all sites whose hosts one controller learns."""

    def __init__(
        self,
        neighbours: LearnedHosts,
        connections: Mapping[str, SwitchConnection],
        findings: Findings,
        clock: Callable[[], float],
        later: Callable[[Iterator[None]], None],
    ) -> None:
        """Begin with no host known.

        Args:
            neighbours: the sites and their hosts.
            connections: the present ones, by switch.
            findings: what is wrong now.
            clock: returns seconds of any clock that nobody sets.
            later: takes tasks of long work in short steps, and runs them in order as time permits.
        """
        self._neighbours = neighbours
        self._connections = connections
        self._findings = findings
        self._clock = clock
        self._later = later
        self._without_meters: set[str] = set()
        self._unmeasured: set[str] = set()
        self._trying: defaultdict[str, set[object]] = defaultdict(set)
        self._portless_at: dict[str, float] = {}
        self._seen: defaultdict[str, _Seen] = defaultdict(_Seen)

    def entries(self, switch: str) -> Generator[None, None, dict[FlowKey, FlowEntry]]:
        """Return, as a task in short steps, the entries for hosts that a switch is to have."""
        found = dict[FlowKey, FlowEntry]()
        for number, each in enumerate(self._wanted(switch)):
            found[FlowKey.of(each.entry)] = each.entry
            if number % _PARSING == _PARSING - 1:
                yield
        return found

    def _wanted(self, switch: str) -> Iterator[Standing]:
        """Yield the entries for hosts that a switch is to have, with their meters."""
        yield from self._standing(switch)
        yield from map(Standing, self._neighbours.entries(switch))

    def _standing(self, switch: str) -> Iterator[Standing]:
        """Yield those that stay."""
        for each in self._neighbours.standing(switch):
            if not (each.measures and switch in self._unmeasured):
                yield replace(each, meter=None) if switch in self._without_meters else each

    def is_watching(self, switch: str) -> bool:
        """Return True if a switch should have entries for hosts, and refuses none."""
        is_answered = FindingKey(FindingKind.HOSTS_UNANSWERED, switch) not in self._findings
        is_portless = self._clock() - self._portless_at.get(switch, -math.inf) < PORTLESS
        return is_answered and not is_portless and switch in self._neighbours.switches

    def compared(self, snapshot: Snapshot, messages: SwitchMessages) -> Generator[None, None, Differing]:
        """Return, as a task in short steps, which entries for hosts a switch lacks or has otherwise than it should.

        What was put on it after the poll began may be missing. Entries that nobody wants end by themselves.
        """
        seen, standing = self._seen[snapshot.switch], self._neighbours.standing(snapshot.switch)
        unlimited = self._changed_meters(snapshot)
        refusing = {_named(FlowKey.of(each.entry)) for each in standing if each.refuses}
        present, others = yield from seen.sorted_out(snapshot, messages, refusing)
        missing, changed = list(seen.lost), list[FlowKey]()
        seen.lost.clear()
        if not others and not unlimited and seen.complete == len(present):
            return Differing(tuple(missing))
        wrong = set[int]()
        for number, wanted in enumerate(self._wanted(snapshot.switch)):
            name = FlowKey.of(wanted.entry)
            key = _named(name)
            if number % _PARSING == _PARSING - 1:
                yield
            has_its_meter = wanted.meter not in unlimited
            is_right = key in present or (key in others and others[key][1] == hash((wanted.entry, wanted.meter)))
            if is_right and has_its_meter:
                continue
            wrong.add(key)
            if max(seen.all_put_at, seen.put_at.get(key, 0.0)) < snapshot.asked_at:
                (changed if key in others or key in present else missing).append(name)
        present |= {key: identity for key, (identity, _) in others.items() if key not in wrong}
        seen.known = _Hashes({identity: key for key, identity in present.items()})
        seen.put_at = {key: at for key, at in seen.put_at.items() if at >= snapshot.asked_at}
        seen.complete = None if wrong or seen.put_at else len(present)
        return Differing(tuple(missing), tuple(changed))

    def has_meters(self, switch: str) -> bool:
        """Return True if a switch is to limit by meters what its hosts send to the controller."""
        return self.is_watching(switch) and switch not in self._without_meters

    def _changed_meters(self, snapshot: Snapshot) -> set[int]:
        """Return the numbers of meters that limit packets to much more or less than ours; switches may round."""
        if snapshot.meters is None or snapshot.switch in self._without_meters:
            return set()
        found = {number: snapshot.meters.get(number) for number in self._neighbours.meters(snapshot.switch)}
        return {number for number, limits in found.items() if limits is None or not _is_about_ours(*limits)}

    def refused_packets(self, switch: str) -> Mapping[int, int]:
        """Return the packets of each entry, by a name of its own, for what nothing carries."""
        return self._seen[switch].packets

    def read(self, switch: str) -> None:
        """Put all that a switch lacks perhaps on it: it has just been read."""
        self._findings.gone(FindingKey(FindingKind.HOSTS_UNANSWERED, switch), self._clock())
        self._without_meters.discard(switch)
        self._unmeasured.discard(switch)
        self._trying[switch].clear()
        self.put_again(switch)

    def put_again(self, switch: str) -> None:
        """Put all entries for hosts on a switch, as somebody has deleted or changed some."""
        connection = self._connections.get(switch)
        if connection is None or switch not in self._neighbours.switches:
            return
        self._seen[switch].all_put_at = math.inf
        messages = connection.messages
        numbers = self._neighbours.meters(switch)
        meters = (messages.put_meter(number, int(PORT_RATE), int(PORT_BURST)) for number in numbers)
        connection.send_for_hosts(
            [messages.reports_of_ports(), *chain.from_iterable(meters)],
            lambda: self._later(self._putting_all(connection)),
        )

    def _putting_all(self, connection: SwitchConnection) -> Iterator[None]:
        """Put the entries on a switch, as a task in short steps, once it has answered whether it has meters."""
        self._put_standing(connection)
        for number, its in enumerate(self._neighbours.entries_of_hosts(connection.switch)):
            connection.send_for_hosts([connection.messages.put_neighbour(entry, LIFETIME, None) for entry in its])
            if number % _PARSING == _PARSING - 1:
                yield  # before the next host is looked at: it may move, or be gone, meanwhile
            if self._connections.get(connection.switch) is not connection:
                return
        seen = self._seen[connection.switch]
        seen.all_put_at, seen.complete = self._clock(), None

    def _put_standing(self, connection: SwitchConnection) -> None:
        """Put the entries that stay; once the switch has said what it thinks of them, those that measure packets."""
        messages, switch = connection.messages, connection.switch
        outdated = map(messages.delete_neighbour, self._neighbours.outdated(switch))
        standing = (each for each in self._standing(switch) if not each.measures)
        plain = (messages.put_neighbour(each.entry, 0, each.meter) for each in standing)
        connection.send_for_hosts([*outdated, *plain], lambda: self._put_measuring(connection))

    def _put_measuring(self, connection: SwitchConnection) -> None:
        """Put entries that measure packets, or delete those that a controller which measured has left."""
        switch, messages = connection.switch, connection.messages
        wanted = [each for each in self._standing(switch) if each.measures]
        changes = [messages.put_neighbour(each.entry, 0, each.meter) for each in wanted]
        changes += map(messages.delete_neighbour, self._neighbours.unmeasured(switch))
        if changes:
            seen, trying, this = self._seen[switch], self._trying[switch], object()
            seen.all_put_at, seen.complete = max(seen.all_put_at, self._clock()), None
            trying.add(this)
            connection.send_for_hosts(changes, lambda: trying.discard(this))

    def refused(self, switch: str, reason: str) -> str | None:
        """Take in that a switch refuses a message for its hosts; return what people should know but need not mend."""
        if reason in DENIALS or reason in _PASSING:
            return None  # another controller acts now
        if reason.endswith("OFPBAC_BAD_OUT_PORT"):
            self._portless_at[switch] = self._clock()  # the port has gone a moment ago
            return None
        connection = self._connections.get(switch)
        if connection is None or switch not in self._neighbours.switches:
            return None
        if reason.startswith(_METER) or reason.endswith(_METERLESS):
            if switch not in self._without_meters:
                self._without_meters.add(switch)
                self._put_standing(connection)
                seen = self._seen[switch]
                seen.all_put_at = max(seen.all_put_at, self._clock())
            return None
        if reason.endswith(_UNMEASURED) and self._trying[switch]:
            is_lost = any(each.measures for each in self._standing(switch))
            self._unmeasured.add(switch)
            return f"it measures no packets ({reason}): hosts do not hear of too large ones" if is_lost else None
        key = FindingKey(FindingKind.HOSTS_UNANSWERED, switch)
        self._findings.found(SwitchFinding(key, f"it refuses an entry for hosts: {reason}"), self._clock())
        return None

    def arrived(self, switch: str, port: int, frame: bytes) -> None:
        """Take in a frame that a switch has sent to the controller, whatever it is."""
        self._do(self._neighbours.arrived(switch, port, frame, self._clock()))

    def port_changed(self, switch: str, port: int, *, live: bool) -> None:
        """Take in that a port of the network went down or came up."""
        change = self._neighbours.port_came_up if live else self._neighbours.port_went_down
        change(switch, port, self._clock())

    def tend(self) -> None:
        """Ask and age who is due; call this at regular intervals while this controller acts."""
        self._do(self._neighbours.look(self._clock()))

    def forget(self) -> None:
        """Forget all hosts: another controller has acted."""
        self._neighbours.forget()
        self._seen.clear()

    def _do(self, step: NeighbourStep) -> None:
        """Put entries before frames are sent: the answer to a frame may come at once."""
        now = self._clock()
        for switch, entry in step.lost:
            if now - self._seen[switch].all_put_at >= ASKED_EVERY:
                self._seen[switch].lost[FlowKey.of(entry)] = None
        for switch, _ in step.deleted:
            self._seen[switch].complete = None
        for switch, entry in step.put:
            self._seen[switch].complete = None
            self._seen[switch].put_at[_named(FlowKey.of(entry))] = now
        concerned = dict.fromkeys([switch for switch, _ in (*step.deleted, *step.put)])
        for switch in {**concerned, **dict.fromkeys(each.switch for each in step.frames)}:
            connection = self._connections.get(switch)
            if connection is not None:
                connection.send_for_hosts(_messages(connection.messages, switch, step))


def _is_about_ours(rate: int, burst: int) -> bool:
    return PORT_RATE / 2 <= rate <= 2 * PORT_RATE and PORT_BURST / 2 <= burst <= 2 * PORT_BURST


def _named(key: FlowKey) -> int:
    """Return a hash of a key that no choice of addresses makes equal to another one's.

    That of an address itself is its number modulo a prime: a host could choose two that are equal.
    """
    match = key.match
    if not isinstance(match, Match):
        return hash((key.table_id, key.priority, str(match)))
    prefix = match.destination
    packed = None if prefix is None else (prefix.network_address.packed, prefix.prefixlen)
    rest = replace(match, ipv4_dst=None, ipv6_dst=None)
    return hash((key.table_id, key.priority, packed, rest))


def _messages(messages: SwitchMessages, switch: str, step: NeighbourStep) -> Iterator[Any]:
    for its, entry in step.deleted:
        if its == switch:
            yield messages.delete_neighbour(entry)
    for its, entry in step.put:
        if its == switch:
            yield messages.put_neighbour(entry, LIFETIME, None)
    for each in step.frames:
        if each.switch == switch:
            yield messages.send_frame(each.port, each.frame if each.vlan is None else tagged(each.frame, each.vlan))
