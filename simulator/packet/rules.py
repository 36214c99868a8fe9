"""Hands parameters over to the core: a data class becomes the core's class of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass
from enum import Enum

from simulator.packet import _core
from simulator.packet.units import bits_per_second, picoseconds


def core_rules(rules: object) -> _core.Rules:
    """Return the core's form of a data class, and of those in its fields; units become the core's.

    Raises:
        UnsoundError: a time or a rate cannot be simulated.
    """
    kind: type[_core.Rules] = getattr(_core, type(rules).__name__)
    return kind(**{name: _handed_over(getattr(rules, name), unit) for name, unit in kind.units().items()})


def _handed_over(value: object, unit: str) -> object:
    if is_dataclass(value):
        return core_rules(value)
    if isinstance(value, Enum):
        return value.name
    if unit == "seconds":
        times = picoseconds(value)  # type: ignore[arg-type]  # the core's unit says that it is a time or an array of them
        return times if times.ndim else int(times)
    if unit == "Mbit/s" and not isinstance(value, Sequence):
        return bits_per_second(value)  # type: ignore[arg-type]  # the core's unit says that it is a rate
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_handed_over(each, unit) for each in value]
    return value
