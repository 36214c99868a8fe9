"""Runs the `tc` commands of `kuijia_app.preparation.queues` that complete queues, on the machine of the switch."""

from __future__ import annotations

from collections.abc import Sequence

from kuijia_base.commands import run_batch
from kuijia_base.errors import TestbedError

_ATTEMPTS = 5


def complete_queues(clearing: Sequence[list[str]], building: Sequence[list[str]]) -> None:
    """Remove the classes and filters that are in the way, as far as they exist, and build the wanted ones.

    Open vSwitch creates the leaves again below its own root class whenever a network device or its database changes,
    which may be in between: then everything is done again.

    Raises:
        TestbedError: a command to build failed each time; the message names it.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        run_batch("tc", clearing, to_the_end=True)
        try:
            run_batch("tc", building)
        except TestbedError:
            if attempt == _ATTEMPTS:
                raise
        else:
            return
