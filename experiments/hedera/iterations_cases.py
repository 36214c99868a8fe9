"""Readings of the paper's table of iterations: what each changes, one thing at a time; pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hedera.placement.simulated_annealing import Start

Demands = Literal["estimated", "whole interfaces"]

Sharing = Literal["tcp", "ideal"]
"""Of links: as TCP's saw-tooth leaves them (`experiments.hedera.goodput`), or max-min fair and full."""


@dataclass(frozen=True)
class Scope:
    """Networks and seeds of a run.

    Attributes:
        ports: of a switch, for each network.
        seeds: of the destinations and of the search, for each network.
        most_iterations: published numbers of iterations beyond it are left out.
    """

    ports: tuple[int, ...]
    seeds: int
    most_iterations: int = 2_000_000


@dataclass(frozen=True)
class IterationReading:
    """A reading of what the authors simulated.

    Attributes:
        flows: from each host, to a random other one each.
        start: first state of the search.
        demands: of flows, as the search sees them.
        rounds: of the scheduler, each of which goes on where the last one ended.
        in_every_pod: True if an iteration is an exchange in every pod, not one in a single pod.
        sharing: of links by flows.
        greed: as in `Annealing`; None for the paper's.
    """

    flows: int = 1
    start: Start = "drawn"
    demands: Demands = "estimated"
    rounds: int = 1
    in_every_pod: bool = False
    sharing: Sharing = "tcp"
    greed: float | None = None


OURS, NEAREST = "ours", "3 flows, 12 rounds, in every pod"

READINGS: Mapping[str, IterationReading] = {
    OURS: IterationReading(),
    "2 flows a host": IterationReading(flows=2),
    "3 flows a host": IterationReading(flows=3),
    "4 flows a host": IterationReading(flows=4),
    "8 flows a host": IterationReading(flows=8),
    "spread": IterationReading(start="spread"),
    "in order": IterationReading(start="in order"),
    "whole interfaces": IterationReading(demands="whole interfaces"),
    "12 rounds": IterationReading(rounds=12),
    "in every pod": IterationReading(in_every_pod=True),
    "ideal sharing": IterationReading(sharing="ideal"),
    "warmer": IterationReading(greed=0.5),
    "3 flows, 12 rounds": IterationReading(flows=3, rounds=12),
    "3 flows, in every pod": IterationReading(flows=3, in_every_pod=True),
    NEAREST: IterationReading(flows=3, rounds=12, in_every_pod=True),
}
"""By name: each changes one thing in ours, and the last ones several of these. A minute has 12 rounds."""

CURVES = {OURS: 2_000_000, NEAREST: 100_000}
"""Readings that are run at published numbers of iterations up to these; the others only at none and at the least. The
published bandwidth changes little beyond 100,000, which are 38 million exchanges in a minute on 8,192 hosts."""
