"""Carries pairs without a live tunnel over the least-cost live path, until a tunnel lives again; pure.

The entries along the path come first. Once all its switches have acknowledged theirs, the last-resort groups of the
ingress (`kuijia_app.tables.identifiers.last_resort_group`) get a bucket in front that sends over it. While a tunnel is
alive, nothing reaches these groups, so they are taken back unnoticed, and the entries after packets have drained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from operator import is_
from typing import Protocol

from kuijia_app.control.liveness import Edge, Ends
from kuijia_app.control.reconciliation import FlowKey, IndexedTables, KnownTables
from kuijia_app.control.rollout import DEFAULT_DRAIN
from kuijia_app.control.sender import Name
from kuijia_app.tables.destination_trees import Bound, DefaultEntries, DestinationTrees, NextHops, Path, path_along
from kuijia_app.tables.identifiers import TUNNEL_PRIORITY, egress_of_last_resort, last_resort_groups
from kuijia_app.tables.options import Liveness, OtherTraffic, PipelineOptions
from kuijia_app.tables.other_traffic import others_by_edge
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.routes import directions
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, Match, Output, SetQueue
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan

HOLD = 1.0
"""Seconds for which a pair must have had a live tunnel before it is taken off its path."""

BFD_HOLD = 5.0
"""The same with BFD, whose sessions come up to 3 s later than the ports that the controller sees."""

FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
"""Seconds for which a switch that has refused an entry is left as it is: at first, doubled each time, and at most. One
that has refused none for as long as its last pause begins with the first again."""

MOST_AT_ONCE = 100
"""Pairs about which one call decides; others have their turn at the next."""

_ANY_PORT = 1

Entries = dict[FlowKey, FlowEntry]


class Programmed(Protocol):
    """A connected switch."""

    @property
    def is_ready(self) -> bool:
        """True while it may be changed."""

    def is_settled(self, name: Name) -> bool:
        """Return True once it has acknowledged what is wanted of a group or an entry."""


@dataclass(frozen=True)
class Situation:
    """What is known of failures.

    Attributes:
        stranded: pairs without a tunnel to trust, planned or not.
        dead: links that are down.
        doubted: links that are up, but flap or lose packets.
        is_complete: every switch has described its ports since the controller began.
    """

    stranded: frozenset[Ends]
    dead: frozenset[Edge]
    doubted: frozenset[Edge]
    is_complete: bool


@dataclass(frozen=True)
class Layer:
    """Additions to the tables of a switch: entries, and groups instead of its own (None: its own again)."""

    entries: Mapping[FlowKey, FlowEntry]
    groups: Mapping[int, Group | None]

    def over(self, tables: IndexedTables) -> IndexedTables:
        """Return the tables of a switch with this layer on top."""
        instead = {group_id: group for group_id, group in self.groups.items() if group is not None}
        return IndexedTables.from_index({**tables.group_of, **instead}, {**tables.entry_of, **self.entries})


class RestorationState(Enum):
    """State of a pair without a tunnel to trust; the values are words of events."""

    CARRIED = "carried"
    CUT_OFF = "cut-off"
    UNTAGGED = "untagged"
    ENDED = "ended"


@dataclass(frozen=True)
class News:
    """Change of a pair: now carried over a path, cut off from its egress, without a tag for it, or none of these."""

    ends: Ends
    state: RestorationState
    path: Path = ()


@dataclass
class _Aim:
    """What is wanted for one egress.

    Attributes:
        basis: number of the state of affairs that it follows from.
        cut_off: the stranded ingresses that no live path connects.
        paths: for each other one with switches that may be changed, its path.
        hops: for each of them, switches from the second one to the egress with their entries.
        entries: the same for each switch.
    """

    basis: int = 0
    cut_off: set[str] = field(default_factory=set)
    paths: dict[str, Path] = field(default_factory=dict)
    hops: dict[str, list[tuple[str, Entries]]] = field(default_factory=dict)
    entries: dict[str, Entries] = field(default_factory=dict)


@dataclass
class _View:
    """What switches have acknowledged, while further changes are decided on.

    Attributes:
        fresh: groups and entries of switches that are changed now, which nobody has told these yet.
    """

    situation: Situation
    now: float
    switches: Mapping[str, Programmed]
    ready: frozenset[str]
    wanted: Callable[[str], IndexedTables]
    wiring: Wiring
    fresh: set[tuple[str, Name]] = field(default_factory=set)

    def is_settled(self, switch: str, name: Name) -> bool:
        """Return True once a switch has acknowledged a group or an entry; one that is away has what it had."""
        if (switch, name) in self.fresh:
            return False
        return switch not in self.ready or self.switches[switch].is_settled(name)

    def are_groups_settled(self, ends: Ends) -> bool:
        """Return True once an ingress has acknowledged the last-resort groups of a pair."""
        return ends[0] in self.ready and all(self.is_settled(ends[0], each) for each in self._groups(ends))

    def groups_changed(self, ends: Ends) -> None:
        self.fresh.update((ends[0], each) for each in self._groups(ends))

    def _groups(self, ends: Ends) -> list[int]:
        groups = self.wanted(ends[0]).group_of
        return [each for each in last_resort_groups(self.wiring.number(ends[1])) if each in groups]


class Restoration:
    """The pairs that no tunnel carries, their paths, and the entries and groups for them.

    No packet loops while paths change: an entry that exists changes only after all entries after it on the new path,
    and one that is no longer on any path stays as it is until it is deleted. A switch that is away forwards as it did,
    so new paths use it as it is or not at all. What an earlier controller has left (`found`) is kept until every switch
    has described its ports. Flapping and lossy links are used only where nothing else connects.

    Attributes:
        carried: the paths of the pairs that are carried now.
        cut_off: the pairs that nothing carries, as no link connects them or no tag is left, by the last `news`.
    """

    def __init__(self, wiring: Wiring, options: PipelineOptions, plans: Iterable[Plan]) -> None:
        self._wiring = wiring
        self._options = options
        layout = options.layout
        self._queues = tuple(dict.fromkeys([*(each.victim for each in layout.classes), layout.control]))
        self._queue_of = {queue.queue_id: queue for queue in self._queues}
        self._others: Mapping[Edge, frozenset[Ends]] = {}
        if options.other_traffic is OtherTraffic.FORWARD:
            self._others = others_by_edge(wiring.topology, wiring)
        self._planned: frozenset[Ends] = frozenset()
        self._hold = BFD_HOLD if options.liveness is Liveness.BFD else HOLD
        self._plans: tuple[Plan, ...] = ()
        self._trees: DestinationTrees
        self._default: DefaultEntries
        self._egress_of: dict[tuple[int | None, int | None, int | None], str]
        self.follow(tuple(plans))
        self.carried: dict[Ends, Path] = {}
        self.cut_off: frozenset[Ends] = frozenset()
        self._entries: dict[str, dict[str, Entries]] = {}
        self._next_hop: dict[Ends, str] = {}
        self._leaving: set[Ends] = set()
        self._aims: defaultdict[str, _Aim] = defaultdict(_Aim)
        self._unneeded_since: dict[tuple[str, str | FlowKey], float] = {}
        self._told: dict[str, Layer] = {}
        self._told_above: dict[str, IndexedTables] = {}
        self._refused: dict[str, tuple[float, float]] = {}
        self._seen: tuple[object, ...] = ()
        self._basis = 0
        self._pending: dict[str, None] = {}
        self._altered: set[str] = set()
        self._stated: dict[Ends, tuple[RestorationState, Path]] = {}

    @property
    def is_idle(self) -> bool:
        """True if no switch has anything from here, and nothing is wanted."""
        return not (self._next_hop or self._entries or self._leaving or self._stated)

    @property
    def is_done(self) -> bool:
        """True if no change is left to be made, now or once a switch may be changed again."""
        return self.is_idle or not self._pending

    def others_stranded(self, failed: frozenset[Edge]) -> frozenset[Ends]:
        """Return the ends without a planned pair whose traffic is forwarded over one of these links."""
        over = [self._others[edge] for edge in failed if edge in self._others]
        return frozenset().union(*over) - self._planned

    def trusted(self, situation: Situation) -> frozenset[Ends]:
        """Return the pairs that are carried over links that are neither dead nor doubted."""
        bad = situation.dead | situation.doubted
        return frozenset(ends for ends, path in self.carried.items() if bad.isdisjoint(map(frozenset, pairwise(path))))

    def forget(self) -> None:
        """Forget all switches: another controller programs them, or they will be read again."""
        for each in (self.carried, self._entries, self._next_hop, self._aims, self._told, self._told_above):
            each.clear()
        self._stated.clear()
        self._refused.clear()
        self._altered.clear()
        self._unneeded_since.clear()
        self.cut_off = frozenset()
        self._leaving.clear()
        self._pending.clear()
        self._seen = ()

    def found(self, switch: str, tables: KnownTables) -> None:
        """Take in the tables of a switch that has been read, in the place of what it had here.

        Entries of paths in use stay wanted: one that has lost its tables gets them again with its own, unless it has
        refused some.
        """
        for ends in [ends for ends in self._next_hop if ends[0] == switch]:
            del self._next_hop[ends]
        self._leaving = {ends for ends in self._leaving if ends[0] != switch}
        in_use = {egress for _, egress in (*self._next_hop, *self._leaving)}
        kept = set() if switch in self._refused else in_use
        for egress in self._entries.keys() - kept:
            self._entries[egress].pop(switch, None)
            if not self._entries[egress]:
                del self._entries[egress]
        self._told.pop(switch, None)
        for key, entry in tables.flows.items():
            goal = self._egress_of_entry(switch, key, entry)
            if goal is not None and entry is not None:
                self._entries.setdefault(goal, {}).setdefault(switch, {})[key] = entry
        for group_id, group in tables.groups.items():
            found = self._next_hop_found(switch, group_id, group)
            if found is not None:
                self._next_hop[switch, found[0]] = found[1]
        self._seen = ()

    def refused(self, switch: str, now: float) -> None:
        """Take in that a switch has refused an entry."""
        until, before = self._refused.get(switch, (now, FIRST_PAUSE / 2))
        pause = FIRST_PAUSE if now - until > before else min(2 * before, LONGEST_PAUSE)
        self._refused[switch] = now + pause, pause

    def told_anew(self, switch: str, wanted: IndexedTables) -> Layer:
        """Return all that a switch which has just been read is to have beyond its wanted tables."""
        layer = self._told[switch] = self._layer(switch, wanted)
        self._told_above[switch] = wanted
        return layer

    def told(self, switch: str) -> Layer:
        """Return what a switch is to have beyond its wanted tables."""
        return self._told.get(switch, Layer({}, {}))

    def _layer(self, switch: str, wanted: IndexedTables) -> Layer:
        entries: Entries = {}
        for of_switches in self._entries.values():
            entries.update(of_switches.get(switch, {}))
        groups: dict[int, Group | None] = {}
        for (ingress, egress), next_hop in self._next_hop.items():
            if ingress == switch:
                groups.update(self._groups(ingress, egress, next_hop, wanted))
        return Layer(entries, groups)

    def update(
        self,
        situation: Situation,
        switches: Mapping[str, Programmed],
        wanted: Callable[[str], IndexedTables],
        now: float,
    ) -> dict[str, Layer]:
        """Return what has to be told to switches now: their layers, with None for groups that become theirs again.

        Args:
            situation: what is known of failures.
            switches: the connected ones.
            wanted: returns the tables that a switch is to have by the plans.
            now: seconds of any clock.
        """
        if self.is_idle and not situation.stranded:
            return {}
        refusing = {switch for switch, (until, _) in self._refused.items() if now < until}
        ready = frozenset(name for name, switch in switches.items() if switch.is_ready and name not in refusing)
        stranded: defaultdict[str, list[str]] = defaultdict(list)
        for ingress, egress in sorted(situation.stranded):
            stranded[egress].append(ingress)
        seen = (situation, ready, *map(id, self._plans))
        if seen != self._seen:
            self._seen = seen
            self._basis += 1
            egresses = (ends[1] for ends in (*self._next_hop, *self._leaving, *self._stated))
            concerned = {*stranded, *self._entries, *egresses} - self._pending.keys()
            self._pending.update(dict.fromkeys(sorted(concerned)))
        view = _View(situation, now, switches, ready, wanted, self._wiring)
        decided = 0
        for egress in list(self._pending):
            if decided >= MOST_AT_ONCE:
                break
            decided += 1 + len(stranded[egress])
            del self._pending[egress]
            self._aim(egress, stranded[egress], situation, ready)
            if not self._tend(egress, view):
                self._pending[egress] = None  # after the others
        return self._changes(view)

    def news(self, situation: Situation) -> Iterator[News]:
        """Yield what has changed for pairs since the last call."""
        stated: dict[Ends, tuple[RestorationState, Path]] = {
            ends: (RestorationState.CARRIED, path) for ends, path in self.carried.items()
        }
        for ends in sorted(situation.stranded - stated.keys()):
            aim = self._aims.get(ends[1])
            if not self._default.reaches(ends[1]):
                stated[ends] = RestorationState.UNTAGGED, ()
            elif aim is not None and ends[0] in aim.cut_off:
                stated[ends] = RestorationState.CUT_OFF, ()
            elif ends in self._stated:
                stated[ends] = self._stated[ends]  # on its way
        for ends, (state, path) in stated.items():
            if self._stated.get(ends) != (state, path):
                yield News(ends, state, path)
        for ends in self._stated.keys() - stated.keys():
            yield News(ends, RestorationState.ENDED)
        self._stated = stated
        self.cut_off = frozenset(ends for ends, (state, _) in stated.items() if state is not RestorationState.CARRIED)

    def follow(self, plans: tuple[Plan, ...]) -> None:
        """Use the tags that these plans leave, and the metric of the first, which is in force."""
        if len(plans) == len(self._plans) and all(map(is_, plans, self._plans)):
            return
        self._plans = plans
        self._trees = DestinationTrees.of_plan(plans[0])
        self._planned = frozenset(each.ends for each in directions(plans[0]))
        self._default = DefaultEntries.of_plans(plans, self._options, self._wiring)
        self._egress_of = {}
        for node in filter(self._default.reaches, self._wiring.topology.nodes):
            match = self._default.tags.match(_ANY_PORT, self._default.path_id(node), self._queues[0])
            self._egress_of[match.mpls_label, match.ip_dscp, match.vlan_vid] = node

    def _egress_of_entry(self, switch: str, key: FlowKey, entry: FlowEntry | None) -> str | None:
        """Return the egress of an entry that is one of a default path, None for any other."""
        match = key.match
        if entry is None or not isinstance(match, Match) or key.priority != TUNNEL_PRIORITY or match.in_port is None:
            return None
        egress = self._egress_of.get((match.mpls_label, match.ip_dscp, match.vlan_vid))
        before = self._wiring.neighbour_at(switch, match.in_port)
        out_port = next((action.port for action in entry.actions if isinstance(action, Output)), None)
        if egress is None or before is None or out_port is None:
            return None
        leads_on = out_port == self._host_port(egress) if switch == egress else self._leads_on(switch, out_port)
        is_known = entry in self._default.at(before, switch, out_port, egress, self._queues)
        return egress if leads_on and is_known else None

    def _leads_on(self, switch: str, port: int) -> bool:
        return self._wiring.neighbour_at(switch, port) is not None

    def _host_port(self, switch: str) -> int | None:
        return self._wiring.host_port(switch) if self._wiring.has_host(switch) else None

    def _next_hop_found(self, ingress: str, group_id: int, group: Group | None) -> tuple[str, str] | None:
        """Return egress and next hop if this is a last-resort group with a bucket of ours in front."""
        number = egress_of_last_resort(group_id)
        nodes = self._wiring.topology.nodes
        if group is None or not group.buckets or number is None or not 1 <= number <= len(nodes):
            return None
        egress, first = nodes[number - 1], group.buckets[0]
        next_hop = None if first.watch_port is None else self._wiring.neighbour_at(ingress, first.watch_port)
        if next_hop is None or not self._default.reaches(egress):
            return None
        is_ours = any(self._default.bucket(ingress, next_hop, egress, queue) == first for queue in self._queues)
        return (egress, next_hop) if is_ours else None

    def _groups(self, ingress: str, egress: str, next_hop: str, wanted: IndexedTables) -> Iterator[tuple[int, Group]]:
        """Yield the last-resort groups of a pair with a bucket in front for the default path."""
        for group_id in last_resort_groups(self._wiring.number(egress)):
            group = wanted.group_of.get(group_id)
            queue = None if group is None or not group.buckets else self._queue(group.buckets[0])
            if group is not None and queue is not None:
                bucket = self._default.bucket(ingress, next_hop, egress, queue)
                yield group_id, Group(group_id, group.group_type, (bucket, *group.buckets))

    def _queue(self, bucket: Bucket) -> Queue | None:
        ids = [action.queue_id for action in bucket.actions if isinstance(action, SetQueue)]
        return self._queue_of.get(ids[0]) if ids else None

    def _aim(self, egress: str, ingresses: Iterable[str], situation: Situation, ready: frozenset[str]) -> None:
        """Find the paths of the stranded ingresses of an egress, unless they are known."""
        if self._aims[egress].basis == self._basis:
            return
        self._aims[egress] = aim = _Aim(self._basis)
        next_hops: NextHops = {}
        dead = situation.dead - situation.doubted
        bound = {switch: self._bound(switch, egress) for switch in self._wiring.topology.nodes if switch not in ready}
        if self._default.reaches(egress):
            next_hops = self._trees.towards(egress, dead, situation.doubted, bound)
        reached = self._trees.towards(egress, dead) if bound or not next_hops else next_hops
        aim.cut_off = set(ingresses) - reached.keys()
        for ingress in ready.intersection(ingresses):
            path = path_along(next_hops, ingress, egress)
            if path is None:
                continue
            aim.paths[ingress] = path
            its: dict[str, Entries] = {}
            for switch, entry in self._default.along(path, self._queues):
                its.setdefault(switch, {})[FlowKey.of(entry)] = entry
            aim.hops[ingress] = list(its.items())
            for switch, entries in its.items():
                aim.entries.setdefault(switch, {}).update(entries)

    def _bound(self, switch: str, egress: str) -> Bound:
        """Return how a switch that is away forwards to an egress."""
        entries = self._entries.get(egress, {}).get(switch, {})
        by_port: defaultdict[int, list[int]] = defaultdict(list)
        for key, entry in entries.items():
            assert isinstance(key.match, Match)
            if key.match.in_port is not None:
                by_port[key.match.in_port] += [each.port for each in entry.actions if isinstance(each, Output)]
        out_ports = {port for ports in by_port.values() for port in ports}
        if len(out_ports) != 1:
            return Bound(None, frozenset())
        (out_port,) = out_ports
        before = {port: self._wiring.neighbour_at(switch, port) for port in by_port}
        upstream = (
            each
            for port, each in before.items()
            if each is not None
            and len(by_port[port]) == len([*self._default.at(each, switch, out_port, egress, self._queues)])
        )
        return Bound(self._wiring.neighbour_at(switch, out_port), frozenset(upstream))

    def _tend(self, egress: str, view: _View) -> bool:
        """Take the next steps for an egress; return True if nothing is left to be done."""
        aim = self._aims[egress]
        carries = [self._carry((ingress, egress), path, aim.hops[ingress], view) for ingress, path in aim.paths.items()]
        spare = [ends for ends in self._next_hop if ends[1] == egress and ends[0] not in aim.paths]
        for ends in spare:
            self._take_back(ends, view)
        is_left = {ends for ends in self._leaving if ends[1] == egress and view.are_groups_settled(ends)}
        is_steady = all(carries) and not spare and not any(ends[1] == egress for ends in self._leaving)
        self._leaving -= is_left
        return self._sweep(egress, aim, view, is_steady=is_steady)

    def _carry(self, ends: Ends, path: Path, hops: list[tuple[str, Entries]], view: _View) -> bool:
        """Bring a pair onto its path; return True once it is."""
        self._unneeded_since.pop(ends, None)
        self._leaving.discard(ends)
        if not self._lay(ends[1], hops, view):
            if self.carried.get(ends) != path:
                self.carried.pop(ends, None)
            return False
        if self._next_hop.get(ends) != path[1] and ends[0] in view.ready:
            self._next_hop[ends] = path[1]
            self._altered.add(ends[0])
            view.groups_changed(ends)
        if self._next_hop.get(ends) != path[1] or not view.are_groups_settled(ends):
            return False
        self.carried[ends] = path
        return True

    def _take_back(self, ends: Ends, view: _View) -> None:
        """Take a pair off its path once that is not needed."""
        if ends not in view.situation.stranded or not self._is_whole(ends, view.situation):
            self.carried.pop(ends, None)
        if view.are_groups_settled(ends) and self._is_due(ends, self._hold, view):
            del self._next_hop[ends]
            self._leaving.add(ends)
            self._altered.add(ends[0])
            view.groups_changed(ends)

    def _is_whole(self, ends: Ends, situation: Situation) -> bool:
        path = self.carried.get(ends, ())
        return situation.dead.isdisjoint(map(frozenset, pairwise(path)))

    def _lay(self, egress: str, hops: list[tuple[str, Entries]], view: _View) -> bool:
        """Put the entries of a path that may be put now, from its end on; return True once all are acknowledged."""
        is_laid = True
        for switch, its in reversed(hops):
            present = self._entries.setdefault(egress, {}).setdefault(switch, {})
            for key, entry in its.items():
                self._unneeded_since.pop((switch, key), None)
                has = present.get(key)
                if has != entry and switch in view.ready and (has is None or is_laid):
                    present[key] = entry
                    self._altered.add(switch)
                    view.fresh.add((switch, key))
            is_laid = is_laid and all(
                present.get(key) == entry and view.is_settled(switch, key) for key, entry in its.items()
            )
        return is_laid

    def _sweep(self, egress: str, aim: _Aim, view: _View, *, is_steady: bool) -> bool:
        """Delete entries that no path has needed for a while; return True if all is as it is to be."""
        of_switches = self._entries.get(egress, {})
        is_clean = True
        for switch, present in list(of_switches.items()):
            for key in [key for key in present if key not in aim.entries.get(switch, {})]:
                is_clean = False
                if not is_steady:
                    self._unneeded_since.pop((switch, key), None)
                elif switch in view.ready and self._is_due((switch, key), DEFAULT_DRAIN, view):
                    del present[key]
                    self._altered.add(switch)
            if not present:
                del of_switches[switch]
        if not of_switches:
            self._entries.pop(egress, None)
        return is_clean and is_steady

    def _is_due(self, name: tuple[str, str | FlowKey], seconds: float, view: _View) -> bool:
        """Return True, and forget it, once something has been unneeded for some time, known for certain."""
        if view.now - self._unneeded_since.setdefault(name, view.now) < seconds or not view.situation.is_complete:
            return False
        return self._unneeded_since.pop(name) is not None

    def _changes(self, view: _View) -> dict[str, Layer]:
        """Return the layers of ready switches that are to be told."""
        moved = {ends[0] for ends in self._next_hop if view.wanted(ends[0]) is not self._told_above.get(ends[0])}
        changes: dict[str, Layer] = {}
        for switch in sorted((self._altered | moved) & view.ready):
            before = self.told(switch)
            layer = self.told_anew(switch, view.wanted(switch))
            self._altered.discard(switch)
            if layer != before:
                back = dict.fromkeys(before.groups.keys() - layer.groups.keys())
                changes[switch] = Layer(layer.entries, {**layer.groups, **back})
        return changes


class _Obedient:
    """A switch that acknowledges everything at once."""

    is_ready = True

    def is_settled(self, name: Name) -> bool:  # noqa: ARG002  # as `Programmed`
        return True


def carried_at_once(
    restoration: Restoration, situation: Situation, switches: Iterable[str], wanted: Callable[[str], IndexedTables]
) -> dict[str, Layer]:
    """Return the layers that switches without any get if they acknowledge everything at once."""
    restoration.forget()
    programmed = dict.fromkeys(switches, _Obedient())
    layers: dict[str, Layer] = {}
    while changes := restoration.update(situation, programmed, wanted, 0.0):
        layers.update(changes)
    return layers
