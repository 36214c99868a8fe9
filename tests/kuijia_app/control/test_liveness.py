"""The controller tells ingresses exactly of the failures they cannot see, and takes it back when they heal."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.liveness import LivenessChange, LivenessTracker
from kuijia_app.control.plan_update import renumber
from kuijia_app.tables.routes import directions
from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import motivation_plan, plan_of, plans

T1 = 16


def test_a_remote_failure_empties_the_tunnel_at_the_ingress_that_cannot_see_it() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    changes = tracker.port_changed("s2", wiring.port("s2", "s4"), live=False)
    # s4, the ingress of the way back, sees s2-s4 on its own port.
    assert changes == (LivenessChange("s1", T1, alive=False),)


def test_a_tunnel_that_only_doubted_ports_break_is_alive_while_its_pair_has_no_other() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    flaps = ("s2", wiring.port("s2", "s4"))
    tracker.port_changed(*flaps, live=False)
    assert tracker.doubt(frozenset({flaps})) == ()
    others = [("s1", wiring.port("s1", neighbour)) for neighbour in ("s3", "s4")]
    assert LivenessChange("s1", T1, alive=True) not in tracker.port_changed(*others[0], live=False)
    assert LivenessChange("s1", T1, alive=True) in tracker.port_changed(*others[1], live=False)
    # The port is down again, and surely so.
    assert tracker.doubt(frozenset()) == (LivenessChange("s1", T1, alive=False),)
    assert tracker.doubt(frozenset({flaps})) == (LivenessChange("s1", T1, alive=True),)
    assert LivenessChange("s1", T1, alive=False) in tracker.port_changed(*others[1], live=True)


def test_a_link_that_loses_packets_breaks_its_tunnels_at_both_ends_but_none_that_is_its_pairs_last() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    lossy = frozenset({frozenset({"s1", "s2"})})
    changes = tracker.links_lossy(lossy)
    assert LivenessChange("s1", T1, alive=False) in changes  # although its first port is up
    assert tracker.failed_edges == lossy
    assert tracker.links_lossy(lossy) == ()
    others = [("s1", wiring.port("s1", neighbour)) for neighbour in ("s3", "s4")]
    tracker.port_changed(*others[0], live=False)
    assert LivenessChange("s1", T1, alive=True) in tracker.port_changed(*others[1], live=False)
    tracker.port_changed(*others[1], live=True)
    assert T1 in tracker.dead_path_ids("s1")
    tracker.links_lossy(frozenset())
    assert T1 not in tracker.dead_path_ids("s1")


def test_a_tunnel_that_loses_packets_is_dead() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.tunnels_lossy({("s1", T1): 0.1}) == (LivenessChange("s1", T1, alive=False),)
    assert tracker.avoided == {("s1", T1)}
    assert tracker.tunnels_lossy({("s1", 999): 0.1}) == (LivenessChange("s1", T1, alive=True),)
    assert not tracker.avoided


def test_the_least_lossy_tunnel_of_a_pair_is_alive_if_it_has_no_other() -> None:
    tracker = LivenessTracker(motivation_plan())
    t1, t2, t3 = (("s1", path_id) for path_id in (T1, T1 + 1, T1 + 2))
    tracker.tunnels_lossy({t1: 0.1, t2: 1.0, t3: 0.5})
    assert tracker.avoided == {t2, t3}
    wiring = Wiring(motivation_plan().topology)
    tracker.port_changed("s2", wiring.port("s2", "s4"), live=False)
    assert tracker.avoided == {t2, t1}
    tracker.port_changed("s2", wiring.port("s2", "s4"), live=True)
    tracker.port_changed("s1", wiring.port("s1", "s2"), live=False)
    assert t3 not in tracker.avoided
    tracker.tunnels_lossy({t2: 1.0, t3: 1.0})
    assert tracker.avoided == {t3}
    tracker.tunnels_lossy({t2: 1.0})
    assert tracker.avoided == {t2}


@given(plans(), st.data())
def test_doubt_revives_tunnels_of_pairs_without_another_and_of_no_other_pair(plan: Plan, data: st.DataObject) -> None:
    tracker, wiring = LivenessTracker(plan), Wiring(plan.topology)
    ports = [(node, port) for node in plan.topology.nodes for port in wiring.link_ports(node)]
    down = data.draw(st.sets(st.sampled_from(ports)))
    doubted = data.draw(st.sets(st.sampled_from(sorted(down)))) if down else set()
    for switch, port in sorted(down):
        tracker.port_changed(switch, port, live=False)
    before = {node: tracker.dead_path_ids(node) for node in plan.topology.nodes}
    tracker.doubt(frozenset(doubted))
    surely = {frozenset((node, wiring.neighbour_at(node, port))) for node, port in down - doubted}
    failed = tracker.failed_edges
    for direction in directions(plan):
        dead = tracker.dead_path_ids(direction.ingress)
        first = {route.path_id: frozenset((direction.ingress, route.next_hop)) for route in direction.routes}
        has_other = any(
            route.path_id not in before[direction.ingress] and first[route.path_id] not in failed
            for route in direction.routes
        )
        for route in direction.routes:
            was_dead = route.path_id in before[direction.ingress]
            is_sure = not surely.isdisjoint({first[route.path_id], *route.remote_edges})
            assert (route.path_id in dead) == (was_dead and (has_other or is_sure))


def test_the_second_end_of_a_failed_link_changes_nothing() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    tracker.port_changed("s2", wiring.port("s2", "s4"), live=False)
    assert tracker.port_changed("s4", wiring.port("s4", "s2"), live=False) == ()


def test_a_link_has_healed_only_when_both_ends_say_so() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    ends = (("s2", wiring.port("s2", "s4")), ("s4", wiring.port("s4", "s2")))
    for switch, port in ends:
        tracker.port_changed(switch, port, live=False)
    assert tracker.port_changed(*ends[0], live=True) == ()
    assert tracker.port_changed(*ends[1], live=True) == (LivenessChange("s1", T1, alive=True),)


def test_a_host_port_going_down_is_nobodys_failure() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.port_changed("s4", 4, live=False) == ()


def test_a_switchs_port_list_replaces_what_was_known_of_it() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.ports_described("s2", {1: True, 2: False}) == (LivenessChange("s1", T1, alive=False),)
    assert tracker.ports_described("s2", {1: True, 2: True}) == (LivenessChange("s1", T1, alive=True),)


def test_a_port_missing_from_the_list_is_down() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.ports_described("s2", {1: True}) == (LivenessChange("s1", T1, alive=False),)


def test_a_tunnel_found_dead_stays_so_until_all_switches_beyond_its_first_have_described_their_ports() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.found_dead("s1", [T1]) == (LivenessChange("s1", T1, alive=False),)
    for switch in ("s1", "s3", "s4"):
        assert tracker.ports_described(switch, {1: True, 2: True, 3: True}) == ()
    assert tracker.dead_path_ids("s1") == {T1}
    assert tracker.ports_described("s2", {1: True, 2: True}) == (LivenessChange("s1", T1, alive=True),)
    assert tracker.found_dead("s1", [T1]) == ()


def test_a_tunnel_found_dead_stays_so_while_its_first_link_is_down_at_the_far_end_alone() -> None:
    wiring = Wiring(motivation_plan().topology)
    far, near = ("s2", wiring.port("s2", "s1")), ("s1", wiring.port("s1", "s2"))
    tracker = LivenessTracker(motivation_plan())
    for switch in ("s2", "s3", "s4"):
        ports = dict.fromkeys(wiring.link_ports(switch), True)
        tracker.ports_described(switch, {port: live and (switch, port) != far for port, live in ports.items()})
    assert tracker.found_dead("s1", [T1]) == (LivenessChange("s1", T1, alive=False),)
    assert tracker.ports_described("s1", dict.fromkeys(wiring.link_ports("s1"), True)) == ()
    assert tracker.port_changed(*near, live=False) == (LivenessChange("s1", T1, alive=True),), "its port tells it"


def test_a_tunnel_found_dead_that_no_plan_knows_is_none() -> None:
    tracker = LivenessTracker(motivation_plan())
    assert tracker.found_dead("s1", [99]) == ()
    assert tracker.dead_path_ids("s1") == frozenset()


def test_a_first_link_that_is_down_at_its_far_end_alone_can_be_told_of_and_heals() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    far, near = ("s2", wiring.port("s2", "s1")), ("s1", wiring.port("s1", "s2"))
    assert tracker.links_down_beyond == frozenset()
    tracker.port_changed(*far, live=False)
    unnoticed = tracker.links_down_beyond
    assert unnoticed == {("s1", "s2")}
    assert tracker.links_unnoticed(unnoticed) == (LivenessChange("s1", T1, alive=False),)
    assert tracker.links_unnoticed(unnoticed) == ()
    assert LivenessChange("s1", T1, alive=True) in tracker.port_changed(*near, live=False)
    assert tracker.links_down_beyond == frozenset()
    assert tracker.links_unnoticed(frozenset()) == ()


def test_a_link_that_its_near_end_does_not_see_failing_is_dead_for_a_later_plan_at_once() -> None:
    plan = motivation_plan()
    without = replace(plan, pairs=())
    tracker = LivenessTracker(without)
    tracker.port_changed("s2", Wiring(plan.topology).port("s2", "s1"), live=False)
    assert tracker.links_unnoticed(tracker.links_down_beyond) == ()
    assert LivenessChange("s1", T1, alive=False) in tracker.follow([without, plan])


def test_a_dead_tunnel_is_not_used_again_before_it_is_noticed_that_its_first_link_is_down_too() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    first, second = (("s2", wiring.port("s2", neighbour)) for neighbour in ("s1", "s4"))
    tracker.ports_changed({first: False, second: False})
    assert tracker.dead_path_ids("s1") == {T1}
    tracker.ports_changed({second: True})
    assert tracker.dead_path_ids("s1") == {T1}
    assert LivenessChange("s1", T1, alive=True) in tracker.ports_changed({first: True})


def test_a_port_that_was_doubted_never_takes_a_pair_its_only_tunnel_when_it_is_trusted_again() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    flaps = ("s2", wiring.port("s2", "s1"))
    others = [("s1", wiring.port("s1", neighbour)) for neighbour in ("s3", "s4")]
    tracker.port_changed(*flaps, live=False)
    tracker.links_unnoticed(tracker.links_down_beyond)
    tracker.ports_changed(dict.fromkeys(others, False), frozenset({flaps}))
    assert T1 not in tracker.dead_path_ids("s1")
    assert tracker.ports_changed({flaps: True}, frozenset()) == ()
    assert tracker.links_unnoticed(frozenset()) == ()


def test_ports_that_change_together_leave_no_tunnel_dead_in_between() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    flaps = [(node, wiring.port(node, "s4")) for node in ("s2", "s3")]
    cut = ("s1", wiring.port("s1", "s4"))
    tracker.ports_changed({cut: False, **dict.fromkeys(flaps, False)}, frozenset(flaps))
    assert tracker.dead_path_ids("s1") == frozenset()
    assert tracker.ports_changed(dict.fromkeys(flaps, True), frozenset()) == ()


def test_the_tunnels_of_all_plans_that_are_followed_are_watched() -> None:
    plan = motivation_plan()
    tracker = LivenessTracker(plan)
    wiring = Wiring(plan.topology)
    tracker.port_changed("s2", wiring.port("s2", "s4"), live=False)
    other = renumber(plan_of(plan.topology, "s1-s3-s4", "s3-s1-s2-s4"), plan)
    path_id = other.pairs[1].tunnels[0].path_id
    # Of the pair's two directions one begins with the failed link.
    assert tracker.follow([plan, other]) == (LivenessChange("s3", path_id, alive=False),)
    assert tracker.dead_path_ids("s1") == {T1}
    assert tracker.follow([other]) == (LivenessChange("s1", T1, alive=True),)


@given(plan=plans(), data=st.data())
def test_dead_is_what_the_failed_edges_beyond_the_first_hop_say_whatever_the_order(
    plan: Plan, data: st.DataObject
) -> None:
    tracker = LivenessTracker(plan)
    wiring = Wiring(plan.topology)
    ports = [(switch, wiring.port(switch, other)) for a, b in plan.topology.edges for switch, other in ((a, b), (b, a))]
    events = data.draw(st.lists(st.tuples(st.sampled_from(ports), st.booleans()), max_size=20))
    for (switch, port), live in events:
        tracker.port_changed(switch, port, live=live)
    for ingress in plan.topology.nodes:
        routes = [route for direction in directions(plan) if direction.ingress == ingress for route in direction.routes]
        expected = {
            route.path_id
            for route in routes
            if any(frozenset(hop) in tracker.failed_edges for hop in list(pairwise(route.nodes))[1:])
        }
        unnoticed = {route.path_id for route in routes if route.nodes[:2] in tracker.links_down_beyond}
        assert expected <= tracker.dead_path_ids(ingress) <= expected | unnoticed  # those stay dead if they were
    for switch, port in ports:
        tracker.port_changed(switch, port, live=True)
    assert not tracker.failed_edges
    assert all(not tracker.dead_path_ids(node) for node in plan.topology.nodes)


def test_a_port_that_leads_nowhere_is_not_remembered() -> None:
    tracker = LivenessTracker(motivation_plan())
    for port in range(4, 20_000):
        assert tracker.port_changed("s2", port, live=False) == ()
    assert tracker._down_ports == set()
    assert tracker.failed_edges == frozenset()


def test_a_pair_is_stranded_once_failures_and_doubts_break_all_its_tunnels() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    tracker.port_changed("s1", wiring.port("s1", "s2"), live=False)
    tracker.port_changed("s4", wiring.port("s4", "s3"), live=False)
    assert tracker.stranded() == frozenset()
    flaps = ("s1", wiring.port("s1", "s4"))
    tracker.ports_changed({flaps: False}, frozenset({flaps}))
    assert tracker.stranded() == {("s1", "s4"), ("s4", "s1")}
    assert tracker.doubted_edges == {frozenset({"s1", "s4"})}
    tracker.port_changed(*flaps, live=True)
    assert tracker.stranded() == frozenset()


def test_tunnels_that_lose_little_are_used_as_before_if_their_pair_has_no_better_one() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    t2, t3 = ("s1", T1 + 1), ("s1", T1 + 2)
    tracker.tunnels_lossy({t2: 0.02, t3: 0.02})
    assert tracker.avoided == {t2, t3}
    tracker.port_changed("s1", wiring.port("s1", "s2"), live=False)  # the first link of t1
    assert tracker.avoided == frozenset()
    tracker.tunnels_lossy({t2: 0.02, t3: 0.5})
    assert tracker.avoided == {t3}
    tracker.port_changed("s1", wiring.port("s1", "s2"), live=True)
    assert tracker.avoided == {t2, t3}


def test_a_pair_that_is_carried_otherwise_does_not_keep_a_lossy_tunnel_as_its_last() -> None:
    tracker = LivenessTracker(motivation_plan())
    wiring = Wiring(motivation_plan().topology)
    for neighbour in ("s3", "s4"):
        tracker.port_changed("s1", wiring.port("s1", neighbour), live=False)
    tracker.links_lossy(frozenset({frozenset({"s2", "s4"})}))
    assert T1 not in tracker.dead_path_ids("s1")
    revision = tracker.revision
    assert LivenessChange("s1", T1, alive=False) in tracker.carried(frozenset({("s1", "s4")}))
    assert tracker.revision != revision
    assert tracker.carried(frozenset({("s1", "s4")})) == ()
    assert LivenessChange("s1", T1, alive=True) in tracker.carried(frozenset())


def test_what_dies_is_told_before_what_revives_and_each_in_order() -> None:
    plan = motivation_plan()
    tracker, wiring = LivenessTracker(plan), Wiring(plan.topology)
    one, other = (("s2", wiring.port("s2", "s4")), ("s3", wiring.port("s3", "s4")))
    tracker.ports_changed({one: False})
    first = tracker.dead_path_ids("s1") | tracker.dead_path_ids("s4")
    changes = tracker.ports_changed({one: True, other: False})
    assert {change.path_id for change in changes if change.alive} == first
    died = [(change.ingress, change.path_id) for change in changes if not change.alive]
    revived = [(change.ingress, change.path_id) for change in changes if change.alive]
    assert died == sorted(died)
    assert revived == sorted(revived)
    assert [change.alive for change in changes] == [False] * len(died) + [True] * len(revived)


def test_a_port_status_that_says_nothing_new_costs_nothing() -> None:
    tracker, port = LivenessTracker(motivation_plan()), ("s2", Wiring(motivation_plan().topology).port("s2", "s4"))
    tracker.port_changed(*port, live=False)
    before = tracker.revision
    tracker.port_changed(*port, live=False)
    tracker.port_changed("s4", 4, live=False)
    tracker.links_lossy(frozenset())
    tracker.tunnels_lossy({})
    tracker.carried(frozenset())
    tracker.links_unnoticed(frozenset())
    tracker.doubt(frozenset())
    assert tracker.revision == before
    tracker.port_changed(*port, live=True)
    assert tracker.revision == before + 1


def test_a_tunnel_that_was_found_dead_is_no_last_resort() -> None:
    tracker, wiring = LivenessTracker(motivation_plan()), Wiring(motivation_plan().topology)
    tracker.found_dead("s1", [T1])
    others = frozenset(("s1", wiring.port("s1", neighbour)) for neighbour in ("s3", "s4"))
    tracker.ports_changed(dict.fromkeys(others, False), others)
    assert T1 in tracker.dead_path_ids("s1")


def test_a_doubted_tunnel_is_a_better_last_resort_than_one_that_loses_packets() -> None:
    tracker, wiring = LivenessTracker(motivation_plan()), Wiring(motivation_plan().topology)
    t1, t2, t3 = (("s1", path_id) for path_id in (T1, T1 + 1, T1 + 2))
    port = ("s2", wiring.port("s2", "s4"))
    tracker.ports_changed({port: False}, frozenset({port}))
    tracker.tunnels_lossy({t2: 0.5, t3: 0.7})
    assert t1[1] not in tracker.dead_path_ids("s1")
    assert tracker.avoided == {t2, t3}


def test_of_plans_that_are_never_followed_the_last_are_remembered() -> None:
    followed, learnt = motivation_plan(), [motivation_plan() for _ in range(100)]
    tracker = LivenessTracker(followed)
    for plan in learnt:
        tracker.learn(plan)
    assert list(tracker._known) == [id(plan) for plan in (followed, *learnt[-16:])]
    tracker.follow((learnt[-1],))
    assert list(tracker._known) == [id(learnt[-1])]
