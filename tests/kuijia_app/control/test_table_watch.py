"""Switches are polled in turn, tables put right at once, and fights given up."""

from __future__ import annotations

import pytest

from kuijia_app.control.table_watch import TablesVerdict, TableWatch

PERIOD, SOONEST, UNANSWERED, MOST_POLLED = 1.0, 0.2, 5.0, 20_000
TRIES, HELD, OFTEN, CALM, FIRST_REST = 5, 2.0, 10, 30.0, 5.0


def watching(*switches: str) -> TableWatch:
    watch = TableWatch()
    for switch in switches or ("s1",):
        watch.begun(switch, 0.0)
    return watch


def poll(watch: TableWatch, now: float, size: int = 10) -> list[str]:
    """Poll all that are due at this time, which answer at once."""
    polled = []
    while due := watch.due(now):
        for switch, _ in due:
            watch.asked(switch, now)
            watch.answered(switch, size)
            polled.append(switch)
    return polled


def test_each_switch_is_polled_once_in_a_period() -> None:
    watch = watching("s1", "s2")
    assert sorted(poll(watch, 0.0)) == ["s1", "s2"]
    assert poll(watch, PERIOD - 0.01) == []
    assert sorted(poll(watch, PERIOD)) == ["s1", "s2"]


def test_one_look_polls_a_part_of_many_switches() -> None:
    watch = watching(*(f"s{number}" for number in range(25)))
    assert len(watch.due(0.0)) == 3


def test_the_period_grows_with_what_there_is_to_poll() -> None:
    watch = watching("s1", "s2")
    for switch in ("s1", "s2"):
        watch.asked(switch, 0.0)
        watch.answered(switch, 3 * MOST_POLLED)
    assert watch.period == 6.0


def test_a_fight_over_what_is_no_table_is_a_fault_but_no_lack() -> None:
    watch = TableWatch("entries for hosts", is_lack=False)
    watch.begun("s1", 0.0)
    fight(watch, 0.0, TRIES)
    assert watch.wrong("s1", 10.0) is TablesVerdict.REST
    (finding,) = watch.troubles("s1")
    assert (finding.is_lack, finding.key.detail) == (False, "entries for hosts")
    assert "entries for hosts" in finding.text


def test_entries_of_others_are_asked_for_now_and_then() -> None:
    watch = watching()
    asked = []
    for number in range(6):
        ((_, everything),) = watch.due(number * PERIOD)
        asked.append(everything)
        poll(watch, number * PERIOD)
    assert asked == [True, False, False, True, False, False]


@pytest.mark.parametrize(
    ("hosts", "each"),
    [(0, [True, False, False, True]), (1, [True] * 4), (200, [True] * 4), (201, [True, False, False, True])],
)
def test_entries_for_hosts_are_asked_for_in_each_poll_if_they_are_few(hosts: int, each: list[bool]) -> None:
    watch, asked = watching(), []
    for number in range(4):
        ((_, everything),) = watch.due(number * PERIOD)
        asked.append(everything)
        watch.asked("s1", number * PERIOD)
        watch.answered("s1", 10, hosts if everything else None)
    assert asked == each


def test_entries_for_hosts_are_still_asked_for_in_each_poll_once_somebody_has_deleted_all_of_them() -> None:
    watch = watching()
    for number, hosts in enumerate([5, 0, 0]):
        assert watch.due(number * PERIOD) == [("s1", True)]
        watch.asked("s1", number * PERIOD)
        watch.answered("s1", 10, hosts)


def test_a_poll_without_an_answer_is_repeated() -> None:
    watch = watching()
    watch.asked("s1", 0.0)
    assert watch.due(UNANSWERED) == []
    assert [switch for switch, _ in watch.due(UNANSWERED + 0.1)] == ["s1"]


def test_a_removed_entry_brings_the_next_poll_forward_but_many_bring_one() -> None:
    watch = watching()
    poll(watch, 0.0)
    watch.soon("s1", 0.5)
    assert poll(watch, 0.5) == ["s1"]
    for _ in range(400):
        watch.soon("s1", 0.51)
    assert poll(watch, 0.6) == []
    assert poll(watch, 0.5 + SOONEST) == ["s1"]
    assert poll(watch, 0.5 + 2 * SOONEST) == []


def test_an_entry_removed_during_a_poll_brings_another_one() -> None:
    watch = watching()
    watch.asked("s1", 0.0)
    watch.soon("s1", 0.05)
    assert watch.due(0.1) == []
    watch.answered("s1", 10)
    assert poll(watch, SOONEST) == ["s1"]


