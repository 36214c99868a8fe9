"""Proves tables before they are on switches: every kind of traffic under every failure, on the model network.

The interpreter is deterministic and a walk reports all state it depends on. Traffic whose way depends on nothing that a
failure changes therefore goes the same way after it, and is not walked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from kuijia_app.control.restoration import Restoration
from kuijia_app.proof.acceptance import refusals
from kuijia_app.proof.classes import ORDINARY, class_of, conversations
from kuijia_app.proof.equivalence import first_difference
from kuijia_app.proof.expectation import (
    DSCP_BITS,
    ECN_BITS,
    ExpectedTraffic,
    Path,
    class_name,
    expected_traffic,
    planned_paths,
    shares_due,
)
from kuijia_app.proof.header_values import values_told_apart, with_another
from kuijia_app.proof.model.network import ModelNetwork, Walk, arrives
from kuijia_app.proof.model.packet import Packet, VlanTag, with_tag
from kuijia_app.proof.model.switch import GroupStep
from kuijia_app.proof.walk_faults import Flow, faults, faults_after, faults_in_alarm
from kuijia_app.proof.walk_text import header_text, place, sent_text, slots_text, tag_texts, way_text
from kuijia_app.tables.identifiers import DROP_GROUP
from kuijia_app.tables.neighbours import with_known_hosts
from kuijia_app.tables.options import Form, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import LAST_VLAN_ID, Bucket, SwitchTables
from kuijia_app.tables.wiring import HostEnd
from te_solver.model.failures import NO_FAILURE, Failure
from te_solver.model.plan import Plan

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that does not hold.

    Attributes:
        rule: the promise: one of delivered, path, queue, header, loop, copy, ambiguous, choice, aboriginal, split,
            alarm, healed, session, acceptable, stray, class, decomposed.
        failure: by name, "none" for the network as planned.
        traffic: the kind of traffic; empty if the fault concerns no traffic in particular.
        slots: the hash slots concerned.
        problem: the observation, with switch, table and entry.
    """

    rule: str
    failure: str
    traffic: str
    slots: tuple[int, ...]
    problem: str

    def __str__(self) -> str:
        slots = f", {slots_text(self.slots)}" if self.slots else ""
        about = f"{self.traffic}{slots}: " if self.traffic else ""
        failed = "no failure" if self.failure == NO_FAILURE.name else f"{self.failure} down"
        return f"{self.rule}: {failed}: {about}{self.problem}"


@dataclass
class Verification:
    """Size of the proof, and the violations found.

    `header_classes` are direction x class x code point x ECN bits x slot, and control traffic; `cases` are these times
    the failures, plus once the network as planned, without traffic of failed sites; `walks` were interpreted hop by
    hop, and the other cases were shown to depend on nothing that the failure changes. Walks while every tunnel counts
    as dead come on top.
    """

    header_classes: int = 0
    failures: int = 0
    cases: int = 0
    walks: int = 0
    violations: list[Violation] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.violations


