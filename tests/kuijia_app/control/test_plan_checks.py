"""A plan that lacks something is put on no switch until it lacks nothing; one in force stays where it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kuijia_app.control.findings import FindingKind, SwitchFinding
from kuijia_app.control.plan_checks import Missing, PlanChecks, summary
from kuijia_app.control.snapshot import QueueCounters, Snapshot
from kuijia_app.tables.needs import needs_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.wiring import Wiring
from tests.kuijia_app.plans import motivation_plan

CONNECTED_WITHIN, JUDGED_WITHIN = 2.0, 1.5

PLAN = motivation_plan()
NEEDS = needs_of(PLAN, PipelineOptions(), Wiring(PLAN.topology))
ALL = {
    switch: {(port, queue.queue_id) for port in needs.ports for queue in needs.queues}
    for switch, needs in NEEDS.items()
}
SWITCHES = tuple(NEEDS)


def snapshot(switch: str, queues: Collection[tuple[int, int]] | None) -> Snapshot:
    """Return what a switch without traffic counts."""
    counters = None if queues is None else dict.fromkeys(queues, QueueCounters(0, 0))
    return Snapshot(switch, 0.0, 0.0, {}, {}, {}, {}, {}, counters)


class Checked:
    """Checks of four switches, of which a test says what they tell."""

    def __init__(self, missing: Missing = Missing.REFUSE) -> None:
        self.checks = PlanChecks(missing, NEEDS)
        self.unjudged: set[str] = set()

    def lacks(self) -> list[SwitchFinding]:
        return [each for switch in SWITCHES for each in self.checks.findings(switch, lambda _: True)]

    def admitted(self, now: float) -> set[str]:
        return set(self.checks.admitted(now, self.lacks(), lambda switch: switch not in self.unjudged))

    def connect(self, now: float, *switches: str) -> None:
        for switch in switches:
            self.checks.read(switch, now)
            self.checks.queues_counted(snapshot(switch, ALL[switch]))


def test_switches_that_lack_nothing_get_the_plan_as_soon_as_all_are_checked() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES[:3])
    assert it.admitted(0.1) == set()
    it.connect(0.2, SWITCHES[3])
    it.unjudged = {SWITCHES[0]}
    assert it.admitted(0.3) == set()
    it.unjudged = set()
    assert it.admitted(0.4) == set(SWITCHES)
    assert it.checks.is_admitted


def test_a_switch_that_does_not_connect_or_whose_links_are_not_judged_holds_the_others_up_for_a_moment_only() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES[:3])
    it.unjudged = {SWITCHES[2]}
    assert it.admitted(JUDGED_WITHIN) == set()
    assert it.admitted(CONNECTED_WITHIN) == set(SWITCHES[:3])


def test_a_plan_is_put_on_no_switch_before_each_that_is_here_has_told_its_queues() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES[:3])
    it.checks.read(SWITCHES[3], 0.0)
    assert it.admitted(1000.0) == set()
    it.checks.queues_counted(snapshot(SWITCHES[3], ALL[SWITCHES[3]]))
    assert it.admitted(1000.1) == set(SWITCHES)


def test_one_missing_queue_keeps_the_plan_from_all_switches_until_it_is_there() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES)
    it.checks.queues_counted(snapshot("s1", ALL["s1"] - {(2, 1)}))
    assert it.admitted(100.0) == set()
    (finding,) = it.lacks()
    assert finding.text == "port 2 to s3 lacks queue 1 (normal)"
    assert (finding.key.kind, finding.key.port, finding.is_lack) == (FindingKind.QUEUE_MISSING, 2, True)
    it.checks.queues_counted(snapshot("s1", ALL["s1"]))
    assert it.admitted(101.0) == set(SWITCHES)


def test_queues_of_a_port_that_is_missing_are_not_named_as_well() -> None:
    checks = PlanChecks(Missing.REFUSE, NEEDS)
    checks.queues_counted(snapshot("s1", set()))
    assert {each.key.port for each in checks.findings("s1", lambda port: port != 2)} == {1, 3, 4}


def test_a_switch_that_does_not_tell_its_queues_lacks_them() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES)
    it.checks.queues_counted(snapshot("s1", None))
    assert [each.key.kind for each in it.lacks()] == [FindingKind.QUEUES_UNKNOWN]
    assert it.admitted(100.0) == set()


def test_a_plan_in_force_is_put_on_a_switch_that_comes_back_whatever_it_lacks_but_not_on_a_new_one() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES[:3])
    assert it.admitted(CONNECTED_WITHIN) == set(SWITCHES[:3])
    it.checks.left("s1")
    assert it.checks.read("s1", 10.0)
    it.checks.queues_counted(snapshot("s1", set()))
    it.connect(11.0, SWITCHES[3])
    it.checks.queues_counted(snapshot(SWITCHES[3], set()))
    assert it.admitted(100.0) == set()
    assert list(it.checks.waiting) == [SWITCHES[3]]


def test_after_a_takeover_a_controller_looks_for_itself() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES)
    assert it.admitted(1.0)
    it.checks.begin_anew()
    assert not any(it.checks.knows_queues(switch) for switch in SWITCHES)
    assert not it.checks.read("s1", 2.0)


def test_a_switch_that_comes_later_than_the_others_is_checked_for_a_new_plan_too() -> None:
    it = Checked()
    it.connect(0.0, *SWITCHES)
    assert it.admitted(1.0) == set(SWITCHES)
    it.checks.begin_anew()
    it.connect(10.0, *SWITCHES[:3])
    assert it.admitted(10.0 + CONNECTED_WITHIN) == set(SWITCHES[:3])
    assert not it.checks.read(SWITCHES[3], 20.0)


def test_with_warnings_or_without_checks_every_switch_gets_the_plan_at_once() -> None:
    for missing in (Missing.WARN, Missing.IGNORE):
        it = Checked(missing)
        assert all(it.checks.read(switch, 0.0) for switch in SWITCHES)
        it.checks.queues_counted(snapshot("s1", set()))
        assert bool(it.lacks())


def test_a_summary_names_the_first_and_counts_the_others() -> None:
    it = Checked()
    it.checks.queues_counted(snapshot("s1", ALL["s1"] - {(2, 1)}))
    lacks = it.lacks()
    assert summary(lacks).startswith("switch s1: port 2 to s3 lacks queue 1 (normal): make them")
    more = replace(lacks[0], text="other")
    assert summary([*lacks, more]).endswith(", and 1 more")
