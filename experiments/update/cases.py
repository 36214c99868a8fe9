"""Network, plans and traffic in which a plan or a controller is replaced, and the options; pure data."""

from __future__ import annotations

from dataclasses import dataclass

NETWORK = "fig1"
PAIRS = {("s1", "s4"): 1.5, ("s2", "s3"): 0.5}
"""Pair to its demand, in capacities of a link."""

LOAD = 0.5
"""Offered load as a share of the plan's allocation: no link is full, wherever the flows are hashed to."""

FLOWS_PER_PAIR = 8
PACKET_BYTES = 1000

REST_SECONDS = 1.0
"""Seconds of sending before the first and after the last event of a phase."""

IDLE_SECONDS = 5.0
"""Length in seconds of the phase in which nothing changes."""

PLANS = ((3, True), (2, False))
"""Tunnels per pair, and whether traffic is spread over all of them, of the two plans that replace each other."""


@dataclass(frozen=True)
class UpdateOptions:
    """Number of plan replacements and of controller restarts."""

    updates: int
    restarts: int
