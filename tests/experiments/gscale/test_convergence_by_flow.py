"""Table 4 by flow, of made-up series whose times are counted by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.gscale.cases import DEMANDS, LINKS, Case, grid
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.table4 import flow_seconds, restless_flows, seconds_by_flow
from experiments.results.published import published_curves
from experiments.results.result import FlowResult, Result, Role, Series
from tests.experiments.gscale.results import made_up
from tests.experiments.sample_results import flow

CUT, END = 10.0, 40.0
PER_SECOND = 5
"""Intervals of a series in a second."""


def _flow(*by_second: float, role: Role = "direct") -> FlowResult:
    """Return a flow with these means in the seconds after the cut, the last one until the end, and 10 before."""
    after = (*by_second, *(by_second[-1:] * (int(END - CUT) - len(by_second))))
    goodput = np.repeat([10.0] * int(CUT) + list(after), PER_SECOND)
    starts = np.arange(goodput.size) / PER_SECOND
    series = Series(tuple(starts.tolist()), tuple((starts + 1 / PER_SECOND).tolist()), tuple(goodput.tolist()))
    return replace(flow("f1", 10.0, 10.0), role=role, series=series)


def _seconds(*by_second: float, tolerance: float = 0.3) -> float | None:
    return flow_seconds(_flow(*by_second), CUT, END, tolerance)


def _run(*flows: FlowResult) -> Result:
    return replace(made_up(Case("tcp", 1.2, LINKS[0], "rescaling", 1), {}), flows=flows)


def test_a_flow_takes_the_seconds_until_the_end_of_its_last_mean_outside_the_tolerance() -> None:
    assert _seconds(9, 5, 3, 1.4, 1) == 4  # 1.4 is outside 0.7 to 1.3, and ends four seconds after the cut
    assert _seconds(9, 5, 3, 1.2, 1) == 3
    assert _seconds(9, 5, 3, 1.2, 1, tolerance=0.1) == 4


def test_a_flow_that_is_back_for_a_moment_is_not_stable_before_it_stays() -> None:
    assert _seconds(1, 1, 1, 1, 1, 2, 1) == 6


@pytest.mark.parametrize("by_second", [(10.0,), (1.0,), (0.0,), (9.0, 1.0)])
def test_a_flow_that_is_stable_within_the_first_second_takes_one(by_second: tuple[float, ...]) -> None:
    assert _seconds(*by_second) == 1


def test_the_final_goodput_is_that_of_the_last_third() -> None:
    # Twenty seconds of 5 and ten of 1: only the ten count, and all before them is outside.
    assert _seconds(*(20 * [5.0]), 1) == 20


def test_a_flow_that_is_outside_in_the_last_second_takes_all_of_the_time_and_is_restless() -> None:
    waves = _flow(*(15 * [2.0, 6.0]))
    assert flow_seconds(waves, CUT, END) == END - CUT
    assert restless_flows(_run(waves, _flow(1), replace(waves, role="victim"))) == 1


def test_a_run_takes_the_mean_over_the_flows_of_the_role() -> None:
    flows = (_flow(1), _flow(1), _flow(1), _flow(9, 9, 1), _flow(*(12 * [9.0]), 1, role="victim"))
    assert seconds_by_flow(_run(*flows)) == 1.25
    assert seconds_by_flow(_run(*flows), "victim") == 12
    assert seconds_by_flow(_run(*flows), "indirect") is None


def test_a_series_that_is_too_short_tells_nothing() -> None:
    assert flow_seconds(flow("f1", 1.0, 1.0), CUT, END) is None
    assert seconds_by_flow(_run(_flow(1), replace(_flow(1), series=Series((), (), ())))) is None


def _whole_grid(seconds_of_rescaling: dict[tuple[str, float], float], kuijia: float) -> list[Result]:
    runs = []
    for case in grid(("tcp",), repetitions=1):
        label = f"{case.scheme}, {'-'.join(case.link)}"
        seconds = round(seconds_of_rescaling[label, case.demand] if case.scheme == "rescaling" else kuijia)
        affected = _flow(*(seconds * [9.0]), 1)
        runs.append(replace(made_up(case, {}), flows=(affected, replace(affected, role="victim"))))
    return runs


def test_the_table_has_a_line_for_every_scheme_and_link_and_is_held_against_the_published_times() -> None:
    printed = published_curves("table4")
    labels = [f"rescaling, {'-'.join(link)}" for link in LINKS]
    times = {(label, demand): printed.at(label, demand) or 0.0 for label in labels for demand in DEMANDS}
    (table,) = exhibits_of(_whole_grid(times, 1), ["table4"])
    assert [line.label for line in table.lines][:2] == ["rescaling, 2-3", "rescaling, 7-9"]
    assert table.line("rescaling, 7-9").at(1.4).value == table.line("rescaling, 7-9").at(1.4).published == 16
    assert len(table.checks) == len(DEMANDS) + 1
    assert table.passed
    # 12 s everywhere is 5.3 s from the published times of rescaling in the mean, and Kuijia is no quicker.
    (slow,) = exhibits_of(_whole_grid(dict.fromkeys(times, 12.0), 12), ["table4"])
    assert len(list(slow.missed())) == len(DEMANDS) + 1
    (deviation,) = [check.measured for check in slow.checks if "mean deviation" in check.name]
    assert deviation == pytest.approx(5.295, abs=0.001)


def test_victims_have_a_table_of_their_own_beside_it() -> None:
    run = _run(_flow(1), _flow(*(12 * [9.0]), 1, role="victim"))
    table, victims = exhibits_of([replace(run, scheme="kuijia")], ["table4", "table4-victims"])
    assert table.line("kuijia, 2-3").at(1.2).value == 1
    assert victims.line("kuijia, 2-3").at(1.2).value == 12
    assert victims.published is None
    assert any("10 s or more in 1 of 1 runs" in remark for remark in table.remarks)
