"""What a lab can stand on: the network that it emulates itself, or, behind the same few methods, any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from kuijia_app.wiring import Wiring
from testbed.application_process import HERE, Listening
from testbed.fabric import Fabric
from testbed.leftovers import remove_leftovers
from testbed.machine import require_emulation
from testbed.network import Network, NetworkOptions
from testbed.network_namespace import private_network
from testbed.run_directory import RunDirectory

Report = Callable[[str], None]


class Ground(Protocol):
    """Gives a lab its network.

    Attributes:
        listening: where the controller waits for switches.
    """

    @property
    def listening(self) -> Listening: ...

    def require(self, report: Report) -> None:
        """Raises InputError when this machine cannot run a lab here; clears away what killed labs left behind."""

    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report
    ) -> AbstractContextManager[Fabric]:
        """A network, not started yet, and the surroundings it needs for the time of the block."""


class Emulation:
    """The network is emulated, in a network namespace of the lab's own unless it is to use the machine's switch."""

    listening = HERE

    def require(self, report: Report) -> None:
        require_emulation()
        remove_leftovers(report)

    @contextmanager
    def network(self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Report) -> Iterator[Fabric]:
        network = Network(wiring.topology, wiring, run, options, report)
        if options.system_ovs:
            yield network
        else:
            with private_network():
                yield network
