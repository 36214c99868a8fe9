"""Plans of peers are told once on a connection: they must be kept until they are needed."""

from __future__ import annotations

from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_plans import PeerPlans
from kuijia_app.control.roles import first_generation
from kuijia_app.control.rollout import Stages, Version
from tests.kuijia_app.plans import both_ways, plan_of

LEASE = 0.8

PLAN = plan_of(both_ways("square", "a b c d", "a-b b-c c-d d-a a-c"), "a-b-c a-c")
ONE, OTHER = Stages(Version("one", PLAN, {})), Stages(Version("other", PLAN, {}))


def beat(process: str, *, term: int = 1, acting: bool = True) -> Beat:
    return Beat(2, acting, first_generation(term, 2), frozenset(), process=process)


def anybody(_: Beat) -> bool:
    return True


def test_plans_hold_until_their_peer_tells_others_or_falls_silent() -> None:
    plans = PeerPlans()
    plans.heard(beat("p"), ONE, 0.0)
    plans.heard(beat("p"), None, 1.0)
    assert plans.followed(1.0, anybody) == ("p", ONE)
    plans.heard(beat("p"), OTHER, 1.1)
    assert plans.followed(1.1, anybody) == ("p", OTHER)
    assert plans.followed(1.1 + LEASE, anybody) is None


def test_of_several_peers_that_act_the_later_one_is_followed_in_whatever_order_they_speak() -> None:
    plans = PeerPlans()
    plans.heard(beat("later", term=7), ONE, 0.0)
    plans.heard(beat("earlier", term=6), OTHER, 0.1)
    assert plans.followed(0.1, anybody) == ("later", ONE)
    plans.heard(beat("latest", term=8), None, 0.2)
    assert plans.followed(0.2, anybody) is None, "the plans of the one that acts are not known yet"


def test_a_peer_that_has_stood_by_tells_its_plans_anew() -> None:
    plans = PeerPlans()
    plans.heard(beat("p"), ONE, 0.0)
    plans.heard(beat("p", acting=False), None, 0.1)
    plans.heard(beat("p"), None, 0.2)
    assert plans.followed(0.2, anybody) is None


def test_one_that_may_not_lead_is_not_followed_however_late_its_id_is() -> None:
    plans = PeerPlans()
    plans.heard(beat("ours", term=6), ONE, 0.0)
    plans.heard(beat("outsider", term=7), OTHER, 0.0)
    assert plans.followed(0.0, lambda said: said.process != "outsider") == ("ours", ONE)


def test_invented_processes_do_not_fill_the_memory() -> None:
    plans = PeerPlans()
    for number in range(100):
        plans.heard(beat(f"p{number}", term=number), ONE, 0.0)
    assert len(plans._told) == 16
    assert plans.followed(0.0, anybody) == ("p99", ONE)
