"""Limits on connections keep unknown switches and half-open connections few, and never keep a known switch out."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.gate.admission import Admission, AdmissionVerdict
from kuijia_app.gate.limits import Limits

HERE, THERE = "192.0.2.1", "192.0.2.2"
KNOWN = range(1, 1000)


def admission(**limits: float) -> Admission[int]:
    return Admission(KNOWN.__contains__, 0.0, Limits(**limits))  # type: ignore[arg-type]  # some are whole numbers


def test_a_whole_network_of_one_address_gets_in_however_small_the_limits() -> None:
    gate = admission(half_open=2, half_open_of_address=2, unknown=0)
    for key in KNOWN:
        assert gate.arrived(key, HERE, 5.0) is None
        assert gate.named(key, key, 0.0) is AdmissionVerdict.KNOWN


def test_the_oldest_half_open_connection_of_a_full_address_makes_room() -> None:
    gate = admission(half_open=10, half_open_of_address=3)
    assert gate.arrived(0, THERE, 5.0) is None
    assert [gate.arrived(key, HERE, 5.0) for key in (1, 2, 3)] == [None] * 3
    assert gate.arrived(4, HERE, 5.0) == 1


def test_of_too_many_half_open_connections_the_address_with_most_gives_one_up() -> None:
    gate = admission(half_open=4, half_open_of_address=4)
    for key, address in enumerate((THERE, HERE, HERE, HERE)):
        assert gate.arrived(key, address, 5.0) is None
    assert gate.arrived(4, THERE, 5.0) == 1


def test_connections_of_other_addresses_take_no_place_of_a_switch_that_comes_back() -> None:
    gate = admission(half_open=3, half_open_of_address=3)
    gate.arrived(0, THERE, 5.0)
    assert gate.named(0, 1, 0.0) is AdmissionVerdict.KNOWN
    gate.left(0)
    assert gate.arrived(1, THERE, 5.0) is None
    dropped = [gate.arrived(key, f"198.51.100.{key}", 5.0) for key in range(2, 100)]
    assert 1 not in dropped
    assert gate.is_preferred(1)
    assert not gate.is_preferred(99)
    assert gate.named(1, 1, 0.0) is AdmissionVerdict.KNOWN


def test_connections_without_a_certificate_take_no_place_of_one_that_has_shown_its_own() -> None:
    gate = admission(half_open=3, half_open_of_address=3)
    gate.arrived(1, HERE, 5.0)
    assert gate.certified(1) is None
    assert gate.is_preferred(1)
    assert 1 not in [gate.arrived(key, f"198.51.100.{key}", 5.0) for key in range(2, 100)]
    assert [gate.certified(key) for key in (97, 98, 99)] == [None, None, 1]
    assert gate.certified(1000) is None


def test_the_addresses_of_a_subnet_of_ipv6_are_one() -> None:
    gate = admission(half_open=10, half_open_of_address=2)
    assert [gate.arrived(key, f"2001:db8::{key}", 5.0) for key in (1, 2, 3)] == [None, None, 1]


def test_when_descriptors_run_out_connections_of_other_addresses_go_first() -> None:
    gate = admission()
    for key, address in enumerate((THERE, HERE, HERE, HERE)):
        gate.arrived(key, address, 5.0)
    gate.certified(1)
    gate.named(0, 1, 0.0)
    gate.arrived(4, THERE, 5.0)
    assert gate.oldest(2) == [2, 3]
    assert gate.oldest(9) == [2, 3, 4, 1]


def test_half_open_connections_are_overdue_at_their_deadline_unless_given_longer() -> None:
    gate = admission()
    gate.arrived(1, HERE, 5.0)
    gate.arrived(2, HERE, 5.0)
    gate.prolonged(2, 9.0)
    assert gate.overdue(4.9) == []
    assert gate.overdue(5.0) == [1]
    assert gate.overdue(9.0) == [1, 2]


def test_a_switch_that_connects_too_often_is_refused_and_those_of_other_addresses_are_not() -> None:
    gate = admission(returns_rate=1.0, returns_burst=3.0)

    def returns(key: int, address: str, now: float) -> AdmissionVerdict:
        gate.arrived(key, address, now + 5.0)
        verdict = gate.named(key, 7, now)
        gate.left(key)
        return verdict

    assert [returns(key, HERE, 0.0) for key in range(5)] == [AdmissionVerdict.KNOWN] * 3 + [
        AdmissionVerdict.TOO_OFTEN
    ] * 2
    assert returns(5, THERE, 0.0) is AdmissionVerdict.KNOWN
    assert [returns(key, HERE, 1.0) for key in (6, 7)] == [AdmissionVerdict.KNOWN, AdmissionVerdict.TOO_OFTEN]


def test_no_number_of_addresses_has_returns_counted_without_an_end() -> None:
    gate = admission(returns_remembered=10)
    for key in range(1000):
        gate.arrived(key, f"192.0.2.{key}", 5.0)
        assert gate.named(key, 7, 0.0) is AdmissionVerdict.KNOWN
        gate.left(key)
    assert len(gate._returns) == 10


def test_a_datapath_id_belongs_to_who_names_it_first_until_that_one_leaves() -> None:
    gate = admission()
    for key in (1, 2):
        gate.arrived(key, HERE, 5.0)
    assert gate.named(1, 7, 0.0) is AdmissionVerdict.KNOWN
    assert gate.named(2, 7, 0.0) is AdmissionVerdict.DUPLICATE
    assert gate.holder(7) == 1
    gate.left(1)
    assert gate.holder(7) is None
    assert gate.named(2, 7, 0.0) is AdmissionVerdict.KNOWN


@pytest.mark.parametrize(
    ("limits", "let_in"),
    [
        ({"unknown": 3.0}, 3),
        ({"unknown_of_address": 2.0}, 2),
        ({"unknown_rate": 4.0}, 4),
    ],
)
def test_strangers_are_few_and_come_slowly(limits: dict[str, float], let_in: int) -> None:
    gate = admission(**limits)
    verdicts = []
    for key in range(10):
        gate.arrived(key, HERE, 5.0)
        verdicts.append(gate.named(key, 5000 + key, 0.0))
    assert verdicts == [AdmissionVerdict.UNKNOWN] * let_in + [AdmissionVerdict.TOO_MANY_UNKNOWN] * (10 - let_in)


def test_the_place_of_an_unknown_switch_that_left_is_free() -> None:
    gate = admission(unknown=1)
    for key in range(3):
        gate.arrived(key, HERE, 5.0)
        assert gate.named(key, 5000, 0.0) is AdmissionVerdict.UNKNOWN
        gate.left(key)
        gate.left(key)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_limits_hold_whatever_comes_and_goes(data: st.DataObject) -> None:
    limits = Limits(half_open=5, half_open_of_address=3, unknown=4, unknown_of_address=3, unknown_rate=1e9)
    gate: Admission[int] = Admission(KNOWN.__contains__, 0.0, limits)
    keys = count()
    half_open: dict[int, str] = {}
    unknown: dict[int, str] = {}
    for _ in range(data.draw(st.integers(1, 60))):
        match data.draw(st.sampled_from(["arrive", "name", "leave"])):
            case "arrive":
                key, address = next(keys), data.draw(st.sampled_from([HERE, THERE, "192.0.2.3"]))
                half_open[key] = address
                dropped = gate.arrived(key, address, 5.0)
                if dropped is not None:
                    assert dropped != key
                    del half_open[dropped]
                    gate.left(dropped)
            case "name" if half_open:
                key = data.draw(st.sampled_from(sorted(half_open)))
                verdict = gate.named(key, data.draw(st.integers(995, 1010)), 0.0)
                if verdict in (AdmissionVerdict.KNOWN, AdmissionVerdict.UNKNOWN):
                    address = half_open.pop(key)
                    if verdict is AdmissionVerdict.UNKNOWN:
                        unknown[key] = address
            case "leave" if half_open or unknown:
                key = data.draw(st.sampled_from(sorted([*half_open, *unknown])))
                half_open.pop(key, None)
                unknown.pop(key, None)
                gate.left(key)
            case _:
                continue
        assert gate.half_open == len(half_open) <= 2 * limits.half_open  # of addresses with and without a switch
        assert len(unknown) <= limits.unknown
        for address in (HERE, THERE):
            assert list(half_open.values()).count(address) <= 2 * limits.half_open_of_address
            assert list(unknown.values()).count(address) <= limits.unknown_of_address
