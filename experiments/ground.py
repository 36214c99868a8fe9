"""What a measurement stands on, by the backend asked for: emulation, or the boxes of an inventory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.registry import Settings
from te_solver.errors import InputError
from te_solver.topology import Topology
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.grounds import Emulation, Ground
from testbed.machine import Machine, examine_machine, require_emulation


def ground_of(settings: Settings, topology: Topology, sites: Iterable[str]) -> tuple[Ground, Machine]:
    """Where switches are, and what is known of this machine.

    Args:
        settings: say which backend, and which inventory.
        topology: of which an inventory has to have the switches; capacities do not matter.
        sites: between whose hosts traffic is to be sent.

    Raises:
        InputError: this machine cannot run an emulation, the inventory is missing or not as it should be, or does not
            have these switches and hosts.
    """
    if settings.backend != "boxes":
        return Emulation(), require_emulation()
    if settings.inventory is None:
        raise InputError("option", "--backend", "boxes of which no inventory says where they are", "--inventory FILE")
    inventory = read_inventory(Path(settings.inventory))
    inventory.require_fit(topology)
    inventory.require_hosts(set(sites))
    return BoxGround(inventory), examine_machine()
