"""The plan's promises for each kind of traffic, derived from the plan alone and not from its tables.

Tables only determine which packets they distinguish, so that each of these is a kind of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from kuijia_app.proof.classes import ORDINARY, Conversation, class_of, conversations
from kuijia_app.proof.header_values import HeaderValues, prefix_bounds, with_another
from kuijia_app.proof.model.packet import Packet, VlanTag
from kuijia_app.tables.families import Address
from kuijia_app.tables.options import PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import other_directions, served_as
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, Queue, QueueLayout, TrafficClass
from kuijia_app.tables.wiring import HostEnd, Wiring
from te_solver.model.failures import Failure
from te_solver.model.plan import FIRST_PATH_ID, PairPlan, Plan
from te_solver.schemes.failure_scheme import VICTIM

CODE_POINTS = 64
ECN_CODES = 4
DSCP_BITS, ECN_BITS = 6, 2


@dataclass(frozen=True, slots=True)
class Path:
    """A tunnel in one direction of traffic: its switches and its share of the slots."""

    nodes: tuple[str, ...]
    weight: float

    def survives(self, failure: Failure) -> bool:
        hops = zip(self.nodes, self.nodes[1:], strict=False)
        lost = {frozenset(edge) for edge in failure.edges}
        return lost.isdisjoint(map(frozenset, hops)) and set(failure.nodes).isdisjoint(self.nodes)

    def begins(self, failure: Failure) -> bool:
        """Return True if the first link, which the ingress sees by itself, is up after a failure."""
        return Path(self.nodes[:2], self.weight).survives(failure)


@dataclass(frozen=True, slots=True)
class Treatment:
    """The queue at every hop, and the DSCP value at the target's host; None: as sent."""

    queue_id: int
    code_point: int | None


@dataclass(frozen=True, slots=True)
class ExpectedTraffic:
    """The packets of one class, or all control packets, from one site to another.

    Attributes:
        source: switch where they enter.
        target: switch of their target host.
        name: of the class, for people.
        address: their destination: the host's, or another one of its site that the ingress treats separately.
        is_for_host: True if that is the host's.
        code_point: DSCP value of its packets; all values that the ingress must treat alike are listed separately, each
            as its own kind of traffic.
        ecn: the two ECN bits, listed separately where tags are written there.
        paths: the tunnels, in the plan's order.
        is_split: True if it is hashed over the tunnels; control traffic takes the shortest alive one.
        normal: treatment on its own tunnel.
        moved: treatment on another one.
        last: treatment while no tunnel is alive, should a packet be sent all the same.
        sender, receiver: the sites at source and target.
        conversation: their source, protocol and ports.
        tag: VLAN tag of their hosts' own, with which they arrive and leave.
    """

    source: str
    target: str
    name: str
    address: Address
    is_for_host: bool
    code_point: int
    ecn: int
    paths: tuple[Path, ...]
    is_split: bool
    normal: Treatment
    moved: Treatment
    last: Treatment
    sender: HostEnd = field(hash=False)
    receiver: HostEnd = field(hash=False)
    conversation: Conversation = ORDINARY
    tag: VlanTag | None = None

    def __str__(self) -> str:
        ecn = f", ecn {self.ecn}" if self.ecn else ""
        address = "" if self.is_for_host and self.address.version == 4 else f", to {self.address}"
        vlan_id = self.sender.vlan if self.tag is None else self.tag.vid
        vlan = "" if vlan_id is None else f", vlan {vlan_id}"
        about = f"{self.name}, dscp {self.code_point}{ecn}{vlan}{address}{self.conversation}"
        return f"{self.source} -> {self.target}, {about}"

    def delivered_tos(self, treatment: Treatment) -> tuple[int, int]:
        """Return code point and ECN bits at the target's host: as sent where tags are labels."""
        return (self.code_point, self.ecn) if treatment.code_point is None else (treatment.code_point, 0)


