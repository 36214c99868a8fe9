"""Losses under a reading for one draw of pairs: every demand, link and scheme in the fluid model; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.cases import DEMANDS, LINKS, Edge
from experiments.gscale.flow_run import offered
from experiments.gscale.readings.plans import pairs_under, plans_under
from experiments.gscale.readings.reading import DEFAULT, Direct, GscaleReading
from experiments.gscale.scenario import scaled
from experiments.measuring.wanted_flow import WantedFlow
from experiments.results.result import Role
from simulator.flow.model import share
from te_solver.failure_schemes.failure_scheme import VICTIM
from te_solver.failure_schemes.registry import failure_scheme
from te_solver.plan import Plan
from testbed.traffic.hash_probe import Protocol

FIGURES: Mapping[str, tuple[Protocol, Role]] = {
    "fig10": ("tcp", "direct"),
    "fig11": ("udp", "direct"),
    "fig12": ("tcp", "victim"),
    "fig13": ("udp", "victim"),
}

Losses = dict[str, dict[str, list[list[float]]]]
"""Figure and scheme to the losses in % at each demand, one number for each link that has flows of the role."""

_PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")
_Rates = NDArray[np.float64]


@dataclass(frozen=True)
class _Failed:
    """Flows around a failure under both schemes.

    Attributes:
        had: goodput before the failure of TCP, rate sent of UDP, of each flow.
        after: goodput after it, by protocol and scheme.
    """

    flows: tuple[WantedFlow, ...]
    victims: NDArray[np.bool_]
    had: Mapping[Protocol, _Rates]
    after: Mapping[tuple[Protocol, str], _Rates]


def losses_of(reading: GscaleReading, draw: int, seed: int) -> Losses:
    """Return the losses of a draw; draws 1 to 3 of the default reading are the repetitions of `kuijia run gscale`."""
    return losses_of_each([reading], draw, seed)[0]


def losses_of_each(readings: Sequence[GscaleReading], draw: int, seed: int) -> list[Losses]:
    """Return the losses of a draw under each reading; those that differ only in what is counted share their runs."""
    found: list[Losses] = [
        {figure: {scheme: [[] for _ in DEMANDS] for scheme in PAPERS_SCHEMES} for figure in FIGURES} for _ in readings
    ]
    alike: dict[GscaleReading, list[int]] = {}
    for number, reading in enumerate(readings):
        alike.setdefault(replace(reading, direct=DEFAULT.direct, average=DEFAULT.average), []).append(number)
    for simulated, numbers in alike.items():
        for at, plan in enumerate(plans_under(simulated, pairs_under(simulated, draw, seed))):
            for link in LINKS:
                failed = _failed(simulated, scaled(plan, 1.0, simulated.planned_share), link)
                if failed is None:
                    continue
                for number in numbers:
                    for figure, scheme, loss in _losses_of_failure(readings[number], failed):
                        found[number][figure][scheme][at].append(loss)
    return found


def _failed(reading: GscaleReading, plan: Plan, link: Edge) -> _Failed | None:
    """Return the flows around the failure of a link, None if it cuts off a pair, which no scheme covers."""
    if any(all(tunnel.crosses(*link) for tunnel in pair.tunnels) for pair in plan.pairs):
        return None  # only the three shortest tunnels allow that
    flows = _sent(reading, plan, link)
    victims = np.array([flow.tunnel.crosses(*link) for flow in flows])
    had: dict[Protocol, _Rates] = {}
    after: dict[tuple[Protocol, str], _Rates] = {}
    for protocol in _PROTOCOLS:
        had[protocol] = (
            np.array([flow.offered for flow in flows])
            if protocol == "udp"
            else _goodput(reading, plan, protocol, flows, rerouted=False, low=set())
        )
        for scheme in PAPERS_SCHEMES:
            demotes = failure_scheme(scheme).demotes(VICTIM)
            low = {flow.name for flow, victim in zip(flows, victims, strict=True) if victim and demotes}
            after[protocol, scheme] = _goodput(reading, plan, protocol, flows, rerouted=True, low=low)
    return _Failed(flows, victims, had, after)


def _losses_of_failure(reading: GscaleReading, failed: _Failed) -> Iterator[tuple[str, str, float]]:
    """Yield (figure, scheme, loss in %) for each role that has flows when a link fails."""
    direct = _directly_affected(reading.direct, failed.flows, failed.victims)
    for figure, (protocol, role) in FIGURES.items():
        had = failed.had[protocol]
        chosen = (failed.victims if role == "victim" else direct) & (had > 0)
        if chosen.any():
            for scheme in PAPERS_SCHEMES:
                yield figure, scheme, _part_lost(reading, had[chosen], failed.after[protocol, scheme][chosen])


def _sent(reading: GscaleReading, plan: Plan, link: Edge) -> tuple[WantedFlow, ...]:
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
) -> _Rates:
    tunnels = [flow.backup if rerouted else flow.tunnel for flow in flows]
    waiting = dict.fromkeys(low, True)
    each = offered(plan.topology, protocol, tunnels, flows, waiting, round_trips=reading.round_trips)
    return share([link.capacity for link in plan.topology.links], each).goodput


def _part_lost(reading: GscaleReading, had: _Rates, after: _Rates) -> float:
    part = np.mean(1 - after / had) if reading.average == "of flows" else 1 - after.sum() / had.sum()
    return 100 * float(part)
