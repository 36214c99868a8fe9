"""A flow that an experiment wants: its rate and its tunnels; knows nothing of switches."""

from __future__ import annotations

from dataclasses import dataclass

from te_solver.model.plan import Tunnel


@dataclass(frozen=True)
class WantedFlow:
    """A flow between two sites: `tunnel` carries it, `backup` while the link in question is down.

    `offered` is its limit in Mbit/s on the wire. Only a victim has two different tunnels.
    """

    name: str
    offered: float
    source: str
    target: str
    tunnel: Tunnel
    backup: Tunnel
    priority: int = 0
