"""Finds the faults of one walk through the model network: differences from the treatment due to its traffic; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kuijia_app.proof.expectation import ExpectedTraffic, Path, Treatment
from kuijia_app.proof.model.network import End, Hop, Walk
from kuijia_app.proof.model.packet import VlanTag
from kuijia_app.proof.walk_text import place, tag_texts, way_text
from kuijia_app.tables.rules import eth_type_of
from te_solver.model.failures import Failure


@dataclass(frozen=True, slots=True)
class Flow:
    """Slots of some traffic that tables do not distinguish, and their way while nothing fails."""

    traffic: ExpectedTraffic
    slots: tuple[int, ...]
    before: Walk
    own: Path | None


def faults_after(
    walk: Walk, flow: Flow, alive: tuple[Path, ...], carried: tuple[str, ...] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the faults of a way after a failure that leaves these tunnels alive.

    If it leaves none, the pair may be carried over a path, in the queue of victims.
    """
    traffic = flow.traffic
    if not alive and carried is not None:
        yield from faults(walk, traffic, (Path(carried, 1.0),), traffic.last)
        return
    if not alive:
        yield from _faults_anyway(walk)
        yield from _faults_of_queues(walk, traffic.last)
        if walk.end is End.LEFT:
            yield "path", f"left the network at {place(walk.hops[-1])} although no tunnel is alive"
        return
    if flow.own not in alive:
        yield from faults(walk, traffic, alive, traffic.moved)
        return
    if walk.nodes != flow.before.nodes or walk.queues != flow.before.queues or walk.end is not flow.before.end:
        problem = f"went {way_text(flow.before)} before and {way_text(walk)} after, its tunnel being alive"
        yield "aboriginal", problem
    yield from faults(walk, traffic, alive, traffic.normal)


def faults_in_alarm(walk: Walk, traffic: ExpectedTraffic, failure: Failure) -> Iterator[tuple[str, str]]:
    """Yield the faults of a way after a failure if every tunnel counts as dead, rightly or not.

    The first links alone decide: a packet must be sent into a tunnel whose first link is up, and arrive if no other
    link of it is down.
    """
    usable = tuple(path for path in traffic.paths if path.begins(failure))
    is_beyond = len(walk.nodes) > 1
    if walk.end is End.LOST and is_beyond and any(path.nodes[: len(walk.nodes)] == walk.nodes for path in usable):
        yield from _faults_anyway(walk)
        yield from _faults_of_queues(walk, traffic.last)
    elif usable:
        yield from faults(walk, traffic, usable, traffic.last)
    else:
        yield from faults_after(walk, Flow(traffic, (), walk, None), ())


def faults(walk: Walk, traffic: ExpectedTraffic, paths: tuple[Path, ...], due: Treatment) -> Iterator[tuple[str, str]]:
    """Yield the faults of a way that should follow one of these tunnels and get this treatment."""
    yield from _faults_anyway(walk)
    if walk.end is not End.LEFT:
        if walk.end in {End.DROPPED, End.LOST}:
            last = walk.hops[-1]
            yield "delivered", f"{last.forwarding.problem or 'sent into a dead link'} at {place(last)}"
        return
    if walk.nodes not in {path.nodes for path in paths} or walk.nodes[-1] != traffic.target:
        yield "path", f"took {'-'.join(walk.nodes)}, which is no live tunnel of the pair"
    elif not traffic.is_split and len(walk.nodes) > min(len(path.nodes) for path in paths):
        yield "path", f"took {'-'.join(walk.nodes)}, which is not the shortest live tunnel"
    yield from _faults_of_queues(walk, due)
    yield from _faults_of_delivery(walk.hops[-1], traffic, traffic.delivered_tos(due))


def _faults_anyway(walk: Walk) -> Iterator[tuple[str, str]]:
    """Yield the faults that no failure excuses."""
    for hop in walk.hops:
        if hop.forwarding.sent and hop.forwarding.problem is not None:
            yield "ambiguous", f"{hop.forwarding.problem} at {place(hop)}"
    if walk.end is End.LOOPED:
        yield "loop", f"loops for ever from {place(walk.hops[-1])}: {way_text(walk)}"
    if walk.end is End.COPIED:
        ports = ", ".join(str(port) for port, _ in walk.hops[-1].forwarding.sent)
        yield "copy", f"sent out of ports {ports} at {place(walk.hops[-1])}"


def _faults_of_queues(walk: Walk, due: Treatment) -> Iterator[tuple[str, str]]:
    for hop in walk.hops:
        if hop.sent is not None and hop.sent.queue != due.queue_id:
            name = "no queue" if hop.sent.queue is None else f"queue {hop.sent.queue}"
            yield "queue", f"in {name} instead of queue {due.queue_id} at {place(hop)}"


def _faults_of_delivery(last: Hop, traffic: ExpectedTraffic, tos: tuple[int, int]) -> Iterator[tuple[str, str]]:
    sent = last.sent
    assert sent is not None, "a packet that left was sent"
    port, vlan = traffic.receiver.port, traffic.receiver.vlan
    if (last.switch, last.out_port) != (traffic.target, port):
        yield "delivered", f"left by port {last.out_port} instead of port {port} at {place(last)}"
    own = (*([] if vlan is None else [VlanTag(vlan, 0)]), traffic.tag)
    due = tuple(filter(None, own))
    if due and sent.vlans[: len(due)] != due:
        yield "header", f"delivered without the tag of VLAN {due[0].vid} at {place(last)}"
    else:
        sent = replace(sent, vlans=sent.vlans[len(due) :])
    for tag in tag_texts(sent):
        yield "header", f"delivered with {tag} at {place(last)}"
    if not sent.labels and sent.eth_type != eth_type_of(traffic.address):
        yield "header", f"delivered as EtherType {sent.eth_type:#06x} at {place(last)}"
    if (sent.dscp, sent.ecn) != tos:
        dscp, ecn = tos
        problem = f"delivered with dscp {sent.dscp}, ecn {sent.ecn} instead of dscp {dscp}, ecn {ecn}"
        yield "header", f"{problem} at {place(last)}"
