"""Two backends agree on a run if their losses are close and their flows take the same tunnels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.results.result import Result
from tests.experiments.results.backend_comparison import compare, loss_of
from tests.experiments.sample_results import TABLE_2_KUIJIA, TABLE_2_RESCALING, flow, result

COMPUTED = result("kuijia", {"f1": (8, 4), "f2": (8, 4), "f3": (16, 16), "f4": (16, 16)})


def test_losses_within_the_margin_agree() -> None:
    assert compare(COMPUTED, result("kuijia", TABLE_2_KUIJIA), 0.03) == []


def test_losses_beyond_the_margin_are_told() -> None:
    measured = result("kuijia", {**TABLE_2_KUIJIA, "f1": (7.6, 3.5), "f3": (15.3, 14.535)})
    assert list(map(str, compare(COMPUTED, measured, 0.03))) == [
        "f1, loss: computed 50.0%, measured 53.9%",
        "f3, loss: computed 0.0%, measured 5.0%",
    ]


def test_flows_taken_together_may_share_by_chance() -> None:
    measured = result("kuijia", {**TABLE_2_KUIJIA, "f1": (7.6, 2.6), "f2": (7.6, 5.0)})
    assert len(compare(COMPUTED, measured, 0.03)) == 2
    assert compare(COMPUTED, measured, 0.03, [("f1", "f2"), ("f3",), ("f4",)]) == []


def test_what_starts_to_flow_on_one_side_alone_is_told() -> None:
    measured = result("kuijia", {**TABLE_2_KUIJIA, "f1": (0, 0)})
    assert [each.what for each in compare(COMPUTED, measured, 0.03)] == ["f1, loss"]


def test_queues_and_tunnels_are_compared_where_they_were_seen() -> None:
    computed = replace(COMPUTED, flows=(flow("f1", 8, 4, low_after=True), *COMPUTED.flows[1:]))
    normal = replace(computed, flows=(flow("f1", 8, 4, low_after=False), *computed.flows[1:]))
    moved = replace(computed.flows[0], tunnel_after=("s1", "s4", "s2"))
    elsewhere = replace(computed, flows=(moved, *computed.flows[1:]))
    assert [str(each) for each in compare(computed, normal, 0.03)] == ["f1, low_after: computed True, measured False"]
    assert [each.what for each in compare(computed, elsewhere, 0.03)] == ["f1, tunnel_after"]
    assert compare(computed, COMPUTED, 0.03) == []


def test_the_loss_of_udp_is_that_of_packets() -> None:
    udp = replace(flow("f1", 8, 4), protocol="udp", sent=5.0)
    assert loss_of([udp]) == pytest.approx(0.2)
    assert loss_of([udp, flow("f2", 5, 5)]) == pytest.approx(0.1)
    assert loss_of([flow("f1", 0, 0)]) is None


@pytest.mark.parametrize(
    ("other", "complaint"),
    [
        (result("rescaling", TABLE_2_RESCALING), "scheme kuijia and rescaling"),
        (replace(COMPUTED, experiment="table3"), "experiment table2 and table3"),
        (replace(COMPUTED, failure=replace(COMPUTED.failure, link=("s1", "s4"))), "cut of"),
        (replace(COMPUTED, flows=COMPUTED.flows[1:]), "other flows"),
    ],
)
def test_different_runs_cannot_be_compared(other: Result, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        compare(COMPUTED, other, 0.03)
