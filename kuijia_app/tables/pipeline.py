"""Converts a Plan into the tables of every switch (pipelines of the paper's sections 4.2 and 4.3), as pure data."""

from __future__ import annotations

from dataclasses import replace

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.classifier_tables import classifier_entries
from kuijia_app.tables.decomposition import decompose
from kuijia_app.tables.failover import liveness_group
from kuijia_app.tables.families import families_of
from kuijia_app.tables.identifiers import FIRST_BFD_PORT
from kuijia_app.tables.ingress import Ingress
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import OtherEntries
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.routes import RoutedPair, classes_by_ends, directions
from kuijia_app.tables.rules import FlowEntry, Group, GroupType, Match, SetQueue, SwitchTables, ToGroup
from kuijia_app.tables.tagging import Tags, last_path_id, paths_of, tags_of
from kuijia_app.tables.tunnel_entries import TunnelEntries, delivering_entries
from kuijia_app.tables.vlan_tags import MOST_DESTINATIONS
from kuijia_base.errors import UnsoundError, quoted
from te_solver.model.plan import FIRST_PATH_ID, MAX_TUNNELS_PER_PAIR, Plan
from te_solver.model.topology import Topology

__all__ = ["Form", "Liveness", "PipelineOptions", "Tagging", "build_tables", "liveness_group"]


def build_tables(plan: Plan, options: PipelineOptions | None = None) -> dict[str, SwitchTables]:
    """Return the groups and flow entries of every switch of the plan's topology, keyed by switch.

    At the ingress, one SELECT group of equal slots per class of traffic leads to one fast-failover group per (primary,
    backup). Every switch of a tunnel has an entry per queue, shared by the classes of a pair, as are their tunnels. In
    the decomposed form a second table selects the queue. Each host port has an entry for packets of no pair.

    Raises:
        UnsoundError: a label is out of range, a pair has more tunnels than group ids allow, the queue layout lacks a
            class of traffic, there are more tunnels than tags or ports for BFD, or other traffic has no tags.
        InputError: the wiring of the options is not that of the plan.
        ValueError: as `cut_slots` raises it.
    """
    options = options or PipelineOptions()
    wiring = options.wired(plan.topology)
    all_directions = directions(plan)
    wiring.require_hosts(end for direction in all_directions for end in direction.ends)
    _require_classes(plan, options.layout)
    _require_tags_for_others(options, plan.topology)
    for direction in all_directions:
        _require_numbers_fit(direction, last_path_id(options.liveness))
    sessions = None
    if options.liveness is Liveness.BFD:
        sessions = BfdSessions(plan)
        wiring.require_ports_up_to(FIRST_BFD_PORT - 1, "BFD sessions use it")
    tags = _tags(plan, options, sessions)
    groups: dict[str, list[Group]] = {switch: [] for switch in plan.topology.nodes}
    flows: dict[str, list[FlowEntry]] = {switch: [] for switch in plan.topology.nodes}
    by_ends = classes_by_ends(all_directions)
    families = families_of(prefix for _, egress in by_ends for prefix in wiring.prefixes(egress))
    for switch in dict.fromkeys(switch for switch, _ in by_ends):
        flows[switch].extend(classifier_entries(options.layout, families))
    for (switch, _), classes in by_ends.items():
        ingress = Ingress(classes, wiring, options, tags, sessions)
        groups[switch].extend(ingress.groups())
        flows[switch].extend(ingress.entries())
    along = TunnelEntries(wiring, options.layout, tags)
    routes = dict.fromkeys((route.path_id, route.nodes) for direction in all_directions for route in direction.routes)
    other = OtherEntries(plan, options, wiring, tags)
    for switch, entry in (
        *(each for path_id, nodes in routes for each in along.of_tunnel(path_id, nodes)),
        *(each for session in sessions or () for each in along.of_session(session)),
        *other.entries(),
    ):
        flows[switch].append(entry)
    for switch, group in other.groups():
        groups[switch].append(group)
    for switch, its in flows.items():
        its.extend(delivering_entries(wiring.host_ends(switch)))
    tables = {switch: SwitchTables(tuple(groups[switch]), tuple(flows[switch])) for switch in plan.topology.nodes}
    if options.form is Form.SINGLE:
        return tables
    return {switch: _decomposed(each, tags.queue_field) for switch, each in tables.items()}


