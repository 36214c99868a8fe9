"""Records of changes to a running lab: a link that went down or up, and a new plan."""

from __future__ import annotations

from dataclasses import dataclass

from te_solver.model.plan import Plan
from testbed.lab.failures import LinkEvent


@dataclass(frozen=True)
class NoticedLinkEvent(LinkEvent):
    """A link that was taken down or brought up, and the controller's reaction.

    Attributes:
        tunnels_told: number of tunnels whose ingress the controller had to inform, at either or both of their ends.
        reaction_seconds: time from the request until the last ingress acknowledged; None without a controller or if
            there was nothing to send.
    """

    tunnels_told: int
    reaction_seconds: float | None


@dataclass(frozen=True)
class NodeEvent:
    """A switch that was taken down or brought up: its links, one after the other, and the controller's reaction.

    Attributes:
        up: True if it was brought up.
        links: the links that were switched, each from the switch to a neighbour.
        requested_at: Unix time in seconds, just before the first link was switched.
        seconds: time from then until the last switch had reported the last port.
        tunnels_told, reaction_seconds: as in `NoticedLinkEvent`, for all links together.
    """

    node: str
    up: bool
    links: tuple[tuple[str, str], ...]
    requested_at: float
    seconds: float
    tunnels_told: int
    reaction_seconds: float | None


@dataclass(frozen=True)
class PlanUpdate:
    """Changes made by a new plan.

    Attributes:
        kept, added, removed: paths, as nodes; `kept` ones keep their path ids.
        reweighted: number of kept paths with a new weight.
        seconds: time from the request until the old plan was gone from every switch.
    """

    kept: tuple[tuple[str, ...], ...]
    added: tuple[tuple[str, ...], ...]
    removed: tuple[tuple[str, ...], ...]
    reweighted: int
    seconds: float

    @classmethod
    def between(cls, before: Plan, after: Plan, seconds: float) -> PlanUpdate:
        """Return the changes from one plan to another, which took so many seconds."""
        old = {tunnel.nodes: tunnel.weight for tunnel in before.tunnels}
        now = {tunnel.nodes: tunnel.weight for tunnel in after.tunnels}
        return cls(
            kept=tuple(path for path in now if path in old),
            added=tuple(path for path in now if path not in old),
            removed=tuple(path for path in old if path not in now),
            reweighted=sum(now[path] != old[path] for path in now if path in old),
            seconds=seconds,
        )
