"""Rate and memory of plans in the packet model: few flows of TCP or UDP, and thousands between all sites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from benchmarks.measure import apart, processor_time
from benchmarks.registry import Comparison, Setting, benchmark, goal
from experiments.gscale.cases import Case
from experiments.gscale.plans import plan_of
from kuijia_app.tables.options import PipelineOptions
from simulator.packet.transports import ConstantRate, Tcp
from simulator.planned.events import Cut
from simulator.planned.network import Physical
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.solve import solve

_CAPACITY = 1000.0
_SECONDS = 4.0
_CUT = ("7", "9")
_DEMAND = 30.0
"""Mbit/s of each of all pairs, which Gscale can carry."""
_REPETITIONS = 3
_LEAST = 800_000
_MOST_MEGABYTES = 500


@dataclass(frozen=True)
class Problem:
    """Flows of a run: between all sites or five pairs, by UDP or TCP, how many for each pair, seconds of each link."""

    all_pairs: bool
    udp: bool
    flows_per_pair: int
    delay: float


_PROBLEMS: Mapping[str, Problem] = {
    "five pairs, TCP": Problem(all_pairs=False, udp=False, flows_per_pair=6, delay=0.0005),
    "five pairs, UDP at the planned rates": Problem(all_pairs=False, udp=True, flows_per_pair=6, delay=0.0005),
    "all pairs, TCP": Problem(all_pairs=True, udp=False, flows_per_pair=76, delay=0.002),
}


@dataclass(frozen=True)
class Played:
    """A run: processor seconds without building it, and the packets of all kinds and their hops in them."""

    flows: int
    seconds: float
    packets: int
    hops: int

    @property
    def microseconds(self) -> float:
        """Return the time of a packet."""
        return self.seconds * 1e6 / self.packets


@benchmark("packet-plans")
def packet_plans(setting: Setting) -> Iterator[Comparison]:
    best: dict[str, Played] = {}
    megabytes: dict[str, float] = {}
    for _ in range(_REPETITIONS):  # in turn, so that a disturbance meets all problems
        for name, problem in _PROBLEMS.items():
            setting.progress.show(name)
            run = apart(played, problem)
            megabytes[name] = max(run.peak_megabytes, megabytes.get(name, 0.0))
            best[name] = min(run.value, best.get(name, run.value), key=lambda each: each.microseconds)
    few, *_, many = best.values()
    detail = {
        "problem": f"Gscale with links of {_CAPACITY:g} Mbit/s and queues of 1.5 MB for {_SECONDS:g} s; "
        f"{'-'.join(_CUT)} is cut in the middle",
        "plans": [
            {
                "traffic": name,
                "flows": run.flows,
                "packets/s": round(run.packets / run.seconds),
                "hops/s": round(run.hops / run.seconds),
                "MB of the process": megabytes[name],
            }
            for name, run in best.items()
        ],
        "goals": [
            goal(f"{_LEAST:,} packets/s in each", met=all(1e6 / run.microseconds >= _LEAST for run in best.values())),
            goal(f"at most {_MOST_MEGABYTES} MB", met=max(megabytes.values()) <= _MOST_MEGABYTES),
        ],
    }
    yield Comparison(many.microseconds, few.microseconds, f"{few.flows} flows", "µs of a processor per packet", detail)


def played(problem: Problem) -> Played:
    """Return what happens in a run over a plan's tables."""
    plan = _plan_of_all_pairs() if problem.all_pairs else plan_of(Case("tcp", 1.0, _CUT, KUIJIA.name, 1), _CAPACITY, 1)
    traffic = [
        SiteFlows.of(
            [(pair.source, pair.target)] * problem.flows_per_pair,
            ConstantRate(pair.allocated / problem.flows_per_pair) if problem.udp else Tcp(),
        )
        for pair in plan.pairs
    ]
    physical = Physical(delay={link.ends: problem.delay for link in plan.topology.links})
    run = PlanRun(plan, PipelineOptions(KUIJIA), traffic, physical, events=[Cut(_SECONDS / 2, _CUT)])
    seconds = processor_time(lambda: run.run(_SECONDS))
    hops = int(run.simulation.link_results().sent_packets.sum())
    return Played(sum(len(group.pairs) for group in traffic), seconds, run.simulation.totals().made, hops)


def _plan_of_all_pairs() -> Plan:
    topology = load_topology(shipped_network("gscale")).with_capacity(_CAPACITY)
    demands = [Demand(*pair, _DEMAND) for pair in permutations(topology.nodes, 2)]
    return solve(topology, demands, options=Options(spread=True))
