"""Connections of peers have places; those that say nothing have few."""

from __future__ import annotations

from kuijia_app.framework.peer_links import MOST, MOST_UNPROVEN, PeerPlace, Places


def taken(places: Places, origin: str, most: int = 2 * MOST) -> list[PeerPlace]:
    """Take places from there until there is none, or so many are taken."""
    found: list[PeerPlace] = []
    while len(found) < most and (place := places.take(origin)) is not None:
        found.append(place)
    return found


def test_silent_connections_of_one_origin_leave_places_to_others() -> None:
    places = Places()
    assert len(taken(places, "hostile")) == MOST_UNPROVEN
    assert places.take("peer") is not None


def test_connections_that_have_brought_a_message_are_not_limited_by_origin() -> None:
    places = Places()
    for _ in range(MOST):
        place = places.take("peer")
        assert place is not None
        place.prove()
        place.prove()
    assert places.take("peer") is None
    assert places.take("another") is None


def test_a_place_that_is_given_back_is_free_again() -> None:
    places = Places()
    for is_proven in (False, True):
        for _ in range(3):
            found = taken(places, "peer")
            assert len(found) == MOST_UNPROVEN
            for place in found:
                if is_proven:
                    place.prove()
                place.leave()
    assert sum(len(taken(places, f"origin {number}", 2)) for number in range(MOST)) == MOST
