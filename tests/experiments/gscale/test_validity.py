"""Runs that did not carry the planned traffic, or whose control group lost something, are invalid; others are not."""

from __future__ import annotations

from dataclasses import replace

from experiments.gscale.bench import disturbed, uncarried
from experiments.results.result import FlowResult

TCP = FlowResult("f1", "aboriginal", "tcp", "1", "2", offered=10.0, before=9.56, after=9.55)
VICTIM = replace(TCP, name="f2", role="victim", after=1.0)
UDP = replace(TCP, protocol="udp", before=9.72, after=9.72, sent=9.72)


def test_headers_are_no_loss() -> None:
    assert uncarried([TCP, VICTIM]) == ()
    assert uncarried([UDP]) == ()


def test_flows_that_got_less_than_planned_before_the_failure_are_told_of() -> None:
    (said,) = uncarried([TCP, replace(VICTIM, before=9.0)])
    assert said == "before the cut 18.6 of 19.1 Mbit/s planned got through, less than 98%"


def test_only_what_the_failure_does_not_reach_must_stay_as_it_was() -> None:
    assert disturbed([TCP, UDP, VICTIM]) == ()
    assert disturbed([VICTIM]) == ()
    (said,) = disturbed([TCP, replace(UDP, after=9.3), VICTIM])
    assert said == "flows that the failure does not reach lost 2.2%, more than 1%"
