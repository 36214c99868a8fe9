from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.recovery.report import Silence, interruption, longest_silence
from testbed.traffic.ticks import TickRecord

TICK = 1 / 1024
"""About a millisecond; sums of whole multiples of it are exact."""

SENT, CUT, ON_THE_WAY = 2560, 768, 2


def record(lost: range, paused: dict[int, int] | None = None, sender: int = 0, receiver: int = 0) -> TickRecord:
    """Return the record of a flow of one packet per tick.

    Args:
        lost: packets that do not arrive.
        paused: packet to the ticks by which it and all later ones are delayed.
        sender: its clock at the first packet, in ticks.
        receiver: its clock at the first packet, in ticks.
    """
    late, sent_at = 0, []
    for number in range(SENT):
        late += (paused or {}).get(number, 0)
        sent_at.append(number + late)
    arrivals = [(number, at + ON_THE_WAY) for number, at in enumerate(sent_at) if number not in lost]
    return TickRecord(
        tuple((at + sender) * TICK for at in sent_at),
        tuple((number, (at + receiver) * TICK) for number, at in arrivals),
    )


def test_the_longest_silence_is_found_among_those_that_overlap_the_time_asked_for() -> None:
    times = [0.0, 5.0, 6.0, 8.0, 9.0, 20.0]
    assert longest_silence(times, 5.5, 8.5) == Silence(6.0, 8.0)
    assert longest_silence(times, 4.9, 8.5) == Silence(0.0, 5.0)
    assert longest_silence(times, 5.5, 9.1).length == 11


@pytest.mark.parametrize("times", [[], [1.0, 2.0], [7.0, 8.0]])
def test_a_silence_without_an_end_has_no_length(times: list[float]) -> None:
    with pytest.raises(ValueError, match="both sides"):
        longest_silence(times, 5.0, 6.0)


def test_the_gap_is_told_by_arrivals_and_the_sender_s_share_in_it_by_numbers() -> None:
    lost = range(CUT, CUT + 80)
    found = interruption(record(lost, {CUT - 100: 4, CUT + 40: 7, CUT + 200: 9}), CUT * TICK)
    assert found.gap == (80 + 1 + 7) * TICK
    assert found.gap_before == (4 + 1) * TICK
    assert found.sender_pause_in_gap == (7 + 1) * TICK
    assert found.sender_pause == (9 + 1) * TICK
    assert found.lost == 80
    assert found.before == pytest.approx(1024, rel=0.02)
    assert found.after == pytest.approx(1024, rel=0.01)


def test_a_gap_is_not_the_longer_one_that_had_ended_before_the_cut() -> None:
    gone = record(range(CUT, CUT + 80), {CUT - 300: 200})
    assert interruption(gone, (CUT + 200) * TICK).gap == 81 * TICK


@given(
    sender=st.integers(-(10**9), 10**9),
    receiver=st.integers(-(10**9), 10**9),
    length=st.integers(1, 200),
    pause=st.integers(0, 300),
    paused=st.integers(1, SENT - 1),  # a first packet that comes late would leave nothing before
)
def test_what_the_clocks_show_changes_nothing(sender: int, receiver: int, length: int, pause: int, paused: int) -> None:
    lost, pauses = range(CUT, CUT + length), {paused: pause}
    expected = interruption(record(lost, pauses), CUT * TICK)
    assert interruption(record(lost, pauses, sender, receiver), (CUT + receiver) * TICK) == expected


@given(early=st.integers(0, 60), length=st.integers(3, 200))
def test_a_cut_that_was_later_than_thought_leaves_the_gap_as_it_is(early: int, length: int) -> None:
    lost = range(CUT, CUT + length)
    assert interruption(record(lost), (CUT - early) * TICK).gap == (length + 1) * TICK


def test_packets_that_overtake_others_leave_the_sender_s_share_to_be_told() -> None:
    sent_at = tuple(number * TICK for number in range(SENT))
    slow, quick = range(CUT), range(CUT, SENT)
    arrivals = [(number, (number + 50) * TICK) for number in slow] + [(number, number * TICK) for number in quick]
    overtaken = TickRecord(sent_at, tuple(sorted(arrivals, key=lambda arrival: arrival[1])))
    found = interruption(overtaken, CUT * TICK)
    assert (found.gap, found.sender_pause_in_gap, found.lost) == (TICK, TICK, 0)
