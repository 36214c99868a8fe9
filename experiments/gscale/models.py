"""Computes a case: in the fluid model, with TCP's rates in between, or in packets, with a plan's compiled tables."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.experiment import Settings
from experiments.gscale.cases import EXPERIMENT, LAYOUTS, Case, aggregates_of, phases_of
from experiments.gscale.plans import parameters_of, plan_of, with_roles_read
from experiments.measuring.failure_run import Failing, Phases, WantedFlow, roles_of
from experiments.measuring.packet_run import PacketConditions, simulate
from experiments.results.result import FlowResult, NoticedCut, Protocol, Result, Role, Series, Window
from experiments.results.stored_files import timing_told
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_base.manifest import describe_computation
from simulator.flow.model import FluidFlows, share, weighed_by_round_trips
from simulator.flow.timeline import FlowsRerouted, LinksFail, Ramp, play, stages
from te_solver.model.plan import Plan, Tunnel
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme

ROUND_TRIP = 0.02
"""Round-trip time in seconds. The paper gives neither delays nor buffers; full queues of 1000 packets, Linux's default,
hold 12 ms each at 1 Gbit/s, so this is a round trip through one or two of them. Climbing takes time in proportion to
its square."""

BACKOFF = 0.5
"""Backoff factor of Reno; the model's additive increase is Reno's too."""

PAPER_CAPACITY = 1000.0
"""Mbit/s of the paper's links: a segment per round trip is a smaller share of them than of slower links."""

DETECTION = 0.05
"""Seconds until victims are rerouted; it only matters that this is less than TCP's timeout."""

CUT = 3.0
_INTERVAL = 0.2
BEFORE, AFTER = Window(0.0, CUT), Window(CUT, CUT + 60.0)

_SEGMENT = Ramp().segment


def climbs(
    capacity: Sequence[float],
    failed: Sequence[int],
    planned: FluidFlows,
    rerouted: FluidFlows,
    round_trip: float = ROUND_TRIP,
) -> list[Series]:
    """Return the goodput of each flow over time, in Mbit/s of these links, at the times of links of `PAPER_CAPACITY`.

    Args:
        capacity: Mbit/s of each link.
        failed: positions of the links that fail.
        planned: the flows until the failure is detected.
        rerouted: the same flows from then on.
        round_trip: seconds.
    """
    limits = np.asarray(capacity, np.float64)
    events = (LinksFail(CUT, tuple(failed)), FlowsRerouted(CUT + DETECTION, rerouted, "detected"))
    scale = float(limits.max()) / PAPER_CAPACITY
    ramp = Ramp(round_trip, segment=_SEGMENT * scale, backoff=BACKOFF)
    history = play(stages(limits, planned, events, AFTER.end), ramp)
    edges = np.arange(round(AFTER.end / _INTERVAL) + 1) * _INTERVAL
    goodput = np.array([history.mean(start, end) for start, end in pairwise(edges.tolist())])
    start, end = tuple(edges[:-1].tolist()), tuple(edges[1:].tolist())
    return [Series(start, end, tuple(own)) for own in goodput.T.tolist()]


@dataclass(frozen=True)
class FlowModel:
    """Computes cases; takes the place of the emulated network in a campaign."""

    settings: Settings

    def measure(self, case: Case) -> Result:
        return compute(case, self.settings)


