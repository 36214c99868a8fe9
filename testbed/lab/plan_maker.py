"""Solves and verifies plans for the lab service in a process of its own, so that other requests do not wait.

`python -m testbed.lab.plan_maker` reads jobs as JSON lines from standard input and answers each with a line: the
plan of the lab without its pairs, its options and the request, and then {"plan": ...} or {"error": ..., "exit_status":
...}. It ends with its input. The process stays between jobs, as its first plan costs the second that the optimiser
takes to import.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kuijia_base.commands import MODULES
from kuijia_base.errors import KuijiaError, TestbedError
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.plan import Plan
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_plans import made_plan
from testbed.lab.lab_requests import ReplacePlan, Update
from testbed.lab.shapes import from_json

if TYPE_CHECKING:
    from testbed.lab.lab import Lab


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
                    [sys.executable, "-m", "testbed.lab.plan_maker"],
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