def test_a_switch_is_polled_again_soon_after_it_was_read_during_a_poll() -> None:
    watch = watching()
    watch.asked("s1", 0.0)
    assert watch.due(PERIOD) == []
    watch.read("s1")
    assert [switch for switch, _ in watch.due(PERIOD)] == ["s1"]


def test_a_switch_that_has_gone_is_not_polled() -> None:
    watch = watching()
    watch.ended("s1")
    assert watch.due(100.0) == []
    watch.begun("s1", 100.0)
    assert poll(watch, 100.0) == ["s1"]


def test_a_switch_that_cannot_be_polled_now_is_polled_soon() -> None:
    watch = watching()
    watch.put_off("s1", 3.0)
    assert (watch.due(3.0 + SOONEST - 0.01), watch.due(3.0 + SOONEST)) == ([], [("s1", True)])


def fight(watch: TableWatch, now: float, times: int) -> list[TablesVerdict]:
    """Change the tables as soon as they are right."""
    verdicts = []
    for number in range(times):
        watch.right("s1", now + number)
        verdicts.append(watch.wrong("s1", now + number + 0.5))
    return verdicts


def test_tables_are_put_right_at_once_until_they_do_not_hold_a_few_times() -> None:
    watch = watching()
    assert fight(watch, 0.0, TRIES) == [TablesVerdict.REPAIR] * TRIES
    assert list(watch.troubles("s1"))
    assert not watch.is_resting("s1")
    assert watch.wrong("s1", TRIES) is TablesVerdict.REST
    assert watch.is_resting("s1")
    assert [finding.is_lack for finding in watch.troubles("s1")] == [True]


def test_tables_are_left_during_a_rest_which_doubles() -> None:
    watch = watching()
    fight(watch, 0.0, TRIES)
    assert watch.wrong("s1", 10.0) is TablesVerdict.REST
    assert watch.wrong("s1", 11.0) is TablesVerdict.NOTHING
    assert watch.ended_rests(10.0 + FIRST_REST - 0.1) == []
    assert watch.ended_rests(10.0 + FIRST_REST) == ["s1"]
    assert watch.ended_rests(10.0 + FIRST_REST) == []
    assert watch.wrong("s1", 20.0) is TablesVerdict.REST
    assert watch.ended_rests(20.0 + 2 * FIRST_REST - 0.1) == []
    assert watch.ended_rests(20.0 + 2 * FIRST_REST) == ["s1"]


def test_what_holds_after_a_rest_is_nobodys_trouble_any_more() -> None:
    watch = watching()
    fight(watch, 0.0, TRIES + 1)
    watch.ended_rests(100.0)
    watch.right("s1", 100.0)
    watch.right("s1", 100.0 + HELD)
    assert not list(watch.troubles("s1"))
    assert watch.wrong("s1", 103.0) is TablesVerdict.REPAIR


def test_changes_that_hold_for_a_while_are_put_right_for_ever_but_told() -> None:
    watch = watching()
    now = 0.0
    for _ in range(2 * OFTEN):
        watch.right("s1", now)
        watch.right("s1", now + HELD)
        assert watch.wrong("s1", now + HELD + 0.1) is TablesVerdict.REPAIR
        now += HELD + 0.2
    assert [finding.is_lack for finding in watch.troubles("s1")] == [False]
    watch.right("s1", now)
    watch.right("s1", now + CALM + 0.1)
    assert not list(watch.troubles("s1"))


def test_a_new_connection_does_not_end_a_fight() -> None:
    watch = watching()
    fight(watch, 0.0, TRIES)
    watch.begun("s1", TRIES)
    assert watch.wrong("s1", TRIES + 0.1) is TablesVerdict.REST


def test_tables_that_were_right_before_a_new_connection_have_not_held_since() -> None:
    watch = watching()
    fight(watch, 0.0, TRIES)
    watch.right("s1", TRIES)
    watch.begun("s1", TRIES + HELD)
    assert watch.wrong("s1", TRIES + HELD) is TablesVerdict.REST


@pytest.mark.parametrize("now", [0.0, 1e9])
def test_a_switch_that_is_not_watched_is_in_no_trouble(now: float) -> None:
    watch = TableWatch()
    watch.soon("s1", now)
    watch.ready("s1", now)
    watch.ended("s1")
    assert not watch.is_resting("s1")
    assert watch.due(now) == []
