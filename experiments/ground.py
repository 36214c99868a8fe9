"""What a measurement stands on, by the backend asked for: emulation, or the boxes of an inventory."""

from __future__ import annotations

from pathlib import Path

from experiments.registry import Settings
from te_solver.errors import InputError
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.grounds import Emulation, Ground
from testbed.machine import Machine, examine_machine, require_emulation


def ground_of(settings: Settings) -> tuple[Ground, Machine]:
    """Where switches are, and what is known of this machine.

    Raises:
        InputError: this machine cannot run an emulation, or the inventory is missing or not as it should be.
    """
    if settings.backend != "boxes":
        return Emulation(), require_emulation()
    if settings.inventory is None:
        raise InputError("option", "--backend", "boxes of which no inventory says where they are", "--inventory FILE")
    return BoxGround(read_inventory(Path(settings.inventory))), examine_machine()
