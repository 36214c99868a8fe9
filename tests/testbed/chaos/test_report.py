"""The report on a run names what was lost without an excuse, and its picture shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.chaos.controller_verdicts import Alarm, OwnEnd, Takeover
from testbed.chaos.faults import CUT, FLAP_DOWN, ChaosFault, FaultSpan, FaultTimeline
from testbed.chaos.leaks import ProcessSize
from testbed.chaos.load import LoadCount, Stream
from testbed.chaos.oracle import Loss, LossWindows, ProbeFlow, UnexcusedLoss
from testbed.chaos.probes import ProbeCount
from testbed.chaos.report import chaos_picture, report_json, report_text
from testbed.chaos.run import ChaosResult


@pytest.fixture
def result() -> ChaosResult:
    flow = ProbeFlow(0, "s1", "s4", 0, ("s1", "s4"))
    bad, excused = Loss(0, 112.5, 112.6, 50), Loss(0, 110.0, 110.01, 5)
    return ChaosResult(
        faults=(ChaosFault(10.0, CUT, ("s1", "s4"), 2.0),),
        flows=(flow,),
        counts=(ProbeCount(0, 1000, 945, 0, 3),),
        streams=(
            Stream("s1", "s4", "tcp", 1.0, 0, 1, 0, [(101.0, 1.0), (102.0, 0.0)]),
            Stream("s1", "s4", "udp", 1.0, 0, 2, 1, [(101.0, 1.0), (102.0, 0.8)]),
        ),
        load=(
            LoadCount(ProbeFlow(0, "s1", "s4", 0, ("s1", "s4")), 18.0, 3000, 3000),
            LoadCount(ProbeFlow(1, "s1", "s4", 1, ("s1", "s4")), 9.0, 1500, 1400),
            LoadCount(ProbeFlow(2, "s1", "s4", 1, ("s1", "s2", "s4")), 9.0, 1500, 1500),
        ),
        losses=(excused, bad),
        timeline=FaultTimeline(
            (FaultSpan(CUT, ("s1", "s4"), 110.0, 112.0), FaultSpan(FLAP_DOWN, ("s1", "s2"), 111.0, 111.1)),
            stalled=((109.9, 109.94),),
        ),
        began=100.0,
        seconds=20.0,
        lost_without_excuse=(UnexcusedLoss(flow, bad, (FaultSpan(CUT, ("s1", "s4"), 110.0, 112.0),)),),
        owed_to_the_machine=(UnexcusedLoss(flow, excused, ()),),
        takeovers=(Takeover("controller-killed", 105.0, 0.9, True), Takeover("controller-killed", 107.0, None, True)),
        false_alarms=(Alarm(108.0, "s1", "s2", "12 of 100 packets of tunnel 17 s1-s2-s4 vanish between s1 and s2"),),
        own_ends=(OwnEnd(109.0, 2, "event loop has not turned for 2 s"),),
        tables=(),
        leaks=(),
        sizes={"controller 1": (ProcessSize(4, 20, 51_200), ProcessSize(5, 22, 71_680))},
        errors=(),
    )


def test_the_text_says_what_was_lost_and_what_was_broken_then(result: ChaosResult) -> None:
    text = report_text(result)
    assert "1 fault in 20 s: 1 cut" in text
    assert "1,000 probes of 1 flow; 55 lost, 50 of them without an excuse" in text
    line = "FINDING  12.500 s: s1>s4 class 0 by s1-s4 lost 50 in 100 ms; broken then: cut s1-s4 from 10.000 to 12.000 s"
    assert line in text
    assert "a process like the switches for 10 ms or more 1 times, at most for 40 ms" in text
    assert "5 lost in 1 gap are excused by nothing but this machine" in text
    assert "MB of memory at first and at most: controller 1 50 to 70" in text
    assert "2 takeovers: after 0.90 to 0.90 s" in text
    assert "TAKEOVER 7.000 s: controller-killed, nobody took over; expected 1.5 s" in text
    by_tcp = (
        "1 flow of iperf3 by TCP at 1 Mbit/s got 0.5 to 0.5 Mbit/s, nothing in 1 to 1 seconds, and ended early 0 times"
    )
    assert by_tcp in text
    assert "by UDP at 1 Mbit/s got 0.9 to 0.9 Mbit/s, nothing in 0 to 0 seconds, and ended early 1 time" in text
    assert "load of class 0: 1 flow, 18 Mbit/s together; 3,000 packets sent, 0 lost" in text
    assert "load of class 1: 2 flows, 18 Mbit/s together; 3,000 packets sent, 100 lost" in text
    assert "ALARM    8.000 s: 12 of 100 packets of tunnel 17 s1-s2-s4 vanish between s1 and s2; nothing was" in text
    assert "ENDED    9.000 s: controller 2 by itself: event loop has not turned for 2 s" in text
    assert text.endswith("failed")


@pytest.mark.parametrize("kept", ["lost_without_excuse", "takeovers", "false_alarms", "own_ends"])
def test_each_finding_alone_fails_a_run(result: ChaosResult, kept: str) -> None:
    clean = replace(result, counts=(), lost_without_excuse=(), takeovers=(), false_alarms=(), own_ends=())
    assert clean.passed
    vars(clean)[kept] = getattr(result, kept)
    assert not clean.passed


def test_the_picture_tells_excused_gaps_from_findings(result: ChaosResult) -> None:
    pytest.importorskip("matplotlib")
    document = report_json(result, "fig1", 1, LossWindows(), {})
    assert not document["passed"]
    svg = chaos_picture(document, ".svg").decode()
    assert "excused: 1" in svg
    assert "without an excuse: 1" in svg
    assert "fig1: 1 fault, 1,000 probes, 50 lost without an excuse" in svg
