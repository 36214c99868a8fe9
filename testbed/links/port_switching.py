"""Takes ports of switches on this machine down or up and waits until their switches have reported it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from testbed.links.link_state import set_devices
from testbed.links.port_status import PortObserver, wait_for_port_states

PORT_STATUS_TIMEOUT = 10.0


@dataclass(frozen=True)
class SwitchPort:
    """A port: its device, its OpenFlow number and the OpenFlow socket of its bridge."""

    interface: str
    number: int
    management: Path


def switch_ports(ports: Mapping[str, SwitchPort], *, up: bool) -> tuple[float, dict[str, float]]:
    """Switch the ports' devices, in order; return when every switch has reported its port.

    Args:
        ports: by name of the switch.
        up: True to bring them up.

    Returns:
        Unix time just before the first device was switched; by switch, the seconds from then until its port-status
        message arrived.

    Raises:
        TestbedError: an interface has vanished, or a switch does not report.
    """
    with ExitStack() as stack:
        observers = {
            switch: (stack.enter_context(PortObserver(port.management)), port.number) for switch, port in ports.items()
        }
        requested_at, started = time.time(), time.monotonic()
        set_devices([port.interface for port in ports.values()], up=up)
        arrivals = wait_for_port_states(observers, up=up, timeout=PORT_STATUS_TIMEOUT)
    return requested_at, {switch: arrival - started for switch, arrival in arrivals.items()}
