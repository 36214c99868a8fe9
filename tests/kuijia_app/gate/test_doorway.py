"""When more connections come than can be served, a switch that comes back gets in, wherever the others are from."""

from __future__ import annotations

import pytest

from kuijia_app.gate.admission import Doorway
from kuijia_app.gate.limits import Limits

LIMITS = Limits(accepted_rate=10.0, accepted_burst=5.0, origins_remembered=100)
HERE = "192.0.2.1"


def flood(doorway: Doorway, origins: int, seconds: float = 10.0, rate: int = 100) -> int:
    """Let connections of so many origins come in turn; return how many get in."""
    came = range(int(seconds * rate))
    return sum(
        doorway.admits(f"10.0.{number % origins >> 8}.{number % origins & 255}", number / rate) for number in came
    )


def test_all_get_in_while_they_are_few() -> None:
    doorway = Doorway(0.0, LIMITS)
    assert all(doorway.admits(HERE, number / 9.0) for number in range(1000))


@pytest.mark.parametrize("origins", [1, 20, 5000])
def test_more_than_the_rates_do_not_get_in(origins: int) -> None:
    assert 95 <= flood(Doorway(0.0, LIMITS), origins) <= 2 * 105


@pytest.mark.parametrize("origins", [1, 20])
def test_one_that_has_not_come_for_a_moment_gets_in_beside_a_few_that_come_all_the_time(origins: int) -> None:
    doorway = Doorway(0.0, LIMITS)
    flood(doorway, origins)
    assert doorway.admits(HERE, 10.0)


def test_an_origin_of_a_switch_gets_in_beside_any_number_of_others() -> None:
    doorway = Doorway(0.0, LIMITS)
    doorway.admitted(HERE)
    flood(doorway, 5000)
    assert not doorway.admits("10.1.1.1", 10.0)
    assert doorway.is_familiar(HERE)
    assert doorway.admits(HERE, 10.0)


def test_the_origin_of_a_switch_has_a_rate_as_well() -> None:
    doorway = Doorway(0.0, LIMITS)
    doorway.admitted(HERE)
    assert 190 <= sum(doorway.admits(HERE, number / 100.0) for number in range(1000)) <= 2 * 105 + 5


def test_no_more_origins_are_remembered_than_the_limit() -> None:
    doorway = Doorway(0.0, LIMITS)
    for number in range(300):
        doorway.admits(f"10.0.0.{number}", 0.0)
        doorway.admitted(f"10.0.0.{number}")
    assert len(doorway._came_at) == len(doorway._familiar) == 100
    assert not doorway.is_familiar("10.0.0.0")
    assert doorway.is_familiar("10.0.0.299")
