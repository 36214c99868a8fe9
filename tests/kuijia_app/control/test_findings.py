"""What is wrong is reported when it is found and when it is gone, and the last report is true."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.findings import FindingKey, FindingKind, Findings, SwitchFinding

CALM, FREE_REPORTS, MOST_OF_ONE_KIND = 120.0, 4, 64

KEY = FindingKey(FindingKind.QUEUE_MISSING, "paris", 2)
MISSING = SwitchFinding(KEY, "port 2 has no queue 1", "make it", is_lack=True)


def told(findings: Findings, now: float) -> list[bool]:
    return [report.is_open for report in findings.reports(now)]


def test_a_finding_is_reported_once_when_it_is_found_and_once_when_it_is_gone() -> None:
    findings = Findings()
    findings.found(MISSING, 1.0)
    findings.found(MISSING, 2.0)
    (report,) = findings.reports(3.0)
    assert (report.finding, report.is_open, report.since) == (MISSING, True, 1.0)
    assert (findings.lacks, list(findings), KEY in findings) == ((MISSING,), [MISSING], True)
    assert [findings.take_changed() for _ in range(2)] == [True, False]
    findings.gone(KEY, 4.0)
    assert findings.take_changed(), "whether that may be told or not"
    assert told(findings, 4.0) == [False]
    assert (findings.lacks, list(findings), KEY in findings) == ((), [], False)
    assert told(findings, 500.0) == []


def test_other_words_for_a_finding_are_news() -> None:
    findings = Findings()
    findings.found(MISSING, 0.0)
    findings.reports(0.0)
    findings.found(SwitchFinding(KEY, "port 2 has no queues 1, 2"), 1.0)
    (report,) = findings.reports(1.0)
    assert report.finding.text == "port 2 has no queues 1, 2"


def test_what_is_not_stated_again_is_gone_and_other_kinds_and_switches_stay() -> None:
    findings = Findings()
    keys = [FindingKey(FindingKind.QUEUE_MISSING, "paris", port) for port in (1, 2)]
    others = [FindingKey(FindingKind.LINK_LOST, "paris", 1), FindingKey(FindingKind.QUEUE_MISSING, "rome", 1)]
    for key in others:
        findings.found(SwitchFinding(key, "wrong"), 0.0)
    findings.exactly(FindingKind.QUEUE_MISSING, "paris", [SwitchFinding(key, "wrong") for key in keys], 0.0)
    findings.exactly(FindingKind.QUEUE_MISSING, "paris", [SwitchFinding(keys[1], "wrong")], 1.0)
    assert {finding.key for finding in findings} == {keys[1], *others}


def test_a_finding_that_comes_and_goes_is_reported_ever_less_often_and_truly_in_the_end() -> None:
    findings, reports = Findings(), []
    for step in range(2000):
        now = step * 0.1
        if step % 2:
            findings.gone(KEY, now)
        else:
            findings.found(MISSING, now)
        reports += findings.reports(now)
    assert FREE_REPORTS < len(reports) < 15
    findings.gone(KEY, 200.0)
    reports += findings.reports(1000.0)
    assert not reports[-1].is_open
    findings.reports(1000.0 + CALM)
    findings.found(MISSING, 2000.0)
    findings.gone(KEY, 2000.1)
    findings.found(MISSING, 2000.2)
    assert told(findings, 2000.2) == [True]


def test_a_switch_that_has_ever_new_things_wrong_costs_no_memory() -> None:
    findings = Findings()
    for number in range(10 * MOST_OF_ONE_KIND):
        findings.found(SwitchFinding(FindingKey(FindingKind.FOREIGN_ENTRY, "paris", detail=str(number)), "wrong"), 0.0)
    findings.found(MISSING, 0.0)
    assert len(list(findings)) == MOST_OF_ONE_KIND + 1


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 100.0)), max_size=40))
def test_the_last_report_is_true(changes: list[tuple[bool, float]]) -> None:
    findings, now, is_open = Findings(), 0.0, False
    reports = []
    for is_open, pause in changes:
        now += pause
        findings.found(MISSING, now) if is_open else findings.gone(KEY, now)
        reports += findings.reports(now)
    reports += findings.reports(now + 10_000.0)
    assert (reports[-1].is_open if reports else False) == is_open


def test_a_finding_that_has_been_calm_is_reported_at_once() -> None:
    findings, now, reports = Findings(), 0.0, 0
    while reports < 2 * FREE_REPORTS + 5:  # the next one has to wait for the longest pause
        now += 1.0
        if KEY in findings:
            findings.gone(KEY, now)
        else:
            findings.found(MISSING, now)
        reports += len(findings.reports(now))
    assert KEY in findings
    findings.gone(KEY, now + CALM + 1.0)
    assert told(findings, now + CALM + 1.0) == [False]


def test_a_finding_that_came_and_went_between_two_reports_is_forgotten() -> None:
    findings = Findings()
    findings.found(MISSING, 0.0)
    findings.gone(KEY, 0.1)
    assert told(findings, 1.0) == []
    assert told(findings, 1.0 + CALM) == []
    assert not findings._records
