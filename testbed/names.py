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
