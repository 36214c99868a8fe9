"""When a controller ends, another one goes on with its plan and with what it knew of failures."""

from __future__ import annotations

import pytest

from kuijia_app.control.plan_update import is_same_plan
from kuijia_app.control.roles import Claims
from kuijia_app.control.rollout import Stages
from kuijia_app.framework import event_log
from te_solver.model.plan import Plan
from tests.rehearsal.calm import require_calm
from tests.rehearsal.controller import RehearsedController
from tests.rehearsal.effects import hit
from tests.rehearsal.faults import FaultKind, RehearsedFault
from tests.rehearsal.world import World

DOWNTIME = 100.0


def resting(seed: int) -> World:
    """Return two controllers at rest, one of which acts."""
    world = World(seed, controllers=2)
    world.rest(quiet=1.0)
    world.traffic.require_all(world.plans[0])
    return world


def number_of_acting(world: World) -> int:
    return world.controllers.index(world.acting)


def kill_acting(world: World, wait: float) -> None:
    """Kill the controller that acts; return when the other acts, within a time."""
    number = number_of_acting(world)
    hit(world, RehearsedFault(FaultKind.KILL, 0.0, number, 0, DOWNTIME))
    world.time.run_until(world.time.now + wait)
    assert world.controllers[1 - number].is_acting


@pytest.mark.parametrize("seed", range(5))
def test_the_next_controller_goes_on_with_a_plan_that_replaced_the_first(seed: int) -> None:
    world = resting(seed)
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number_of_acting(world), 1, 0.0))
    world.rest()
    replaced = world.acting.in_force.plan
    assert replaced != world.plans[0]
    kill_acting(world, wait=1.5)
    assert world.acting.in_force.plan == replaced
    world.rest()
    require_calm(world)
    assert not world.traffic.affected


@pytest.mark.parametrize("after", [0.1, 0.4, 0.7, 1.0, 2.0, 3.0])
def test_an_update_that_is_under_way_ends_without_a_loss(after: float) -> None:
    world = resting(3)
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number_of_acting(world), 1, 0.0))
    world.time.run_until(world.time.now + after)
    kill_acting(world, wait=1.5)
    world.rest()
    require_calm(world)


def test_the_next_controller_knows_the_links_that_failed_before_and_during_the_takeover() -> None:
    world = resting(4)
    hit(world, RehearsedFault(FaultKind.LINK, 0.0, 0, 0, 0.0))
    world.time.run_until(world.time.now + 1.0)
    number = number_of_acting(world)
    hit(world, RehearsedFault(FaultKind.KILL, 0.0, number, 0, DOWNTIME))
    hit(world, RehearsedFault(FaultKind.LINK, 0.0, 2, 0, 0.0))
    world.time.run_until(world.time.now + 2.0)
    assert len(world.controllers[1 - number].failed_edges) == 2
    world.end_faults()
    world.rest()
    require_calm(world)


@pytest.mark.parametrize("seed", range(3))
def test_a_controller_that_was_cut_off_learns_the_plan_that_came_meanwhile(seed: int) -> None:
    world = resting(seed)
    number = number_of_acting(world)
    earlier, later = world.controllers[number], world.controllers[1 - number]
    for way in ((0, 1), (1, 0)):
        world.peers.cut(way, 14.0)
    for name in world.switches:
        world.cut((name, number), ("up", "down"), 30.0)
    world.time.run_until(world.time.now + 3.0)
    assert (earlier.is_acting, later.is_acting) == (True, True)
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, 1 - number, 1, 0.0))
    world.time.run_until(world.time.now + 17.0)
    replaced = later.in_force.plan
    assert replaced != world.plans[0]
    assert not earlier.is_acting
    assert earlier.in_force.plan == replaced
    world.end_faults()
    world.rest()
    kill_acting(world, wait=2.0)
    world.rest()
    assert world.acting.in_force.plan == replaced
    require_calm(world)


def test_a_controller_that_stands_by_knows_the_ports_of_a_switch_that_has_refused_its_tables() -> None:
    world = resting(2)
    number = number_of_acting(world)
    earlier = world.controllers[number]
    for kind in (FaultKind.FULL, FaultKind.RESTART):
        hit(world, RehearsedFault(kind, 0.0, 0, 0, 0.0))
    world.time.run_until(world.time.now + 3.0)
    assert event_log.SWITCH_REFUSED in earlier.events
    hit(world, RehearsedFault(FaultKind.HANDOVER, 0.0, number, 0, 0.0))
    world.time.run_until(world.time.now + 1.0)
    assert not earlier.is_acting
    name = next(iter(world.switches))
    hit(world, RehearsedFault(FaultKind.PORT, 0.0, 0, 0, 0.0))
    world.time.run_until(world.time.now + 1.0)
    assert [name in edge for edge in earlier.failed_edges] == [True]
    hit(world, RehearsedFault(FaultKind.PORT, 0.0, 0, 0, 0.0))
    world.time.run_until(world.time.now + 1.0)
    assert not earlier.failed_edges


