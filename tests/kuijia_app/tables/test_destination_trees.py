from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.proof.model.network import End, ModelNetwork
from kuijia_app.proof.model.packet import Packet
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.destination_trees import Bound, DefaultEntries, DestinationTrees, NextHops, path_along, restored
from kuijia_app.tables.identifiers import bfd_label, default_path_id
from kuijia_app.tables.options import Liveness, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.rules import FlowEntry, Match, Output, SetQueue, SwitchTables
from kuijia_app.tables.tagging import DscpEcnTags, MplsTags, last_path_id, paths_of, tags_of
from te_solver.model.plan import PlanOptions
from te_solver.model.topology import Link, Topology
from tests.kuijia_app.plans import both_ways, plan_of

MAX_SITES = 0xFFFF

RING = both_ways("ring", "a b c d e", "a-b b-c c-d d-e e-a")
SQUARE = both_ways("square", "a b c d", "a-b b-c c-d d-a")
VICTIM = PLAIN_LAYOUT.classes[0].victim


def _edges(text: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(edge.split("-")) for edge in text.split())


@st.composite
def _networks(draw: st.DrawFn) -> tuple[Topology, frozenset[frozenset[str]]]:
    size = draw(st.integers(2, 8))
    graph = nx.gnp_random_graph(size, draw(st.floats(0.2, 1.0)), seed=draw(st.integers(0, 2**16)))
    topology = both_ways("any", " ".join(f"n{i}" for i in range(size)), " ".join(f"n{a}-n{b}" for a, b in graph.edges))
    edges = [frozenset((f"n{a}", f"n{b}")) for a, b in graph.edges]
    dead = draw(st.sets(st.sampled_from(edges))) if edges else set()
    return topology, frozenset(dead)


@given(_networks())
def test_paths_are_the_shortest_over_live_links_and_exist_exactly_where_links_connect(
    drawn: tuple[Topology, frozenset[frozenset[str]]],
) -> None:
    topology, dead = drawn
    live = nx.Graph(edge for edge in topology.edges if frozenset(edge) not in dead)
    live.add_nodes_from(topology.nodes)
    egress = topology.nodes[0]
    distance = nx.single_source_shortest_path_length(live, egress)

    tree = DestinationTrees(topology).towards(egress, dead)

    assert set(tree) == set(distance) - {egress}
    for ingress in tree:
        path = path_along(tree, ingress, egress)
        assert path is not None
        assert len(path) == distance[ingress] + 1


def test_equal_paths_are_told_apart_by_the_order_of_nodes() -> None:
    assert path_along(DestinationTrees(SQUARE).towards("c"), "a", "c") == ("a", "b", "c")
    assert path_along(DestinationTrees(SQUARE).towards("a"), "c", "a") == ("c", "b", "a")


def test_the_metric_may_be_the_delay() -> None:
    slow = replace(
        SQUARE, links=tuple(Link(*link.ends, 1000.0, 0.1 if "b" in link.ends else 0.01) for link in SQUARE.links)
    )
    assert path_along(DestinationTrees(slow, "delay").towards("c"), "a", "c") == ("a", "d", "c")
    by_delay = replace(plan_of(slow, "a-b"), options=PlanOptions(1, "delay"))
    assert path_along(DestinationTrees.of_plan(by_delay).towards("c"), "a", "c") == ("a", "d", "c")


def test_a_pair_is_restored_exactly_if_all_its_tunnels_fail_and_a_path_is_left() -> None:
    plan = plan_of(RING, "a-b-c", "a-e-d a-b-c-d")
    assert restored(plan, _edges("a-b")) == {
        ("a", "c"): ("a", "e", "d", "c"),
        ("c", "a"): ("c", "d", "e", "a"),
    }
    assert restored(plan, _edges("a-b a-e")) == {}


def test_a_doubted_link_is_used_only_where_nothing_else_connects() -> None:
    trees = DestinationTrees(RING)
    assert path_along(trees.towards("b", doubted=_edges("a-b")), "a", "b") == ("a", "e", "d", "c", "b")
    both = trees.towards("b", dead=_edges("c-d"), doubted=_edges("a-b"))
    assert path_along(both, "a", "b") == ("a", "b")


