"""Who has the most connections gives one up, however they come and go; held against a count of all of them."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from kuijia_base.fair_places import FairPlaces, origin_of

MOST, MOST_OF_ORIGIN = 12, 5


@pytest.mark.parametrize("origins", [3, 8, 40])
def test_places_agree_with_a_count_of_all_connections(origins: int) -> None:
    random = Random(origins)
    places: FairPlaces[int] = FairPlaces(MOST, MOST_OF_ORIGIN)
    here: dict[int, str] = {}
    for key in range(4000):
        if here and random.random() < 0.4:
            gone = random.choice(sorted(here))
            del here[gone]
            places.leave(gone)
            places.leave(gone)
        here[key] = f"10.0.0.{int(random.expovariate(4 / origins))}"
        dropped = places.take(key, here[key])
        counts = Counter(here.values())
        if dropped is None:
            assert counts[here[key]] <= MOST_OF_ORIGIN
            assert len(here) <= MOST
        else:
            of_origin = [each for each, origin in here.items() if origin == here[dropped]]
            assert dropped == of_origin[0]
            own = counts[here[key]] > MOST_OF_ORIGIN
            assert here[dropped] == here[key] if own else counts[here[dropped]] == max(counts.values())
            places.leave(dropped)
            del here[dropped]
        assert len(places) == len(here)
        assert places.oldest(3) == list(here)[:3]
        assert (key in places) == (key in here)
        assert places.rank(key) == list(here.values()).count(here.get(key, ""))


def test_among_equals_the_oldest_goes() -> None:
    places: FairPlaces[int] = FairPlaces(3, 3)
    assert [places.take(key, f"10.0.0.{key}") for key in range(3)] == [None] * 3
    assert places.take(3, "10.0.0.3") == 0


def test_one_that_has_left_leaves_nothing() -> None:
    places: FairPlaces[int] = FairPlaces(3, 3)
    for key in range(1000):
        places.take(key, f"10.0.{key >> 8}.{key & 255}")
        places.leave(key)
    assert not len(places)
    assert not places._keys
    assert not places._with


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8:0:0:ffff::2", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no:address", "no:address"),
    ],
)
def test_an_origin_is_an_address_or_a_subnet_of_ipv6(host: str, origin: str) -> None:
    assert origin_of(host) == origin
