"""Labs with every kind of table: real packets of several classes use the queues for their tags and failures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from te_solver.model.plan import Plan
from testbed.lab.lab import Lab
from testbed.lab.lab_options import LabOptions
from tests.kuijia_app.plans import motivation_plan
from tests.testbed.lab.sent_packets import PINGS, sent

pytestmark = [pytest.mark.emulation, pytest.mark.beside, pytest.mark.slow]

CAPACITY = 20.0
HIGH, LOW, CONTROL = "0xb8", "0x00", "0xc0"
"""TOS bytes: code points 46, 0 and 48."""


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Return a plan for figure 1 with all traffic of two classes on T2 = s1-s4."""
    plan = motivation_plan((0.0, 1.0, 0.0)).with_rates_times(CAPACITY / 200)
    (high,) = plan.pairs
    return replace(
        plan,
        topology=plan.topology.with_capacity(CAPACITY),
        pairs=(high, replace(high, priority=1)),
    )


@pytest.mark.parametrize(
    ("layout", "tagging", "pipeline"),
    [("four", "dscp-ecn", "decomposed"), ("four", "mpls", "single"), ("eight", "mpls", "decomposed")],
)
def test_classes_stay_in_their_queues_and_victims_in_theirs(
    plan: Plan, layout: str, tagging: str, pipeline: str
) -> None:
    with Lab(plan, LabOptions(layout=layout, tagging=tagging, pipeline=pipeline), lambda _: None) as lab:
        layout_in_use = lab.emulated_network.options.layout
        served = layout_in_use.classes
        expected = {HIGH: served[0].normal.name, LOW: served[1].normal.name, CONTROL: layout_in_use.control.name}
        for tos, queue in expected.items():
            assert sent(lab, tos=tos) == {("s4", queue): PINGS}
        lab.fail("s1", "s4")
        (moved_to, queue), *others = sent(lab, tos=HIGH)
        assert (queue, others) == (served[0].victim.name, [])
        assert moved_to != "s4"
        assert {queue for _, queue in sent(lab, tos=LOW)} == {served[1].victim.name}
        assert {queue for _, queue in sent(lab, tos=CONTROL)} == {layout_in_use.control.name}
        lab.heal("s1", "s4")
        assert sent(lab, tos=HIGH) == {("s4", served[0].normal.name): PINGS}


OWN_LAYOUT = """\
queues:
  - {id: 5, name: precious, traffic_class: 4, ecn: 3}
  - {id: 9, name: urgent, traffic_class: 6, ecn: 2, guaranteed: 0.1}
  - {id: 2, name: rest, traffic_class: 0, ecn: 0}
  - {id: 1, name: last, traffic_class: 1, ecn: 1}
control: urgent
classes:
  - {priority: 0, code_points: [10, 46], normal: precious, victim: urgent}
  - {priority: 1, normal: rest, victim: last}
"""


def test_a_users_own_layout_reaches_switches_and_queues_under_ryu(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN_LAYOUT)
    options = LabOptions(layout=str(path), tagging="dscp-ecn", pipeline="decomposed", framework="ryu")
    with Lab(plan, options, lambda _: None) as lab:
        assert lab.status()["layout"] == "own"
        assert [sent(lab, tos=tos) for tos in (HIGH, LOW, CONTROL)] == [
            {("s4", queue): PINGS} for queue in ("precious", "rest", "urgent")
        ]
        lab.fail("s1", "s4")
        assert [queue for _, queue in sent(lab, tos=HIGH)] == ["urgent"]
