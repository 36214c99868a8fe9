"""What the emulation calls bridges, hosts and their interfaces; users only see the names of the topology."""

from __future__ import annotations

from kuijia_app.wiring import Wiring


def bridge_name(wiring: Wiring, switch: str) -> str:
    return f"s{wiring.datapath_id(switch)}"


def port_name(wiring: Wiring, switch: str, port: int) -> str:
    return f"{bridge_name(wiring, switch)}-eth{port}"


def host_name(wiring: Wiring, switch: str) -> str:
    return f"h{wiring.datapath_id(switch)}"


def host_interface(wiring: Wiring, switch: str) -> str:
    return f"{host_name(wiring, switch)}-eth0"


def bfd_watched_name(wiring: Wiring, switch: str, path_id: int) -> str:
    """The port whose liveness is that of the BFD session over a path."""
    return f"{bridge_name(wiring, switch)}-b{path_id}"


def bfd_inner_name(wiring: Wiring, switch: str, path_id: int) -> str:
    """The other end of the watched port's cable."""
    return f"{bridge_name(wiring, switch)}-i{path_id}"
