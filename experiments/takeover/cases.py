"""Network, traffic and events in which one of two controllers takes over from the other; pure data."""

from __future__ import annotations

from dataclasses import dataclass

NETWORK = "fig1"
PAIRS = {("s1", "s4"): 1.5, ("s2", "s3"): 0.5}
"""Pair to its demand, in capacities of a link."""

TUNNELS = 3

PROBE_SECONDS = 0.002
"""Time between two packets of each flow; there is one flow for each tunnel of each pair."""

REST_SECONDS = 1.0
"""Seconds of sending before the first and after the last event of a phase."""

IDLE_SECONDS = 5.0
CUT_AFTER = 0.3
"""Seconds from the end of a controller until a link is cut: nobody acts then."""

CUT_SECONDS = 2.0
"""Seconds for which the link stays cut."""

REMOTE_LINK = ("s2", "s4")
"""A link further on for one tunnel of s1 to s4, and the first link of one of s2 to s3's."""

LOCAL_LINK = ("s1", "s2")
"""The first link of a tunnel of s1 to s4."""

KILLED, FROZEN = "killed", "frozen"
HANDOVER = "handover"
CUT_REMOTE, CUT_LOCAL = "killed, then a link further on is cut", "killed, then a first link is cut"

LONGEST_TAKEOVER = {KILLED: 1.5, FROZEN: 3.0, CUT_REMOTE: 1.5, CUT_LOCAL: 1.5}
"""Phase to the seconds after which the other controller must act."""

LONGEST_REACTION = 0.2
"""Seconds after the takeover until the ingresses must have been told of a link that was cut during it."""


@dataclass(frozen=True)
class TakeoverOptions:
    """Number of planned handovers, and of failures of each kind."""

    handovers: int
    failures: int
