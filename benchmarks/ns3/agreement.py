"""Results of the packet model and ns-3 for the same scenarios, and their deviation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.ns3.peer import Ns3Flow, Ns3Program, Ns3Result
from benchmarks.ns3.scenes import NS3_CONTROL, ModelResult, Scene, measured
from simulator.packet.transports import Congestion

GOODPUT, QUEUE, MEAN, HIGH = "goodput", "mean queue", "mean completion", "99th percentile of completion"
GOALS = {GOODPUT: 0.02, QUEUE: 0.10, MEAN: 0.05, HIGH: 0.05}
"""Largest allowed relative deviations."""

_HOSTS = 32


@dataclass(frozen=True)
class Scenario:
    """Scenes whose flows are evaluated together.

    Attributes:
        scenes: scenes that differ only in their flows.
        quantities: the compared quantities of `GOALS`.
    """

    name: str
    scenes: Sequence[Scene]
    quantities: Sequence[str]


@dataclass(frozen=True)
class Agreement:
    """One quantity of one scenario by both: Mbit/s, packets or seconds."""

    scenario: str
    quantity: str
    ours: float
    ns3: float

    @property
    def deviation(self) -> float:
        return self.ours / self.ns3 - 1 if self.ns3 > 0 else np.inf

    @property
    def met(self) -> bool:
        return abs(self.deviation) <= GOALS[self.quantity]


def scenarios() -> list[Scenario]:
    """Return all scenarios: dumbbells with deep and shallow buffers, and a leaf-spine network with various flows."""
    found = []
    for label, rate, warm_up, until in (("deep", 20.0, 20.0, 80.0), ("shallow", 100.0, 10.0, 40.0)):
        for congestion in NS3_CONTROL:
            for flows in (1, 2, 8):
                scene = _dumbbell(congestion, flows, rate, (warm_up, until))
                found.append(Scenario(f"{label}-{congestion.value}-{flows}", [scene], (GOODPUT, QUEUE)))
    found.append(Scenario("permutation-dctcp", [permutation(0.02)], (GOODPUT, QUEUE)))
    for congestion in (Congestion.NEW_RENO, Congestion.CUBIC, Congestion.DCTCP):
        scenes = [loaded(congestion, seed) for seed in range(1, 9)]
        found += [Scenario(f"load-{congestion.value}", scenes, (MEAN, HIGH))]
    return found


def _dumbbell(congestion: Congestion, flows: int, rate: float, times: tuple[float, float]) -> Scene:
    """Return a dumbbell with a round trip of 30 ms and a buffer of 100 packets.

    The buffer is twice the bandwidth-delay product at 20 Mbit/s, and 0.4 times that at 100 Mbit/s. A flow of Vegas
    counts the queue that it finds as delay of the empty path, for ever: its flows begin when those before have settled.
    """
    apart = 4.0 if congestion is Congestion.VEGAS else 0.1
    warm_up = max(times[0], (flows + 1) * apart)
    return Scene(
        congestion=congestion,
        flows=[Ns3Flow(host, flows + host, 0, apart * host) for host in range(flows)],
        hosts=flows,
        fabric=None,
        host_rate=10 * rate,
        rate=rate,
        delay=5e-3,
        limit=100,
        threshold=20 if congestion is Congestion.DCTCP else 0,
        window=1000,
        ack_every=1,
        min_timeout=0.2,
        warm_up=warm_up,
        until=warm_up + times[1] - times[0],
    )


def permutation(until: float) -> Scene:
    """Return 32 hosts of 10 Gbit/s under 4 leaves and 4 spines, each with an endless flow to a host of the next leaf.

    Flows begin within 0.1 ms: flows that begin at one moment stay in step in ns-3.
    """
    start = np.random.default_rng(1).uniform(0, 1e-4, _HOSTS).round(9).tolist()
    return Scene(
        congestion=Congestion.DCTCP,
        flows=[Ns3Flow(host, (host + 8) % _HOSTS, 0, start[host]) for host in range(_HOSTS)],
        hosts=8,
        fabric=(4, 4),
        host_rate=10_000,
        rate=10_000,
        delay=1e-6,
        limit=200,
        threshold=65,
        window=200,
        ack_every=1,
        min_timeout=0.01,
        warm_up=until / 2,
        until=until,
    )


def loaded(congestion: Congestion, seed: int) -> Scene:
    """Return the same network with Poisson arrivals of 1500 flows of log-normal sizes, load 0.3 at hosts."""
    count, load, mean, shape, rate = 1500, 0.3, 74e3, 1.5, 10e9
    random = np.random.default_rng(seed)
    size = np.maximum(1, random.lognormal(np.log(mean) - shape**2 / 2, shape, count)).astype(int)
    start = np.cumsum(random.exponential(mean * 8 / (load * _HOSTS * rate), count))
    source = random.integers(0, _HOSTS, count)
    target = (source + random.integers(1, _HOSTS, count)) % _HOSTS
    columns = (source.tolist(), target.tolist(), size.tolist(), np.round(start, 12).tolist())
    return Scene(
        congestion=congestion,
        flows=[Ns3Flow(*line) for line in zip(*columns, strict=True)],
        hosts=8,
        fabric=(4, 4),
        host_rate=10_000,
        rate=10_000,
        delay=1e-6,
        limit=400,
        threshold=65 if congestion is Congestion.DCTCP else 0,
        window=1000,
        ack_every=1,
        min_timeout=0.01,
        warm_up=0,
        until=2,
    )


def agreements(scenario: Scenario, program: Ns3Program) -> Iterator[Agreement]:
    """Run the scenario in both models and yield their agreement."""
    ours = [measured(scene) for scene in scenario.scenes]
    theirs = [scene.in_ns3(program) for scene in scenario.scenes]
    for quantity in scenario.quantities:
        yield Agreement(scenario.name, quantity, _value(quantity, ours), _value(quantity, theirs))


def _value(quantity: str, outcomes: Sequence[ModelResult | Ns3Result]) -> float:
    """Return total goodput, total queue, or the mean or percentile of completion times."""
    if quantity == GOODPUT:
        return float(np.mean([np.sum(outcome.goodput) for outcome in outcomes]))
    if quantity == QUEUE:
        return float(np.mean([np.sum(outcome.queue) for outcome in outcomes]))
    completion = _finished(np.concatenate([outcome.completion for outcome in outcomes]))
    return float(completion.mean() if quantity == MEAN else np.percentile(completion, 99))


def _finished(completion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return completion times with unfinished flows as infinite, so that they cannot be ignored."""
    return np.where(completion < 0, np.inf, completion)
