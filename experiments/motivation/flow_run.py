"""Runs Tables 2 and 3 in the fluid model, which needs neither switches nor root rights."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise

from experiments.experiment import Outcome, Settings
from experiments.motivation.report import (
    CASES,
    EGRESS,
    INGRESS,
    Case,
    MotivationOptions,
    MotivationTable,
    computed_result,
    motivation_plan,
    write_outcome,
)
from experiments.results.result import FlowResult, Result, result_to_json
from experiments.results.roles import FlowPaths, roles
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from simulator.flow.model import Flows, share
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme

REMARK = (
    "Fluid model, not measured: rates without headers, round trips and chance; TCP flows share a full link alike, and"
    " the victims' queue gets exactly what the normal one leaves."
)

_NORMAL, _LOW = 0, 1


def run_table(table: MotivationTable, settings: Settings, options: MotivationOptions, output: OutputFolder) -> Outcome:
    """Compute every scheme, write each result, then the table; there is no picture over time.

    Raises:
        InputError: more than one repetition was asked for; all would be the same.
    """
    if settings.repetitions != 1:
        problem = f"{settings.repetitions} runs of a model that always gives the same"
        raise InputError("option", "--repetitions", problem, "1 with --backend flow")
    topology = motivation_plan(settings.capacity).topology
    results = []
    for scheme in options.schemes:
        result = _computed(table, settings, options, topology, scheme)
        output.write_json(f"{table.name}-{scheme}-1.json", result_to_json(result))
        results.append(result)
    return write_outcome(table, results, output, [REMARK])


def _computed(
    table: MotivationTable, settings: Settings, options: MotivationOptions, topology: Topology, scheme: str
) -> Result:
    began = time.time()
    flows = _flows(table, settings.capacity, CASES[options.cut], topology, scheme)
    return computed_result(table, settings, options, scheme, flows, began)


def _flows(
    table: MotivationTable, capacity: float, case: Case, topology: Topology, scheme: str
) -> tuple[FlowResult, ...]:
    """Return the goodput of each flow before and after the cut, one TCP connection each."""
    offered = {name: table.offered_parts[name] / table.link_parts * capacity for name in case.flow_tunnels}
    role = roles({name: FlowPaths(*tunnels) for name, tunnels in case.flow_tunnels.items()}, case.link)
    low = {name: failure_scheme(scheme).demotes(role[name]) for name in case.flow_tunnels}
    before = _goodput(topology, offered, {name: own for name, (own, _) in case.flow_tunnels.items()}, {})
    after = _goodput(topology, offered, {name: backup for name, (_, backup) in case.flow_tunnels.items()}, low)
    return tuple(
        FlowResult(
            name=name,
            role=role[name],
            protocol="tcp",
            source=INGRESS,
            target=EGRESS,
            offered=offered[name],
            before=before[name],
            after=after[name],
            tunnel_before=own,
            tunnel_after=backup,
            low_after=low[name],
        )
        for name, (own, backup) in case.flow_tunnels.items()
    )


def _goodput(
    topology: Topology,
    offered: Mapping[str, float],
    tunnels: Mapping[str, tuple[str, ...]],
    low: Mapping[str, bool],
) -> dict[str, float]:
    """Return the Mbit/s of each flow over its tunnel; those that are `low` wait in the victims' queue."""
    position = {link.ends: number for number, link in enumerate(topology.links)}
    paths = [[position[hop] for hop in pairwise(nodes)] for nodes in tunnels.values()]
    level = [_LOW if low.get(name) else _NORMAL for name in tunnels]
    flows = Flows.of(paths, [offered[name] for name in tunnels], level=level)
    goodput = share([link.capacity for link in topology.links], flows).goodput
    return dict(zip(tunnels, goodput.tolist(), strict=True))
