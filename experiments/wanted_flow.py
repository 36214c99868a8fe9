"""A flow that an experiment wants: what it offers and over which tunnels; knows nothing of switches."""

from __future__ import annotations

from dataclasses import dataclass

from te_solver.plan import Tunnel


@dataclass(frozen=True)
class WantedFlow:
    """A flow between two sites: `tunnel` carries it, `backup` while the link in question is down.

    `offered` is its limit in Mbit/s on the wire. The two tunnels are the same unless the flow is a victim.
    """

    name: str
    offered: float
    source: str
    target: str
    tunnel: Tunnel
    backup: Tunnel
    priority: int = 0
