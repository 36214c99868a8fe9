"""Plans are made in a process of their own, which can be ended and starts again."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import pytest

from kuijia_base.errors import InputError, TestbedError
from te_solver.formats.plan_file import plan_to_json
from te_solver.programs.registry import STATIC_SPLITS
from testbed.lab.lab_options import LabOptions
from testbed.lab.lab_plans import PlanMaker, RefusedPlanError, made_plan
from testbed.lab.lab_requests import ReplacePlan, Update
from tests.kuijia_app.plans import motivation_plan
from tests.testbed.make_believe_lab import MakeBelieveLab

LAB = MakeBelieveLab()


def test_plans_are_solved_and_verified_and_errors_keep_their_words_and_status() -> None:
    with PlanMaker() as maker:
        plan = maker.make(LAB, Update((("s1", "s4", 10.0, 0),), "d.csv"))
        assert [(pair.source, pair.target, pair.allocated) for pair in plan.pairs] == [("s1", "s4", 10.0)]
        wanted = motivation_plan((0.1, 0.3, 0.6))
        assert maker.make(LAB, ReplacePlan(plan_to_json(wanted), "p.json")).tunnels == wanted.tunnels
        with pytest.raises(RefusedPlanError, match=r"^d\.csv:demands\[0\]\.target: unknown node 's9'") as refusal:
            maker.make(LAB, Update((("s1", "s9", 10.0, 0),), "d.csv"))
        assert refusal.value.exit_status == InputError.exit_status


def test_a_plan_is_brought_to_the_scale_of_the_lab_and_refused_if_it_overloads_links() -> None:
    plan = motivation_plan()
    tenfold = replace(plan.with_rates_times(10), topology=plan.topology.scaled(10))
    made = made_plan(plan, LabOptions(), ReplacePlan(plan_to_json(tenfold), "p.json"))
    assert [tunnel.rate for tunnel in made.tunnels] == pytest.approx([50, 30, 20])
    assert made.topology == plan.topology
    too_much = replace(plan.with_rates_times(40), objective=STATIC_SPLITS)
    named = "p.json: the plan sends 2 Gbit/s over link s1->s2 of 1 Gbit/s, 1 Gbit/s too much; 2 other links too"
    with pytest.raises(InputError, match=f"^{named}"):
        made_plan(plan, LabOptions(), ReplacePlan(plan_to_json(too_much), "p.json"))
    with pytest.raises(InputError, match=r"^d\.csv: the plan sends .* too much"):
        made_plan(too_much, LabOptions(), Update((("s1", "s4", 4000.0, 0),), "d.csv"))


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
