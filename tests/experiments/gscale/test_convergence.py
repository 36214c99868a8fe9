"""Convergence of made-up series with a known answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.gscale.cases import LINKS, Case
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.table4 import (
    convergence_seconds,
    flow_convergence_seconds,
    means_at,
    means_from,
    own_band_seconds,
    seconds_to_stable,
    settles,
    spared_convergence_seconds,
)
from experiments.results.result import FlowResult, Result, Series
from tests.experiments.gscale.results import made_up
from tests.experiments.sample_results import flow

CUT, END, STEP = 10.0, 40.0, 0.2
STARTS = np.arange(0, END, STEP)
SINCE = STARTS - CUT
"""Seconds from the cut to the beginning of each interval."""


def _series(goodput: np.ndarray) -> Series:
    return Series(tuple(STARTS.tolist()), tuple((STARTS + STEP).tolist()), tuple(goodput.tolist()))


def _flow(goodput: np.ndarray, offered: float = 10.0) -> FlowResult:
    return replace(flow("f1", 10.0, 10.0), offered=offered, series=_series(goodput))


def _seconds(goodput: np.ndarray, offered: float = 10.0) -> float | None:
    return seconds_to_stable([_flow(goodput, offered)], CUT, END)


@given(level=st.floats(0.0, 100.0))
def test_a_flow_that_does_not_change_is_stable_at_once(level: float) -> None:
    assert _seconds(np.full(SINCE.shape, level)) == 0.0


@given(moment=st.floats(0.0, 17.0), before=st.floats(0.0, 10.0), after=st.floats(0.0, 10.0))
def test_a_step_is_stable_when_it_is_made_if_it_is_one(moment: float, before: float, after: float) -> None:
    seconds = _seconds(np.where(moment > SINCE, before, after))
    assert seconds is not None
    if abs(before - after) <= 0.5:
        assert seconds == 0.0
    else:
        # A mean over one second is within the band once most of it is past the step.
        assert max(0.0, moment - 1.0) <= seconds <= moment + 2 * STEP


@given(constant=st.floats(0.5, 4.0))
def test_a_slower_approach_takes_longer_and_as_long_as_it_should(constant: float) -> None:
    def seconds(of: float) -> float:
        found = _seconds(np.where(SINCE < 0, 10.0, 2.0 + 8.0 * np.exp(-np.maximum(SINCE, 0) / of)))
        assert found is not None
        return found

    # It is within 0.5 of the end after ln(8 / 0.5) constants; means look up to a second ahead.
    within = constant * np.log(8 / 0.5)
    assert within - 1.0 - STEP <= seconds(constant) <= within + 2 * STEP
    assert seconds(constant) <= seconds(constant + 0.5)


@given(seed=st.integers(0, 2**32 - 1), offered=st.floats(1.0, 100.0), part=st.floats(0.0, 1.0))
def test_flutter_within_a_thirtieth_of_what_is_offered_is_stable(seed: int, offered: float, part: float) -> None:
    noise = np.random.default_rng(seed).uniform(-0.02, 0.02, SINCE.shape) * offered
    assert _seconds(np.maximum(part * offered + noise, 0.0), offered) == 0.0


def test_a_flow_that_never_rests_counts_with_all_the_time_it_was_watched() -> None:
    waves = 5.0 + 4.0 * np.sin(2 * np.pi * SINCE / 10.0)
    assert _seconds(waves) == END - CUT


def test_flows_that_take_turns_are_stable_together_and_not_by_themselves() -> None:
    wave = 3.0 * np.sin(2 * np.pi * SINCE / 10.0)
    turns = [_flow(5.0 + wave), _flow(5.0 - wave)]
    assert seconds_to_stable(turns, CUT, END) == 0.0
    run = replace(_run(Case("tcp", 1.2, LINKS[0], "rescaling", 1), 0.0), flows=tuple(turns))
    run = replace(run, flows=tuple(replace(each, role="direct") for each in turns))
    assert convergence_seconds(run) == 0.0
    assert flow_convergence_seconds(run) == END - CUT


def test_what_was_before_the_cut_does_not_matter() -> None:
    assert _seconds(np.where(SINCE < 0, 10.0, 3.0)) == 0.0


@settings(max_examples=20)
@given(st.lists(st.floats(0, 10), min_size=200, max_size=200))
def test_means_neither_make_nor_lose_bytes(goodput: list[float]) -> None:
    starts = means_from(CUT, END)
    means = means_at(_series(np.array(goodput)), starts)
    assert means is not None
    assert starts[0] == CUT
    assert starts[-1] == pytest.approx(END - 1.0)
    assert means[0] == pytest.approx(np.mean(goodput[50:55]), abs=1e-6)
    assert min(goodput) - 1e-6 <= means.min() <= means.max() <= max(goodput) + 1e-6


def test_a_series_that_is_too_short_tells_nothing() -> None:
    assert seconds_to_stable([flow("f1", 1.0, 1.0)], CUT, END) is None
    assert seconds_to_stable([replace(flow("f1", 1.0, 1.0), series=Series((), (), ()))], CUT, END) is None


def _run(case: Case, step: float) -> Result:
    return made_up(case, {"victim": 0.5, "direct": 1.0}, series=_series(np.where(step > SINCE, 10.0, 1.0)))


def test_the_last_affected_role_decides_and_others_do_not_count() -> None:
    case = Case("tcp", 1.2, LINKS[0], "kuijia", 1)
    run = _run(case, 5.0)
    restless = _flow(5.0 + 4.0 * np.sin(2 * np.pi * SINCE / 10.0))
    seconds = convergence_seconds(run)
    assert seconds == pytest.approx(5.0, abs=3.0)
    bystander = replace(run, flows=(*run.flows, replace(restless, role="aboriginal")))
    assert convergence_seconds(bystander) == seconds
    assert settles(bystander)
    affected = replace(run, flows=(*run.flows, replace(restless, role="indirect")))
    assert convergence_seconds(affected) == END - CUT
    assert not settles(affected)


def test_the_table_by_role_marks_runs_that_never_settle() -> None:
    run = _run(Case("tcp", 1.2, LINKS[0], "rescaling", 1), 25.0)
    (table,) = exhibits_of([run], ["table4-roles"])
    assert any(remark.startswith("In 1 of 1 runs something had not settled") for remark in table.remarks)
    assert table.line("rescaling, 2-3").at(1.2).at_least
    assert table.published is None


def test_other_meanings_of_stable_are_shown_beside_the_one_used() -> None:
    run = _run(Case("tcp", 1.2, LINKS[0], "rescaling", 1), 5.0)
    wave = _flow(0.5 + 0.2 * np.sin(2 * np.pi * SINCE / 10.0))
    run = replace(run, flows=(replace(wave, role="victim"), *(flow for flow in run.flows if flow.role == "direct")))
    assert own_band_seconds(run) == END - CUT
    assert convergence_seconds(run) == spared_convergence_seconds(run) == pytest.approx(5.0, abs=1.0)
    (table,) = exhibits_of([run], ["table4-roles"])
    (told,) = [remark for remark in table.remarks if remark.startswith("The medians of all runs")]
    assert "own final goodput rescaling >= 30.0 s; directly and indirectly affected flows alone rescaling" in told