def expected_traffic(
    plan: Plan, options: PipelineOptions, told_apart: Mapping[str, HeaderValues] | None = None
) -> Iterator[ExpectedTraffic]:
    """Yield all traffic that the plan promises to carry: both ways, every class, every code point that may matter.

    Where classifiers put packets with equal addresses and code points into several classes, one conversation stands for
    each.

    A class planned in one direction only gets the way back over the same links. Packets with a code point of no planned
    class belong to the least important planned class. Of the code points that no class of the layout names, one stands
    for all that the ingress does not distinguish; likewise one value stands for ECN bits that nothing reads or writes,
    and the host for its site.

    Args:
        plan: makes the promises.
        options: options of its tables.
        told_apart: by switch, the values that its tables distinguish in packets of its host.
    """
    layout, wiring = options.layout, options.wired(plan.topology)
    yield from _others(plan, options, wiring, told_apart or {})
    rules = layout.classifiers.rules
    named = {code_point for each in layout.classes for code_point in each.code_points}
    named |= {rule.dscp for rule in rules if rule.dscp is not None}
    bounds = prefix_bounds(rule.destination for rule in rules if rule.destination is not None)
    for (source, target), by_priority in planned_paths(plan).items():
        told = (told_apart or {}).get(source, HeaderValues())
        told = replace(told, bounds=told.bounds | bounds)
        talks = conversations(layout, told.conversations)
        classes = [each for each in layout.classes if each.priority in by_priority]
        code_points = with_another(named | told.code_points | {DSCP_NETWORK_CONTROL}, DSCP_BITS)
        every_ecn = range(ECN_CODES) if options.tagging is Tagging.DSCP_ECN else with_another(told.ecn, ECN_BITS)
        ends = _ends(wiring, source, target, told)
        for (sender, tag, receiver, address), ecn, code_point in product(ends, every_ecn, code_points):
            is_split = code_point != DSCP_NETWORK_CONTROL
            packet = Packet.between(sender.port, sender.source_for(address), address, code_point, ecn)
            by_class = _by_class(packet, layout, classes, talks) if is_split else {classes[0]: ORDINARY}
            for served, conversation in by_class.items():
                normal = served.normal if is_split else layout.control
                moved = served.victim if is_split and options.scheme.demotes(VICTIM) else normal
                yield ExpectedTraffic(
                    source,
                    target,
                    class_name(served) if is_split else "control",
                    address,
                    address in receiver.addresses,
                    code_point,
                    ecn,
                    by_priority[served.priority],
                    is_split,
                    _treatment(options, normal),
                    _treatment(options, moved),
                    _treatment(options, served.victim if is_split else normal),
                    sender,
                    receiver,
                    conversation,
                    tag,
                )


def class_name(served: TrafficClass) -> str:
    """Return the name of a class for people."""
    return f"class {served.priority}"


def _by_class(
    packet: Packet, layout: QueueLayout, planned: list[TrafficClass], talks: list[Conversation]
) -> dict[TrafficClass, Conversation]:
    """Return the classes of a host's packet in any conversation, each with the first one."""
    found: dict[TrafficClass, Conversation] = {}
    for talk in talks:
        found.setdefault(class_of(talk.of(packet), layout, planned), talk)
        if len(found) == len(planned):
            break
    return found


def _others(
    plan: Plan, options: PipelineOptions, wiring: Wiring, told_apart: Mapping[str, HeaderValues]
) -> Iterator[ExpectedTraffic]:
    """Yield the traffic of no pair that is forwarded: whatever its class, it is among the least important victims."""
    treatment = _treatment(options, served_as(options.layout).victim)
    for direction in other_directions(plan, options, wiring):
        told = told_apart.get(direction.ingress, HeaderValues())
        ends = _ends(wiring, direction.ingress, direction.egress, told)
        marks = with_another(told.ecn, ECN_BITS), with_another(told.code_points, DSCP_BITS)
        for (sender, tag, receiver, address), ecn, code_point in product(ends, *marks):
            yield ExpectedTraffic(
                direction.ingress,
                direction.egress,
                "of no pair",
                address,
                address in receiver.addresses,
                code_point,
                ecn,
                tuple(Path(route.nodes, route.weight) for route in direction.routes),
                is_split=False,
                normal=treatment,
                moved=treatment,
                last=treatment,
                sender=sender,
                receiver=receiver,
                tag=tag,
            )