def compute(case: Case, settings: Settings) -> Result:
    """Return the result of a case.

    Each aggregate is one flow: with TCP one connection, which shares full links with others by their round-trip times;
    with UDP one that sends at its rate regardless of losses. Each class of traffic has a queue, and under Kuijia
    another
    one below it for its victims; queues are served in strict priority. Rates before and after the failure are steady
    states; for TCP in one class of traffic, the series shows the transition between them (`climbs`).
    """
    began = time.time()
    plan = plan_of(case, settings.capacity, settings.seed)
    flows = aggregates_of(plan, case.link, case.scheme, settings.slots)
    role = roles_of(flows, case.link)
    capacity = [link.capacity for link in plan.topology.links]
    planned = fluid_flows(plan.topology, case.protocol, [flow.tunnel for flow in flows], flows, {})
    low = {flow.name: failure_scheme(case.scheme).demotes(role[flow.name]) for flow in flows}
    rerouted = fluid_flows(plan.topology, case.protocol, [flow.backup for flow in flows], flows, low)
    before, after = (share(capacity, each).goodput.tolist() for each in (planned, rerouted))
    series = [Series((), (), ())] * len(flows)
    if case.traffic == "tcp":
        failed = [number for number, link in enumerate(plan.topology.links) if set(link.ends) == set(case.link)]
        series = climbs(capacity, failed, planned, rerouted)
    return Result(
        experiment="gscale",
        backend=settings.backend,
        scheme=case.scheme,
        seed=settings.seed,
        repetition=case.repetition,
        capacity=settings.capacity,
        started_at=began,
        failure=NoticedCut(case.link, CUT, {}),
        before=BEFORE,
        after=AFTER,
        flows=with_roles_read(
            case,
            flows,
            [
                _result(case, flow, role[flow.name], rates, way, low=low[flow.name])
                for flow, way, *rates in zip(flows, series, before, after, strict=True)
            ],
        ),
        manifest={"settings": asdict(settings), **describe_computation(began, time.time() - began)},
        parameters=parameters_of(case, plan),
    )


def fluid_flows(
    topology: Topology,
    protocol: Protocol,
    tunnels: Sequence[Tunnel],
    flows: Sequence[WantedFlow],
    low: Mapping[str, bool],
    *,
    round_trips: bool = True,
) -> FluidFlows:
    """Return each flow over its tunnel; those that are `low` wait in the victims' queue of their class.

    Without `round_trips` TCP flows share by max-min fairness, not weighted by their round-trip times.
    """
    position = {link.ends: number for number, link in enumerate(topology.links)}
    found = FluidFlows.of(
        [[position[hop] for hop in pairwise(tunnel.nodes)] for tunnel in tunnels],
        [flow.offered for flow in flows],
        level=[2 * flow.priority + low.get(flow.name, False) for flow in flows],
        elastic=protocol == "tcp",
    )
    if not round_trips:
        return found
    back = [[position[hop] for hop in pairwise(tunnel.nodes[::-1])] for tunnel in tunnels]
    return weighed_by_round_trips([link.capacity for link in topology.links], found, back)


def _result(
    case: Case, flow: WantedFlow, role: Role, rates: Sequence[float], series: Series, *, low: bool
) -> FlowResult:
    return FlowResult(
        name=flow.name,
        role=role,
        protocol=case.protocol,
        source=flow.source,
        target=flow.target,
        offered=flow.offered,
        before=rates[0],
        after=rates[1],
        tunnel_before=flow.tunnel.nodes,
        tunnel_after=flow.backup.nodes,
        low_after=low,
        series=series,
        priority=flow.priority,
        sent=flow.offered if case.protocol == "udp" else None,
    )


@dataclass(frozen=True)
class PacketModel:
    """Settings and conditions of all cases."""

    settings: Settings
    conditions: PacketConditions

    def phases(self, case: Case) -> Phases:
        return phases_of(case.protocol, quick=self.settings.quick)

    def told(self, case: Case) -> Mapping[str, Any]:
        """Return the part of a manifest that runs to be compared must share."""
        return {"timing": timing_told(asdict(self.phases(case))), "sending": asdict(self.conditions)}


def compute_packets(case: Case, plan: Plan, model: PacketModel) -> Result:
    """Return the result of a case."""
    began = time.time()
    settings, phases = model.settings, model.phases(case)
    tables = pipeline_options(OptionWords(scheme=case.scheme, slots=settings.slots, layout=LAYOUTS[case.traffic]))
    wanted = aggregates_of(plan, case.link, case.scheme, settings.slots)
    run = Failing(plan, tables, wanted, case.protocol, case.link, settings.seed)
    flows = simulate(run, model.conditions, phases)
    before, after = phases.windows
    return Result(
        experiment=EXPERIMENT,
        backend=settings.backend,
        scheme=case.scheme,
        seed=settings.seed,
        repetition=case.repetition,
        capacity=settings.capacity,
        started_at=began,
        failure=NoticedCut(case.link, phases.cut, {}),
        before=before,
        after=after,
        flows=with_roles_read(case, wanted, flows),
        manifest={
            "settings": asdict(settings),
            **model.told(case),
            **describe_computation(began, time.time() - began),
        },
        parameters=parameters_of(case, plan),
    )
