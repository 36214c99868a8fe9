"""Small plans for failures, and answers of schemes as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from te_solver.model.failures import Failure
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from te_solver.programs.incidence import Vector
from te_solver.schemes.models.rerouting import Rerouting
from te_solver.schemes.models.traffic import PlannedTraffic


@dataclass(frozen=True)
class Rates:
    """A solver's answer made up by a test."""

    rates: Vector


def parallel_plan(weights: Sequence[float], allocated: float = 100.0, capacity: float = 100.0) -> Plan:
    """Tunnels from s to t; tunnel i crosses its own node mi."""
    middles = [f"m{number}" for number in range(1, len(weights) + 1)]
    links = tuple(Link(a, b, capacity) for middle in middles for a, b in (("s", middle), (middle, "t")))
    tunnels = tuple(
        Tunnel(16 + position, ("s", middle, "t"), allocated * weight, weight)
        for position, (middle, weight) in enumerate(zip(middles, weights, strict=True))
    )
    pair = PairPlan("s", "t", allocated, allocated, tunnels)
    return Plan(Topology("parallel", ("s", *middles, "t"), links), (pair,), "any", allocated, "none", 0.0)


def parallel(*weights: float) -> PlannedTraffic:
    """100 Mbit/s in these shares over links of 100 Mbit/s."""
    return PlannedTraffic.of(parallel_plan(weights))


def cut(*numbers: int) -> Failure:
    """The first links of these tunnels of a parallel plan, counted from one."""
    return Failure("cut", tuple(("s", f"m{number}") for number in numbers))


def sub_flows(answer: Rerouting) -> dict[tuple[int, int], float]:
    """Mbit/s by (origin, carrier), tunnels counted from one, new traffic from 0."""
    keys = zip((answer.origin + 1).tolist(), (answer.carrier + 1).tolist(), strict=True)
    return dict(zip(keys, answer.offered.tolist(), strict=True))


def about(expected: dict[tuple[int, int], float]) -> object:
    return pytest.approx(expected, rel=1e-9, abs=1e-9)
