"""Packet rate of the packet model under five load balancers and ECMP, in the network of Hermes' simulations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.measure import processor_time
from benchmarks.registry import Comparison, Setting, benchmark, goal
from experiments.hermes.networks import SIMULATED
from experiments.hermes.runs import Case
from experiments.hermes.schemes import NAMES, Scheme
from simulator.packet.simulation import Simulation

_WORKLOAD = "web-search"
_LOAD = 0.9
_FLOWS = 4_000
_SECONDS = 0.08
"""Simulated seconds: the last flow starts a little later."""
_REPETITIONS = 3
_PEER = "ecmp"
_BALANCERS = ("conga", "hermes", "letflow", "clove-ecn", "presto")
_LEAST = {"conga": 0.6, "hermes": 0.6}


@dataclass(frozen=True)
class Run:
    """A run: processor seconds without building it, and the data packets that arrived."""

    seconds: float
    packets: int

    @property
    def microseconds(self) -> float:
        """Return the time of a data packet, with all that it causes."""
        return self.seconds * 1e6 / self.packets


@benchmark("packet-balancers")
def packet_balancers(setting: Setting) -> Iterator[Comparison]:
    best: dict[str, Run] = {}
    for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets all schemes
        for name in (_PEER, *_BALANCERS):
            setting.progress.show(NAMES[name])
            run = measured(name)
            best[name] = min(run, best.get(name, run), key=lambda each: each.microseconds)
    reference = best[_PEER]
    for name in _BALANCERS:
        ours = best[name]
        share = reference.microseconds / ours.microseconds
        detail: dict[str, object] = {
            "problem": f"{NAMES[name]}, {_WORKLOAD} at load {_LOAD:g}, {SIMULATED.name}, {_SECONDS:g} s",
            "data packets/s": round(ours.packets / ours.seconds),
            f"data packets/s of {NAMES[_PEER]}": round(reference.packets / reference.seconds),
        }
        if name in _LEAST:
            detail["goals"] = [
                goal(f"{_LEAST[name]:g} of the packet rate of {NAMES[_PEER]}", met=share >= _LEAST[name])
            ]
        yield Comparison(
            ours.microseconds, reference.microseconds, NAMES[_PEER], "µs of a processor per data packet", detail
        )


def measured(name: str) -> Run:
    """Run a load balancer on one processor, with flows that are the same under each."""
    case = Case(SIMULATED, Scheme.of(name, SIMULATED), _WORKLOAD, _LOAD, _FLOWS, seed=1)
    network = SIMULATED.network(case.seed)
    simulation = Simulation(network, [case.drawn(network)], case.setting())
    seconds = processor_time(lambda: simulation.complete(_SECONDS))
    return Run(seconds, simulation.totals().data_arrived)
