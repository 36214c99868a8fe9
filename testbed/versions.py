"""The oldest versions of programs that are known to do what is asked of them."""

from __future__ import annotations

import re

Version = tuple[int, ...]

OLDEST_OVS: Version = (2, 13)
"""Groups with liveness, MPLS and `dp_hash` selection work."""

OLDEST_IPERF: Version = (3, 7)


def is_older(version: str, needed: Version) -> bool:
    """Whether a program that tells this version is older; one that tells none is not."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[: len(needed)]))
    return bool(numbers) and numbers < needed


def dotted(version: Version) -> str:
    return ".".join(map(str, version))
