"""From a Plan to the tables of every switch: the single-table pipeline of the paper's section 4.2, as pure data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kuijia_app import identifiers
from kuijia_app.queues import PLAIN_LAYOUT, Queue, QueueLayout
from kuijia_app.routes import Direction, Route, directions
from kuijia_app.rules import (
    ETH_TYPE_IPV4,
    ETH_TYPE_MPLS,
    Action,
    Bucket,
    FlowEntry,
    Group,
    GroupType,
    Match,
    Output,
    PopLabel,
    PushLabel,
    SetQueue,
    SwitchTables,
    ToGroup,
)
from kuijia_app.slots import DEFAULT_SLOT_COUNT, cut_slots
from kuijia_app.wiring import Wiring
from te_solver.plan import FIRST_PATH_ID, LAST_PATH_ID, MAX_TUNNELS_PER_PAIR, Plan

DSCP_NETWORK_CONTROL = 48
"""CS6, the code point of network control traffic (RFC 4594 3.1)."""


class Scheme(Enum):
    """What happens to the traffic of a failed tunnel: both move it, only Kuijia demotes it."""

    KUIJIA = "kuijia"
    RESCALING = "rescaling"


@dataclass(frozen=True, slots=True)
class PipelineOptions:
    """What a plan leaves open: the scheme, the hash slots per pair, the queues of a port."""

    scheme: Scheme = Scheme.KUIJIA
    slot_count: int = DEFAULT_SLOT_COUNT
    layout: QueueLayout = PLAIN_LAYOUT


def build_tables(plan: Plan, options: PipelineOptions | None = None) -> dict[str, SwitchTables]:
    """The groups and flow entries of every switch of the plan's topology, keyed by switch.

    At the ingress a SELECT group of equal slots leads to one fast-failover group per (primary, backup), whose buckets
    watch one liveness group per tunnel. Every switch of a tunnel has an entry per queue: what carries the normal
    traffic class uses the normal queue, what carries the victim one the victim queue.

    Raises:
        ValueError: a label outside the usable range, more tunnels per pair than group ids allow, or what
            `directions` and `cut_slots` raise.
    """
    options = options or PipelineOptions()
    wiring = Wiring(plan.topology)
    groups: dict[str, list[Group]] = {switch: [] for switch in plan.topology.nodes}
    flows: dict[str, list[FlowEntry]] = {switch: [] for switch in plan.topology.nodes}
    for direction in directions(plan):
        _require_numbers_fit(direction)
        groups[direction.ingress].extend(_ingress_groups(direction, wiring, options))
        flows[direction.ingress].extend(_ingress_entries(direction, wiring))
        for route in direction.routes:
            for switch, entry in _tunnel_entries(route, wiring, options.layout):
                flows[switch].append(entry)
    return {switch: SwitchTables(tuple(groups[switch]), tuple(flows[switch])) for switch in plan.topology.nodes}


def liveness_group(label: int, first_port: int, *, alive: bool) -> Group:
    """The group that a tunnel's buckets watch: alive while the tunnel's first port is, dead once it is emptied."""
    buckets = (Bucket(actions=(), watch_port=first_port),) if alive else ()
    return Group(identifiers.liveness_group(label), GroupType.FAST_FAILOVER, buckets)


def _require_numbers_fit(direction: Direction) -> None:
    pair = f"{direction.ingress} to {direction.egress}"
    if not 1 <= len(direction.routes) <= MAX_TUNNELS_PER_PAIR:
        raise ValueError(f"{pair} has {len(direction.routes)} tunnels, expected 1 to {MAX_TUNNELS_PER_PAIR}")
    for route in direction.routes:
        if not FIRST_PATH_ID <= route.label <= LAST_PATH_ID:
            raise ValueError(
                f"{pair} has path id {route.label}, expected an MPLS label from {FIRST_PATH_ID} to {LAST_PATH_ID}"
            )


def _ingress_groups(direction: Direction, wiring: Wiring, options: PipelineOptions) -> Iterator[Group]:
    routes = direction.routes
    first_ports = [wiring.port(direction.ingress, route.next_hop) for route in routes]
    for route, port in zip(routes, first_ports, strict=True):
        yield liveness_group(route.label, port, alive=True)

    def bucket(position: int, queue: Queue) -> Bucket:
        label = routes[position].label
        actions = (
            PushLabel(label, queue.traffic_class),
            SetQueue(queue.queue_id),
            Output(first_ports[position]),
        )
        return Bucket(actions, watch_group=identifiers.liveness_group(label))

    layout = options.layout
    served = layout.classes[0]
    moved = served.victim if options.scheme is Scheme.KUIJIA else served.normal
    table = cut_slots([route.weight for route in routes], options.slot_count)
    for slot in sorted(set(table.slots), key=lambda slot: (slot.primary, _position(slot.backup))):
        order = _failover_order(slot.primary, slot.backup, routes)
        buckets = (
            bucket(slot.primary, served.normal),
            *(bucket(position, moved) for position in order),
        )
        yield Group(_failover_id(routes, slot.primary, slot.backup), GroupType.FAST_FAILOVER, buckets)
    slot_buckets = tuple(Bucket((ToGroup(_failover_id(routes, slot.primary, slot.backup)),)) for slot in table.slots)
    egress_id = wiring.datapath_id(direction.egress)
    yield Group(identifiers.split_group(egress_id), GroupType.SELECT, slot_buckets)

    by_length = sorted(range(len(routes)), key=lambda position: (len(routes[position].nodes), position))
    control_buckets = tuple(bucket(position, layout.control) for position in by_length)
    yield Group(identifiers.control_group(egress_id), GroupType.FAST_FAILOVER, control_buckets)


def _position(backup: int | None) -> int:
    return 0 if backup is None else backup


def _failover_id(routes: tuple[Route, ...], primary: int, backup: int | None) -> int:
    return identifiers.failover_group(routes[primary].label, primary if backup is None else backup)


def _failover_order(primary: int, backup: int | None, routes: tuple[Route, ...]) -> list[int]:
    """Where a slot's traffic goes when its primary is dead: the promised backup, then the rest by weight."""
    rest = [position for position in range(len(routes)) if position not in (primary, backup)]
    rest.sort(key=lambda position: (-routes[position].weight, position))
    return rest if backup is None else [backup, *rest]


