"""One rule for all experiments: broken orders, limits and promises are failures, other sizes are verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.experiment import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits, write_tables
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import limit, order, size
from kuijia_base.output_folder import OutputFolder

SETTINGS = Settings("packet", 20.0, "os-ken", 64, 1, quick=False, seed=1)


def outcomes(check: Check, folder: Path, failures: tuple[str, ...] = ()) -> tuple[Outcome, Outcome]:
    """Return the outcomes of both kinds of experiments: those of exhibits alone, and those with data of their own."""
    line = Line("ours", (Point("x", 1.0, 1.0, 1.0, 1, 1.0),))
    exhibit = Exhibit("f", "t", "Figure 1", "packet", "x", "y", (line,), published="paper", checks=(check,))
    alone = write_exhibits("e", [exhibit], SETTINGS, OutputFolder(folder / "alone"), failures)
    # The experiment's own word on it does not count.
    data = {"passed": bool(failures) or not check.passed}
    return alone, write_tables("e", data, [exhibit], OutputFolder(folder / "study"), failures)


@pytest.mark.parametrize(
    ("check", "is_broken"),
    [
        (order("a less b", -1.0, low=0.0), True),
        (order("a less b", 1.0, low=0.0), False),
        (order("about b", 9.0, 1.0, 2.0), True),
        (limit("seconds", 2.0, high=1.0), True),
        (limit("seconds", 2.0, 0.0, 1.0), True),
        (Check("kept", 0.5, 0.98, None, 1.0), True),
        (Check("part of the cuts that were survived", 0.95, 1.0, 1.0), True),
        (Check("part of the cuts that were survived", 1.0, 1.0, 1.0), False),
        (size("loss", 9.0, 1.0), False),
        (Check("size: loss", 9.0, 0.5, 1.5, 1.0), False),
        (size("loss", 1.0, 1.0), False),
    ],
)
def test_an_experiment_fails_by_orders_limits_and_promises_and_not_by_sizes(
    check: Check, tmp_path: Path, *, is_broken: bool
) -> None:
    assert check.is_broken == is_broken
    for outcome in outcomes(check, tmp_path):
        assert bool(outcome.broken) == is_broken
        assert outcome.summary["passed"] is not is_broken
        assert all(check.name in words for words in outcome.broken)


def test_a_measurement_that_failed_is_a_failure(tmp_path: Path) -> None:
    for outcome in outcomes(size("loss", 1.0, 1.0), tmp_path, ("run 3: the flow did not come back",)):
        assert outcome.broken == ("run 3: the flow did not come back",)
        assert outcome.summary["passed"] is False


def test_a_size_that_differs_is_said_by_the_verdict(tmp_path: Path) -> None:
    alone, study = outcomes(size("loss", 9.0, 1.0), tmp_path)
    assert alone.summary["missed"] == ["f (packet): loss is 9, expected 0.8 to 1.2 (published 1)"]
    assert "Verdict: differs" in str(alone.text)
    assert "Verdict: differs" in str(study.text)