def require_kept(world: World, number: int, given: Plan) -> None:
    """Check that a plan of a controller is in force nowhere, lies beside its file, and that an event says so."""
    world.end_faults()
    world.rest()
    require_calm(world)
    controller = world.controllers[number]
    assert not controller.is_acting
    assert not is_same_plan(controller.in_force.plan, given)
    assert controller.files.refused is not None
    assert is_same_plan(controller.files.refused, given)
    assert event_log.UPDATE_REFUSED in controller.events


def test_a_plan_that_was_put_into_the_file_of_a_dead_controller_is_kept_when_the_other_acts() -> None:
    world = resting(8)
    number = number_of_acting(world)
    kill_acting(world, wait=1.5)
    world.stores[number].replace_by_hand(world.plans[1])
    require_kept(world, number, world.plans[1])


def test_a_plan_that_came_into_force_unknown_to_the_one_that_took_over_is_kept() -> None:
    world = resting(8)
    number = number_of_acting(world)
    hit(world, RehearsedFault(FaultKind.PEERS, 0.0, 1, 1, 40.0))
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number, 1, 0.0))
    world.time.run_until(world.time.now + 12.0)
    assert is_same_plan(world.controllers[number].in_force.plan, world.plans[1])
    hit(world, RehearsedFault(FaultKind.FREEZE, 0.0, number, 0, 3.0))
    world.time.run_until(world.time.now + 5.0)
    assert world.controllers[1 - number].is_acting
    require_kept(world, number, world.plans[1])


@pytest.mark.parametrize("after", [0.9, 1.3, 1.7])
def test_a_plan_whose_update_the_successor_gives_up_is_kept(after: float) -> None:
    world = resting(8)
    number = number_of_acting(world)
    first = world.controllers[number]
    away = min(world.switches)
    for each in (0, 1):
        world.cut((away, each), ("up", "down"), 8.0)  # nothing comes into force meanwhile
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number, 1, 0.0))
    world.time.run_until(world.time.now + after)
    assert first.files.pending is not None
    hit(world, RehearsedFault(FaultKind.HANDOVER, 0.0, number, 0, 0.0))
    world.time.run_until(world.time.now + 1.0)
    assert world.controllers[1 - number].is_acting
    assert first.files.pending is not None, "the successor goes on with it"
    hit(world, RehearsedFault(FaultKind.WITHDRAW, 0.0, 1 - number, 0, 0.0))
    require_kept(world, number, world.plans[1])


@pytest.mark.parametrize("seed", range(4))
def test_updates_and_handovers_without_faults_give_up_no_plan(seed: int) -> None:
    world = resting(seed)
    for turn in range(1, 7):
        hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number_of_acting(world), turn, 0.0))
        world.time.run_until(world.time.now + 0.5 + turn * 0.3)
        hit(world, RehearsedFault(FaultKind.HANDOVER, 0.0, number_of_acting(world), 0, 0.0))
        world.rest()
        assert is_same_plan(world.acting.in_force.plan, world.plans[turn % 3])
    require_calm(world)
    assert [each.files.refused for each in world.controllers] == [None, None]
    assert not any(event_log.UPDATE_REFUSED in each.events for each in world.controllers)


def test_a_controller_hands_over_within_a_beat() -> None:
    world = resting(5)
    number = number_of_acting(world)
    world.time.run_until(world.time.now + 2.0)
    hit(world, RehearsedFault(FaultKind.HANDOVER, 0.0, number, 0, 0.0))
    world.time.run_until(world.time.now + 0.5)
    assert [each.is_acting for each in world.controllers] == [number == 1, number == 0]


def test_a_handover_is_answered_when_the_other_acts_or_with_the_reason_why_not() -> None:
    world = resting(5)
    number = number_of_acting(world)
    acting, standing = world.controllers[number], world.controllers[1 - number]
    answers: list[str | None] = []
    standing.roles.ask_to_hand_over(answers.append)
    world.time.run_until(world.time.now + 0.2)
    assert answers == ["this controller stands by: ask the one that acts"]
    acting.roles.ask_to_hand_over(answers.append)
    world.time.run_until(world.time.now + 0.5)
    assert (answers[1:], standing.is_acting) == ([None], True)
    hit(world, RehearsedFault(FaultKind.KILL, 0.0, number, 0, DOWNTIME))
    world.time.run_until(world.time.now + 2.0)
    standing.roles.ask_to_hand_over(answers.append)
    world.time.run_until(world.time.now + 0.2)
    assert answers[2:] == ["no peer has shown a sign of life for 0.8 s"]
    kinds = (event_log.SUCCESSOR_READY, event_log.SUCCESSOR_GONE)
    assert [event for event in standing.events if event in kinds] == list(kinds)


