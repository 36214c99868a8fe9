"""The rehearsal notices what it promises to notice: planted defects, and each thing that is not right after faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from kuijia_app.control.control import Control
from kuijia_app.control.loss_watch import DEFAULT_LIMIT
from kuijia_app.control.reconciliation import AddGroup
from kuijia_app.tables.options import Liveness
from kuijia_app.tables.rules import Group, GroupType, ToGroup
from kuijia_app.tables.tagging import tunnel_of
from tests.kuijia_app.rehearsal.planted import PLANTED, Planted
from tests.rehearsal.calm import require_calm
from tests.rehearsal.effects import hit
from tests.rehearsal.faults import FaultKind, RehearsedFault
from tests.rehearsal.messages import Message, RehearsedKind, SimulatedRole
from tests.rehearsal.sequence import run_sequence
from tests.rehearsal.switch import ViolationError
from tests.rehearsal.world import World

SOON = 400
"""Sequences within which the defects tried here are found."""

QUICKLY_FOUND = (
    "stale groups are never deleted",
    "generation ids ignore those that switches report",
    "an update that is given up is not taken back",
    "dead tunnels are not told to an ingress that comes back",
    "a link is up while one end is",
    "last resorts ignore dead tunnels",
)


def world_at_rest(
    seed: int, liveness: Liveness = Liveness.CONTROLLER, gray_loss: float | None = DEFAULT_LIMIT
) -> World:
    """Return the first world from a seed on with this kind of liveness, at rest."""
    world = World(seed, gray_loss=gray_loss)
    while world.options.liveness is not liveness:
        seed += 1
        world = World(seed, gray_loss=gray_loss)
    world.rest(quiet=4.0)
    require_calm(world)
    return world


@pytest.mark.parametrize(
    "planted", [each for each in PLANTED if each.name in QUICKLY_FOUND], ids=lambda each: each.name
)
def test_a_planted_defect_is_found(planted: Planted) -> None:
    assert planted.found_by(SOON) is not None


def leave_a_group(world: World) -> None:
    world.switches["a"].overwrite([AddGroup(Group(7, GroupType.SELECT, ()))])


def lose_a_master(world: World) -> None:
    world.switches["a"].roles = dict.fromkeys(world.switches["a"].roles, SimulatedRole.SLAVE)


def open_a_bundle(world: World) -> None:
    switch = world.switches["a"]
    switch.has_bundles = True
    list(switch.handle(next(iter(switch.roles)), Message(RehearsedKind.OPEN, bundle_id=9)))


def forget_a_generation(world: World) -> None:
    world.switches["a"].generation = 1


def leave_a_pending_plan(world: World) -> None:
    world.stores[0].put_pending(world.plans[1])


def replace_the_file(world: World) -> None:
    world.stores[0].replace_by_hand(world.plans[1])


def ask_in_vain(world: World) -> None:
    world.updates.asked(world.plans[1])


def fail_a_port_silently(world: World) -> None:
    world.switches["a"].ports[1] = False


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (leave_a_group, "a has besides groups 7"),
        (lose_a_master, "a has the masters"),
        (open_a_bundle, "a has 1 bundles"),
        (forget_a_generation, "a has the generation id 1"),
        (leave_a_pending_plan, "has a pending plan"),
        (replace_the_file, "does not hold the plan in force"),
        (ask_in_vain, "asked for last is not in force"),
        (fail_a_port_silently, "for dead"),
    ],
)
def test_what_is_not_right_after_faults_is_a_violation(spoil: Callable[[World], None], words: str) -> None:
    world = world_at_rest(3)
    spoil(world)
    with pytest.raises(ViolationError, match=words):
        require_calm(world)


@pytest.mark.parametrize(
    ("faults", "is_due"),
    [
        ([(FaultKind.PLAN, 0.0), (FaultKind.CUT, 0.0), (FaultKind.SWITCH_FREEZE, 0.0)], True),
        ([(FaultKind.PLAN, 0.0), (FaultKind.KILL, 2.0)], True),
        ([(FaultKind.PLAN, 0.0), (FaultKind.KILL, 1.0)], False),
        ([(FaultKind.FREEZE, 0.0), (FaultKind.PLAN, 3.0)], True),
        ([(FaultKind.FREEZE, 0.0), (FaultKind.PLAN, 2.0)], False),
        ([(FaultKind.PLAN, 0.0), (FaultKind.WITHDRAW, 9.0)], False),
        ([(FaultKind.WHIM, 0.0), (FaultKind.PLAN, 9.0)], False),
    ],
)
def test_what_may_refuse_an_update_or_hide_it_excuses_it(faults: list[tuple[FaultKind, float]], is_due: bool) -> None:  # noqa: FBT001  # a parameter of the test
    world = World(3)
    for kind, at in faults:
        world.time.run_until(1000.0 + at)
        if kind is FaultKind.PLAN:
            world.updates.asked(world.plans[1])
        world.updates.disturbed(RehearsedFault(kind, 0.0, 0, 0, 0.5))
    assert (world.updates.due is world.plans[1]) == is_due


def test_looking_at_what_switches_are_to_have_changes_nothing_of_it() -> None:
    def at_the_end(*, looks: bool) -> list[dict[int, Group]]:
        world = World(3)
        world.rest()
        for name in world.switches if looks else ():
            world.acting.on_top(name)
        hit(world, RehearsedFault(FaultKind.LINK, 0.0, 0, 0, 0.0))
        hit(world, RehearsedFault(FaultKind.PLAN, 0.0, 0, 1, 0.0))
        world.rest()
        require_calm(world)
        return [each.groups for each in world.switches.values()]

    assert at_the_end(looks=True) == at_the_end(looks=False)


def test_a_session_goes_down_with_its_path_and_comes_up_again() -> None:
    world = world_at_rest(1, Liveness.BFD)
    up = set(world.sessions.up)
    for _ in range(2):
        hit(world, RehearsedFault(FaultKind.LINK, 0.0, 0, 0, 0.0))
        world.time.run_until(world.time.now + 0.2)
        assert world.sessions.up < up
    world.time.run_until(world.time.now + 4.0)
    assert world.sessions.up == up


def delete_all(world: World) -> None:
    """Delete everything in the first switch, and let the time pass within which it has to be back."""
    hit(world, RehearsedFault(FaultKind.ALL_DELETED, 0.0, 0, 0, 0.0))
    world.time.run_until(world.time.now + 2.5)


def test_what_somebody_deletes_and_stays_away_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Control, "put_tables_right", lambda *_: None)
    with pytest.raises(ViolationError, match="lacks groups"):
        delete_all(world_at_rest(3))


def test_what_somebody_deletes_may_stay_away_while_the_controller_does_not_know_that_the_switch_has_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(World, "_closed_by_controller", lambda *_: None)
    world = world_at_rest(3)
    line = next(line for line in world.connections if line[0] == "a")
    world._end_at_switch(line, world.connections[line])
    world.time.run_until(world.time.now + 1.0)
    delete_all(world)
    assert not world.switches["a"].groups


def tunnels_led_to(groups: Iterable[Group]) -> set[int]:
    """Return the path ids into which groups send that lead on when they are dead: all but last resorts."""
    chained = [each for each in groups if any(isinstance(its.actions[-1], ToGroup) for its in each.buckets)]
    paths = {tunnel_of(bucket.actions) for group in chained for bucket in group.buckets}
    return {path_id for path_id in paths if path_id is not None}


@pytest.mark.parametrize("gray_loss", [DEFAULT_LIMIT, None], ids=["gray loss", "off"])
@pytest.mark.parametrize("seed", range(1, 40, 8))
def test_with_bfd_ingresses_lead_past_tunnels_that_ports_show_dead(seed: int, gray_loss: float | None) -> None:
    """Whether or not counters are compared, and though their own sessions may see it late."""
    world = world_at_rest(seed, Liveness.BFD, gray_loss)
    for pick in range(len(world.wiring.topology.edges)):
        hit(world, RehearsedFault(FaultKind.LINK, 0.0, pick, 0, 0.0))
        world.time.run_until(world.time.now + 1.0)
        failed = world.acting.failed_edges
        for tunnel in world.acting.in_force.plan.tunnels:
            led_to = tunnels_led_to(world.switches[tunnel.nodes[0]].groups.values())
            is_dead = any(frozenset(link) in failed for link in pairwise(tunnel.nodes[1:]))  # the first has a port
            assert (tunnel.path_id in led_to) is not is_dead
        hit(world, RehearsedFault(FaultKind.LINK, 0.0, pick, 0, 0.0))
        world.rest()


def test_a_switch_that_restarts_without_a_port_is_programmed_once_the_port_is_back() -> None:
    gone = RehearsedFault(FaultKind.PORT_GONE, 0.1, 0, 0, 0.0)
    assert (
        run_sequence(
            4, [gone, RehearsedFault(FaultKind.RESTART, 0.1, 0, 0, 0.0), RehearsedFault(FaultKind.PLAN, 2.0, 0, 1, 0.0)]
        )
        is None
    )
