"""Disciplines share a buffer as their names say."""

from __future__ import annotations

import pytest

from kuijia_base.errors import InputError
from simulator.packet.queues import (
    UNLIMITED,
    Crosspoints,
    DropThresholds,
    Fifo,
    HashedCredits,
    Red,
    SharedBuffer,
    Threshold,
)
from simulator.studies.packet.transports import DISCIPLINES, Mark, queueing, require_room


def test_crosspoints_share_the_buffer_of_their_output() -> None:
    made = queueing("cqrd", 24_000, Mark(), inputs=8)
    assert made == Crosspoints(Fifo(3000, marking=Threshold(1200), random_drop=True, random_mark=True))
    assert queueing("cq", 24_000, Mark(size=500), inputs=8) == Crosspoints(Fifo(3000, marking=Threshold(500)))


def test_hashed_credits_share_it_by_two() -> None:
    assert queueing("hcf", 24_000, Mark(), inputs=8) == HashedCredits(Fifo(12_000, marking=Threshold(4800)))


def test_one_queue_has_all_of_it() -> None:
    assert queueing("drop-tail", 24_000, Mark(part=0.5), inputs=8) == Fifo(24_000, marking=Threshold(12_000))
    assert queueing("red", 24_000, Mark(), inputs=8) == Fifo(24_000, marking=Red(6000, 18_000))


def test_outputs_of_a_switch_put_their_buffers_together() -> None:
    made = queueing("shared-buffer", 24_000, Mark(), inputs=8)
    assert made == SharedBuffer(Fifo(192_000, marking=Threshold(9600)), 192_000)
    require_room("shared-buffer", UNLIMITED // 8, 8, 1500)
    with pytest.raises(InputError, match=f"for each of 8 outputs, .* expected at most {UNLIMITED // 8}"):
        require_room("shared-buffer", UNLIMITED // 8 + 1, 8, 1500)


def test_packets_of_lower_priority_have_a_quarter_or_64_kilobytes() -> None:
    queue = Fifo(400_000, marking=Threshold(160_000))
    assert queueing("drop-thresholds", 400_000, Mark(), inputs=8) == DropThresholds(queue, [400_000, 100_000])
    assert queueing("drop-thresholds", 100_000, Mark(), inputs=8) == DropThresholds(
        Fifo(100_000, marking=Threshold(40_000)), [100_000, 65_536]
    )
    assert queueing("drop-thresholds", 9_000, Mark(size=1), inputs=8) == DropThresholds(
        Fifo(9_000, marking=Threshold(1)), [9_000, 9_000]
    )


@pytest.mark.parametrize("name", DISCIPLINES)
def test_buffers_without_room_for_a_packet_are_refused(name: str) -> None:
    parts = DISCIPLINES[name].parts(4)
    require_room(name, 1500 * parts, 4, 1500)
    with pytest.raises(InputError, match=f"less than a packet of 1500, expected {1500 * parts} or more"):
        require_room(name, 1500 * parts - 1, 4, 1500)


def test_marks_are_told_as_users_give_them() -> None:
    assert (str(Mark()), str(Mark(size=97_500))) == ("40%", "97500")
