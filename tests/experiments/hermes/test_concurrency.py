"""The mean number of flows in progress, in cases worked out by hand."""

from __future__ import annotations

import numpy as np

from experiments.hermes.runs import in_progress


def test_a_flow_a_second_that_takes_three_seconds_makes_three_flows_in_progress() -> None:
    start = np.arange(8.0)
    assert in_progress(start, np.full(8, 3.0), np.full(8, 1000), 1000.0) == 3.0


def test_large_flows_count_for_as_long_as_they_take() -> None:
    # A flow a second, in turn of 1,000 bytes and 1 s, and of 3,000 bytes and 5 s: 1 * (1 + 5) / 2 flows in progress.
    size, time = np.tile([1000, 3000], 4), np.tile([1.0, 5.0], 4)
    assert in_progress(np.arange(8.0), time, size, 2000.0) == 3.0


def test_flows_at_the_beginning_and_the_end_do_not_count() -> None:
    time = np.array([9.0, 9.0, 2.0, 2.0, 2.0, 2.0, 9.0, 9.0])
    order = np.array([5, 2, 7, 0, 3, 6, 1, 4])
    assert in_progress(np.arange(8.0)[order], time[order], np.full(8, 500), 1000.0) == 4.0


def test_flows_that_outlast_all_arrivals_are_in_progress_as_in_a_count_that_goes_on() -> None:
    time = np.tile([2.0, 5.0, 29.0], 40)
    start = np.arange(120.0)
    moments = np.arange(60.0, 90.0) + 0.5
    in_a_long_run = np.mean([np.sum((start < moment) & (start + time > moment)) for moment in moments])
    assert in_a_long_run == 12.0
    assert in_progress(start[:12], time[:12], np.full(12, 700), 700.0) == in_a_long_run
    until_the_last = np.minimum(start[:12] + time[:12], 11.0) - start[:12]
    assert until_the_last.sum() == 4 * 2 + (5 + 5 + 4 + 1) + (9 + 6 + 3)  # in 11 s: 3.7 flows
