"""Runs one sequence of faults and says what it breaks."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from kuijia_app.tables.options import Liveness
from tests.rehearsal.calm import require_calm
from tests.rehearsal.effects import hit
from tests.rehearsal.faults import RehearsedFault, faults_of
from tests.rehearsal.switch import ViolationError
from tests.rehearsal.world import World

_FORGOTTEN = 5.0
"""Seconds after which entries of others that have gone are not named any more."""


@dataclass(frozen=True)
class BrokenPromise:
    """A sequence that breaks a promise; `seed` replays it with `faults`."""

    seed: int
    faults: tuple[RehearsedFault, ...]
    problem: str


def run_sequence(
    seed: int, faults: Sequence[RehearsedFault] | None = None, controllers: int = 1
) -> BrokenPromise | None:
    """Run the faults of a seed, or others with its chance; return what they break, None if all promises are kept."""
    faults = faults_of(seed) if faults is None else tuple(faults)
    try:
        _run(World(seed, controllers), faults)
    except Exception as error:  # noqa: BLE001  # whatever the controller's code raises is a finding
        is_promise = isinstance(error, ViolationError | AssertionError)
        place = "" if is_promise else f" at {traceback.extract_tb(error.__traceback__)[-1]}"
        return BrokenPromise(seed, tuple(faults), f"{type(error).__name__}: {error}{place}")
    return None


def shortest(finding: BrokenPromise, controllers: int = 1) -> BrokenPromise:
    """Return the finding without the faults that it does not need."""
    faults = list(finding.faults)
    position = 0
    while position < len(faults):
        left = faults[:position] + faults[position + 1 :]
        found = run_sequence(finding.seed, left, controllers)
        if found is None:
            position += 1
        else:
            faults, finding, position = left, found, 0
    return finding


def _run(world: World, faults: Sequence[RehearsedFault]) -> None:
    world.rest(quiet=1.0 if world.options.liveness is Liveness.CONTROLLER else 4.0)
    world.traffic.require_all(world.plans[0])
    for fault in faults:
        world.time.run_until(world.time.now + fault.gap)
        hit(world, fault)
    world.time.run_until(world.time.now + 1.0)
    world.end_faults()
    world.traffic.disturbed(0.0)
    world.rest()
    require_calm(world)
    if any(switch.foreign for switch in world.switches.values()):
        for switch in world.switches.values():
            switch.foreign.clear()
        world.time.run_until(world.time.now + _FORGOTTEN)
        require_calm(world)