class Verifier:
    """Checks the tables of one plan."""

    def __init__(self, plan: Plan, tables: Mapping[str, SwitchTables], options: PipelineOptions) -> None:
        wiring = options.wired(plan.topology)
        tables = with_known_hosts(tables, wiring)
        restoration = Restoration(wiring, options, (plan,))
        self._network = ModelNetwork(plan, tables, options.liveness, wiring, restoration=restoration)
        self._alarmed = ModelNetwork(plan, tables, options.liveness, wiring, alarmed=True)
        self._groups = {name: dict(self._network.switch(name).groups) for name in tables}
        self._unharmed = self._network.changed
        self._unharmed_alarmed = self._alarmed.changed
        self._dead_ports = self._network.dead_ports
        self._control = options.layout.control.queue_id
        self._slot_count = options.slot_count
        self._plan, self._tables, self._options = plan, tables, options
        self._told_apart = {
            name: values_told_apart(each.flows, *(end.port for end in wiring.host_ends(name)))
            for name, each in tables.items()
            if wiring.has_host(name)
        }
        self._traffic = tuple(expected_traffic(plan, options, self._told_apart))
        self._found = Verification()

    def run(self, failures: Iterable[Failure], progress: Progress | None = None) -> Verification:
        """Check the network as planned, then each failure alone, then that healing restores the former state.

        Raises:
            UnsoundError: a failure names a part that the topology lacks.
        """
        self._check_acceptance()
        self._check_decomposition()
        self._check_sessions()
        self._check_strays()
        self._check_classes()
        flows = [flow for traffic in self._traffic for flow in self._flows(traffic)]
        alarmed = [flow for traffic in self._traffic for flow in self._alarmed_flows(traffic)]
        self._found.header_classes = sum(len(flow.slots) for flow in flows)
        self._found.cases = self._found.header_classes
        for failure in failures:
            self._found.failures += 1
            if progress is not None:
                progress(
                    f"{self._found.failures:,} failures, {self._found.cases:,} cases, "
                    f"{len(self._found.violations):,} violations"
                )
            self._check_failure(failure, flows)
            self._check_alarm(failure, alarmed)
        return self._found

    def _check_acceptance(self) -> None:
        for name, tables in self._tables.items():
            for problem in refusals(tables):
                self._found.violations.append(Violation("acceptable", NO_FAILURE.name, "", (), f"{name}: {problem}"))

    def _check_decomposition(self) -> None:
        """Check that decomposed tables treat every packet like single ones, however a switch handles a table miss."""
        if self._options.form is Form.SINGLE:
            return
        single_tables = build_tables(self._plan, replace(self._options, form=Form.SINGLE))
        for name, single in with_known_hosts(single_tables, self._network.wiring).items():
            for misses_execute in (False, True):
                flows = (single.flows, self._tables[name].flows)
                found = first_difference(*flows, empty_groups={DROP_GROUP}, misses_execute=misses_execute)
                if found is not None:
                    ways = f"single tables send {sent_text(found.one)}, decomposed ones {sent_text(found.other)}"
                    problem = f"{name}: of {header_text(found.packet)}: {ways}"
                    self._found.violations.append(Violation("decomposed", NO_FAILURE.name, "", (), problem))
                    break

    def _check_strays(self) -> None:
        """Check that packets of hosts to addresses that get no traffic are dropped, and counted, at their ingress."""
        wiring = self._network.wiring
        targets: dict[str, list[str]] = {}
        for source, target in {(each.source, each.target) for each in self._traffic}:
            targets.setdefault(source, []).append(target)
        for source, told in self._told_apart.items():
            planned = [prefix for target in targets.get(source, ()) for prefix in wiring.prefixes(target)]
            tos = with_another(told.code_points, DSCP_BITS), with_another(told.ecn, ECN_BITS)
            outside = list(product(told.addresses_outside(planned), *tos))
            inside = list(product([each[0] for each in planned], *tos))
            sites = wiring.host_ends(source)
            strays = [self._network.host_packet(site, *values) for site, values in product(sites, outside)]
            strays += (
                replace(self._network.host_packet(site, *values), vlans=vlans)
                for site in sites
                for values, vlans in product(inside, _tags_of_nobody(site.port, sites))
            )
            for packet in strays:
                self._found.walks += 1
                walk = self._network.walk(source, packet)
                is_sent = walk.hops[0].forwarding.sent or walk.choices
                if is_sent or walk.hops[0].forwarding.is_miss:
                    tags = "".join(f", {tag}" for tag in tag_texts(packet)) if packet.vlans else ""
                    about = f"{source} -> {packet.destination}, dscp {packet.dscp}, ecn {packet.ecn}{tags}"
                    fault = "but not dropped" if is_sent else "dropped but not counted"
                    problem = f"traffic of no pair, {fault} at {place(walk.hops[0])}"
                    self._found.violations.append(Violation("stray", NO_FAILURE.name, about, (), problem))

    def _check_classes(self) -> None:
        """Check that an ingress leads every conversation into the groups of its class.

        Those are known from the traffic that stands for the class, whose way is checked under every failure.
        """
        layout, planned = self._options.layout, planned_paths(self._plan)
        split = [traffic for traffic in self._traffic if traffic.is_split] if layout.classifiers.are_used else []
        due = {(*_ends(each), each.name): self._groups_used(each) for each in split}
        talks = {name: conversations(layout, told.conversations) for name, told in self._told_apart.items()}
        for traffic in split:
            if traffic.conversation != ORDINARY:
                continue
            ends = traffic.source, traffic.target
            classes = [each for each in layout.classes if each.priority in planned[ends]]
            packet = entering_packet(self._network, traffic, 0)
            for talk in talks[traffic.source]:
                served = class_name(class_of(talk.of(packet), layout, classes))
                shown = replace(traffic, name=served, conversation=talk)
                used = self._groups_used(shown)
                if used != due.get((*_ends(traffic), served)):
                    problem = f"used groups {used or 'none'}, not those of its class, at {traffic.source}"
                    self._found.violations.append(Violation("class", NO_FAILURE.name, str(shown), (), problem))

    def _groups_used(self, traffic: ExpectedTraffic) -> tuple[int, ...]:
        self._found.walks += 1
        packet = entering_packet(self._network, traffic, 0)
        steps = self._network.switch(traffic.source).process(packet).steps
        return tuple(step.group.group_id for step in steps if isinstance(step, GroupStep))

    def _check_sessions(self) -> None:
        """Check that each BFD session gets through over exactly the links of its path, in the control queue."""
        for session in self._network.sessions:
            about = f"BFD session of {'-'.join(session.nodes)}"
            for far, walk in self._network.session_ways(session):
                problem: str | None = None
                if not arrives(walk, far, session):
                    last = walk.hops[-1]
                    tags = "".join(f" with {each}" for each in tag_texts(last.sent)) if last.sent else ""
                    problem = f"{last.forwarding.problem or walk.end.value}{tags} at {place(last)}"
                elif walk.nodes not in {session.nodes, session.nodes[::-1]} or set(walk.queues) != {self._control}:
                    problem = f"went {way_text(walk)}, expected queue {self._control} all along the path"
                if problem is not None:
                    self._found.violations.append(Violation("session", NO_FAILURE.name, about, (), problem))

    def _flows(self, traffic: ExpectedTraffic) -> Iterator[Flow]:
        """Yield the traffic by slots that the tables treat alike; checks each as planned, and the split of slots."""
        flows = []
        for slots, walk in self._walks(self._network, traffic):
            own = next((path for path in traffic.paths if path.nodes == walk.nodes), None)
            flow = Flow(traffic, slots, walk, own)
            self._report(NO_FAILURE, flow, faults(walk, traffic, traffic.paths, traffic.normal))
            self._report(NO_FAILURE, flow, self._faults_of_choice(walk, traffic))
            flows.append(flow)
        if traffic.is_split:
            self._check_split(NO_FAILURE, traffic, None, {flow.slots: flow.before for flow in flows})
        yield from flows

    def _alarmed_flows(self, traffic: ExpectedTraffic) -> Iterator[Flow]:
        """Yield the same while every tunnel counts as dead."""
        for slots, walk in self._walks(self._alarmed, traffic):
            flow = Flow(traffic, slots, walk, None)
            self._report_alarm(NO_FAILURE, flow, walk)
            yield flow

    def _walks(self, network: ModelNetwork, traffic: ExpectedTraffic) -> Iterator[tuple[tuple[int, ...], Walk]]:
        walks: dict[Bucket | int, Walk] = {}
        slots: dict[Bucket | int, list[int]] = {}
        first = self._walk(network, traffic, 0)
        for slot in range(self._slot_count if traffic.is_split else 1):
            key = self._alike(first, slot)
            if key not in walks:
                walks[key] = self._walk(network, traffic, slot)
            slots.setdefault(key, []).append(slot)
        for key, walk in walks.items():
            yield tuple(slots[key]), walk

    def _alike(self, first: Walk, slot: int) -> Bucket | int:
        """Return a key: slots with equal keys meet equal buckets in the one group that uses the slot."""
        if len(first.choices) != 1:
            return slot
        buckets = first.choices[0].group.buckets
        bucket = buckets[slot % len(buckets)]
        watches = bucket.watch_port is not None or bucket.watch_group is not None
        return slot if watches else bucket  # if it is dead, the bucket used instead depends on the slot

    def _check_failure(self, failure: Failure, flows: list[Flow]) -> None:
        self._network.fail(failure)
        changed = self._network.changed ^ self._unharmed
        moved: dict[tuple[ExpectedTraffic, Path], dict[tuple[int, ...], Walk]] = {}
        for flow in flows:
            traffic = flow.traffic
            if not {traffic.source, traffic.target}.isdisjoint(failure.nodes):
                continue
            self._found.cases += len(flow.slots)
            if changed.isdisjoint(flow.before.asked):
                continue
            alive = tuple(path for path in traffic.paths if path.survives(failure))
            for slots, walk in self._walks_after(flow):
                shown = Flow(traffic, slots, flow.before, flow.own)
                carried = self._network.carried.get((traffic.source, traffic.target))
                self._report(failure, shown, faults_after(walk, shown, alive, carried))
                self._report(failure, shown, self._faults_of_choice(walk, traffic))
                if flow.own is not None and flow.own not in alive and alive:
                    moved.setdefault((traffic, flow.own), {})[slots] = walk
        for (traffic, own), walks in moved.items():
            if traffic.is_split:
                self._check_split(failure, traffic, own, walks)
        self._heal(failure)

    def _walks_after(self, flow: Flow) -> Iterator[tuple[tuple[int, ...], Walk]]:
        """Yield the ways of a flow's slots: a common one, unless a group uses the slot that did not before."""
        walk = self._walk(self._network, flow.traffic, flow.slots[0])
        if walk.choices == flow.before.choices or len(flow.slots) == 1:
            yield flow.slots, walk
            return
        for slot in flow.slots:
            yield (slot,), self._walk(self._network, flow.traffic, slot)

    def _check_alarm(self, failure: Failure, flows: list[Flow]) -> None:
        """Check that traffic stops at no alarm: only first links decide while every tunnel counts as dead."""
        self._alarmed.fail(failure)
        changed = self._alarmed.changed ^ self._unharmed_alarmed
        for flow in flows:
            ends = {flow.traffic.source, flow.traffic.target}
            if ends.isdisjoint(failure.nodes) and not changed.isdisjoint(flow.before.asked):
                self._report_alarm(failure, flow, self._walk(self._alarmed, flow.traffic, flow.slots[0]))

    def _report_alarm(self, failure: Failure, flow: Flow, walk: Walk) -> None:
        for rule, problem in faults_in_alarm(walk, flow.traffic, failure):
            shown = f"while every tunnel counts as dead: {rule}: {problem}"
            self._report(failure, flow, [("alarm", shown)])

    def _faults_of_choice(self, walk: Walk, traffic: ExpectedTraffic) -> Iterator[tuple[str, str]]:
        """Yield faults unless only one group hashes, at the ingress, among as many buckets as there are slots.

        Only then do the slots followed stand for all values of the hash.
        """
        for number, choice in enumerate(walk.choices):
            if number or choice.switch != traffic.source or not traffic.is_split:
                yield "choice", f"group {choice.group.group_id} of {choice.switch} hashes: only the ingress may, once"
            elif len(choice.group.buckets) != self._slot_count:
                count = f"{len(choice.group.buckets)} buckets, expected {self._slot_count}"
                yield "choice", f"group {choice.group.group_id} of {choice.switch} has {count}"

    def _check_split(
        self, failure: Failure, traffic: ExpectedTraffic, own: Path | None, walks: Mapping[tuple[int, ...], Walk]
    ) -> None:
        """Check that the slots of all traffic (`own` None), or of a dead tunnel, are split as `shares_due` says."""
        slot_count = sum(map(len, walks))
        for nodes, due in shares_due(traffic.paths, own, failure).items():
            expected = slot_count * due.share
            have = sum(len(slots) for slots, walk in walks.items() if walk.nodes == nodes)
            if abs(have - expected) >= due.parts:
                what = "all slots" if own is None else f"the slots of {'-'.join(own.nodes)}"
                problem = f"{have} of the {slot_count} of {what} use {'-'.join(nodes)}, expected {expected:.1f}"
                self._found.violations.append(Violation("split", failure.name, str(traffic), (), problem))

    def _heal(self, failure: Failure) -> None:
        """Heal, and check that all state that ways depend on is as before the failure."""
        self._network.fail(NO_FAILURE)
        for name, groups in self._groups.items():
            present = self._network.switch(name).groups
            for group_id in sorted(groups.keys() | present.keys()):
                if groups.get(group_id) != present.get(group_id):
                    problem = f"after healing, group {group_id} of {name} differs from before"
                    self._found.violations.append(Violation("healed", failure.name, "", (), problem))
        for switch, port in sorted(self._network.dead_ports ^ self._dead_ports):
            problem = f"after healing, port {port} of {switch} differs from before"
            self._found.violations.append(Violation("healed", failure.name, "", (), problem))

    def _walk(self, network: ModelNetwork, traffic: ExpectedTraffic, slot: int) -> Walk:
        self._found.walks += 1
        return network.walk(traffic.source, entering_packet(network, traffic, slot))

    def _report(self, failure: Failure, flow: Flow, faults: Iterable[tuple[str, str]]) -> None:
        for rule, problem in faults:
            self._found.violations.append(Violation(rule, failure.name, str(flow.traffic), flow.slots, problem))


def entering_packet(network: ModelNetwork, traffic: ExpectedTraffic, slot: int) -> Packet:
    """Return a packet of this traffic as its host sends it to the ingress."""
    packet = network.host_packet(traffic.sender, traffic.address, traffic.code_point, traffic.ecn, slot=slot)
    return traffic.conversation.of(with_tag(packet, traffic.tag))


def _ends(traffic: ExpectedTraffic) -> tuple[object, ...]:
    """Return where packets enter, and their destination."""
    return traffic.source, traffic.sender, traffic.target, traffic.address


def _tags_of_nobody(port: int, sites: tuple[HostEnd, ...]) -> list[tuple[VlanTag, ...]]:
    """Return tags, or none, of packets on a trunk that belong to none of the sites there."""
    taken = {site.vlan for site in sites if port in site.ports}
    tagged = taken - {None}
    if not tagged:
        return []
    free = next(vlan for vlan in range(1, LAST_VLAN_ID + 1) if vlan not in tagged)
    return [(VlanTag(free, 0),), *([] if None in taken else [()])]
