"""Plans are made in a process of their own, which can be ended and starts again."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from kuijia_base.errors import InputError, TestbedError
from te_solver.formats.plan_file import plan_to_json
from testbed.lab.lab_requests import ReplacePlan, RequestedDemand, Update
from testbed.lab.plan_maker import PlanMaker, RefusedPlanError
from tests.kuijia_app.plans import motivation_plan
from tests.testbed.make_believe_lab import MakeBelieveLab

LAB = MakeBelieveLab()


def test_plans_are_solved_and_verified_and_errors_keep_their_words_and_status() -> None:
    with PlanMaker() as maker:
        plan = maker.make(LAB, Update((RequestedDemand("s1", "s4", 10.0, 0),), "d.csv"))
        assert [(pair.source, pair.target, pair.allocated) for pair in plan.pairs] == [("s1", "s4", 10.0)]
        wanted = motivation_plan((0.1, 0.3, 0.6))
        assert maker.make(LAB, ReplacePlan(plan_to_json(wanted), "p.json")).tunnels == wanted.tunnels
        with pytest.raises(RefusedPlanError, match=r"^d\.csv:demands\[0\]\.target: unknown node 's9'") as refusal:
            maker.make(LAB, Update((RequestedDemand("s1", "s9", 10.0, 0),), "d.csv"))
        assert refusal.value.exit_status == InputError.exit_status


def test_what_is_given_up_ends_at_once_and_the_next_plan_is_made() -> None:
    request = ReplacePlan(plan_to_json(motivation_plan()), "p.json")
    with PlanMaker() as maker:
        stopped = maker._running().pid  # must not answer before it is given up
        os.kill(stopped, signal.SIGSTOP)
        giving_up = threading.Timer(0.05, maker.give_up)
        giving_up.start()
        with pytest.raises(TestbedError, match="the plan was withdrawn, or its solver has died"):
            maker.make(LAB, request)
        giving_up.join()
        assert maker.make(LAB, request).tunnels == motivation_plan().tunnels
