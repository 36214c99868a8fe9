"""Runs one sequence of faults and says what it breaks."""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.rehearsal.faults import Fault, faults_of
from kuijia_app.rehearsal.switch import SimulatedSwitch, ViolationError
from kuijia_app.rehearsal.world import World
from kuijia_app.tables.identifiers import path_id_of_liveness_group

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Finding:
    """A sequence that breaks a promise; `seed` replays it with `faults`."""

    seed: int
    faults: tuple[Fault, ...]
    problem: str


def run_sequence(seed: int, faults: Sequence[Fault] | None = None, controllers: int = 1) -> Finding | None:
    """Run the faults of a seed, or others with its chance; return what they break, None if all promises are kept."""
    faults = faults_of(seed) if faults is None else tuple(faults)
    try:
        _run(World(seed, controllers), faults)
    except Exception as error:  # noqa: BLE001  # whatever the controller's code raises is a finding
        is_promise = isinstance(error, ViolationError | AssertionError)
        place = "" if is_promise else f" at {traceback.extract_tb(error.__traceback__)[-1]}"
        return Finding(seed, tuple(faults), f"{type(error).__name__}: {error}{place}")
    return None


def shortest(finding: Finding, controllers: int = 1) -> Finding:
    """Return the finding without the faults that it does not need."""
    faults = list(finding.faults)
    position = 0
    while position < len(faults):
        left = faults[:position] + faults[position + 1 :]
        found = run_sequence(finding.seed, left, controllers)
        if found is None:
            position += 1
        else:
            faults, finding = left, found
    return finding


def _run(world: World, faults: Sequence[Fault]) -> None:
    world.rest(quiet=1.0)
    world.traffic.require_all(world.plans[0])
    for fault in faults:
        world.time.run_until(world.time.now + fault.gap)
        world.hit(fault)
    world.time.run_until(world.time.now + 1.0)
    world.end_faults()
    world.rest()
    require_calm(world)


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
    if controller.failed_edges != down:
        raise ViolationError(f"the controller takes {set(controller.failed_edges)} for dead, but {down} are")
    if not controller.is_settled:
        raise ViolationError("an update never ends")
    for name, switch in world.switches.items():
        differs = _difference(switch, controller.in_force.of(name), controller.told_dead(name))
        if differs:
            raise ViolationError(f"{name} {differs}")
    world.traffic.require_all(controller.in_force.plan)


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
