"""Both ends of a TCP connection on a card of 10 Mbit/s, step by step, by hand: 1,500 bytes take 1,200 us."""

from __future__ import annotations

import shutil

import pytest

from tests.sanitized import COMPILER
from tests.simulator.packet.step_references import SECOND
from tests.simulator.packet.steps import Parts, Step
from tests.simulator.packet.test_recovery_steps import kinds, packets_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]

MILLISECOND = SECOND // 1000
CARD = 10_000_000
NEW_RENO, DCTCP = 0, 2
DATA, ACKNOWLEDGEMENT, SYN, SYN_ACK = range(4)
NEVER = float(2**63 - 1)
LEVEL = 7
"""Of the flow."""


def ends(parts: Parts, *steps: Step, segments: int = 90, **rules: float) -> list[list[float]]:
    """Return the answers of steps, the last of the segments with 1,000 bytes."""
    options = {"congestion": NEW_RENO, "card": CARD, "bytes": (segments - 1) * 1460 + 1000} | rules
    return parts.answers("tcp_ends", steps, **options)


@pytest.mark.parametrize(("congestion", "capable"), [(NEW_RENO, False), (DCTCP, True)])
def test_segments_are_full_but_the_last_and_capable_of_marks_with_dctcp(
    parts: Parts, congestion: int, *, capable: bool
) -> None:
    steps: list[Step] = [("start", SECOND), ("packets", SECOND), ("wake", 3 * SECOND), ("packets", 3 * SECOND)]
    first, sent, again, resent = ends(parts, *steps, segments=3, congestion=congestion)
    assert first[3:] == [DATA, 0, not capable, DATA, 1, not capable, DATA, 2, not capable]
    plain = (LEVEL, SECOND, 0, 0, 0, 0, 0)
    assert packets_of(sent) == [(size, *plain) for size in (1500, 1500, 1040)]
    assert again[3:] == [DATA, 0, not capable]
    assert packets_of(resent) == [(1500, LEVEL, 3 * SECOND, 0, 0, 0, 0, 1)]


def test_acknowledgements_grow_by_their_blocks_and_answer_the_time_path_and_mark_of_a_segment(parts: Parts) -> None:
    for prior, level in ((0, LEVEL), (1, 0)):
        found = []
        for place, (kind, number) in enumerate((("data", 0), ("data", 2), ("data", 4), ("marked", 6), ("data", 8))):
            found += [(kind, SECOND, number, place), ("packets", SECOND)]
        answers = ends(parts, *found, prior_acks=prior)
        told = [packets_of(answer)[0] for answer in answers[1::2]]
        blocks = [(0, 0), (1, 2), (2, 4), (3, 6), (3, 8)]
        assert told == [
            (40 + (4 + 8 * count if count else 0), level, place, count, first, 3, place == 3, 0)
            for place, (count, first) in enumerate(blocks)
        ]
        assert [answer[3:5] for answer in answers[::2]] == [[ACKNOWLEDGEMENT, 1]] * 5


def test_a_card_takes_a_few_segments_and_more_when_half_of_them_have_left(parts: Parts) -> None:
    """Four leave after 1.2, 2.4, 3.6 and 4.8 ms. Each that has left makes room, until a window of ten is on its way."""
    times = [SECOND + round(wait * MILLISECOND) for wait in (0, 1.2, 2.4, 4.8, 7.2)]
    answers = ends(parts, ("start", times[0]), *[("wake", time) for time in times[1:]], nic_packets=4)
    assert [kinds(answer).count(DATA) for answer in answers] == [4, 1, 1, 2, 2]
    assert [answer[1] - SECOND for answer in answers[:2]] == [2.4 * MILLISECOND, 3.6 * MILLISECOND]


def test_paced_segments_leave_after_each_other_once_the_round_trip_is_known(parts: Parts) -> None:
    """A handshake of 20 ms, then a slow start from ten segments: twenty in a round trip, one in each millisecond."""
    known = SECOND + 20 * MILLISECOND
    steps: list[Step] = [("start", SECOND), ("wake", known - 1), ("answer", known, SYN_ACK, 0, SECOND)]
    steps += [("wake", known + MILLISECOND - 1), ("wake", known + MILLISECOND), ("packets", known)]
    *answers, packets = ends(parts, *steps, handshake=1, paced=1)
    assert [kinds(answer) for answer in answers] == [[SYN], [], [DATA], [], [DATA]]
    assert [answer[1] for answer in answers[2:]] == [known + MILLISECOND] * 2 + [known + 2 * MILLISECOND]
    assert packets_of(packets)[0][0] == 1500


def test_a_syn_is_answered_with_its_time(parts: Parts) -> None:
    answer, packets = ends(parts, ("comes", SECOND, SYN, 0, 77), ("packets", SECOND))
    assert kinds(answer) == [SYN_ACK]
    assert packets_of(packets) == [(40, LEVEL, 77, 0, 0, 0, 0, 0)]


def test_an_acknowledgement_is_held_back_for_a_second_segment_or_its_time(parts: Parts) -> None:
    late = SECOND + 40 * MILLISECOND
    steps: list[Step] = [("data", SECOND, 0, 5), ("wake", late - 1, 1), ("wake", late, 1)]
    steps += [("data", late, 1, 5), ("data", late, 2, 5)]
    answers = ends(parts, *steps, ack_every=2, ack_delay=40 * MILLISECOND)
    assert [answer[3:5] for answer in answers] == [[], [], [ACKNOWLEDGEMENT, 1], [], [ACKNOWLEDGEMENT, 3]]
    assert [answer[2] for answer in answers] == [late, late, NEVER, late + 40 * MILLISECOND, NEVER]


def test_segments_out_of_order_come_to_the_receiver_when_the_gap_is_filled_or_its_time_is_over(parts: Parts) -> None:
    gap = 10 * MILLISECOND
    steps: list[Step] = [("data", SECOND, 1, 5), ("data", SECOND + 1, 0, 6), ("data", SECOND, 3, 5)]
    steps += [("wake", SECOND + gap - 1, 1), ("wake", SECOND + gap, 1)]
    answers = ends(parts, *steps, resequencing=gap, sack=0)
    assert [answer[4::5] for answer in answers] == [[], [1, 2], [], [], [2]]
    assert [answer[2] for answer in answers] == [SECOND + gap, NEVER, SECOND + gap, SECOND + gap, NEVER]


def test_a_connection_counts_what_came_in_order_timeouts_and_its_end_once(parts: Parts) -> None:
    """Three segments: the last comes first; a timeout, then all are acknowledged, twice."""
    steps: list[Step] = [("start", SECOND), ("data", SECOND, 2, 5), ("data", SECOND, 0, 5), ("counters", SECOND)]
    steps += [("wake", 2 * SECOND - 1), ("wake", 2 * SECOND), ("data", 2 * SECOND, 1, 5), ("data", 2 * SECOND, 1, 5)]
    steps += [("answer", 3 * SECOND, ACKNOWLEDGEMENT, 1, 2 * SECOND), ("counters", SECOND)]
    steps += [("answer", 3 * SECOND, ACKNOWLEDGEMENT, 3, 2 * SECOND), ("counters", SECOND)]
    answers = ends(parts, *steps, segments=3)
    before, between, after = (answers[place] for place in (3, 9, 11))
    assert before == [1460, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
    assert between == [2 * 1460 + 1000, 3, 1, 2, SECOND, 0, 0, 0, 1, 1, 0]
    assert after == [2 * 1460 + 1000, 3, 1, 0, SECOND, 0, 0, 0, 1, 1, 1]
