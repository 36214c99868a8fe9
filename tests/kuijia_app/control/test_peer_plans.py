"""Plans of peers are told once on a connection: they must be kept until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_plans import OTHER_PLAN, PeerFollower, PeerPlans
from kuijia_app.control.roles import first_generation
from kuijia_app.control.rollout import RolloutProgress, Stages, Version
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


class Following:
    """A follower of peers among recorders of what it does."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []
        self.gone: Iterable[str] = ()
        self.pair = SimpleNamespace(may_lead=lambda _beat, now: now < 9.0)
        self.roles = SimpleNamespace(pair=self.pair, acts=False, process="own", heard_beat=self.record("beat"))
        rollout = SimpleNamespace(resume=self.record("resume"), take_changed=self.record("take"), plans=(PLAN,))
        self.follower = PeerFollower(
            *cast(
                "tuple[Any, ...]",
                (
                    self.roles,
                    rollout,
                    SimpleNamespace(follow=self.record("tunnels")),
                    SimpleNamespace(after_files=self.after_files, tell=self.record("tell")),
                    SimpleNamespace(adopted=self.adopted),
                ),
            )
        )

    def record(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.done.append((name, *arguments))

    def adopted(self, stages: Stages, *, goes_on: bool) -> Iterable[str]:
        self.done.append(("adopted", stages, goes_on))
        return self.gone

    @staticmethod
    def after_files(work: Callable[[], None], then: Callable[[], None]) -> None:
        work()
        then()

    def told(self, said: Beat, stages: Stages | None, now: float) -> list[tuple[object, ...]]:
        """Return what is done about a sign of life, but that it was one."""
        self.done.clear()
        self.follower.heard(said, stages, now)
        assert self.done[:1] == [("beat", said)]
        return self.done[1:]


def adoption(stages: Stages, *, goes_on: bool) -> list[tuple[object, ...]]:
    return [("resume", stages), ("take",), ("tunnels", (PLAN,)), ("adopted", stages, goes_on)]


def test_plans_of_the_peer_that_acts_are_adopted_once() -> None:
    follow = Following()
    assert follow.told(beat("p"), None, 0.0) == []
    assert follow.told(beat("p"), ONE, 0.1) == adoption(ONE, goes_on=False)
    assert follow.told(beat("p"), ONE, 0.2) == []
    follow.gone = ("mine",)
    refused = ("tell", RolloutProgress("mine", "refused"), OTHER_PLAN)
    assert follow.told(beat("p"), OTHER, 0.3) == [*adoption(OTHER, goes_on=True), refused]
    follow.gone = ()
    assert follow.told(beat("q", term=2), ONE, 0.4) == adoption(ONE, goes_on=False)
    follow.follower.forget()
    assert follow.told(beat("q", term=2), ONE, 0.5) == adoption(ONE, goes_on=False)


def test_no_plans_are_adopted_from_one_that_may_not_lead_nor_by_one_that_acts() -> None:
    follow = Following()
    assert follow.told(beat("p"), ONE, 9.0) == []
    follow.roles.acts = True
    assert follow.told(beat("p"), ONE, 0.0) == []


def test_a_controller_without_peers_hears_nobody_and_never_itself() -> None:
    follow = Following()
    follow.follower.heard(beat("own"), ONE, 0.0)
    follow.roles.pair = None
    follow.follower.heard(beat("p"), ONE, 0.0)
    follow.follower.follow(0.0)
    assert follow.done == []
