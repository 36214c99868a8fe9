"""Solves a plan for the remaining network after a failure, in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from kuijia_app.control.plan_update import renumber
from kuijia_base.errors import quoted
from kuijia_base.log_lines import part_logger
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.connectivity import Reachability
from te_solver.model.demands import Demand
from te_solver.model.plan import PairPlan, Plan

SETTLE = 1.0
"""Seconds without another failure or healing before solving starts."""

Edges = frozenset[frozenset[str]]


class Reoptimisation:
    """Solves a new plan whenever failures have changed and then not for `SETTLE` seconds; does nothing while off.

    The demands are those of the plan in force. A pair that the failures cut off keeps its tunnels. Faults of
    the solver's process are logged, and the plan in force stays. That process ends with this one. The two
    communicate by files without a name, so nothing is left when either is killed.

    Attributes:
        seconds: time that the latest plan took, from the request to the answer.
    """

    def __init__(self, is_on: bool, apart: Callable[[Callable[[], Any]], Any] = lambda work: work()) -> None:  # noqa: FBT001
        """Start idle; `apart` calls a function and returns its result while other threads go on: plans are large."""
        self.is_on = is_on
        self.seconds = 0.0
        self._apart = apart
        self._answered: Edges | None = frozenset()
        self._seen: Edges = frozenset()
        self._since = self._begun = 0.0
        self._plan: Plan | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: IO[bytes] | None = None

    def ask(self) -> None:
        """Request a new plan, even if there was one for the present failures; any thread may call this."""
        self._answered = None

    def look(self, plan: Plan, failed: Edges, now: float, *, is_free: bool) -> Plan | None:
        """Return a plan once one has been found for the present failures; call this at regular intervals.

        Args:
            plan: the one in force.
            failed: the node pairs whose link is down.
            now: seconds of any clock.
            is_free: True if a plan may be returned now; otherwise it waits.
        """
        if not self.is_on:
            return None
        if failed != self._seen:
            self._seen, self._since = failed, now
            self._abandon()
        if self._process is not None and plan is not self._plan:
            self._abandon()
            self._answered = None
        try:
            if self._process is not None:
                if not is_free or self._process.poll() is None:
                    return None
                self.seconds = now - self._begun
                return self._result()
            if failed != self._answered and is_free and now - self._since >= SETTLE:
                self._answered, self._begun = failed, now
                self._begin(plan, failed)
        except Exception:  # noqa: BLE001  # whatever it is, failover goes on without a new plan
            part_logger("reoptimisation").exception("no new plan: the one in force stays")
            self._abandon()
        return None

    def _begin(self, plan: Plan, failed: Edges) -> None:
        self._plan = plan
        self._answer = tempfile.TemporaryFile()  # noqa: SIM115  # closed by _abandon
        with tempfile.TemporaryFile() as order:
            failed_ends = [sorted(edge) for edge in failed]
            text = self._apart(lambda: json.dumps({"plan": plan_to_json(plan), "failed": failed_ends}).encode())
            order.write(text)
            order.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kuijia_app.control.reoptimisation", str(os.getpid())],
                cwd=Path(__file__).parents[2],
                stdin=order,
                stdout=self._answer,
            )

    def _result(self) -> Plan | None:
        assert self._process is not None
        assert self._answer is not None
        try:
            if self._process.returncode != 0:
                raise ChildProcessError(f"the solver's process ended with status {self._process.returncode}")
            self._answer.seek(0)
            answer = self._answer.read()
            found: Plan = self._apart(lambda: plan_from_json(json.loads(answer), "the solver's answer"))
        finally:
            self._abandon()
        return found

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._answer is not None:
            self._answer.close()
            self._answer = None


def reoptimised(plan: Plan, failed: Edges) -> Plan:
    """Return a plan for the same demands without the failed edges, solved as the plan was; its topology stays complete.

    A pair that is cut off keeps its tunnels and their weights, as they may heal, and is allocated nothing. A value that
    only the program knows is that of the others.

    Tunnels of the plan keep their path ids; new ones get ids that it does not use.

    Raises:
        SolverError: the optimiser gave up.
        UnsoundError: there are not enough path ids, or what is left cannot be protected as the plan is.
    """
    # The optimiser takes half a second to import, which only the other process has.
    from te_solver.programs.registry import find_objective  # noqa: PLC0415
    from te_solver.solve import solve_like  # noqa: PLC0415

    whole = plan.topology
    left = whole.without(failed)
    reachability = Reachability(left)
    is_joined = [reachability.connects(pair.source, pair.target) for pair in plan.pairs]
    joined = [pair for pair, is_one in zip(plan.pairs, is_joined, strict=True) if is_one]
    if not joined:
        return plan
    demands = [Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in joined]
    solved = solve_like(plan, left, demands)
    found = iter(solved.pairs)
    pairs = tuple(next(found) if is_one else _idle(pair) for pair, is_one in zip(plan.pairs, is_joined, strict=True))
    new = replace(solved, topology=whole, pairs=pairs)
    value_of = find_objective(plan.objective).value
    return renumber(new if value_of is None else replace(new, objective_value=value_of(new)), plan)


def _idle(pair: PairPlan) -> PairPlan:
    """Return a pair with its tunnels that is allocated nothing."""
    return replace(pair, allocated=0.0, tunnels=tuple(replace(tunnel, rate=0.0) for tunnel in pair.tunnels))


def main() -> int:
    """Run as `python -m kuijia_app.control.reoptimisation PARENT`: read the problem on stdin, write the plan to stdout.

    PARENT is the id of the process that waits for the answer: this one ends with it.
    """
    from kuijia_base.parallel import end_with  # noqa: PLC0415  # a tenth of a second, which only the other process has

    end_with(int(sys.argv[1]))
    try:
        asked = json.load(sys.stdin.buffer)
        plan = plan_from_json(asked["plan"], "plan")
        found = reoptimised(plan, frozenset(frozenset(edge) for edge in asked["failed"]))
        sys.stdout.write(json.dumps(plan_to_json(found)))
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  # whoever asked reads of it in one line
        sys.stderr.write(f"error: solving again: {type(error).__name__} {quoted(str(error))}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