def _ingress_entries(direction: Direction, wiring: Wiring) -> Iterator[FlowEntry]:
    host_port = wiring.host_port(direction.ingress)
    prefix = wiring.prefix(direction.egress)
    egress_id = wiring.datapath_id(direction.egress)
    yield FlowEntry(
        identifiers.DATA_PRIORITY,
        Match(in_port=host_port, eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix),
        (ToGroup(identifiers.split_group(egress_id)),),
    )
    yield FlowEntry(
        identifiers.CONTROL_PRIORITY,
        Match(in_port=host_port, eth_type=ETH_TYPE_IPV4, ipv4_dst=prefix, ip_dscp=DSCP_NETWORK_CONTROL),
        (ToGroup(identifiers.control_group(egress_id)),),
    )


def _tunnel_entries(route: Route, wiring: Wiring, layout: QueueLayout) -> Iterator[tuple[str, FlowEntry]]:
    """The entries of every switch after the ingress, one per queue: transit switches forward, the egress delivers."""
    for position in range(1, len(route.nodes)):
        switch, previous = route.nodes[position], route.nodes[position - 1]
        is_egress = position == len(route.nodes) - 1
        out_port = wiring.host_port(switch) if is_egress else wiring.port(switch, route.nodes[position + 1])
        for queue in layout.queues:
            forward: tuple[Action, ...] = (SetQueue(queue.queue_id), Output(out_port))
            actions = (PopLabel(), *forward) if is_egress else forward
            match = Match(
                in_port=wiring.port(switch, previous),
                eth_type=ETH_TYPE_MPLS,
                mpls_label=route.label,
                mpls_tc=queue.traffic_class,
            )
            yield switch, FlowEntry(identifiers.TUNNEL_PRIORITY, match, actions)
