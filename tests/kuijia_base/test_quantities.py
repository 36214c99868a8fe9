from __future__ import annotations

import math

import pytest

from kuijia_base.quantities import NO_SHARE, duration, exact, parse_rate, rate, rate_of, share, significant, size


@pytest.mark.parametrize(
    ("mbits", "shown"),
    [
        (0, "0 Mbit/s"),
        (-1e-12, "0 Mbit/s"),
        (1, "1 Mbit/s"),
        (0.0256, "25.6 kbit/s"),
        (0.00002, "20 bit/s"),
        (950, "950 Mbit/s"),
        (999.94, "999.9 Mbit/s"),
        (999.96, "1 Gbit/s"),
        (1000, "1 Gbit/s"),
        (3621.05, "3.621 Gbit/s"),
        (14_549_200.0, "14.55 Tbit/s"),
        (13_204_400.0, "13.2 Tbit/s"),
        (1.2e6, "1.2 Tbit/s"),
        (1e9, "1 Pbit/s"),
        (5e15, "5,000,000 Pbit/s"),
        (1e302, "1e+293 Pbit/s"),
        (-40, "-40 Mbit/s"),
    ],
)
def test_a_rate_has_the_unit_that_suits_its_size(mbits: float, shown: str) -> None:
    assert rate(mbits) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (1500, 4000, "1.5 of 4 Gbit/s"),
        (500, 4000, "500 Mbit/s of 4 Gbit/s"),
        (0, 4000, "0 of 4 Gbit/s"),
        (0, 0, "0 of 0 Mbit/s"),
    ],
)
def test_a_part_names_its_unit_only_if_it_is_another_one(part: float, whole: float, shown: str) -> None:
    assert rate_of(part, whole) == shown


@pytest.mark.parametrize(
    ("text", "mbits"),
    [
        ("400", 400),
        ("2.5e3", 2500),
        ("10G", 10_000),
        ("10g", 10_000),
        ("1.2T", 1.2e6),
        ("1.2 Tbit/s", 1.2e6),
        ("64k", 0.064),
        ("100Mbps", 100),
        ("100mbit/s", 100),
        ("1e3G", 1e6),
        ("2P", 2e9),
        ("2000bit/s", 0.002),
    ],
)
def test_rates_are_read_with_units_and_without(text: str, mbits: float) -> None:
    assert parse_rate(text) == pytest.approx(mbits)


@pytest.mark.parametrize(
    "text",
    [
        "125 MB",
        "125 BPS",
        "125 MBPS",
        "1 B/S",
        "1 MiB/s",
        "",
        "G",
        "10X",
        "10GG",
        "1_0G",
        "ten",
        "10  G",
        "10G/s",
        "٤G",
        "0x10",
        "10GiB",
        "nanG",
    ],
)
def test_other_texts_are_no_rates(text: str) -> None:
    assert parse_rate(text) is None


def test_what_is_shown_can_be_read_again() -> None:
    for mbits in (0.5, 40, 999.9, 1000, 3621, 14.55e6, 2e9):
        assert parse_rate(rate(mbits)) == pytest.approx(mbits, rel=1e-3)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (-0.0, "0"),
        (12_345_678, "12,345,678"),
        (0.000123456, "0.0001235"),
        (99.995, "100"),
        (1 / 3, "0.3333"),
    ],
)
def test_numbers_have_four_digits_and_no_power_of_ten(number: float, shown: str) -> None:
    assert significant(number) == shown


def test_sizes_and_durations_have_units() -> None:
    assert [size(each) for each in (512, 64_000, 1.25e9)] == ["512 B", "64 kB", "1.25 GB"]
    assert [duration(each) for each in (0.251, 42, 425, 5400)] == ["0.25 s", "42 s", "7 min", "90 min"]
    assert duration(7200) == "2 h"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (0.0, "0%"),
        (NO_SHARE, "0%"),
        (-1e-9, "0%"),
        (1e-4, "0.01%"),
        (0.123456, "12.35%"),
        (1.0, "100.00%"),
        (-0.5, "-50.00%"),
    ],
)
def test_a_share_that_would_round_to_nothing_is_zero(part: float, text: str) -> None:
    assert share(part) == text


@pytest.mark.parametrize(
    "text", ["125 MB/s", "125MBps", "125 mB/s", "125 Mbyte/s", "125 MBytes/s", "0.125 GB/s", "125e6 B/s"]
)
def test_bytes_a_second_are_eight_times_as_many_bits(text: str) -> None:
    assert parse_rate(text) == pytest.approx(1000)


@pytest.mark.parametrize("text", ["125 Mb/s", "125 Mbit/s", "125 mbps", "125 MBit/s", "125 MBITS/S", "125Mbps", "125M"])
def test_of_one_letter_b_is_the_bit(text: str) -> None:
    assert parse_rate(text) == pytest.approx(125)


def test_a_compared_number_has_as_many_digits_as_tell_it_apart() -> None:
    assert [exact(number) for number in (1.0, 0.9999997, 1e21, 0.1, math.inf, 2**53 + 2)] == [
        "1", "0.9999997", "1e+21", "0.1", "inf", "9007199254740994.0"
    ]  # fmt: skip
