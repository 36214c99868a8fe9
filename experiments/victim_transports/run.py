"""Runs any transport over any scheme around a cut, and says what victims and those whose links they take get."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.gscale.cases import Case as GscaleCase
from experiments.gscale.cases import aggregates_of
from experiments.gscale.plans import plan_of
from experiments.measuring.failure_run import Failing, WantedFlow, roles_of
from experiments.measuring.packet_options import DETECTION_SECONDS
from experiments.measuring.packet_run import FRAME, TCP_PAYLOAD, slot_of
from experiments.motivation.report import CASES, PAPERS_CUT, TABLE_2, TABLE_3, motivation_plan, wanted_flows
from experiments.victim_transports.cases import FLOWS, MARKED_SHARE, Case, Conditions, Service
from kuijia_app.tables.options import OptionWords, PipelineOptions, pipeline_options
from simulator.packet.credited import Credited
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.transports import Congestion, Tcp, Transport
from simulator.planned.credit_classes import VictimCredits
from simulator.planned.events import Cut, Timing
from simulator.planned.network import Physical
from simulator.planned.results import Windows
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from simulator.studies.packet.transports import Credits, transport_of
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme

_GSCALE_DEMAND, _GSCALE_LINK = 1.2, ("7", "9")

_START_SECONDS = 0.1
"""Flows start at random within this time."""

_CREDITS = {
    Service.OWN: VictimCredits.OWN,
    Service.SHARED: VictimCredits.SHARED,
}


def named_transport(name: str) -> Transport:
    """Return a transport of the registry; TCP is ECN-capable."""
    return transport_of(name, Tcp(payload=TCP_PAYLOAD, header=FRAME - TCP_PAYLOAD, ecn=True), Credits())


def is_credited(name: str) -> bool:
    return isinstance(named_transport(name), Credited)


def demotes(scheme: str) -> bool:
    """Return True if victims of a scheme wait in a queue of their own."""
    return failure_scheme(scheme).demotes("victim")


def outcome(conditions: Conditions, case: Case) -> dict[str, Any]:
    """Return the Mbit/s of each role before and after the cut, and packets sent and dropped after it, as JSON data."""
    seed = conditions.seed + case.repetition - 1
    plan, wanted, link = _place(case, conditions)
    options = pipeline_options(OptionWords(scheme=case.scheme))
    transport = named_transport(case.transport)
    traffic = list(_traffic(Failing(plan, options, wanted, "tcp", link, seed), transport, case))
    # Each flow has a host at both ends.
    hosts = FLOWS * max(Counter(flow.target for flow in wanted).values())
    physical = replace(_physical(transport, case, conditions, options), hosts=hosts, host_rate=conditions.capacity)
    timing = Timing(port=DETECTION_SECONDS)
    run = PlanRun(plan, options, traffic, physical, timing, [Cut(conditions.cut, link)], seed)
    run.run(conditions.warmup)
    before = run.run(conditions.cut).windows
    offered = _emulated(run)
    run.run(conditions.cut + conditions.settle)
    after = run.run(conditions.cut + conditions.settle + conditions.after).windows
    kinds = roles_of(wanted, link)
    of_flow = np.repeat([kinds[flow.name] for flow in wanted], FLOWS)
    found: dict[str, Any] = {"case": {**vars(case), "service": case.service.name}, "roles": {}}
    for role in dict.fromkeys(of_flow.tolist()):
        mine = of_flow == role
        found["roles"][role] = {
            "before": _rate(before, mine),
            "after": _rate(after, mine),
            "sent": int(after.sent[:, mine].sum()),
            "dropped": int(after.dropped[:, mine].sum()),
        }
    found["offered"], found["credits"], found["unused"] = (_emulated(run) - offered).tolist()
    return found


def _place(case: Case, conditions: Conditions) -> tuple[Plan, Sequence[WantedFlow], tuple[str, str]]:
    """Return the plan, the aggregates and the link that fails."""
    if case.place == "gscale":
        link = _GSCALE_LINK
        wanted_case = GscaleCase("tcp", _GSCALE_DEMAND, link, "kuijia", case.repetition)
        plan = plan_of(wanted_case, conditions.capacity, conditions.seed)
        links = tuple(replace(each, delay=conditions.link_delay) for each in plan.topology.links)
        return replace(plan, topology=replace(plan.topology, links=links)), aggregates_of(plan, link), link
    motivated = CASES[PAPERS_CUT]
    plan = motivation_plan(conditions.capacity, conditions.link_delay)
    table = TABLE_2 if case.place == "room" else TABLE_3
    return plan, wanted_flows(table, motivated.flow_tunnels, plan), motivated.link


def _traffic(run: Failing, transport: Transport, case: Case) -> Iterator[SiteFlows]:
    chance = random.Random(f"{run.seed} {case.place}")
    for number, flow in enumerate(run.flows):
        yield SiteFlows.of(
            [(flow.source, flow.target)] * FLOWS,
            transport,
            start=[chance.uniform(0, _START_SECONDS) for _ in range(FLOWS)],
            slot=slot_of(run, number),
            limit=flow.offered / FLOWS,
        )


def _physical(transport: Transport, case: Case, conditions: Conditions, options: PipelineOptions) -> Physical:
    """Return queues that mark where the service, or DCTCP, wants it."""
    limit = conditions.buffer_packets * FRAME
    plain, marking = Fifo(limit), Fifo(limit, Threshold(round(MARKED_SHARE * limit)))
    if isinstance(transport, Credited):
        victims = _CREDITS.get(case.service, VictimCredits.SAME)
        return Physical(queue=plain, limit_by_link=True, victim_credits=victims)
    marks = isinstance(transport, Tcp) and transport.congestion is Congestion.DCTCP
    behind = [each.victim for each in options.layout.classes]
    victims_mark = case.service is Service.MARKED
    queues = [
        (marking if victims_mark else plain) if queue in behind else (marking if marks else plain)
        for queue in options.layout.queues
    ]
    return Physical(queue=queues, limit_by_link=True)


def _rate(windows: Windows, mine: NDArray[np.bool_]) -> float:
    return float(windows.goodput[:, mine].sum() * 8e-6 / (windows.edges[-1] - windows.edges[0]))


def _emulated(run: PlanRun) -> NDArray[np.int64]:
    """Return all emulation packets or credits sent until now, those that came, and those that let nothing go."""
    counted = run.simulation.credit_results()
    return np.array([counted.offered.sum(), counted.credits.sum(), counted.unused.sum()], np.int64)
