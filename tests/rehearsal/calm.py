"""Promises for the time after all faults: tables, roles, files and knowledge of failures are right again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from kuijia_app.control.plan_update import is_same_plan
from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.framework import event_log
from kuijia_app.tables.identifiers import path_id_of_liveness_group
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.rules import Match
from te_solver.model.plan import Plan
from tests.rehearsal.controller import RehearsedController
from tests.rehearsal.messages import SimulatedRole
from tests.rehearsal.plans import PlanStore
from tests.rehearsal.switch import SimulatedSwitch, ViolationError
from tests.rehearsal.world import World

Key = TypeVar("Key", bound=Hashable)


def require_calm(world: World) -> None:
    """Check the promises for the time after faults; raises ViolationError."""
    acting = [each for each in world.controllers if each.is_acting]
    if len(acting) != 1:
        raise ViolationError(f"{len(acting)} controllers act")
    controller = acting[0]
    down = {
        frozenset((name, neighbour))
        for name, switch in world.switches.items()
        for port, live in switch.ports.items()
        if not live and (neighbour := world.wiring.neighbour_at(name, port)) is not None
    }
    alive = [each for each in world.controllers if each.is_alive]
    for each in alive:
        if each.failed_edges != down:
            raise ViolationError(f"{each.name} takes {set(each.failed_edges)} for dead, but {down} are")
    if not controller.is_settled:
        raise ViolationError("an update never ends")
    for name, switch in world.switches.items():
        on_top = controller.on_top(name)
        if not down and (on_top.entries or on_top.groups):
            raise ViolationError(f"{name} has entries for pairs without a tunnel, but no link is down")
        require_tables(world, controller, name)
        _require_roles(switch, controller)
    is_untouched = not any(switch.is_strange for switch in world.switches.values())
    if is_untouched and any(event_log.TABLES_WRONG in each.events for each in world.controllers):
        raise ViolationError("tables that nobody has changed are taken for wrong")
    _require_named(world, controller)
    _require_same_plan(alive, controller)
    _require_no_plan_lost(world.stores)
    _require_update(world, controller.in_force.plan)
    world.traffic.require_all(controller.in_force.plan)
    with world.sessions.silent():  # an alarm costs nothing, whatever is broken
        world.traffic.require_all(controller.in_force.plan)


def _require_named(world: World, controller: RehearsedController) -> None:
    """Check that entries of others which defeat the controller's are named, all of them and no others."""
    defeated = {
        name
        for name, switch in world.switches.items()
        if switch.flows and any(entry.key.match == Match() for entry in switch.foreign)
    }
    if defeated != controller.defeated:
        raise ViolationError(f"entries of others defeat those at {defeated}, named are {controller.defeated}")


def require_tables(world: World, controller: RehearsedController, name: str) -> None:
    """Check that a switch has the tables of the plan in force, and what the controller has put on top of them."""
    wanted = controller.on_top(name).over(controller.in_force.of(name))
    differs = _difference(world.switches[name], wanted, controller.told_dead(name))
    if differs:
        raise ViolationError(f"{name} {differs}")


def _require_roles(switch: SimulatedSwitch, controller: RehearsedController) -> None:
    """Check that the switch obeys the controller, by its latest id but for renewals on their way."""
    masters = [owner.owner for owner, role in switch.roles.items() if role is SimulatedRole.MASTER]
    if masters != [controller.name]:
        raise ViolationError(f"{switch.name} has the masters {masters}, {controller.name} acts")
    if any(role is SimulatedRole.EQUAL for role in switch.roles.values()):
        raise ViolationError(f"a controller that stands by is no slave of {switch.name}")
    generation = controller.generation_of(switch.name)
    if not 0 <= generation - (switch.generation or 0) <= 1:
        raise ViolationError(f"{switch.name} has the generation id {switch.generation}, not {generation}")
    if switch.open_bundles:
        raise ViolationError(f"{switch.name} has {switch.open_bundles} bundles that nobody will commit")


def _require_same_plan(alive: Iterable[RehearsedController], controller: RehearsedController) -> None:
    """Check that peers know the plan in force, and that files hold it unless a disk was full."""
    for each in alive:
        if each.in_force.plan != controller.in_force.plan:
            raise ViolationError(f"{each.name} and {controller.name} know different plans")
        if each.files.was_full:
            continue
        if not each.files.holds(each.in_force.plan):
            raise ViolationError(f"the file of {each.name} does not hold the plan in force")
        if each.files.pending is not None:
            raise ViolationError(f"{each.name} has a pending plan, but no update is under way")


def _require_no_plan_lost(stores: Sequence[PlanStore]) -> None:
    """Check that plans which somebody has put into a file are in force, were so, or are in a file beside."""
    known = [plan for store in stores for plan in store.known]
    for number, store in enumerate(stores):
        given = store.given
        places = [plan for plan in (store.plan, store.pending, *known) if plan is not None]
        if given is not None and not any(is_same_plan(given, plan) for plan in places):
            raise ViolationError(f"the plan that was put into the file of controller {number} is lost")


def _require_update(world: World, in_force: Plan) -> None:
    """Check that the plan asked for last is in force; one that gives tags in use another meaning may be refused."""
    due = world.updates.due
    if due is not None and world.options.tagging is not Tagging.DSCP_ECN and not is_same_plan(due, in_force):
        raise ViolationError("the plan that was asked for last is not in force, and nothing excuses that")


def _difference(switch: SimulatedSwitch, wanted: IndexedTables, dead: frozenset[int]) -> str:
    groups = {
        group_id: replace(group, buckets=()) if path_id_of_liveness_group(group_id) in dead else group
        for group_id, group in wanted.group_of.items()
    }
    entries = _differences("entries", switch.flows, wanted.entry_of)
    return "; ".join((*_differences("groups", switch.groups, groups), *entries))


def _differences(kind: str, has: Mapping[Key, object], wanted: Mapping[Key, object]) -> Iterator[str]:
    for words, which in (
        ("lacks", [key for key in wanted if key not in has]),
        ("has besides", [key for key in has if key not in wanted]),
        ("has another of", [key for key in wanted if key in has and has[key] != wanted[key]]),
    ):
        if which:
            yield f"{words} {kind} {', '.join(map(str, which))}"
