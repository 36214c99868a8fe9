"""The oldest versions of programs that are known to work, and known faults of later ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

Version = tuple[int, ...]

OLDEST_OVS: Version = (2, 13)
"""First version in which groups with liveness, MPLS and `dp_hash` selection work."""

OLDEST_IPERF: Version = (3, 7)


@dataclass(frozen=True)
class KnownFault:
    """A fault of some versions of a program.

    Attributes:
        releases: for each line of releases, the first one with the fault and the first one without it.
        problem: the fault, and how to avoid it.
        source: its documentation.
    """

    program: str
    releases: tuple[tuple[Version, Version], ...]
    problem: str
    source: str


KNOWN_FAULTS = (
    KnownFault(
        "ovs-vswitchd",
        (((3, 3, 5), (3, 3, 6)), ((3, 4, 3), (3, 4, 4)), ((3, 5, 1), (3, 5, 2))),
        "packets can be forwarded by a group that is only half changed, and groups are changed after failures; the next"
        " release does not",
        "https://github.com/openvswitch/ovs/commit/270de5dfb80e3e094d072b38c8b25a9242c73958",
    ),
    KnownFault(
        "ovs-vswitchd",
        (((3, 1), (3, 1, 1)),),
        "with the kernel's datapath, also in `kuijia uml`, new flows may get no path until 10 s after the kernel has"
        " booted; wait until then",
        "https://github.com/openvswitch/ovs/commit/b354cee2e0a79a5fbe7140e964bb30e7c57919d6",
    ),
    KnownFault(
        "ovs-vswitchd",
        ((OLDEST_OVS, (2, 17)),),
        "groups of more than 64 buckets are not split by `dp_hash`; leave `--slots` at 64 or less",
        "https://github.com/openvswitch/ovs/commit/4490792dd3f6156c6b70a5afc9feff7822f3a9d9",
    ),
    KnownFault(
        "iperf3",
        (((3, 16), (3, 18)),),
        "every sender of a limited rate, as of UDP flows, takes a whole processor; 3.15 and 3.18 do not",
        "https://github.com/esnet/iperf/issues/1741",
    ),
)


def known_faults(versions: Mapping[str, str | None]) -> list[str]:
    """Return the known faults of programs in these versions, a sentence each with its source."""
    found = []
    for fault in KNOWN_FAULTS:
        version = versions.get(fault.program)
        numbers = _numbers(version or "")
        if any(first <= numbers < fixed for first, fixed in fault.releases):
            found.append(f"{fault.program} {version}: {fault.problem} ({fault.source}).")
    return found


def is_older(version: str, needed: Version) -> bool:
    """Return True if this version is older; a text without a version is not."""
    numbers = _numbers(version)[: len(needed)]
    return bool(numbers) and numbers < needed


def dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _numbers(version: str) -> Version:
    return tuple(map(int, re.findall(r"\d+", version)))