def test_a_bound_switch_forwards_as_it_does_or_not_at_all() -> None:
    trees = DestinationTrees(SQUARE)
    away = {"b": Bound(None, frozenset())}
    assert path_along(trees.towards("c", bound=away), "a", "c") == ("a", "d", "c")
    goes_back = {"b": Bound("c", frozenset({"a"})), "d": Bound(None, frozenset())}
    assert path_along(trees.towards("c", bound=goes_back), "a", "c") == ("a", "b", "c")
    assert path_along(trees.towards("c", bound={"c": Bound(None, frozenset({"d"}))}), "b", "c") == ("b", "a", "d", "c")
    assert path_along(trees.towards("c", dead=_edges("c-d"), bound=away), "a", "c") is None


def of_tree(default: DefaultEntries, next_hops: NextHops, egress: str) -> list[tuple[str, FlowEntry]]:
    """Return the entries of victims on all paths of a tree."""
    paths = [path_along(next_hops, ingress, egress) for ingress in next_hops]
    return list(dict.fromkeys(entry for path in paths if path is not None for entry in default.along(path, [VICTIM])))


@pytest.mark.parametrize("tagging", Tagging)
def test_packets_on_a_default_path_are_delivered_in_the_queue_they_are_tagged_for(tagging: Tagging) -> None:
    plan = plan_of(RING, "a-b-c")
    options = PipelineOptions(tagging=tagging)
    wiring = options.wired(RING)
    numbers = [wiring.number(node) for node in RING.nodes]
    tags = tags_of(options, RING, paths_of([plan]), (), numbers)
    default = DefaultEntries(wiring, options, tags)
    tree = DestinationTrees(RING).towards("c")
    tables = build_tables(plan, options)
    for switch, entry in of_tree(default, tree, "c"):
        tables[switch] = SwitchTables(tables[switch].groups, (*tables[switch].flows, entry))
    for ingress in tree:
        first = (*tags.mark(default.path_id("c"), VICTIM), SetQueue(2), Output(wiring.port(ingress, tree[ingress])))
        entering = FlowEntry(900, Match(in_port=wiring.host_port(ingress)), first)
        sends = {**tables, ingress: SwitchTables((), (entering, *tables[ingress].flows))}
        network = ModelNetwork(plan, sends, Liveness.CONTROLLER, wiring)
        packet = Packet(wiring.host_port(ingress), wiring.host_address(ingress), wiring.host_address("c"))
        walk = network.walk(ingress, packet)
        assert walk.end is End.LEFT
        assert walk.nodes == path_along(tree, ingress, "c")
        assert walk.delivered_to == ("c", wiring.host_port("c"))
        assert set(walk.queues) == {VICTIM.queue_id}


def test_a_tree_has_one_entry_for_each_link_and_queue_and_paths_share_them() -> None:
    wiring = PipelineOptions().wired(RING)
    default = DefaultEntries(wiring, PipelineOptions(), MplsTags())
    tree = DestinationTrees(RING).towards("c")
    whole = of_tree(default, tree, "c")
    assert len(whole) == len(set(whole)) == len(RING.nodes) - 1
    for ingress in tree:
        path = path_along(tree, ingress, "c")
        assert path is not None
        assert set(default.along(path, [VICTIM])) <= set(whole)


def test_labels_of_default_paths_are_those_of_nothing_else() -> None:
    labels = {default_path_id(1), default_path_id(MAX_SITES)}
    last_session = bfd_label(last_path_id(Liveness.BFD))
    assert min(labels) > max(last_session, last_path_id(Liveness.BFD))
    assert max(labels) <= 0xFFFFF


@pytest.mark.parametrize("has_sessions", [False, True])
def test_code_points_of_default_paths_are_what_tunnels_and_sessions_leave(*, has_sessions: bool) -> None:
    topology = both_ways("star", "h a b c d", "h-a h-b h-c h-d")
    plan = plan_of(topology, *(f"{one}-h-{other}" for one, other in combinations("abcd", 2)))
    options = PipelineOptions(tagging=Tagging.DSCP_ECN, liveness=Liveness.BFD if has_sessions else Liveness.CONTROLLER)
    sessions = tuple(BfdSessions(plan)) if has_sessions else ()
    path_ids = [tunnel.path_id for tunnel in plan.tunnels]
    tags = DscpEcnTags(options.layout, path_ids, sessions, range(1, 100))
    used = [tags.mark(path_id, VICTIM) for path_id in [*path_ids, *(session.label for session in sessions)]]
    free = {label: tags.mark(label, VICTIM) for label in map(default_path_id, range(1, 100)) if tags.has(label)}
    assert len(set(free.values())) == len(free) == 63 - len(used)
    assert set(free.values()).isdisjoint(used)
    fewer = DscpEcnTags(options.layout, path_ids[:1], sessions[:1], range(1, 100))
    assert {label: fewer.mark(label, VICTIM) for label in free} == free
