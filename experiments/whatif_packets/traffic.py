"""Flows of a plan's pairs: they come at random, with sizes of a distribution, and use the hash slots evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.whatif_packets.conditions import Conditions
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.slots import cut_slots
from simulator.planned.traffic import SiteFlows
from simulator.portable_random import Draws
from te_solver.plan import Plan


@dataclass(frozen=True, eq=False)
class Traffic:
    """F flows, pair by pair.

    Attributes:
        flows: the flows as they are simulated.
        tunnel: position of each flow's own tunnel among all tunnels of the plan, shape (F,).
    """

    flows: SiteFlows
    tunnel: NDArray[np.int64]

    @property
    def count(self) -> int:
        return self.flows.count

    @property
    def payload(self) -> int:
        """Bytes of all flows."""
        return int(self.flows.size.sum())


def traffic_of(plan: Plan, options: PipelineOptions, how: Conditions) -> Traffic:
    """Return the flows of a plan at scaled rates: Poisson arrivals from 0 to `how.end` seconds for each pair.

    The flows of a pair are the same under every scheme, and whatever other pairs do.
    """
    ends: list[tuple[str, str]] = []
    columns: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
    priorities: list[int] = []
    first = 0
    for number, pair in enumerate(plan.pairs):
        draws = Draws(how.seed, number)
        start = _arrivals(how.load * pair.allocated * 1e6 / 8 / how.sizes.mean, how.end, draws)
        count = start.size
        slots = draws.whole(options.slot_count, count)
        table = cut_slots([each.weight for each in pair.tunnels], options.slot_count).slots if count else ()
        own = np.array([table[slot].primary for slot in slots.tolist()], np.int64)
        columns.append((start, how.sizes.sample(draws, count), slots, first + own))
        ends += [(pair.source, pair.target)] * count
        priorities += [pair.priority] * count
        first += len(pair.tunnels)
    start, size, slot, tunnel = (np.concatenate(column) for column in zip(*columns, strict=True))
    flows = SiteFlows.of(ends, how.tcp, size=size, start=start, slot=slot, priority=priorities)
    return Traffic(flows, tunnel)


def _arrivals(rate: float, end: float, draws: Draws) -> NDArray[np.float64]:
    """Return the times until `end` of a Poisson process of so many a second."""
    times = np.empty(0)
    last = 0.0
    while rate > 0 and last < end:
        more = last + np.cumsum(draws.exponential(max(16, int(rate * (end - last))))) / rate
        times, last = np.concatenate([times, more]), float(more[-1])
    return times[times < end]
