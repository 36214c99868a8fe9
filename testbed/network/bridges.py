"""Names of bridges, hosts and interfaces, and the `ovs-vsctl` arguments that create bridges, as pure data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kuijia_app.preparation.queues import qos_arguments
from kuijia_app.tables.queues import Queue
from kuijia_app.tables.wiring import Wiring
from testbed.machine.ovs import Datapath
from testbed.machine.run_directory import LAB_VARIABLE


def bridge_name(wiring: Wiring, switch: str) -> str:
    return f"s{wiring.number(switch)}"


def port_name(wiring: Wiring, switch: str, port: int) -> str:
    return f"{bridge_name(wiring, switch)}-eth{port}"


def host_name(number: int) -> str:
    """Return the name of the host at this position in the wiring's sites, counted from 1."""
    return f"h{number}"


def host_interface(number: int) -> str:
    return f"{host_name(number)}-eth0"


LAB_KEY = LAB_VARIABLE.lower().replace("_", "-")
"""Key in a bridge's external_ids that names the lab it belongs to."""

_INACTIVITY_PROBE_MS = 5000


@dataclass(frozen=True)
class Port:
    """A port of a bridge.

    Attributes:
        interface: its device.
        mtu: bytes of the largest IP packet with labels that it carries.
        rate: Mbit/s of its queues.
        internal: True if it has no device until Open vSwitch creates it; such a port has no queues.
    """

    interface: str
    number: int
    mtu: int
    rate: float
    internal: bool = False


@dataclass(frozen=True)
class Bridge:
    """A bridge and its ports in the order of their numbers."""

    name: str
    datapath_id: int
    ports: tuple[Port, ...]


def bridge_arguments(bridge: Bridge, datapath: Datapath, lab_id: str, queues: Sequence[Queue]) -> list[str]:
    """Return the arguments of one `ovs-vsctl` that creates the bridge with its ports and their queues.

    Without a controller it drops packets that match no flow entry (fail mode `secure`). OpenFlow 1.5 is enabled for our
    own look at groups; a controller that speaks 1.3 gets 1.3.
    """
    mark = f"external_ids:{LAB_KEY}={lab_id}"
    settings = [
        f"datapath_type={datapath.value}",
        "fail_mode=secure",
        "protocols=OpenFlow13,OpenFlow15",
        f"other_config:datapath-id={bridge.datapath_id:016x}",
        "other_config:disable-in-band=true",
        mark,
    ]
    arguments = ["--", "add-br", bridge.name, "--", "set", "Bridge", bridge.name, *settings]
    rates = dict.fromkeys(port.rate for port in bridge.ports if not port.internal)
    names = {rate: f"{bridge.name}-qos-{number}" for number, rate in enumerate(rates, start=1)}
    for rate, name in names.items():
        arguments += qos_arguments(name, rate, queues, mark)
    for port in bridge.ports:
        arguments += ["--", "add-port", bridge.name, port.interface]
        arguments += [] if port.internal else ["--", "set", "Port", port.interface, f"qos=@{names[port.rate]}"]
        arguments += ["--", "set", "Interface", port.interface]
        arguments += [f"ofport_request={port.number}", f"mtu_request={port.mtu}"]
        arguments += ["type=internal"] if port.internal else []
    return arguments


def controller_arguments(
    bridge: Bridge,
    port: int,
    host: str = "127.0.0.1",
    protocol: Literal["tcp", "ssl"] = "tcp",
    others: Sequence[int] = (),
) -> list[str]:
    """Return the arguments of one `ovs-vsctl` that connects the bridge to a controller, and to others beside it."""
    name = f"@{bridge.name}-controller"
    names = [name, *(f"{name}-{number}" for number in range(2, len(others) + 2))]
    arguments = ["--", "set", "Bridge", bridge.name, f"controller={','.join(names)}"]
    for each, its_port in zip(names, (port, *others), strict=True):
        arguments += ["--", f"--id={each}", "create", "Controller", f'target="{protocol}:{host}:{its_port}"']
        arguments.append(f"inactivity_probe={_INACTIVITY_PROBE_MS}")
    return arguments
