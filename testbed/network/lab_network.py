"""The interface of a network for labs and experiments, emulated here or made of physical boxes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from kuijia_app.tables.families import Address
from kuijia_base.errors import TestbedError
from testbed.links.label_observer import EgressFlowKey, IngressMark
from testbed.links.load_counters import LoadCounters
from testbed.machine.ovs import Datapath
from testbed.machine.programs import ClockOffset, StartedProgram
from testbed.network.bfd import BfdCables
from testbed.network.calibration import LinkCalibration, MeasurableNetwork
from testbed.network.queue_counters import PortCounters, QueueTotals


class SiteHost(Protocol):
    """The host of a site. Everything raises TestbedError on failure."""

    @property
    def name(self) -> str:
        """The site's name in the topology."""

    @property
    def address(self) -> Address: ...

    @property
    def interface(self) -> str:
        """The device cabled to the site's switch."""

    def launch(self, argv: Sequence[str]) -> StartedProgram:
        """Start a program; it ends with the network if it still runs then."""

    def launch_python(self, file: Path, arguments: Sequence[str]) -> StartedProgram:
        """Launch one of our programs that needs nothing but Python."""

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        """Run many commands of `ip` or `tc`."""

    def clock(self) -> ClockOffset:
        """Return the offset of the host's `time.monotonic` clock from the local one."""


class LabelWatch(Protocol):
    """Watches the labelled packets that leave a switch, from its creation until its block ends."""

    def watch(
        self, flows: Iterable[EgressFlowKey], seconds: float, ignored: Collection[int] = frozenset()
    ) -> dict[EgressFlowKey, IngressMark]:
        """Return the mark of the next packet of each flow without an ignored label; ends when all have been seen."""

    def __enter__(self) -> LabelWatch: ...

    def __exit__(self, *_: object) -> None: ...


class LabNetwork(MeasurableNetwork, Protocol):
    """Switches, cables and hosts of a topology, from `start` to `stop`; nodes are named as in the topology.

    Everything raises TestbedError when a part of the network fails, InputError for parts that the network lacks.
    """

    @property
    def datapath(self) -> Datapath:
        """Datapath that forwards packets in the switches."""

    def dead_switches(self) -> frozenset[str]:
        """Return the switches whose software does not run."""

    @property
    def bfd(self) -> BfdCables:
        """BFD sessions between the switches."""

    @property
    def forwarding_process(self) -> int | None:
        """Process on this machine that forwards packets, None if its kernel or another machine does."""

    def count_box_loads(self) -> Mapping[str, LoadCounters]:
        """Return the load counters of the network's boxes by name; none if it is emulated here."""

    def start(self) -> None:
        """Build everything; nothing is left behind on failure."""

    def connect(self, controller_port: int, *others: int) -> None:
        """Connect all switches to the controllers at these ports."""

    def stop(self) -> None:
        """Restore everything to its state before `start`."""

    def has_host(self, site: str) -> bool:
        """Return True if a site has a host."""

    def host(self, node: str) -> SiteHost: ...

    def congestion_controls(self) -> frozenset[str]:
        """Return the TCP congestion controls that every host has."""

    def observe(self, *switches: str) -> LabelWatch:
        """Start watching packets that leave switches to others."""

    def ofctl(self, switch: str, command: str, *arguments: str, stdin: str | None = None) -> str:
        """Run `ovs-ofctl COMMAND BRIDGE ARGUMENTS` on a switch, in OpenFlow 1.3."""

    def is_up(self, a: str, b: str) -> bool:
        """Return True if both ends of a link are up and have a carrier."""

    def links_up(self, links: Iterable[tuple[str, str]]) -> dict[tuple[str, str], bool | TestbedError]:
        """Return `is_up` of many links, with the fault of a link in its place."""

    def switch_link(self, a: str, b: str, *, up: bool) -> tuple[float, dict[str, float]]:
        """Take both ends of a link down, or bring them up, and wait until both switches have reported that.

        Returns:
            Time of the request in seconds since the epoch, and by switch the seconds until its report.
        """

    def queue_counters(self, switch: str, port: int) -> tuple[QueueTotals, ...]:
        """Return the counters of a port's queues."""

    def queue_counters_of(self, ports: Iterable[tuple[str, int]]) -> dict[tuple[str, int], PortCounters]:
        """Return the counters of many ports, given by switch and number, with the fault of a port in their place."""

    def calibrate(self, report: Callable[[str], None]) -> tuple[LinkCalibration, ...]:
        """Measure every link; `report` receives a line about repeated measurements."""

    def describe(self) -> dict[str, Any]:
        """Return the manifest's description of the network."""
