"""Network of Tables 2 and 3 and the output made of their results, the same for every backend."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

from experiments.experiment import Outcome, Settings
from experiments.measuring.attempts import ATTEMPTS
from experiments.measuring.wanted_flow import WantedFlow
from experiments.motivation.cases import (
    CASES,
    EGRESS,
    INGRESS,
    NETWORK,
    FlowTunnels,
    MotivationOptions,
    MotivationTable,
)
from experiments.motivation.exhibits import motivation_exhibit
from experiments.reporting.exhibit_output import write_tables
from experiments.results.bars import order
from experiments.results.judge import judge
from experiments.results.published import PublishedThroughput, published_throughput
from experiments.results.result import Check, Failure, FlowResult, Result, Window
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from te_solver.demands import Demand
from te_solver.failure_schemes.registry import failure_scheme
from te_solver.networks import shipped_network
from te_solver.plan import Plan
from te_solver.solve import solve
from te_solver.topology_file import load_topology


@dataclass(frozen=True)
class _Shares:
    """Mean goodput of one flow over the valid runs of a scheme, in parts of the paper's link; None without any."""

    before: float | None
    after: float | None


def summary(table: MotivationTable, published: PublishedThroughput, results: Sequence[Result]) -> dict[str, Any]:
    """Return the same as JSON data: goodput in parts of the paper's link (means of valid runs), and every check."""
    return {
        "experiment": table.name,
        "source": published.source,
        "link_parts": table.link_parts,
        "capacity": results[0].capacity,
        "link": list(results[0].failure.link),
        "passed": all(result.passed for result in results),
        "schemes": {
            scheme: {
                "flows": {
                    name: {
                        "offered": table.offered_parts[name],
                        "before": shares.before,
                        "after": shares.after,
                        "published_before": published.before[name],
                        "published_after": published.after.get(scheme, {}).get(name),
                    }
                    for name in table.offered_parts
                    for shares in [_shares(table, results, scheme, name)]
                },
                "runs": [
                    {
                        "repetition": result.repetition,
                        "invalid": list(result.invalid),
                        "checks": [{**asdict(check), "passed": check.passed} for check in result.checks],
                    }
                    for result in results
                    if result.scheme == scheme
                ],
            }
            for scheme in dict.fromkeys(result.scheme for result in results)
        },
    }


def _shares(table: MotivationTable, results: Sequence[Result], scheme: str, name: str) -> _Shares:
    runs = [result for result in results if result.scheme == scheme and not result.invalid]
    scale = table.link_parts / results[0].capacity
    if not runs:
        return _Shares(None, None)
    return _Shares(
        before=fmean(run.flow(name).before for run in runs) * scale,
        after=fmean(run.flow(name).after for run in runs) * scale,
    )


_NO_TIME = Window(0.0, 0.0)
_DEMAND_TO_CAPACITY = 3
"""Demand that fills the three tunnels, which gives them equal weights."""


def motivation_plan(capacity: float, delay: float = 0.0) -> Plan:
    """Return the plan for Fig. 1: links of `capacity` Mbit/s and `delay` seconds, three tunnels of equal weight."""
    topology = load_topology(shipped_network(NETWORK)).with_capacity(capacity)
    topology = replace(topology, links=tuple(replace(link, delay=delay) for link in topology.links))
    return solve(topology, [Demand(INGRESS, EGRESS, _DEMAND_TO_CAPACITY * capacity)])


def wanted_flows(table: MotivationTable, flow_tunnels: FlowTunnels, plan: Plan) -> tuple[WantedFlow, ...]:
    """Return the flows of a table, with offered rates scaled from parts of the paper's link to links of the plan."""
    tunnels = {tunnel.nodes: tunnel for tunnel in plan.tunnels}
    capacity = min(link.capacity for link in plan.topology.links)
    return tuple(
        WantedFlow(
            name,
            table.offered_parts[name] / table.link_parts * capacity,
            INGRESS,
            EGRESS,
            tunnels[before],
            tunnels[after],
        )
        for name, (before, after) in flow_tunnels.items()
    )


def computed_result(
    table: MotivationTable,
    settings: Settings,
    options: MotivationOptions,
    scheme: str,
    flows: tuple[FlowResult, ...],
    began: float,
    **told: object,
) -> Result:
    """Return the first result of a model, in which nothing takes time.

    Args:
        table: the table that the run is for.
        settings: settings of all experiments.
        options: options of Tables 2 and 3.
        scheme: the failure scheme.
        flows: the goodput of each flow before and after the cut.
        began: time since the epoch at which the run began.
        told: what else the manifest has, by name.
    """
    return Result(
        experiment=table.name,
        backend=settings.backend,
        scheme=scheme,
        seed=settings.seed,
        repetition=1,
        capacity=settings.capacity,
        started_at=began,
        failure=Failure(CASES[options.cut].link, 0.0, {}),
        before=_NO_TIME,
        after=_NO_TIME,
        flows=flows,
        published=published_throughput(table.name).for_scheme(scheme),
        checks=(*judge(table.bars.get(scheme, ()), flows), *queue_checks(scheme, flows)),
        invalid=(),
        manifest={
            "settings": asdict(settings),
            "options": asdict(options),
            **told,
            **describe_computation(began, time.time() - began),
        },
    )


def write_outcome(
    table: MotivationTable, results: Sequence[Result], output: OutputFolder, remarks: Sequence[str] = ()
) -> Outcome:
    """Write the table with its picture, and its summary; `remarks` stand below the table."""
    data = summary(table, published_throughput(table.name), results)
    output.write_json(f"{table.name}-summary.json", data)
    exhibit = motivation_exhibit(results)
    exhibit = replace(exhibit, remarks=(*exhibit.remarks, *remarks))
    return write_tables(table.name, data, [exhibit], output, unbelievable(results))


def queue_checks(scheme: str, flows: Iterable[FlowResult]) -> Iterator[Check]:
    """Yield a check for each flow seen after the cut: those that the scheme demotes are in the low queue."""
    for flow in flows:
        if flow.low_after is not None:
            expected = float(failure_scheme(scheme).demotes(flow.role))
            yield order(f"{flow.name} in the low queue after the cut", float(flow.low_after), expected, expected)


def unbelievable(results: Iterable[Result]) -> Iterator[str]:
    """Yield the runs that must not be used, in words."""
    for result in results:
        if result.invalid:
            run = f"{result.experiment} with {result.scheme}, repetition {result.repetition}"
            yield f"{run}: the machine was too busy in each of {ATTEMPTS} attempts ({'; '.join(result.invalid)})"
