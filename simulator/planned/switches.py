"""The switches of a run as the controller sees them: they apply its changes to their tables when these arrive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kuijia_app.control.reconciliation import AddGroup, Change, KnownTables, ModifyGroup
from kuijia_app.tables.rules import SwitchTables
from simulator.packet.simulation import Simulation
from simulator.planned.network import PlannedNetwork
from simulator.planned.table_rows import group_rows, table_rows


class Switches:
    """The tables of all switches, and the packet model's copies of them, which packets meet from then on."""

    def __init__(self, simulation: Simulation, network: PlannedNetwork, tables: Mapping[str, SwitchTables]) -> None:
        self._simulation, self._network = simulation, network
        self._present = {switch: KnownTables.of(of_switch) for switch, of_switch in tables.items()}
        for switch, of_switch in tables.items():
            simulation.set_tables(network.switches[switch], table_rows(of_switch))

    def present(self, switch: str) -> KnownTables:
        """Return a copy of a switch's present tables."""
        return self._present[switch].copy()

    def apply(self, switch: str, changes: Iterable[Change]) -> None:
        """Apply changes in order; packets meet all of them at once."""
        listed = list(changes)
        for change in listed:
            self._present[switch].apply(change)
        node = self._network.switches[switch]
        if all(isinstance(change, AddGroup | ModifyGroup) for change in listed):
            groups = [change.group for change in listed if isinstance(change, AddGroup | ModifyGroup)]
            self._simulation.set_groups(node, group_rows(groups))
            return
        present = self._present[switch]
        groups = [group for group in present.groups.values() if group is not None]
        entries = [entry for entry in present.flows.values() if entry is not None]
        self._simulation.set_tables(node, table_rows(SwitchTables(tuple(groups), tuple(entries))))
