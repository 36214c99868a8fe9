"""Computes a case in the fluid model: rates of each aggregate before and after the failure, and TCP's in between."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from experiments.experiment import Settings
from experiments.gscale.aggregates import aggregates_of, roles_of
from experiments.gscale.case_plan import parameters_of, plan_of, with_roles_read
from experiments.gscale.cases import Case
from experiments.gscale.climb import AFTER, BEFORE, CUT, climbs
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Failure, FlowResult, Result, Role, Series
from kuijia_base.manifest import describe_computation
from simulator.flow.model import Flows, share
from simulator.flow.round_trips import weighed_by_round_trips
from te_solver.model.plan import Tunnel
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme

if TYPE_CHECKING:  # which only Linux can import
    from testbed.traffic.hash_probe import Protocol


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
    flows = aggregates_of(plan, case.link)
    role = roles_of(flows, case.link)
    capacity = [link.capacity for link in plan.topology.links]
    planned = offered(plan.topology, case.protocol, [flow.tunnel for flow in flows], flows, {})
    low = {flow.name: failure_scheme(case.scheme).demotes(role[flow.name]) for flow in flows}
    rerouted = offered(plan.topology, case.protocol, [flow.backup for flow in flows], flows, low)
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
        failure=Failure(case.link, CUT, {}),
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
        published=None,
        checks=(),
        invalid=(),
        manifest={"settings": asdict(settings), **describe_computation(began, time.time() - began)},
        parameters=parameters_of(case, plan),
    )


def offered(
    topology: Topology,
    protocol: Protocol,
    tunnels: Sequence[Tunnel],
    flows: Sequence[WantedFlow],
    low: Mapping[str, bool],
    *,
    round_trips: bool = True,
) -> Flows:
    """Return each flow over its tunnel; those that are `low` wait in the victims' queue of their class.

    Without `round_trips` TCP flows share by max-min fairness, not weighted by their round-trip times.
    """
    position = {link.ends: number for number, link in enumerate(topology.links)}
    found = Flows.of(
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
