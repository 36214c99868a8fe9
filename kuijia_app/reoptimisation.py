"""After a failure, a plan for what is left of the network, solved in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from te_solver.demands import Demand
from te_solver.errors import KuijiaError
from te_solver.plan import Plan
from te_solver.plan_file import load_plan, plan_from_json, plan_to_json
from te_solver.text import write_text
from te_solver.topology import Topology

SETTLE = 1.0
"""Seconds without another failure or healing before it is begun."""

Edges = frozenset[frozenset[str]]


class Reoptimisation:
    """Solves anew whenever failures have changed and stay so for `SETTLE` seconds; off, it never does.

    The demands are those of the plan in force; a pair that the failures cut off keeps the tunnels that it had.
    """

    def __init__(self, is_on: bool) -> None:  # noqa: FBT001
        self._is_on = is_on
        self._answered: Edges = frozenset()
        self._seen: Edges = frozenset()
        self._since = 0.0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def look(self, plan: Plan, failed: Edges, now: float, *, is_free: bool) -> Plan | None:
        """To be called again and again; returns a plan when one has been found for the failures as they are.

        Args:
            plan: the one in force.
            failed: the node pairs whose link is down.
            now: seconds of any clock.
            is_free: whether a plan may be found now; else the next one waits.
        """
        if not self._is_on:
            return None
        if failed != self._seen:
            self._seen, self._since = failed, now
            self._abandon()
        if self._process is not None:
            return self._result()
        if failed != self._answered and is_free and now - self._since >= SETTLE:
            self._answered = failed
            self._begin(plan, failed)
        return None

    def _begin(self, plan: Plan, failed: Edges) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="kuijia-")
        order = Path(self._folder.name, "order.json")
        write_text(order, json.dumps({"plan": plan_to_json(plan), "failed": [sorted(edge) for edge in failed]}))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kuijia_app.reoptimisation", str(order), str(self._answer)],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
        )

    @property
    def _answer(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name, "plan.json")

    def _result(self) -> Plan | None:
        if self._process is None or self._process.poll() is None:
            return None
        try:
            return load_plan(self._answer) if self._process.returncode == 0 else None
        finally:
            self._abandon()

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def reoptimised(plan: Plan, failed: Edges) -> Plan:
    """The plan for the same demands without the failed edges; its topology remains the whole one.

    A pair that is cut off keeps its tunnels: they may heal.

    Raises:
        SolverError: the optimiser gave up.
    """
    from dataclasses import replace  # noqa: PLC0415

    from te_solver.connectivity import Reachability  # noqa: PLC0415
    from te_solver.solve import solve  # noqa: PLC0415

    whole = plan.topology
    left = Topology(whole.name, whole.nodes, tuple(link for link in whole.links if frozenset(link.ends) not in failed))
    reachability = Reachability(left)
    joined = [pair for pair in plan.pairs if reachability.connects(pair.source, pair.target)]
    if not joined:
        return plan
    most = max(len(pair.tunnels) for pair in joined)
    demands = [Demand(pair.source, pair.target, pair.demand, pair.priority) for pair in joined]
    found = iter(solve(left, demands, most, objective=plan.objective).pairs)
    pairs = tuple(next(found) if pair in joined else pair for pair in plan.pairs)
    return replace(plan, pairs=pairs)


def main() -> int:
    """`python -m kuijia_app.reoptimisation ORDER ANSWER`: reads what to solve and writes the plan."""
    order, answer = map(Path, sys.argv[1:])
    asked = json.loads(order.read_text(encoding="utf-8"))
    try:
        plan = plan_from_json(asked["plan"], "plan")
        found = reoptimised(plan, frozenset(frozenset(edge) for edge in asked["failed"]))
    except KuijiaError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_status
    write_text(answer, json.dumps(plan_to_json(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
