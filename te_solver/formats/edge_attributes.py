"""Capacity and delay from the attributes that GraphML and GML files give their edges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from kuijia_base.errors import UnsoundError, quoted, shown
from kuijia_base.quantities import counted
from kuijia_base.text import Note, parse_number
from te_solver.model.topology import POSITIVE_RATE

EDGE_ATTRIBUTES = ("capacity", "LinkSpeedRaw", "LinkSpeed", "LinkSpeedUnits", "delay")
"""All attributes that are read."""

_READ = ("capacity", "LinkSpeedRaw", "LinkSpeed", "delay")
_TELLING = re.compile("bandwidth|capacity|speed|rate|throughput|delay|latency|bw", re.IGNORECASE)
"""Words in names of attributes that are likely to hold a capacity or a delay."""

_BITS_PER_MBIT = 1e6
_UNITS = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def edge_capacity(attributes: Mapping[str, str]) -> float | None:
    """Return the capacity of an edge in Mbit/s, None if its attributes do not give it.

    An attribute without text is ignored. `capacity` is in Mbit/s. The Internet Topology Zoo (Knight et al., IEEE JSAC
    29, 2011) has `LinkSpeedRaw` in bit/s and `LinkSpeed` in multiples of `LinkSpeedUnits`, one of K, M, G and T.

    Raises:
        UnsoundError: an attribute that is no number or no known unit; its `where` is the attribute.
    """
    attributes = {key: attributes[key] for key in EDGE_ATTRIBUTES if attributes.get(key, "").strip()}
    if "capacity" in attributes:
        return _number(attributes, "capacity", POSITIVE_RATE)
    if "LinkSpeedRaw" in attributes:
        return _number(attributes, "LinkSpeedRaw", "a number of bit/s") / _BITS_PER_MBIT
    if "LinkSpeed" in attributes:
        unit = attributes.get("LinkSpeedUnits", "").strip()
        if unit not in _UNITS:
            raise UnsoundError(("LinkSpeedUnits",), f"LinkSpeedUnits {quoted(unit)}", f"one of {', '.join(_UNITS)}")
        return _number(attributes, "LinkSpeed", "a number") * _UNITS[unit] / _BITS_PER_MBIT
    return None


def edge_delay(attributes: Mapping[str, str]) -> float:
    """Return the attribute `delay` in seconds, 0 if there is none; raises UnsoundError if it is no number."""
    return _number(attributes, "delay", "a number of seconds") if attributes.get("delay", "").strip() else 0.0


def note_unused(names: Iterable[str], note: Note) -> None:
    """Note attributes of edges, given once for each edge that has them, which look like a capacity or delay."""
    edges = Counter(name for name in names if name not in EDGE_ATTRIBUTES and _TELLING.search(name))
    for name, number in edges.items():
        note(f"the attribute {shown(name)} of {counted(number, 'edge')} is not used: only {', '.join(_READ)} are")


def _number(attributes: Mapping[str, str], key: str, expected: str) -> float:
    number = parse_number(attributes[key])
    if number is None:
        raise UnsoundError((key,), f"{key} {quoted(attributes[key])} is not a number", expected)
    return number
