"""Finds the times in which full links may cost packets: from the load, the plans in force and the time line; pure.

Each flow of the load sends at a rate that its tunnel has room for. A queue may overflow while what a link must carry in
it, and in the queues that are served before it, is more than the link can: victims of a failure are there besides, the
link is slow, or another plan has put flows elsewhere. Packets that may wait in such a queue may be lost. Packets of
which this cannot be so may not, however full the queues below theirs are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kuijia_app.control.flap_damping import CEILING, HALF_LIFE, REUSE
from kuijia_app.preparation.queues import MAX_FRAME
from kuijia_app.tables.queues import QueueLayout
from te_solver.model.plan import Plan
from testbed.chaos.faults import FLAP_DOWN, LINK_DOWN, SLOW, SLOW_SHARE, STANDSTILL_KINDS, SWITCH_WIPED, FaultTimeline
from testbed.chaos.oracle import Excuse, LossWindows, Path, PlanInForce, ProbeFlow, hops_of, is_doubted, tunnels_of

ROOM = 0.97
"""Share of a link's rate that it carries without a loss: its timers come late at times."""

HELD_SECONDS = HALF_LIFE * math.log2(CEILING / REUSE)
"""Longest time for which a port that has flapped is held down although it is up."""

FULL = "a queue may be full"

Link = tuple[str, str]
Span = tuple[float, float]


@dataclass(frozen=True)
class LoadFlow:
    """Packets of a pair and class by the tunnel that their hash has, at a rate in Mbit/s with all headers."""

    flow: ProbeFlow
    rate: float


@dataclass(frozen=True)
class FullQueueLoad:
    """All that is sent, probes included, and the queues that it waits in.

    Attributes:
        layout: the queues of every port.
        demotes: True if victims wait in the queue for victims of their class.
        buffer_packets: length of every queue.
    """

    flows: tuple[LoadFlow, ...]
    layout: QueueLayout
    demotes: bool
    buffer_packets: int

    def level(self, priority: int, *, is_victim: bool) -> int:
        """Return the place of a class's queue in the order in which a port serves its queues."""
        served = self.layout.classes[priority]
        return self.layout.queues.index(served.victim if is_victim and self.demotes else served.normal)


@dataclass(frozen=True)
class _State:
    """State between two changes: flows that may be elsewhere, how many plans are in use, and slow links."""

    moved: frozenset[int]
    plans: tuple[int, ...]
    slow: frozenset[frozenset[str]]


def busiest_share(load: FullQueueLoad, plan: Plan) -> float:
    """Return the part of its rate that the busiest link carries while nothing is broken."""
    carried = _carried([(each.rate, [(each.flow.tunnel or (), 0)]) for each in load.flows])
    return max((rate / plan.topology.link(*link).capacity for (link, _), rate in carried.items()), default=0.0)


