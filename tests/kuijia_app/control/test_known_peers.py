"""A controller remembers peers while they speak, and not more of them than there can be."""

from __future__ import annotations

from kuijia_app.control.pair import Pair
from tests.kuijia_app.control.test_pair import SWITCHES, beat

FORGOTTEN, MOST_PEERS = 10.0, 16


def test_who_invents_peers_fills_no_memory_and_hides_no_known_peer() -> None:
    pair = Pair(1, 0.0, is_acting=True)
    pair.heard(beat(acting=False), 0.0)
    for instance in range(3, 1000):
        pair.heard(beat(instance=instance), 0.1)
    assert len(pair.generations) == MOST_PEERS - 1
    pair.heard(beat(acting=False, reach=frozenset({"s1"})), 1.0)
    assert pair.obstacle(SWITCHES, 1.0) == "no peer is connected to switch s2, s3"


def test_a_silent_peer_is_forgotten_and_makes_room_for_another() -> None:
    pair = Pair(1, 0.0)
    for instance in range(2, 2 + MOST_PEERS):
        pair.heard(beat(instance=instance), 0.0)
    late = beat(acting=False, instance=99)
    pair.heard(late, FORGOTTEN - 0.1)
    assert pair.obstacle(SWITCHES, FORGOTTEN - 0.1) is not None
    pair.heard(late, FORGOTTEN)
    assert pair.obstacle(SWITCHES, FORGOTTEN) is None
    assert pair.generations == []
