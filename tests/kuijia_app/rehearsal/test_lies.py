"""A switch that lies about roles takes no other switch from a controller, and makes no pair change its parts."""

from __future__ import annotations

import pytest

from kuijia_app.control.pair import Pair
from kuijia_app.control.role_verification import RoleVerification
from kuijia_app.framework import event_log
from tests.rehearsal.calm import require_calm, require_tables
from tests.rehearsal.effects import hit
from tests.rehearsal.faults import FaultKind, RehearsedFault
from tests.rehearsal.switch import ViolationError
from tests.rehearsal.world import World

LIES = (FaultKind.ROLE_LIES, FaultKind.ID_LIES, FaultKind.ERROR_LIES)
PARTS = (event_log.ROLE_TAKEN, event_log.ROLE_YIELDED, event_log.ROLE_LOST)
LONG = 40.0


def resting(seed: int, controllers: int) -> World:
    world = World(seed, controllers)
    world.rest(quiet=4.0)
    return world


def parts(world: World) -> list[int]:
    return [sum(event in PARTS for event in each.events) for each in world.controllers]


def end(world: World) -> None:
    """End all faults; check that all is right again."""
    world.end_faults()
    world.rest()
    require_calm(world)


@pytest.mark.parametrize("controllers", [1, 2])
@pytest.mark.parametrize("kind", LIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_while_one_switch_lies_others_that_come_back_empty_are_programmed_and_nobody_stands_down(
    kind: FaultKind, controllers: int, seed: int
) -> None:
    world = resting(seed, controllers)
    before, liar = parts(world), next(iter(world.switches))
    hit(world, RehearsedFault(kind, 0.0, 0, 0, LONG))
    for name in [each for each in world.switches if each != liar]:
        world.traffic.switch_hit(name)
        world.traffic.disturbed(0.0)
        world.come_again(name)
        world.switches[name].restart()
        world.time.run_until(world.time.now + 2.5)
        require_tables(world, world.acting, name)
    assert parts(world) == before
    end(world)


@pytest.mark.parametrize("controllers", [1, 2])
def test_a_controller_that_believes_one_switch_is_noticed(monkeypatch: pytest.MonkeyPatch, controllers: int) -> None:
    monkeypatch.setattr(RoleVerification, "is_lost", lambda self, connected, _: bool(self.denials(connected)))
    world = resting(1, controllers)
    hit(world, RehearsedFault(FaultKind.ROLE_LIES, 0.0, 0, 0, LONG))
    with pytest.raises(ViolationError, match="one switch makes controllers change their parts"):
        world.time.run_until(world.time.now + 6.5)


def test_a_pair_in_which_whoever_reaches_more_takes_over_each_time_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pair, "_note_moved", lambda *_: None)
    world = resting(3, controllers=2)
    hit(world, RehearsedFault(FaultKind.WANDERER, 0.0, 0, 0, LONG))
    with pytest.raises(ViolationError, match="one switch makes controllers change their parts"):
        world.time.run_until(world.time.now + LONG + 1.0)


def test_a_switch_that_connects_to_whoever_stands_by_is_a_reason_for_one_takeover() -> None:
    world = resting(3, controllers=2)
    before = parts(world)
    hit(world, RehearsedFault(FaultKind.WANDERER, 0.0, 0, 0, LONG))
    world.time.run_until(world.time.now + LONG)
    changes = [after - earlier for after, earlier in zip(parts(world), before, strict=True)]
    assert changes == [1, 1], "one has taken over from the other"
    end(world)


def test_halves_of_a_split_network_have_a_controller_each_but_not_each_others_ports() -> None:
    """A limit, which docs/pair.md states."""
    world = resting(4, controllers=2)
    names = list(world.switches)
    half = names[: len(names) // 2]
    one = world.controllers.index(world.acting)
    for way in ((0, 1), (1, 0)):
        world.peers.cut(way, LONG)
    for name in names:
        world.cut((name, 1 - one if name in half else one), ("up", "down"), LONG)
    world.time.run_until(world.time.now + 12.0)
    assert [each.is_acting for each in world.controllers] == [True, True]
    inside = next((a, b) for a, b in sorted(world.wiring.topology.edges) if a in half and b in half)
    for near, far in (inside, inside[::-1]):
        world.port_goes(near, world.wiring.port(near, far), live=False)
    world.time.run_until(world.time.now + 2.0)
    knows = [frozenset(inside) in each.failed_edges for each in world.controllers]
    assert knows == [number == one for number in (0, 1)]
    end(world)


def test_controllers_that_share_half_of_their_switches_both_act_and_these_change_hands_ever_less_often() -> None:
    world = resting(4, controllers=2)
    names = list(world.switches)
    one = world.controllers.index(world.acting)
    for way in ((0, 1), (1, 0)):
        world.peers.cut(way, LONG)
    world.cut((names[0], one), ("up", "down"), LONG)
    world.cut((names[1], one), ("up", "down"), LONG)
    world.cut((names[-1], 1 - one), ("up", "down"), LONG)
    world.cut((names[-2], 1 - one), ("up", "down"), LONG)
    before = parts(world)
    world.time.run_until(world.time.now + LONG)
    assert sum(after - earlier for after, earlier in zip(parts(world), before, strict=True)) <= 8
    end(world)
