"""BFD sessions over tunnels (RFC 5880): their labels and ports, as pure data.

At both ends of a tunnel, two ports of the switch are the two ends of a cable. Open vSwitch runs the session on the
*watched* port: packets sent there arrive at the *inner* port, are labelled and cross the tunnel like any other packet;
packets that arrive for the session leave by the inner port and so reach the watched one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.tables.identifiers import FIRST_BFD_PORT, LAST_PORT, bfd_label
from kuijia_base.errors import UnsoundError
from te_solver.model.plan import FIRST_PATH_ID, Plan

LAST_BFD_PATH_ID = FIRST_PATH_ID + (LAST_PORT - FIRST_BFD_PORT - 1) // 2
"""Last path id of a session, as each takes two port numbers."""

DEFAULT_MULTIPLIER = 3
"""Intervals without a packet after which Open vSwitch ends a session (`bfd:mult`) unless told otherwise."""

_LEAST_DETECTION_MS = 50
"""Least milliseconds without a packet that end a session.

A port that goes down keeps a busy `ovs-vswitchd` from its sessions for more than three intervals of 10 ms: all would
end together, and none would tell which tunnel is dead.
"""


def multiplier_at(interval_ms: int) -> int:
    """Return the number of intervals without a packet that end a session."""
    return max(DEFAULT_MULTIPLIER, math.ceil(_LEAST_DETECTION_MS / interval_ms))


@dataclass(frozen=True, slots=True)
class BfdSession:
    """A session over all the links of a path, in both directions; `path_id` is the least of the tunnels on it.

    Labels and ports follow from the path id alone, so a change of the plan leaves other sessions as they are.
    """

    path_id: int
    nodes: tuple[str, ...]

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """Links of the session, in one direction."""
        return tuple(pairwise(self.nodes))

    @property
    def label(self) -> int:
        return bfd_label(self.path_id)

    @property
    def watched_port(self) -> int:
        """Port whose liveness is the session's, at both ends."""
        return FIRST_BFD_PORT + 2 * (self.path_id - FIRST_PATH_ID)

    @property
    def inner_port(self) -> int:
        """Other end of the watched port's cable, at both ends."""
        return self.watched_port + 1


class BfdSessions:
    """The sessions of a plan: one for each path, in either direction and for any number of classes."""

    def __init__(self, plan: Plan) -> None:
        """Create them; raises UnsoundError if a path id has no ports, or a switch has links at the sessions' ports."""
        topology = plan.topology
        for switch in topology.nodes:
            if len(topology.neighbours[switch]) >= FIRST_BFD_PORT - 1:
                problem = f"{switch} has {len(topology.neighbours[switch])} neighbours"
                raise UnsoundError(("topology", "nodes"), problem, f"at most {FIRST_BFD_PORT - 2} with BFD")
        least: dict[tuple[str, ...], int] = {}
        places: dict[int, tuple[str | int, ...]] = {}
        for position, pair in enumerate(plan.pairs):
            for number, tunnel in enumerate(pair.tunnels):
                path = _either_way(tunnel.nodes)
                least[path] = min(tunnel.path_id, least.get(path, tunnel.path_id))
                places.setdefault(tunnel.path_id, ("pairs", position, "tunnels", number, "path_id"))
        for path_id in least.values():
            if path_id > LAST_BFD_PATH_ID:
                problem = f"path id {path_id} has no ports for BFD"
                raise UnsoundError(places[path_id], problem, f"at most {LAST_BFD_PATH_ID}")
        self._of_path = {path: BfdSession(path_id, path) for path, path_id in least.items()}

    def __iter__(self) -> Iterator[BfdSession]:
        return iter(self._of_path.values())

    def over(self, nodes: tuple[str, ...]) -> BfdSession:
        """Return the session over a tunnel's path; raises KeyError if the plan has no such tunnel."""
        return self._of_path[_either_way(nodes)]


def _either_way(nodes: tuple[str, ...]) -> tuple[str, ...]:
    return min(nodes, nodes[::-1])
