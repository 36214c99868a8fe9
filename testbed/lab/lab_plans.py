"""Plans for other demands on the network of a running lab, solved before the lab is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kuijia_app.tables.options import pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queues import QueueLayout
from kuijia_base.errors import InputError, UnsoundError, key_path, quoted
from te_solver.demands import Demand
from te_solver.plan import Plan
from testbed.lab.lab_requests import Row, Update

if TYPE_CHECKING:  # it imports Mininet, which those do without who only ask a lab
    from testbed.lab.lab import Lab


def plan_for(lab: Lab, request: Update) -> Plan:
    """Return the plan for a request's demands, solved as the lab's first plan was.

    Raises:
        InputError: the network, the queues or the tables cannot serve the demands.
        SolverError: the optimiser gave up.
    """
    # The optimiser takes a second to import, which a lab that is never updated should not cost.
    from te_solver.solve import solve  # noqa: PLC0415  # slow to import: CVXPY

    options = pipeline_options(lab.options.words)
    demands = [_demand(lab, row, request.source, at) for at, row in enumerate(request.demands)]
    require_served(options.layout, demands, request.source)
    try:
        plan = solve(lab.plan.topology, demands, lab.options.tunnels_per_pair, source=request.source)
        build_tables(plan, options)
    except UnsoundError as error:
        raise InputError(request.source, key_path(error.where), error.problem, error.expected) from error
    return plan


def require_served(layout: QueueLayout, demands: Sequence[Demand], source: str) -> None:
    """Raise InputError when the queues serve no class of one of the demands."""
    served = [each.priority for each in layout.classes]
    for demand in demands:
        if demand.priority not in served:
            expected = f"one that the queue layout {quoted(layout.name)} serves: {', '.join(map(str, served))}"
            raise InputError(source, "", f"a demand of priority {demand.priority}", expected)


def _demand(lab: Lab, row: Row, source: str, at: int) -> Demand:
    try:
        demand = Demand(row.source, row.target, row.rate * lab.options.demand_factor, row.priority)
        demand.require_nodes_of(lab.plan.topology)
    except UnsoundError as error:
        raise InputError(source, key_path(("demands", at, *error.where)), error.problem, error.expected) from error
    return demand
