"""Events of a run, and the times that pass until switches and controller act on them: plain data."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import exact
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology


@dataclass(frozen=True)
class Cut:
    """A cable fails in both directions at `time`, seconds; packets that wait for it or are on it are lost."""

    time: float
    edge: tuple[str, str]


@dataclass(frozen=True)
class Heal:
    """A cable works again from `time` on, seconds."""

    time: float
    edge: tuple[str, str]


@dataclass(frozen=True)
class CutNode:
    """A switch and the cables to its hosts and neighbours fail at `time`, seconds; it keeps its tables.

    Its neighbours notice. Messages of the controller to it wait until it works again.
    """

    time: float
    node: str


@dataclass(frozen=True)
class HealNode:
    """A switch works again from `time` on, seconds, and so do those of its cables that are not cut themselves."""

    time: float
    node: str


@dataclass(frozen=True)
class Replace:
    """The controller begins at `time`, seconds, to replace the plan in force.

    The plan must have the same network; its path ids do not matter, since the controller renumbers its tunnels.
    """

    time: float
    plan: Plan


Event = Cut | Heal | CutNode | HealNode | Replace


@dataclass(frozen=True)
class Bfd:
    """BFD sessions of a plan's tunnels (RFC 5880), for tables with `Liveness.BFD`.

    Attributes:
        interval: most seconds between two packets of an end; it sends after 75 to 100 % of it, at random.
        multiplier: intervals without a packet after which a session is down.
        slow: seconds between two packets of a session that is not up, likewise.
    """

    interval: float = 0.1
    multiplier: int = 3
    slow: float = 1.0


@dataclass(frozen=True)
class Timing:
    """Seconds until failures and repairs are noticed and acted on.

    Attributes:
        port: from the failure or repair of a cable until the switches at both ends count its port as down or up. The
            buckets that watch the port change at this moment.
        controller: from each switch to the controller, and the same back: one value for all, or one for each switch
            (`controller_at`). Only switches whose ports change and ingresses send or receive.
        reaction: from a message's arrival at the controller until the messages that follow from it leave.
        drain: as in `kuijia_app.control.rollout`: how long the paths of a replaced plan are kept.
        bfd: BFD sessions, if tables use them.
    """

    port: float = 0.0
    controller: float | Mapping[str, float] = 0.0
    reaction: float = 0.0
    drain: float = 2.0
    bfd: Bfd = field(default_factory=Bfd)

    def to_controller(self, switch: str) -> float:
        return self.controller if isinstance(self.controller, float | int) else self.controller[switch]

    def require_sound(self, topology: Topology) -> None:
        """Raise UnsoundError if a time is negative or not finite, or a switch has none."""
        if isinstance(self.controller, Mapping) and (lacking := set(topology.nodes) - set(self.controller)):
            raise UnsoundError(("controller",), f"{quoted(min(lacking))} has no delay", "one for each switch")
        delays = [self.to_controller(switch) for switch in topology.nodes]
        times = {"port": [self.port], "controller": delays, "reaction": [self.reaction], "drain": [self.drain]}
        times |= {"bfd interval": [self.bfd.interval], "bfd slow": [self.bfd.slow]}
        for name, values in times.items():
            for value in values:
                if not (math.isfinite(value) and value >= 0):
                    raise UnsoundError((name,), f"{exact(value)} seconds", "a finite number, 0 or more")
        if self.bfd.multiplier < 1 or self.bfd.interval == 0 or self.bfd.slow == 0:
            raise UnsoundError(("bfd",), f"{self.bfd}", "a multiplier of 1 or more and intervals above 0")


def controller_at(topology: Topology, site: str) -> dict[str, float]:
    """Return the seconds from each switch to a controller at this site, along the paths of least delay.

    Raises:
        UnsoundError: the site is unknown, or a switch has no path to it.
    """
    if not topology.has_node(site):
        raise UnsoundError(("controller",), f"unknown node {quoted(site)}", f"a node of {topology.name}")
    found: dict[str, float] = {}
    reached = [(0.0, site)]
    while reached:
        distance, node = heapq.heappop(reached)
        if node in found:
            continue
        found[node] = distance
        for neighbour in topology.neighbours[node]:
            if topology.has_link(neighbour, node):
                heapq.heappush(reached, (distance + topology.link(neighbour, node).delay, neighbour))
    if lacking := [node for node in topology.nodes if node not in found]:
        problem = f"{quoted(lacking[0])} has no path to {quoted(site)}"
        raise UnsoundError(("controller",), problem, "a connected network")
    return found
