"""When the watchdog takes the event loop for hanging, and when it does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.framework.watchdog import LIMIT, LONG_LIMIT, LOOK, ProcessorWaits, Stall, Watchdog


def looks_until_stalled(
    most: int, *, beats_every: int = 0, in_long_work: bool = False, waited: float = 0.0
) -> int | None:
    """Return the looks it takes, None if `most` are not enough; the loop turns every `beats_every` looks, or never."""
    stall = Stall()
    for number in range(most):
        beats = number // beats_every if beats_every else 0
        if stall.look(beats, in_long_work=in_long_work, waited=waited) is not None:
            return number + 1
    return None


def test_a_loop_that_does_not_turn_for_two_seconds_is_noticed() -> None:
    assert looks_until_stalled(1000) == round(LIMIT / LOOK)


def test_a_loop_that_turns_now_and_then_is_left_alone() -> None:
    assert looks_until_stalled(10_000, beats_every=round(LIMIT / LOOK) - 1) is None


def test_work_that_is_known_to_take_long_is_granted_more_but_not_for_ever() -> None:
    assert looks_until_stalled(10_000, in_long_work=True) == round(LONG_LIMIT / LOOK)


def test_a_loop_whose_process_waits_for_a_processor_has_so_much_longer_but_not_for_ever() -> None:
    assert looks_until_stalled(1000, waited=0.5 * LOOK) == round(2 * LIMIT / LOOK)
    assert looks_until_stalled(10_000, waited=3 * LOOK) == pytest.approx(LONG_LIMIT / LOOK, abs=1)


def test_the_thread_that_waited_most_since_the_last_look_counts(tmp_path: Path) -> None:
    def told(**threads: str) -> None:
        for thread, counts in threads.items():
            (tmp_path / thread).mkdir(exist_ok=True)
            (tmp_path / thread / "schedstat").write_text(counts)

    waits = ProcessorWaits(tmp_path)
    told(a="5 1000000000 7", b="5 50 7")
    assert waits.since_last() == 0.0
    told(a="5 1010000000 7", b="900000000 80000050 9", c="5 99999999999 7", d="nothing", e="")
    assert waits.since_last() == 0.08
    (tmp_path / "b" / "schedstat").unlink()
    assert waits.since_last() == 0.0
    assert ProcessorWaits(tmp_path / "none").since_last() == 0.0


def test_linux_counts_how_long_a_thread_waits() -> None:
    waits = ProcessorWaits()
    waits.since_last()
    assert 0.0 <= waits.since_last() < 60.0
    assert waits._before


def test_a_watchdog_asks_how_long_its_process_has_waited() -> None:
    class StalledError(Exception):
        pass

    def stalled(part: str, _: float) -> None:
        raise StalledError(part)

    slept: list[float] = []
    watchdog = Watchdog(stalled, slept.append, lambda: LOOK / 2)
    watchdog.expect("event loop")
    with pytest.raises(StalledError):
        watchdog.watch()
    assert len(slept) == pytest.approx(2 * LIMIT / LOOK, abs=1)


def test_after_long_work_the_loop_has_its_two_seconds() -> None:
    stall = Stall()
    assert all(stall.look(0, in_long_work=True) is None for _ in range(round(LIMIT / LOOK) * 5))
    looks = [stall.look(0, in_long_work=False) for _ in range(round(LIMIT / LOOK))]
    assert looks[:-1] == [None] * (len(looks) - 1)
    assert looks[-1] == LIMIT


def test_the_watchdog_counts_its_own_looks_and_no_clock() -> None:
    """However long each look takes, as in a process that is stopped, it is their number that counts."""
    slept: list[float] = []

    class StalledError(Exception):
        pass

    def stalled(part: str, seconds: float) -> None:
        raise StalledError(part, seconds)

    watchdog = Watchdog(stalled, slept.append, lambda: 0.0)
    watchdog.expect("event loop")
    with pytest.raises(StalledError, match=r"event loop.*2"):
        watchdog.watch()
    assert slept == [LOOK] * round(LIMIT / LOOK)


def test_a_part_that_stands_still_is_noticed_beside_one_that_turns() -> None:
    class StalledError(Exception):
        pass

    def stalled(part: str, _: float) -> None:
        raise StalledError(part)

    watchdog = Watchdog(stalled, lambda _: watchdog.beat("event loop"))
    watchdog.expect("event loop")
    watchdog.beat("gate")
    with pytest.raises(StalledError, match="gate"):
        watchdog.watch()


def test_long_work_ends_with_its_block() -> None:
    looks: list[bool] = []

    class EnoughError(Exception):
        pass

    def sleep(_: float) -> None:
        looks.append(watchdog._long_works > 0)
        raise EnoughError

    watchdog = Watchdog(lambda _part, _seconds: None, sleep)
    with pytest.raises(EnoughError), watchdog.long_work():
        watchdog.watch()
    with pytest.raises(EnoughError):
        watchdog.watch()
    assert looks == [True, False]