def ingresses_of(plan: Plan, options: PipelineOptions) -> dict[tuple[str, str], Ingress]:
    """Return the ingress of each pair with traffic, by ingress and egress; `build_tables` must accept the plan."""
    sessions = BfdSessions(plan) if options.liveness is Liveness.BFD else None
    wiring, tags = options.wired(plan.topology), _tags(plan, options, sessions)
    by_ends = classes_by_ends(directions(plan))
    return {ends: Ingress(classes, wiring, options, tags, sessions) for ends, classes in by_ends.items()}


def _tags(plan: Plan, options: PipelineOptions, sessions: BfdSessions | None) -> Tags:
    return tags_of(options, plan.topology, paths_of([plan]), sessions or ())


def _decomposed(tables: SwitchTables, queue_field: str) -> SwitchTables:
    """Split off only the queue's tag, into tables with numbers that follow from their purpose, not from the plan.

    Open vSwitch executes the action set of a packet that misses in a later table, where OpenFlow drops it (1.3.5, 5.4);
    an entry for such packets adds a group without buckets to the set, which replaces the output.
    """
    chained = tuple(entry for entry in tables.flows if entry.goto_table is not None or entry.table_id)
    others = (entry for entry in tables.flows if entry.goto_table is None and not entry.table_id)
    split = _with_stable_tables(decompose(others, {queue_field}))
    flows = (*split, *chained)
    later = sorted({entry.table_id for entry in split} - {0})
    drop = (ToGroup(identifiers.DROP_GROUP),)
    misses = tuple(FlowEntry(identifiers.MISS_PRIORITY, Match(), table_id=table, written=drop) for table in later)
    no_buckets = (Group(identifiers.DROP_GROUP, GroupType.FAST_FAILOVER, ()),) if misses else ()
    return SwitchTables((*tables.groups, *no_buckets), (*flows, *misses))


def _with_stable_tables(flows: tuple[FlowEntry, ...]) -> tuple[FlowEntry, ...]:
    """Return the entries in tables that mean the same at every switch and in every plan, as plans share switches."""
    number: dict[int | None, int] = {0: 0}
    for table in {entry.table_id for entry in flows} - {0}:
        written = {type(action) for entry in flows if entry.table_id == table for action in entry.written}
        number[table] = identifiers.QUEUE_TABLE if written == {SetQueue} else identifiers.DELIVERY_TABLE
    sources = {(number[entry.table_id], entry.match.eth_type, entry.table_id) for entry in flows if entry.table_id}
    assert len({source[:2] for source in sources}) == len(sources), "two tables for the same packets"
    return tuple(
        replace(entry, table_id=number[entry.table_id], goto_table=number.get(entry.goto_table)) for entry in flows
    )


def _require_classes(plan: Plan, layout: QueueLayout) -> None:
    served = [each.priority for each in layout.classes]
    for position, pair in enumerate(plan.pairs):
        if pair.priority not in served:
            listed = ", ".join(map(str, served))
            expected = f"one that the queue layout {quoted(layout.name)} serves: {listed}"
            raise UnsoundError(("pairs", position, "priority"), f"priority {pair.priority}", expected)


def _require_tags_for_others(options: PipelineOptions, topology: Topology) -> None:
    if options.other_traffic is not OtherTraffic.FORWARD:
        return
    if options.tagging is Tagging.VLAN and len(topology.nodes) > MOST_DESTINATIONS:
        problem = f"other-traffic {OtherTraffic.FORWARD.value} to {len(topology.nodes)} switches"
        raise UnsoundError((), problem, f"at most {MOST_DESTINATIONS} with tagging {Tagging.VLAN.value}")
    if options.tagging is Tagging.DSCP_ECN:
        expected = f"other-traffic {OtherTraffic.DROP.value}, or tagging {Tagging.MPLS.value}, which has tags for it"
        raise UnsoundError(
            (), f"other-traffic {OtherTraffic.FORWARD.value} with tagging {Tagging.DSCP_ECN.value}", expected
        )


def _require_numbers_fit(direction: RoutedPair, last: int) -> None:
    pair = f"{direction.ingress} to {direction.egress}"
    if not 1 <= len(direction.routes) <= MAX_TUNNELS_PER_PAIR:
        raise UnsoundError((), f"{pair} has {len(direction.routes)} tunnels", f"1 to {MAX_TUNNELS_PER_PAIR}")
    for route in direction.routes:
        if not FIRST_PATH_ID <= route.path_id <= last:
            expected = f"an MPLS label from {FIRST_PATH_ID} to {last}"
            raise UnsoundError((), f"{pair} has path id {route.path_id}", expected)
