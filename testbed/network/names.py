"""Names of bridges, hosts and their interfaces in the emulation; users only see the names of the topology."""

from __future__ import annotations

from kuijia_app.tables.wiring import Wiring


def bridge_name(wiring: Wiring, switch: str) -> str:
    return f"s{wiring.number(switch)}"


def port_name(wiring: Wiring, switch: str, port: int) -> str:
    return f"{bridge_name(wiring, switch)}-eth{port}"


def host_name(number: int) -> str:
    """Return the name of the host at this position in the wiring's sites, counted from 1."""
    return f"h{number}"


def host_interface(number: int) -> str:
    return f"{host_name(number)}-eth0"
