"""Counts frames that the userspace switch read too late: a port's packet socket was full, and they are lost.

The load of the switch's process does not show this: every frame makes it look at all its ports, so with dozens of them
it takes a whole processor long before it falls behind, and then reads more frames at each look.
"""

from __future__ import annotations

import re

from kuijia_base.commands import run_command

_LIST_SOCKETS = ["ss", "--packet", "--memory", "--processes", "--numeric", "--no-header"]
_DROPPED = re.compile(r"skmem:\(\S*\bd(\d+)\)")


def count_unread_frames(pid: int) -> int:
    """Return the frames lost so far at the ports of a switch process, in the calling thread's network namespace.

    Raises:
        TestbedError: the sockets cannot be listed.
    """
    return dropped_frames(run_command(_LIST_SOCKETS), pid)


def dropped_frames(listing: str, pid: int) -> int:
    """Return the number of frames dropped by the packet sockets of a process, from the output of ss(8)."""
    owner = re.compile(rf"\bpid={pid}\b")
    return sum(
        int(found[1]) for line in listing.splitlines() if owner.search(line) and (found := _DROPPED.search(line))
    )
