"""What labs and experiments ask of a network, whatever it is made of: emulated here, or physical boxes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

from kuijia_app.bfd import BfdSession
from kuijia_app.queues import QueueLayout
from kuijia_app.wiring import Wiring
from te_solver.topology import Topology
from testbed.bfd import EndState
from testbed.calibration import LinkCalibration
from testbed.clocks import ClockOffset
from testbed.flow_keys import FlowKey, Mark
from testbed.load_counters import LoadCounters
from testbed.ovs import Datapath
from testbed.programs import Program
from testbed.queue_counters import QueueCounters


class SiteHost(Protocol):
    """The host of a site. Everything raises TestbedError when it fails."""

    @property
    def name(self) -> str:
        """The site's name in the topology."""

    @property
    def address(self) -> IPv4Address: ...

    @property
    def interface(self) -> str:
        """The device cabled to the site's switch."""

    def launch(self, argv: Sequence[str]) -> Program:
        """Start a program; it is ended with the network if it still runs then."""

    def launch_python(self, file: Path, arguments: Sequence[str]) -> Program:
        """Launch a program of ours that needs nothing but Python."""

    def batch(self, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        """Run many commands of `ip` or `tc`."""

    def clock(self) -> ClockOffset:
        """How far the clock of `time.monotonic` there is ahead of the one here."""


class LabelWatch(Protocol):
    """Watches the labelled packets that leave a switch, from when it is made until the block of it ends."""

    def watch(
        self, flows: Iterable[FlowKey], seconds: float, ignored: Collection[int] = frozenset()
    ) -> dict[FlowKey, Mark]:
        """The mark of the next packet of each flow without an ignored label; ends when all have been seen."""

    def __enter__(self) -> LabelWatch: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Fabric(Protocol):
    """Switches, cables and hosts of a topology, from `start` to `stop`; nodes are named as in the topology.

    Everything raises TestbedError when a part of the network fails, InputError for what the network does not have.
    """

    @property
    def topology(self) -> Topology: ...

    @property
    def wiring(self) -> Wiring: ...

    @property
    def layout(self) -> QueueLayout: ...

    @property
    def datapath(self) -> Datapath:
        """What forwards packets in the switches."""

    @property
    def is_alive(self) -> bool:
        """Whether the switches' software runs."""

    @property
    def forwarding_process(self) -> int | None:
        """The process of this machine that forwards packets, None when that is done by its kernel or elsewhere."""

    def count_box_loads(self) -> Mapping[str, LoadCounters]:
        """What the boxes that the network is made of have done so far, by name; none where it is emulated here."""

    def start(self) -> None:
        """Build everything; nothing is left behind when that fails."""

    def connect(self, controller_port: int) -> None:
        """Connect all switches to the controller at this port."""

    def stop(self) -> None:
        """Put everything back as it was before `start`."""

    def host(self, node: str) -> SiteHost: ...

    def congestion_controls(self) -> frozenset[str]:
        """Those of TCP that every host has."""

    def observe(self, *switches: str) -> LabelWatch:
        """Begin to watch what leaves switches to others."""

    def ofctl(self, switch: str, command: str, *arguments: str, stdin: str | None = None) -> str:
        """Run `ovs-ofctl COMMAND BRIDGE ARGUMENTS` on a switch, in OpenFlow 1.3."""

    def is_up(self, a: str, b: str) -> bool:
        """Whether both ends of a link are up and have a carrier."""

    def switch_link(self, a: str, b: str, *, up: bool) -> tuple[float, dict[str, float]]:
        """Take both ends of a link down, or bring them up, and wait until both switches have reported that.

        Returns:
            When it was asked for, in seconds since the epoch; by switch, the seconds until it had reported.
        """

    def queue_counters(self, switch: str, port: int) -> tuple[QueueCounters, ...]:
        """What the queues of a port have done."""

    def calibrate(self, report: Callable[[str], None]) -> tuple[LinkCalibration, ...]:
        """Measure every link; `report` is told of repeated measurements."""

    def describe(self) -> dict[str, Any]:
        """What a manifest says of the network."""

    def add_sessions(self, sessions: Sequence[BfdSession], interval_ms: int) -> None: ...

    def remove_sessions(self, sessions: Iterable[BfdSession]) -> None: ...

    def session_states(self) -> dict[BfdSession, dict[str, EndState]]: ...

    def session_flaps(self) -> int:
        """How often ends of the BFD sessions have gone up or down since they were made."""

    def wait_for_sessions(self, sessions: Iterable[BfdSession], *, up: bool) -> None: ...