def full_queue_excuses(
    load: FullQueueLoad, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> Callable[[ProbeFlow], tuple[Excuse, ...]]:
    """Return the function that tells when a flow's packets may be lost because a queue is full.

    It takes flows of the load; another one with the same pair, class and tunnel is treated alike.
    """
    found: dict[tuple[str, str, int, Path | None], list[Excuse]] = {}
    titles = {_key(each.flow): each.flow for each in load.flows}
    wait = load.buffer_packets * MAX_FRAME * 8 / 1e6 / min(link.capacity for link in plans[0].plan.topology.links)
    drain = wait / max(1 - busiest_share(load, plans[0].plan), 0.01)
    known: dict[_State, frozenset[int]] = {}
    for start, end, state in _states(load, plans, timeline, windows):
        if state not in known:
            known[state] = _overflowing(load, plans, state)
        for key, flow in titles.items():
            if flow.number in known[state]:
                excuse = Excuse(start - wait, end + drain, FULL).stretched(timeline)
                found.setdefault(key, []).append(excuse)
    return lambda flow: tuple(found.get(_key(flow), ()))


def _key(flow: ProbeFlow) -> tuple[str, str, int, Path | None]:
    return flow.source, flow.target, flow.priority, flow.tunnel


def _states(
    load: FullQueueLoad, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> Iterator[tuple[float, float, _State]]:
    """Yield the states of the network in turn, each with its start and end."""
    moved = {each.flow.number: tuple(_moved(each.flow, timeline, windows)) for each in load.flows}
    slow = [(frozenset(span.subject), (span.start, span.end)) for span in timeline.of((SLOW,))]
    linger = windows.remote + windows.again
    in_use = [
        (each.since - windows.before, plans[place + 1].replaces_until + linger if place + 1 < len(plans) else math.inf)
        for place, each in enumerate(plans)
    ]
    spans = [*(span for of_flow in moved.values() for span in of_flow), *(span for _, span in slow), *in_use]
    times = sorted({at for span in spans for at in span})
    for start, end in pairwise(times):
        middle = start if math.isinf(end) else (start + end) / 2
        yield (
            start,
            end,
            _State(
                frozenset(number for number, of_flow in moved.items() if _within(middle, of_flow)),
                tuple(place for place, span in enumerate(in_use) if _within(middle, [span])),
                frozenset(link for link, span in slow if _within(middle, [span])),
            ),
        )


def _within(at: float, spans: Sequence[Span]) -> bool:
    return any(start <= at < end for start, end in spans)


def _moved(flow: ProbeFlow, timeline: FaultTimeline, windows: LossWindows) -> Iterator[Span]:
    """Yield the times in which a flow may be on another tunnel than its own."""
    path = flow.tunnel or ()
    # BFD's packets may share a queue with a class that a slow link has no room for.
    for span in timeline.of((*LINK_DOWN, SLOW) if windows.by_bfd else LINK_DOWN):
        if frozenset(span.subject) in hops_of(path):
            told = span.end if windows.by_bfd else timeline.in_reach_from([path[0], *span.subject], span.end)
            held = HELD_SECONDS if span.kind == FLAP_DOWN or is_doubted(path, timeline, span.end) else 0.0
            yield span.start - windows.before, told + windows.remote + windows.again + held
    for span in timeline.of((SWITCH_WIPED,)):
        if span.subject[0] in path:
            told = timeline.in_reach_from(span.subject, span.start)
            yield span.start - windows.before, told + windows.remote + windows.again
    for span in timeline.of(STANDSTILL_KINDS):
        told = timeline.in_reach_from(path, span.end)
        yield span.start - windows.before, told + windows.remote + windows.again


def _overflowing(load: FullQueueLoad, plans: Sequence[PlanInForce], state: _State) -> frozenset[int]:
    """Return the numbers of the flows whose packets may come to a queue that overflows."""
    places = {each.flow.number: _places(load, plans, state, each.flow) for each in load.flows}
    carried = _carried([(each.rate, places[each.flow.number]) for each in load.flows])
    full = set()
    for (a, b), level in carried:
        capacity = plans[0].plan.topology.link(a, b).capacity * (SLOW_SHARE if {a, b} in state.slow else 1.0)
        before = sum(rate for (link, other), rate in carried.items() if link == (a, b) and other <= level)
        if before > ROOM * capacity:
            full.add(((a, b), level))
    return frozenset(
        number
        for number, of_flow in places.items()
        if any((hop, level) in full for path, level in of_flow for hop in pairwise(path))
    )


def _places(
    load: FullQueueLoad, plans: Sequence[PlanInForce], state: _State, flow: ProbeFlow
) -> list[tuple[Path, int]]:
    """Return the tunnels that packets of a flow may take, each with the level of the queue that they may wait in."""
    normal, victim = (load.level(flow.priority, is_victim=is_victim) for is_victim in (False, True))
    own = [] if flow.tunnel is None else [(flow.tunnel, normal)]
    if state.plans != (0,):
        # Another plan gives hashes other tunnels.
        in_use = [plans[place] for place in state.plans]
        others = {path for each in in_use for path in tunnels_of(flow, [each], each.since, each.since, 0.0)}
        return own + [(path, level) for path in sorted(others) for level in (normal, victim)]
    if flow.number not in state.moved:
        return own
    others = tunnels_of(flow, plans[:1], plans[0].since, plans[0].since, 0.0)
    return own + [(path, victim) for path in sorted(others) if path != flow.tunnel]


def _carried(flows: Sequence[tuple[float, Sequence[tuple[Path, int]]]]) -> dict[tuple[Link, int], float]:
    """Return the rate that each link may have to carry at each level; a flow counts where it would be served first."""
    carried: dict[tuple[Link, int], float] = {}
    for rate, places in flows:
        first: dict[Link, int] = {}
        for path, level in places:
            for a, b in pairwise(path):
                first[a, b] = min(level, first.get((a, b), level))
        for link, level in first.items():
            carried[link, level] = carried.get((link, level), 0.0) + rate
    return carried