@pytest.mark.parametrize("seed", range(3))
def test_two_that_have_drawn_the_same_number_draw_again(seed: int) -> None:
    world = World(seed, controllers=2)
    first, second = world.controllers
    assert first.roles.pair is not None
    assert second.roles.pair is not None
    second.roles.claims = Claims(first.roles.claims.instance)
    second.roles.pair.instance = first.roles.pair.instance
    world.rest(quiet=1.0)
    assert first.roles.pair.instance != second.roles.pair.instance
    assert [each.is_acting for each in world.controllers].count(True) == 1


def handing_over_in_vain() -> tuple[World, RehearsedController, list[str | None]]:
    """Return two controllers, the one that was asked to hand over to a frozen one, and the answers to come."""
    world = resting(5)
    number = number_of_acting(world)
    acting = world.controllers[number]
    hit(world, RehearsedFault(FaultKind.FREEZE, 0.0, 1 - number, 0, DOWNTIME))
    answers: list[str | None] = []
    acting.roles.ask_to_hand_over(answers.append)
    return world, acting, answers


def test_a_handover_that_nobody_takes_is_given_up() -> None:
    world, acting, answers = handing_over_in_vain()
    world.time.run_until(world.time.now + 3.0)
    assert answers == ["no peer has taken over within 2 s"]
    assert acting.is_acting
    world.end_faults()
    world.time.run_until(world.time.now + 3.0)
    assert acting.is_acting, "a request that was refused has no effect later"


def test_no_update_begins_while_a_peer_may_take_over() -> None:
    world, acting, answers = handing_over_in_vain()
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number_of_acting(world), 1, 0.0))
    while not answers:
        assert event_log.UPDATE_STARTED not in acting.events
        world.time.run_until(world.time.now + 0.01)
    world.time.run_until(world.time.now + 2.0)
    assert acting.events.count(event_log.UPDATE_STARTED) == 1
    world.end_faults()
    world.rest()
    require_calm(world)
    assert world.acting.in_force.plan != world.plans[0]


def test_peers_are_told_of_an_update_before_switches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    world = resting(5)
    number = number_of_acting(world)
    acting = world.controllers[number]
    told: list[Stages] = []
    monkeypatch.setattr(acting, "tell_peers", lambda _beat, stages: told.append(stages))
    hit(world, RehearsedFault(FaultKind.PLAN, 0.0, number, 1, 0.0))
    while event_log.UPDATE_STARTED not in acting.events:
        world.time.run_until(world.time.now + 0.0001)
    assert told[-1].next is not None


def test_a_controller_without_peers_says_so() -> None:
    world = World(1, controllers=1)
    answers: list[str | None] = []
    world.controllers[0].roles.ask_to_hand_over(answers.append)
    world.time.run_until(world.time.now + 0.2)
    assert answers == ["this controller has no peers"]


def test_a_hundred_handovers_in_a_row_lose_nothing() -> None:
    world = resting(6)
    for _ in range(100):
        hit(world, RehearsedFault(FaultKind.HANDOVER, 0.0, number_of_acting(world), 0, 0.0))
        world.time.run_until(world.time.now + 1.0)
    require_calm(world)
    assert not world.traffic.affected


def test_controllers_that_do_not_hear_each_other_do_not_take_turns() -> None:
    world = resting(7)
    number = number_of_acting(world)
    hit(world, RehearsedFault(FaultKind.PEERS, 0.0, 1, 1, 20.0))
    for _ in range(40):
        world.time.run_until(world.time.now + 0.5)
        assert [each.is_acting for each in world.controllers] == [number == 0, number == 1]


@pytest.mark.parametrize("seed", range(3))
def test_controllers_that_share_one_switch_and_no_word_do_not_take_turns_all_the_time(seed: int) -> None:
    world = resting(seed)
    for way in ((0, 1), (1, 0)):
        world.peers.cut(way, 120.0)
    names = list(world.switches)
    middle = len(names) // 2
    for number, unreachable in ((0, names[middle:]), (1, names[: middle - 1])):
        for name in unreachable:
            world.cut((name, number), ("up", "down"), 120.0)
    world.time.run_until(world.time.now + 110.0)
    taken = sum(each.events.count(event_log.ROLE_TAKEN) for each in world.controllers)
    assert 2 <= taken < 20
    world.end_faults()
    world.rest()
    require_calm(world)
