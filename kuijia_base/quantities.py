"""Rates, shares, sizes and counts as users read and write them: SI units, four significant digits, plain decimals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import parse_number

_DIGITS = 4
"""Significant digits that are shown; files keep all."""

_RATES = ((1e-6, "bit/s"), (1e-3, "kbit/s"), (1.0, "Mbit/s"), (1e3, "Gbit/s"), (1e6, "Tbit/s"), (1e9, "Pbit/s"))
"""Units of rates, each by its Mbit/s."""

_SIZES = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))

_NOTHING = 1e-9
"""Mbit/s below which a rate is a solver's rounding and is shown as zero."""

NO_SHARE = 5e-5
"""Largest share that is shown as zero."""

_PREFIXES = {"": 1.0, "k": 1e-3, "m": 1.0, "g": 1e3, "t": 1e6, "p": 1e9}
_RATE = re.compile(
    r"(?P<number>.*?\d\.?) ?(?P<prefix>[kKmMgGtTpP]?)(?:(?i:bits?/s)|bps|b/s|(?P<bytes>(?i:bytes?/s)|Bps|B/s))?"
)
"""A rate; of one letter b is the bit and B the byte, so that BPS, which may be either, is none."""

_BITS_PER_BYTE = 8

RATE_EXPECTED = "a finite number greater than zero, in Mbit/s or with its unit, such as 10G"


def rate(mbits: float) -> str:
    """Return a rate, given in Mbit/s, with the unit that suits its size: `950 Mbit/s`, `1.2 Tbit/s`."""
    if abs(mbits) < _NOTHING:
        return "0 Mbit/s"
    number, unit = _scaled(mbits, _RATES)
    return f"{number} {unit}"


def rate_of(part: float, whole: float) -> str:
    """Return a rate and the rate that it is part of: `1.5 of 4 Gbit/s`, or `500 Mbit/s of 4 Gbit/s`."""
    if abs(part) < _NOTHING:
        return f"0 of {rate(whole)}"
    (number, unit), (_, unit_of_whole) = _scaled(part, _RATES), _scaled(whole, _RATES)
    return f"{number if unit == unit_of_whole else rate(part)} of {rate(whole)}"


def share(part_of_one: float) -> str:
    """Return a share as a percentage: `33.33%`, and `0%` where nothing of it would be seen."""
    return "0%" if abs(part_of_one) <= NO_SHARE else f"{part_of_one:.2%}"


def size(of_bytes: float) -> str:
    """Return a number of bytes with the unit that suits it: `64 kB`, `1.2 GB`."""
    number, unit = _scaled(of_bytes, _SIZES)
    return f"{number} {unit}"


def duration(seconds: float) -> str:
    """Return a time as people say it: `0.25 s`, `42 s`, `7 min`, `1.5 h`."""
    if seconds < 100:
        return f"{significant(seconds, 2)} s"
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{significant(seconds / 3600, 2)} h"


def significant(number: float, digits: int = _DIGITS) -> str:
    """Return a number with so many significant digits, whole ones with all before the point, never as a power of ten.

    Only numbers that would have more than 15 digits are powers of ten.
    """
    if number == 0 or not math.isfinite(number):
        return f"{number:g}".removeprefix("-")
    if not 1e-9 <= abs(number) < 1e15:
        return f"{number:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(float(f"{number:.{digits - 1}e}")))))
    text = f"{number:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact(number: float) -> str:
    """Return a number for a message that compares it with a bound: short, but with as many digits as tell it apart."""
    short = f"{number:g}"
    return short if float(short) == number or math.isnan(number) else repr(float(number))


def parse_rate(text: str) -> float | None:
    """Return the Mbit/s of a rate such as `400`, `10G` or `1.2 Tbit/s`; None if the text is none.

    Without a unit a number is in Mbit/s; the prefixes k, M, G, T and P may be small letters. 125 MB/s are 1 Gbit/s.
    """
    number = parse_number(text)
    if number is not None:
        return number
    found = _RATE.fullmatch(text)
    number = None if found is None else parse_number(found["number"])
    if found is None or number is None:
        return None
    factor = _BITS_PER_BYTE if found["bytes"] else 1
    if not found["prefix"]:
        return number * factor * _RATES[0][0]
    return number * factor * _PREFIXES[found["prefix"].lower()]


def require_rate(text: str, source: str | Path, place: str | int, what: str, expected: str) -> float:
    """Return the Mbit/s that `parse_rate` finds; raise InputError, which calls the rate `what`, if it finds none."""
    found = parse_rate(text)
    if found is None:
        raise InputError(source, place, f"{what} {quoted(text)} is not a number", expected)
    return found


def _scaled(amount: float, units: Sequence[tuple[float, str]]) -> tuple[str, str]:
    """Return the amount in the largest unit of which it has one, after rounding, and that unit."""
    for scale, unit in units:
        shown = significant(amount / scale)
        if abs(amount / scale) < 999.95 or (scale, unit) == units[-1]:
            return shown, unit
    raise AssertionError("the last unit fits every amount")


def counted(number: int, what: str, plural: str = "") -> str:
    """Return text such as `1 link` or `2 links`; `plural` is for words whose plural is not made with an s."""
    return f"{number} {what}" if number == 1 else f"{number:,} {plural or what + 's'}"
