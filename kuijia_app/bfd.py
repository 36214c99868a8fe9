"""BFD sessions over tunnels (RFC 5880): which there are, their labels and their ports, as pure data.

At both ends of a tunnel two ports of the switch are the two ends of a cable. Open vSwitch runs the session on the
*watched* port: what it sends there comes in at the *inner* port, is labelled and crosses the tunnel like any other
packet; what arrives for the session leaves by the inner port and so comes in at the watched one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.identifiers import FIRST_BFD_PORT, LAST_PORT, bfd_label
from te_solver.errors import UnsoundError
from te_solver.plan import FIRST_PATH_ID, Plan

LAST_BFD_PATH_ID = FIRST_PATH_ID + (LAST_PORT - FIRST_BFD_PORT - 1) // 2
"""Each session takes two port numbers."""


@dataclass(frozen=True, slots=True)
class BfdSession:
    """A session over all the links of a path, in both directions; `path_id` is the least of the tunnels on it.

    Labels and ports follow from the path id alone, so that a change of the plan leaves the other sessions as they are.
    """

    path_id: int
    nodes: tuple[str, ...]

    @property
    def hops(self) -> tuple[tuple[str, str], ...]:
        """The links it runs over, one way."""
        return tuple(pairwise(self.nodes))

    @property
    def label(self) -> int:
        return bfd_label(self.path_id)

    @property
    def watched_port(self) -> int:
        """The port whose liveness is the session's, at both ends."""
        return FIRST_BFD_PORT + 2 * (self.path_id - FIRST_PATH_ID)

    @property
    def inner_port(self) -> int:
        """The other end of the watched port's cable, at both ends."""
        return self.watched_port + 1


class BfdSessions:
    """The sessions of a plan: one for each path, whichever way and for however many classes tunnels follow it."""

    def __init__(self, plan: Plan) -> None:
        """Raises UnsoundError when a path id is too great for a port number, or a switch has links at those ports."""
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
        """The session over a tunnel's path; raises KeyError when the plan has no such tunnel."""
        return self._of_path[_either_way(nodes)]


def _either_way(nodes: tuple[str, ...]) -> tuple[str, ...]:
    return min(nodes, nodes[::-1])
