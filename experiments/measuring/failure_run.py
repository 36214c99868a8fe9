"""A link failure to measure, whichever backend does: flows, their roles, seconds of each phase, and randomness."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.results.result import Protocol, Role, Window
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.slots import cut_slots, grown_slots
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.schemes.all_schemes import failure_scheme

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FlowPaths:
    """Nodes that a flow visits before and after the failure."""

    before: Path
    after: Path


def roles(
    flows: Mapping[str, FlowPaths], failed: tuple[str, str], *, either_direction: bool = False
) -> dict[str, Role]:
    """Return the role of each flow, by its name, when the link between two nodes fails in both directions.

    Links are directed: flows in opposite directions share none (Kuijia, section 5.2), unless `either_direction`. Flows
    that change tunnel although theirs is alive, as ranges of hash values grow, affect others as victims do.
    """

    def links_of(path: Path) -> set[tuple[str, str]]:
        hops = set(pairwise(path))
        return hops | {hop[::-1] for hop in hops} if either_direction else hops

    broken = {failed, failed[::-1]}
    victims = {name for name, paths in flows.items() if links_of(paths.before) & broken}
    rerouted = {name for name, paths in flows.items() if paths.before != paths.after}
    new_links = {link for name in rerouted for link in links_of(flows[name].after)}
    others = {name: links_of(paths.after) for name, paths in flows.items() if name not in victims}
    direct = {name for name, links in others.items() if links & new_links}
    direct_links = {link for name in direct for link in others[name]}
    found: dict[str, Role] = {}
    for name in flows:
        if name in victims:
            found[name] = "victim"
        elif name in direct:
            found[name] = "direct"
        else:
            found[name] = "indirect" if others[name] & direct_links else "aboriginal"
    return found


_NOTICE_SECONDS = 2.0
"""Seconds the lab may take to notice a cut; flows last that much longer."""

END_SECONDS = 1.0
"""Seconds from the end of the last window to the end of the flows."""


@dataclass(frozen=True)
class WantedFlow:
    """A flow between two sites: `tunnel` carries it, `backup` while the link in question is down.

    `offered` is its limit in Mbit/s on the wire. Only a victim has two different tunnels, unless ranges of hash values
    grow.
    """

    name: str
    offered: float
    source: str
    target: str
    tunnel: Tunnel
    backup: Tunnel
    priority: int = 0


SlotMoves = Counter[tuple[Tunnel, Tunnel]]
"""Number of a pair's hash slots by the tunnels that own them before and after its ranges have grown."""


def slot_moves(pair: PairPlan, link: tuple[str, str], scheme: str, slot_count: int) -> SlotMoves | None:
    """Return how the failure of a link moves slots as alive tunnels' ranges grow; None if the scheme keeps them."""
    if not failure_scheme(scheme).renormalises:
        return None
    weights = [tunnel.weight for tunnel in pair.tunnels]
    dead = {position for position, tunnel in enumerate(pair.tunnels) if tunnel.crosses(*link)}
    grown = grown_slots(weights, dead, slot_count)
    if not grown:
        return None
    before = [slot.primary for slot in cut_slots(weights, slot_count).slots]
    return Counter((pair.tunnels[old], pair.tunnels[new]) for old, new in zip(before, grown, strict=True))


@dataclass(frozen=True)
class Phases:
    """Durations in seconds: `warmup` of the flows, `before` and `after` the windows around the cut, `settle` after it.

    `interval` is that of the goodput series. The labels of flows are watched at the beginning and after the cut, for at
    most `observe` seconds; a flow starved in the victims' queue may not be seen in that time.
    """

    warmup: float
    before: float
    settle: float
    after: float
    interval: float
    observe: float = 2.0

    @property
    def total(self) -> int:
        """Duration of the flows in whole seconds."""
        before = max(self.warmup, self.observe) + self.before
        after = _NOTICE_SECONDS + max(self.settle, self.observe) + self.after
        return math.ceil(before + after + END_SECONDS)

    @property
    def cut(self) -> float:
        return self.warmup + self.before

    @property
    def windows(self) -> tuple[Window, Window]:
        begin = self.cut + self.settle
        return Window(self.warmup, self.cut), Window(begin, begin + self.after)


@dataclass(frozen=True)
class Failing:
    """A run to simulate: plan, options of its tables, flows, failing link, and all randomness."""

    plan: Plan
    options: PipelineOptions
    flows: Sequence[WantedFlow]
    protocol: Protocol
    link: tuple[str, str]
    seed: int


def roles_of(flows: Sequence[WantedFlow], link: tuple[str, str], *, either_direction: bool = False) -> dict[str, Role]:
    """Return the role of each flow in the failure that its backup tunnel is for."""
    paths = {flow.name: FlowPaths(flow.tunnel.nodes, flow.backup.nodes) for flow in flows}
    return roles(paths, link, either_direction=either_direction)
