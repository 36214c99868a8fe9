"""Plans for a running lab, solved or verified before the lab is changed.

A process of its own makes them for the service, so that other requests do not wait: `python -m testbed.lab.lab_plans`
reads jobs as JSON lines from standard input and answers each with a line: the plan of the lab without its pairs, its
options and the request, and then {"plan": ...} or {"error": ..., "exit_status": ...}. It ends with its input. The
process stays between jobs, as its first plan costs the second that the optimiser takes to import.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from kuijia_app.control.plan_update import overload_of, require_same_network
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.options import PipelineOptions, pipeline_options
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queues import QueueLayout
from kuijia_base.commands import MODULES
from kuijia_base.errors import InputError, KuijiaError, TestbedError, UnsoundError, key_path, quoted
from kuijia_base.quantities import counted
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.demands import Demand
from te_solver.model.failures import single_links
from te_solver.model.plan import Plan, PlanOptions
from te_solver.model.topology import Topology
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_requests import ReplacePlan, RequestedDemand, Update
from testbed.lab.shapes import from_json

if TYPE_CHECKING:
    from testbed.lab.lab import Lab


def plan_for(lab: Lab, request: Update | ReplacePlan) -> Plan:
    """Return the plan that a request asks for in a lab; raises as `made_plan`."""
    return made_plan(lab.plan, lab.options, request)


def made_plan(present: Plan, options: LabOptions, request: Update | ReplacePlan) -> Plan:
    """Return the plan for a request's demands, solved as the present plan was, or the plan it gives, verified.

    Raises:
        InputError: the network, the queues or the tables cannot serve the demands; the plan is no plan or one for
            another network, or its tables break a promise.
        SolverError: the optimiser gave up.
    """
    topology = present.topology
    tables = pipeline_options(options.words)
    if isinstance(request, ReplacePlan):
        return _verified(request, topology, tables)
    # The optimiser takes a second to import, which a lab that is never updated should not cost.
    from te_solver.solve import solve_like  # noqa: PLC0415  # slow to import: CVXPY

    demands = [_demand(topology, options, row, request.source, at) for at, row in enumerate(request.demands)]
    require_served(tables.layout, demands, request.source)
    try:
        known = present.options or PlanOptions(options.tunnels_per_pair)
        plan = solve_like(replace(present, options=known), topology, demands, request.source)
        _require_room(plan, request.source)
        build_tables(plan, tables)
    except UnsoundError as error:
        raise InputError(request.source, key_path(error.where), error.problem, error.expected) from error
    return plan


def _verified(request: ReplacePlan, topology: Topology, options: PipelineOptions) -> Plan:
    """Return a request's plan, which may be for larger links, at the scale of the lab's."""
    plan = plan_from_json(request.plan, request.source)
    try:
        require_same_network(plan, replace(plan, topology=topology, pairs=()))
        scale = _largest_capacity(topology) / _largest_capacity(plan.topology)
        plan = replace(plan.with_rates_times(scale), topology=topology)
        _require_room(plan, request.source)
        tables = build_tables(plan, options)
    except UnsoundError as error:
        raise InputError(request.source, key_path(error.where), error.problem, error.expected) from error
    found = Verifier(plan, tables, options).run(single_links(topology))
    if not found.is_sound:
        count = counted(len(found.violations), "promise")
        raise InputError(request.source, "", f"the plan breaks {count}: {found.violations[0]}", "a plan that is sound")
    return plan


def _largest_capacity(topology: Topology) -> float:
    return max(link.capacity for link in topology.links)


def _require_room(plan: Plan, source: str) -> None:
    excess = overload_of(plan)
    if excess is not None:
        raise InputError(source, "", excess, "links with room for all traffic")


def require_served(layout: QueueLayout, demands: Sequence[Demand], source: str) -> None:
    """Raise InputError when the queues serve no class of one of the demands."""
    served = [each.priority for each in layout.classes]
    for demand in demands:
        if demand.priority not in served:
            expected = f"one that the queue layout {quoted(layout.name)} serves: {', '.join(map(str, served))}"
            raise InputError(source, "", f"a demand of priority {demand.priority}", expected)


def _demand(topology: Topology, options: LabOptions, row: RequestedDemand, source: str, at: int) -> Demand:
    start, target, rate, priority = row
    try:
        demand = Demand(start, target, rate * options.demand_factor, priority)
        demand.require_nodes_of(topology)
    except UnsoundError as error:
        raise InputError(source, key_path(("demands", at, *error.where)), error.problem, error.expected) from error
    return demand


class RefusedPlanError(KuijiaError):
    """No plan was made; the error keeps its exit status."""

    def __init__(self, message: str, exit_status: int) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class PlanMaker:
    """The process, started by the first plan; used as a context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()

    def __enter__(self) -> PlanMaker:
        return self

    def __exit__(self, *_: object) -> None:
        self.give_up()

    def make(self, lab: Lab, request: Update | ReplacePlan) -> Plan:
        """Return the plan that a request asks for; one thread at a time may call this.

        Raises:
            RefusedPlanError: as `made_plan` raises InputError or SolverError.
            TestbedError: the process died, or was ended by `give_up`.
        """
        process = self._running()
        job = {
            "empty": plan_to_json(lab.plan) | {"pairs": []},
            "options": lab.described_options(),
            "kind": type(request).__name__,
            "request": asdict(request),
        }
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: it does not answer either
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        match json.loads(line) if line else None:
            case {"plan": plan}:
                return plan_from_json(plan, "plan")
            case {"error": str(error), "exit_status": int(exit_status)}:
                raise RefusedPlanError(error, exit_status)
        raise TestbedError("the plan was withdrawn, or its solver has died; the plan before stays in force")

    def give_up(self) -> None:
        """End the process and its present work; any thread may call this."""
        with self._starting:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _running(self) -> subprocess.Popen[str]:
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "testbed.lab.lab_plans"],
                    cwd=MODULES,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            return self._process


def main() -> None:
    """Answer jobs until there are no more."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    present = plan_from_json(job["empty"], "plan")
    kind: type[Update | ReplacePlan] = ReplacePlan if job["kind"] == ReplacePlan.__name__ else Update
    request = from_json(kind, job["request"])
    try:
        plan = made_plan(present, LabOptions(**job["options"]), request)
    except KuijiaError as error:
        return {"error": str(error), "exit_status": error.exit_status}
    return {"plan": plan_to_json(plan)}


if __name__ == "__main__":
    main()
