"""Losses under a reading for one draw of pairs: every demand, link and scheme, in the fluid model by default; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.cases import DEMANDS, LINKS, Edge
from experiments.gscale.flow_run import offered
from experiments.gscale.readings.plans import pairs_under, plans_under
from experiments.gscale.readings.reading import DIRECTED, Direct, GscaleReading
from experiments.gscale.scenario import scaled
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Role
from simulator.flow.model import share
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.schemes.failure_scheme import VICTIM

if TYPE_CHECKING:  # which only Linux can import
    from testbed.traffic.hash_probe import Protocol

FIGURES: Mapping[str, tuple[Protocol, Role]] = {
    "fig10": ("tcp", "direct"),
    "fig11": ("udp", "direct"),
    "fig12": ("tcp", "victim"),
    "fig13": ("udp", "victim"),
}

Losses = dict[str, dict[str, list[list[float]]]]
"""Figure and scheme to the losses in % at each demand, one number for each link that has flows of the role."""

PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")
Rates = NDArray[np.float64]


@dataclass(frozen=True)
class Failed:
    """Flows around a failure under both schemes.

    Attributes:
        had: goodput before the failure of TCP, rate sent of UDP, of each flow, by protocol and scheme.
        after: goodput after it, likewise.
    """

    flows: tuple[WantedFlow, ...]
    victims: NDArray[np.bool_]
    had: Mapping[tuple[Protocol, str], Rates]
    after: Mapping[tuple[Protocol, str], Rates]


Fail = Callable[[GscaleReading, Plan, Edge], Failed]
"""Returns what the failure of a link does to a plan for links on which 1 Mbit/s may be planned."""


def losses_of(reading: GscaleReading, draw: int, seed: int) -> Losses:
    """Return the losses of a draw; draws 1 to 3 of `DIRECTED` are the repetitions of `--reading directed`."""
    return losses_of_each([reading], draw, seed)[0]


def losses_of_each(readings: Sequence[GscaleReading], draw: int, seed: int, fail: Fail | None = None) -> list[Losses]:
    """Return the losses of a draw under each reading; those that differ only in what is counted share their runs.

    A failure that cuts off a pair, which no scheme covers, counts for nothing; the three shortest tunnels allow it.
    """
    fail = fail or fluid_failure
    found: list[Losses] = [
        {figure: {scheme: [[] for _ in DEMANDS] for scheme in PAPERS_SCHEMES} for figure in FIGURES} for _ in readings
    ]
    for simulated, numbers in alike(readings).items():
        for at, plan in enumerate(plans_under(simulated, pairs_under(simulated, draw, seed))):
            for link in LINKS:
                if any(all(tunnel.crosses(*link) for tunnel in pair.tunnels) for pair in plan.pairs):
                    continue
                failed = fail(simulated, plan, link)
                for number in numbers:
                    for figure, scheme, loss in _losses_of_failure(readings[number], failed):
                        found[number][figure][scheme][at].append(loss)
    return found


def alike(readings: Sequence[GscaleReading]) -> dict[GscaleReading, list[int]]:
    """Return the readings without what is only counted, each with the numbers of those that share its runs."""
    found: dict[GscaleReading, list[int]] = {}
    for number, reading in enumerate(readings):
        found.setdefault(replace(reading, direct=DIRECTED.direct, average=DIRECTED.average), []).append(number)
    return found


def fluid_failure(reading: GscaleReading, plan: Plan, link: Edge) -> Failed:
    """Return the flows around the failure of a link in the fluid model."""
    plan = scaled(plan, 1.0, reading.planned_share)
    flows = sent_under(reading, plan, link)
    victims = victims_of(flows, link)
    had: dict[tuple[Protocol, str], Rates] = {}
    after: dict[tuple[Protocol, str], Rates] = {}
    for protocol in PROTOCOLS:
        before = (
            np.array([flow.offered for flow in flows])
            if protocol == "udp"
            else _goodput(reading, plan, protocol, flows, rerouted=False, low=set())
        )
        for scheme in PAPERS_SCHEMES:
            demotes = failure_scheme(scheme).demotes(VICTIM)
            low = {flow.name for flow, victim in zip(flows, victims, strict=True) if victim and demotes}
            had[protocol, scheme] = before
            after[protocol, scheme] = _goodput(reading, plan, protocol, flows, rerouted=True, low=low)
    return Failed(flows, victims, had, after)


def victims_of(flows: Sequence[WantedFlow], link: Edge) -> NDArray[np.bool_]:
    """Return True for each flow whose tunnel fails with the link."""
    return np.array([flow.tunnel.crosses(*link) for flow in flows])


def _losses_of_failure(reading: GscaleReading, failed: Failed) -> Iterator[tuple[str, str, float]]:
    """Yield (figure, scheme, loss in %) for each role that has flows when a link fails."""
    direct = _directly_affected(reading.direct, failed.flows, failed.victims)
    for figure, (protocol, role) in FIGURES.items():
        for scheme in PAPERS_SCHEMES:
            had = failed.had[protocol, scheme]
            chosen = (failed.victims if role == "victim" else direct) & (had > 0)
            if chosen.any():
                yield figure, scheme, _part_lost(reading, had[chosen], failed.after[protocol, scheme][chosen])


def sent_under(reading: GscaleReading, plan: Plan, link: Edge) -> tuple[WantedFlow, ...]:
    """Return the aggregates of a plan, sized according to a reading."""
    flows = aggregates_of(plan, link)
    if reading.halves:
        on_tunnel: dict[int, list[float]] = {}
        for flow in flows:
            on_tunnel.setdefault(flow.tunnel.path_id, []).append(flow.offered)
        flows = tuple(replace(flow, offered=fmean(on_tunnel[flow.tunnel.path_id])) for flow in flows)
    if reading.unthrottled:
        asked = {(pair.source, pair.target): pair.demand / pair.allocated for pair in plan.pairs if pair.allocated}
        flows = tuple(replace(flow, offered=flow.offered * asked[flow.source, flow.target]) for flow in flows)
    return flows


def _directly_affected(direct: Direct, flows: Sequence[WantedFlow], victims: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if direct == "all but victims":
        return ~victims
    taken = {hop for flow, victim in zip(flows, victims, strict=True) if victim for hop in flow.backup.hops}
    if direct == "both directions":
        taken |= {hop[::-1] for hop in taken}
    sharing: NDArray[np.bool_] = np.array([bool(taken & set(flow.tunnel.hops)) for flow in flows])
    return ~victims & sharing


def _goodput(
    reading: GscaleReading,
    plan: Plan,
    protocol: Protocol,
    flows: Sequence[WantedFlow],
    *,
    rerouted: bool,
    low: set[str],
) -> Rates:
    tunnels = [flow.backup if rerouted else flow.tunnel for flow in flows]
    waiting = dict.fromkeys(low, True)
    each = offered(plan.topology, protocol, tunnels, flows, waiting, round_trips=reading.round_trips)
    return share([link.capacity for link in plan.topology.links], each).goodput


def _part_lost(reading: GscaleReading, had: Rates, after: Rates) -> float:
    part = np.mean(1 - after / had) if reading.average == "of flows" else 1 - after.sum() / had.sum()
    return 100 * float(part)
