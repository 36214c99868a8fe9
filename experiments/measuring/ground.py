"""Selects the ground of a measurement by its backend: emulation, or the boxes of an inventory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from experiments.experiment import Settings
from kuijia_base.errors import InputError
from te_solver.model.topology import Topology
from testbed.boxes.inventory import read_inventory
from testbed.boxes.network import BoxGround
from testbed.lab.grounds import Emulation, Ground
from testbed.machine.machine import Machine, examine_machine, require_emulation


def ground_of(settings: Settings, topology: Topology, sites: Iterable[str]) -> tuple[Ground, Machine]:
    """Return the ground that the lab stands on, and the description of this machine.

    Args:
        settings: contain the backend and the inventory.
        topology: the inventory must contain its switches; capacities do not matter.
        sites: sites whose hosts will send or receive traffic.

    Raises:
        InputError: this machine cannot run an emulation, or the inventory is missing, invalid, or lacks some of these
            switches and hosts.
    """
    if settings.backend != "boxes":
        return Emulation(), require_emulation()
    if settings.inventory is None:
        raise InputError("option", "--backend", "boxes need an inventory", "--inventory FILE")
    inventory = read_inventory(Path(settings.inventory))
    inventory.require_fit(topology)
    inventory.require_hosts(set(sites))
    return BoxGround(inventory), examine_machine()