def _ends(
    wiring: Wiring, source: str, target: str, told: HeaderValues
) -> Iterator[tuple[HostEnd, VlanTag | None, HostEnd, Address]]:
    """Yield sites of two switches, tags of their hosts, None for none, and an address of each range told apart.

    Packets with a tag are promised nothing where the egress has to look for the host: it may see no address behind two.
    """
    receivers = wiring.host_ends(target)
    is_found = len(receivers) == 1 and not receivers[0].gateways
    for sender, receiver in product(wiring.host_ends(source), receivers):
        tags = (None, VlanTag(FIRST_PATH_ID, 1)) if sender.tagged and is_found else (None,)
        addresses = (each for prefix in receiver.prefixes for each in told.addresses_in(prefix, receiver.addresses))
        for address, tag in product(addresses, tags):
            yield sender, tag, receiver, address


@dataclass(slots=True)
class DueShare:
    """A share of slots in a number of parts: each is a whole number of slots and may be off by less than one."""

    share: float = 0.0
    parts: int = 0


def shares_due(paths: tuple[Path, ...], own: Path | None, failure: Failure) -> dict[tuple[str, ...], DueShare]:
    """Return how alive ways share the slots of all tunnels (`own` None), or of the tunnels on this dead way.

    Each other tunnel is promised a share by its weight; a dead tunnel's promise goes as a whole to the heaviest alive
    tunnel, the first one among equals (docs/schemes.md).
    """
    alive = [position for position, path in enumerate(paths) if path.survives(failure)]
    heaviest = max(alive, key=lambda position: paths[position].weight)
    owners: list[int | None] = [None]
    if own is not None:
        owners = [position for position, path in enumerate(paths) if path.nodes == own.nodes]
    # For slots with one way but several owner tunnels, each owner's share is rounded, too.
    found = {paths[position].nodes: DueShare(parts=len(owners) - 1) for position in alive}
    of_owners = _by_weight([1.0 if owner is None else paths[owner].weight for owner in owners])
    for owner, owned in zip(owners, of_owners, strict=True):
        others = [position for position in range(len(paths)) if position != owner]
        promised = _by_weight([paths[position].weight for position in others])
        for position, share in zip(others, promised, strict=True):
            due = found[paths[position if position in alive else heaviest].nodes]
            due.share += owned * share
            due.parts += 1
    return found


def _by_weight(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [weight / total if total > 0 else 1 / len(weights) for weight in weights]


def planned_paths(plan: Plan) -> dict[tuple[str, str], dict[int, tuple[Path, ...]]]:
    """Return the paths by direction and priority."""
    found: dict[tuple[str, str], dict[int, tuple[Path, ...]]] = {}
    for pair in plan.pairs:
        found.setdefault((pair.source, pair.target), {})[pair.priority] = _paths(pair)
    for pair in plan.pairs:
        back = tuple(Path(path.nodes[::-1], path.weight) for path in _paths(pair))
        found.setdefault((pair.target, pair.source), {}).setdefault(pair.priority, back)
    return found


def _paths(pair: PairPlan) -> tuple[Path, ...]:
    return tuple(Path(tunnel.nodes, tunnel.weight) for tunnel in pair.tunnels)


def _treatment(options: PipelineOptions, queue: Queue) -> Treatment:
    return Treatment(queue.queue_id, _delivered(options.layout, queue) if options.tagging is Tagging.DSCP_ECN else None)


def _delivered(layout: QueueLayout, queue: Queue) -> int:
    """Return the code point of packets that leave a tunnel in this queue, where their own class is no longer known.

    It is that of the most important class that the queue serves, or of control traffic if it serves none.
    """
    served = next((each for each in layout.classes if queue in {each.normal, each.victim}), None)
    if served is None:
        return DSCP_NETWORK_CONTROL
    return served.code_points[0] if served.code_points else 0
