"""Disciplines share a buffer as their names say."""

from __future__ import annotations

import pytest

from experiments.packet_study.schemes import DISCIPLINES, Mark, queueing, require_room
from kuijia_base.errors import InputError
from simulator.packet.queues import Crosspoints, Fifo, HashedCredits, Red, Threshold


def test_crosspoints_share_the_buffer_of_their_output() -> None:
    made = queueing("cqrd", 24_000, Mark(), inputs=8)
    assert made == Crosspoints(Fifo(3000, marking=Threshold(1200), random_drop=True, random_mark=True))
    assert queueing("cq", 24_000, Mark(size=500), inputs=8) == Crosspoints(Fifo(3000, marking=Threshold(500)))


def test_hashed_credits_share_it_by_two() -> None:
    assert queueing("hcf", 24_000, Mark(), inputs=8) == HashedCredits(Fifo(12_000, marking=Threshold(4800)))


def test_one_queue_has_all_of_it() -> None:
    assert queueing("drop-tail", 24_000, Mark(part=0.5), inputs=8) == Fifo(24_000, marking=Threshold(12_000))
    assert queueing("red", 24_000, Mark(), inputs=8) == Fifo(24_000, marking=Red(6000, 18_000))


@pytest.mark.parametrize("name", DISCIPLINES)
def test_buffers_without_room_for_a_packet_are_refused(name: str) -> None:
    parts = DISCIPLINES[name].parts(4)
    require_room(name, 1500 * parts, 4, 1500)
    with pytest.raises(InputError, match=f"less than a packet of 1500, expected {1500 * parts} or more"):
        require_room(name, 1500 * parts - 1, 4, 1500)


def test_marks_are_told_as_users_give_them() -> None:
    assert (str(Mark()), str(Mark(size=97_500))) == ("40%", "97500")
