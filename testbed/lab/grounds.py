"""Networks that a lab stands on: the emulated one, or any other with the same few methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from kuijia_app.tables.wiring import Wiring
from testbed.controllers.application_process import HERE, Listening
from testbed.machine.machine import require_emulation
from testbed.machine.network_namespace import private_network
from testbed.machine.run_directory import RunDirectory
from testbed.network.lab_network import LabNetwork
from testbed.network.leftovers import remove_leftovers
from testbed.network.network import EmulatedNetwork
from testbed.network.network_options import NetworkOptions

Report = Callable[[str], None]


class Ground(Protocol):
    """Gives a lab its network.

    Attributes:
        listening: where the controller waits for switches.
    """

    @property
    def listening(self) -> Listening: ...

    def has_own_loopback(self, options: NetworkOptions) -> bool:
        """Return True if the lab and its controllers have a network namespace of their own."""

    def require(self, report: Report) -> None:
        """Raise InputError if this machine cannot run a lab here; remove what killed labs left behind."""

    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report
    ) -> AbstractContextManager[LabNetwork]:
        """Return a context that provides a network, not started yet, and its surroundings."""


class Emulation:
    """Provides emulated networks, in the lab's own network namespace unless it uses the machine's switch."""

    listening = HERE

    def has_own_loopback(self, options: NetworkOptions) -> bool:
        return not options.system_ovs

    def require(self, report: Report) -> None:
        require_emulation()
        remove_leftovers(report)

    @contextmanager
    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report
    ) -> Iterator[LabNetwork]:
        network = EmulatedNetwork(wiring.topology, wiring, run, options, report)
        if options.system_ovs:
            yield network
        else:
            with private_network():
                yield network
