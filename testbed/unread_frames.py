"""Counts the frames that the userspace switch was too late to read: a port's packet socket was full, and they are lost.

How busy the switch's process is does not tell: every frame makes it look at all its ports, so that with dozens of them
it takes a whole processor long before it falls behind, and then reads more frames at each look.
"""

from __future__ import annotations

import re

from testbed.commands import run_command

_LIST_SOCKETS = ["ss", "--packet", "--memory", "--processes", "--numeric", "--no-header"]
_DROPPED = re.compile(r"skmem:\(\S*\bd(\d+)\)")


def count_unread_frames(pid: int) -> int:
    """Frames lost so far at the ports of a switch process, in the calling thread's network namespace.

    Raises:
        TestbedError: the sockets cannot be listed.
    """
    return dropped_frames(run_command(_LIST_SOCKETS), pid)


def dropped_frames(listing: str, pid: int) -> int:
    """Sum of what the packet sockets of a process have dropped, from what ss(8) lists."""
    owner = re.compile(rf"\bpid={pid}\b")
    return sum(
        int(found[1]) for line in listing.splitlines() if owner.search(line) and (found := _DROPPED.search(line))
    )
