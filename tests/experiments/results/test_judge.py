"""The published figures pass the bars of their tables; those of the other scheme do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.motivation.report import TABLE_2, TABLE_3, MotivationTable
from experiments.results.published import published_throughput
from experiments.results.result import FlowResult
from experiments.results.score import Bar, around, judge, uncarried
from tests.experiments.sample_results import flow


def published_flows(table: MotivationTable, scheme: str) -> list[FlowResult]:
    published = published_throughput(table.name)
    return [flow(name, published.before[name], published.after[scheme][name]) for name in published.before]


@pytest.mark.parametrize("table", [TABLE_2, TABLE_3], ids=lambda table: table.name)
@pytest.mark.parametrize("scheme", PAPERS_SCHEMES)
def test_published_figures_pass_their_own_bars_only(table: MotivationTable, scheme: str) -> None:
    (other,) = set(PAPERS_SCHEMES) - {scheme}
    flows = published_flows(table, scheme)
    assert all(check.passed for check in judge(table.bars[scheme], flows))
    assert not any(check.passed for check in judge(table.bars[other], flows))


def test_flows_of_a_bar_are_taken_together() -> None:
    (check,) = judge([around(("f1", "f2"), 0.46)], [flow("f1", 8, 8), flow("f2", 8, 0)])
    assert check.name == "f1 + f2 after/before"
    assert check.measured == pytest.approx(0.5)
    assert check.passed


@pytest.mark.parametrize(("after", "passed"), [(7.84, True), (7.83, False)])
def test_the_bound_itself_passes(after: float, passed: bool) -> None:  # noqa: FBT001
    (check,) = judge([Bar(("f3",), 0.98, 1.08, 1.0)], [flow("f3", 8.0, after)])
    assert check.passed is passed


def test_no_share_is_given_of_nothing() -> None:
    with pytest.raises(ValueError, match="f1 had no goodput before the failure"):
        judge([Bar(("f1",), 0.98, 1.08, 1.0)], [flow("f1", 0, 0)])


def test_a_network_that_did_not_carry_what_was_offered_is_noticed() -> None:
    first, second = replace(flow("f1", 8.5, 0), offered=10.0), replace(flow("f2", 10.3, 0), offered=10.0)
    assert uncarried([first, second]) == ()
    slow = replace(second, before=9.5)
    assert uncarried([first, slow]) == ("before the cut 18.0 of 20 Mbit/s offered got through, less than 92%",)
