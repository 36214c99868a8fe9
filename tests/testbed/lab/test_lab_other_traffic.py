"""Packets of hosts between sites without a planned pair, in a lab: dropped and counted, or carried, also past a cut."""

from __future__ import annotations

import pytest

from te_solver.model.plan import Plan
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.dummy_switches import wait_until
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.emulation


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return the plan of figure 1: only s1 and s4 have traffic."""
    return motivation_plan()


def answers(lab: Lab, source: str, target: str) -> bool:
    ping = ["ping", "-c", "1", "-W", "1", str(lab.emulated_network.host(target).address)]
    return " 1 received" in lab.emulated_network.host(source).run(ping).stdout


def dropped(lab: Lab) -> dict[str, int]:
    return {host["node"]: host["dropped"] for host in lab.status()["hosts"]}


def test_dropped_packets_are_counted_in_the_status(plan: Plan) -> None:
    with Lab(plan, LabOptions(), lambda _: None) as lab:
        before = dropped(lab)
        assert not answers(lab, "s2", "s3")
        wait_until(lambda: dropped(lab)["s2"] > before["s2"], "the packet is counted")
        assert answers(lab, "s1", "s4")


def test_forwarded_packets_arrive_also_while_their_path_is_cut(plan: Plan) -> None:
    with Lab(plan, LabOptions(other_traffic="forward"), lambda _: None) as lab:
        wait_until(lambda: answers(lab, "s2", "s3"), "they arrive")
        assert answers(lab, "s1", "s2")
        for cut in (("s1", "s2"), ("s1", "s3")):
            lab.fail(*cut)
            wait_until(lambda: answers(lab, "s2", "s3"), "they arrive over other links")
            lab.heal(*cut)
