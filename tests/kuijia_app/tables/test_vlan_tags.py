"""Tunnel and queue in a VLAN tag: which ids, what hosts' packets keep, and how tunnels share ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kuijia_app.control.rollout import Rollout, Version
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSession, BfdSessions
from kuijia_app.tables.destination_trees import DefaultEntries
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.other_traffic import drop_entry
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.rules import FlowEntry, Match, Output, PopVlan, PushVlan, SetQueue
from kuijia_app.tables.tagging import paths_of, tags_of, tunnel_of
from kuijia_app.tables.vlan_tags import VlanTags
from kuijia_base.errors import UnsoundError
from te_solver.model.failures import Failure, single_links
from te_solver.model.plan import PairPlan, Plan, Tunnel
from tests.kuijia_app.plans import both_ways, motivation_plan

NO_VLAN = 0
LAST_VLAN_ID = 4094

VLAN = PipelineOptions(tagging=Tagging.VLAN)
ANYWHERE = 7
NORMAL = VLAN.layout.default


def tagged(in_port: int, vid: int, pcp: int) -> Match:
    return Match(in_port=in_port, vlan_vid=vid, vlan_pcp=pcp)


def id_of(tags: VlanTags, label: int) -> int:
    vid = tags.match(ANYWHERE, label, NORMAL).vlan_vid
    assert vid is not None
    return vid


def lone_pairs(count: int, first_path_id: int = 16) -> Plan:
    """Return pairs with one tunnel each, each between two nodes of its own."""
    names = [f"n{number}" for number in range(2 * count)]
    edges = list(zip(names[::2], names[1::2], strict=True))
    topology = both_ways("many", " ".join(names), " ".join(f"{a}-{b}" for a, b in edges))
    tunnels = [Tunnel(first_path_id + number, edge, 1.0, 1.0) for number, edge in enumerate(edges)]
    pairs = tuple(PairPlan(tunnel.nodes[0], tunnel.nodes[-1], 1.0, 1.0, (tunnel,)) for tunnel in tunnels)
    return Plan(topology, pairs, "any", 1.0, "none", 0.0)


def test_path_ids_become_vlan_ids_and_traffic_classes_priorities() -> None:
    entries = build_tables(motivation_plan(), VLAN)["s3"].flows
    to_s1, to_s4 = 1, 2
    assert list(entries) == [
        FlowEntry(identifiers.TUNNEL_PRIORITY, tagged(in_port, 18, pcp), (SetQueue(queue_id), Output(out_port)))
        for in_port, out_port in ((to_s1, to_s4), (to_s4, to_s1))
        for queue_id, pcp in ((0, 6), (1, 0), (2, 1))
    ] + [drop_entry(host_port=3)]


def test_the_ingress_pushes_a_tag_onto_packets_that_have_none_and_the_egress_pops_it() -> None:
    tables = build_tables(motivation_plan(), VLAN)
    groups = {group.group_id: group for group in tables["s1"].groups}
    *buckets, _ = groups[identifiers.failover_group(18, 0, 0)].buckets
    assert [bucket.actions[:2] for bucket in buckets] == [
        (PushVlan(18, 0), SetQueue(1)),
        (PushVlan(16, 1), SetQueue(2)),
        (PushVlan(17, 1), SetQueue(2)),
    ]
    of_hosts = [entry.match for entry in tables["s1"].flows if entry.match.ipv4_dst is not None]
    assert {match.vlan_vid for match in of_hosts} == {NO_VLAN}
    arriving = [entry for entry in tables["s4"].flows if entry.match.vlan_pcp is not None]
    assert {entry.actions[0] for entry in arriving} == {PopVlan()}


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("liveness", Liveness)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_keep_all_promises_after_every_failure_of_a_link(form: Form, liveness: Liveness, layout: str) -> None:
    options = replace(VLAN, form=form, liveness=liveness, layout=LAYOUTS[layout], other_traffic=OtherTraffic.FORWARD)
    plan = motivation_plan()
    found = Verifier(plan, build_tables(plan, options), options).run(single_links(plan.topology))
    assert [str(each) for each in found.violations] == []
    assert found.walks > 0


@pytest.mark.parametrize("tagging", Tagging)
def test_the_tunnel_of_a_mark_is_found_without_a_plan(tagging: Tagging) -> None:
    plan = motivation_plan()
    tags = tags_of(replace(VLAN, tagging=tagging), plan.topology, paths_of([plan]))
    for tunnel in plan.tunnels:
        assert tunnel_of(tags.mark(tunnel.path_id, NORMAL)) == tunnel.path_id


def test_default_paths_and_traffic_of_no_pair_have_ids_of_their_own_whatever_the_plan() -> None:
    plan = motivation_plan()
    wiring = VLAN.wired(plan.topology)
    default = DefaultEntries.of_plans([plan], VLAN, wiring)
    assert isinstance(default.tags, VlanTags)
    numbers = range(1, 5)
    labels = [identifiers.default_path_id(number) for number in numbers]
    labels += [identifiers.other_path_id(number) for number in numbers]
    assert [id_of(default.tags, label) for label in labels] == [4094, 4093, 4092, 4091, 4090, 4089, 4088, 4087]


def test_sessions_count_down_from_the_last_id_of_tunnels() -> None:
    plan = motivation_plan()
    tags = tags_of(replace(VLAN, liveness=Liveness.BFD), plan.topology, paths_of([plan]), BfdSessions(plan))
    assert isinstance(tags, VlanTags)
    assert [id_of(tags, session.label) for session in BfdSessions(plan)] == [4086, 4085, 4084]


@pytest.mark.parametrize("nodes", [4, 5, 6])
def test_with_sessions_tunnels_keep_half_of_the_ids_and_none_is_that_of_a_session_on_its_path(nodes: int) -> None:
    path = ("a", "b")
    last = LAST_VLAN_ID - 2 * nodes
    half = (last - 15) // 2
    for path_id in range(16, last + 1):
        session = BfdSession(path_id, path)
        tags = VlanTags({path_id: path}, [session], (), nodes)
        assert id_of(tags, path_id) != id_of(tags, session.label)
        assert (id_of(tags, path_id) == path_id) is (path_id < 16 + half)


def test_a_tunnel_without_an_id_of_its_own_shares_one_that_nothing_it_meets_has() -> None:
    paths = {16: ("a", "b", "c"), 17: ("d", "e"), 5000: ("b", "c", "d"), 5001: ("f", "g")}
    tags = VlanTags(paths, (), (), nodes=7)
    assert [id_of(tags, path_id) for path_id in paths] == [16, 17, 18, 16]


def test_tunnels_of_one_ingress_never_share_an_id_though_they_share_no_link() -> None:
    paths = {16: ("a", "b", "c"), 5000: ("a", "d"), 5001: ("e", "a"), 5002: ("b", "f")}
    tags = VlanTags(paths, (), (), nodes=6)
    assert [id_of(tags, path_id) for path_id in paths] == [16, 17, 18, 16]


def test_any_number_of_tunnels_apart_from_each_other_have_ids_and_too_many_together_are_refused() -> None:
    plan = lone_pairs(6000)
    tags = tags_of(VLAN, plan.topology, paths_of([plan]))
    assert isinstance(tags, VlanTags)
    found = [id_of(tags, tunnel.path_id) for tunnel in plan.tunnels]
    last = LAST_VLAN_ID - 2 * 512
    assert found[: last - 15] == list(range(16, last + 1))
    assert set(found[last - 15 :]) == {16}

    together = {16 + number: ("a", f"n{number}", "b") for number in range(5000)}
    with pytest.raises(UnsoundError) as raised:
        VlanTags(together, (), (), nodes=5002)
    assert str(raised.value) == (
        "no VLAN id is left for path a-n3055-b, "
        "expected at most 3055 tunnels and BFD sessions in all that share a link or an end, or tagging mpls"
    )


def test_sessions_share_ids_like_tunnels() -> None:
    plan = lone_pairs(3, first_path_id=5000)
    tags = tags_of(replace(VLAN, liveness=Liveness.BFD), plan.topology, paths_of([plan]), BfdSessions(plan))
    assert isinstance(tags, VlanTags)
    assert {id_of(tags, tunnel.path_id) for tunnel in plan.tunnels} == {16}
    assert {id_of(tags, session.label) for session in BfdSessions(plan)} == {17}


def test_tables_with_shared_ids_keep_all_promises() -> None:
    plan = lone_pairs(3, first_path_id=5000)
    for liveness in Liveness:
        options = replace(VLAN, liveness=liveness)
        found = Verifier(plan, build_tables(plan, options), options).run([Failure("n0-n1", (("n0", "n1"),))])
        assert [str(each) for each in found.violations] == []


def test_a_plan_that_gives_a_shared_id_another_meaning_is_refused_while_the_old_one_carries_traffic() -> None:
    topology = both_ways("line", "a b c d", "a-b b-c c-d")

    def planned(*paths: tuple[int, str]) -> Version:
        tunnels = [Tunnel(path_id, tuple(path), 1.0, 1.0) for path_id, path in paths]
        pairs = tuple(PairPlan(each.nodes[0], each.nodes[-1], 1.0, 1.0, (each,)) for each in tunnels)
        plan = Plan(topology, pairs, "any", 1.0, "none", 0.0)
        return Version(str(paths), plan, build_tables(plan, VLAN))

    rollout = Rollout(planned((5000, "abc")))
    with pytest.raises(UnsoundError, match="gives a tag that is in use another meaning"):
        rollout.propose(planned((5001, "abcd")), 0.0)


def test_traffic_of_no_pair_has_ids_for_512_switches_and_no_more() -> None:
    options = replace(VLAN, other_traffic=OtherTraffic.FORWARD)
    with pytest.raises(UnsoundError) as raised:
        build_tables(lone_pairs(257), options)
    assert str(raised.value) == "other-traffic forward to 514 switches, expected at most 512 with tagging vlan"
