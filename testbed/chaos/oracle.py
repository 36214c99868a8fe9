"""Computes which losses are permitted, from plans and the fault timeline alone.

A probe flow is one pair's, and with an unchanged plan it is known which tunnel its hash gives it. It uses this tunnel
while all of its links are up, and any other of the pair's tunnels while one is down. The loss of a packet is excused if
it was sent

- around the time at which a link of a tunnel that its flow may use changes its state, for as long as the switches may
  take to notice: shortly if it is the tunnel's first link, longer if BFD or the controller has to tell the ingress, and
  as long as the controller is out of reach where it is the controller's task;
- while links leave its pair neither a tunnel nor another path, and shortly after its last tunnel or that path has
  failed, until a controller that reaches all switches has carried the pair over what is left (docs/restoration.md);
- while a switch of such a tunnel has lost its tables, or the daemon of all switches stands still.

Where BFD sessions end at the same time as a link is broken, the last resort may choose the wrong tunnel until a session
is up again (docs/liveness.md); without a broken link their end costs nothing.

Nothing else is: a controller that dies, a database that hangs, a disk that is full, a clock that is set, a connection
that is cut, a plan that is replaced and a second controller that takes over cost no packet. A loss is not judged where
the machine itself is known to have lost frames, and time in which it did not run the switches, or the controllers, does
not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from kuijia_app.control.flap_damping import FlapDamping
from te_solver.model.plan import Plan
from testbed.chaos.faults import (
    FOREVER,
    LINK_DOWN,
    STANDSTILL_KINDS,
    SWITCH_WIPED,
    SWITCHES_KILLED,
    FaultSpan,
    FaultTimeline,
)

Path = tuple[str, ...]

SESSIONS_ENDED = "this machine did not run its switches for so long that their BFD sessions ended"
OVERLOAD = "this machine lost frames that its switches had no time to read"


@dataclass(frozen=True)
class LossWindows:
    """Seconds that may pass until traffic has left what failed.

    Attributes:
        before: packets sent this long before a failure may still have been on their way to it.
        local: until a switch has noticed that its own port is down or up.
        remote: until an ingress knows of a link further on, from the controller or by BFD.
        by_bfd: True if BFD tells the ingress, so that the controller is not needed.
        ends_sessions: length of a stall of this machine from which on BFD sessions end, or of several close together.
        again: after a controller is back or a link has healed, until all is as it should be: all sessions are up.
        restored: until a controller that is heard has carried a pair without a live tunnel over another path, and until
            switches that run again forward.
    """

    before: float = 0.02
    local: float = 0.03
    remote: float = 0.2
    by_bfd: bool = False
    ends_sessions: float = FOREVER
    again: float = 1.0
    restored: float = 1.0


@dataclass(frozen=True)
class ProbeFlow:
    """A flow of probes: its pair, and the tunnel that its hash has, `None` once a plan was replaced."""

    number: int
    source: str
    target: str
    priority: int
    tunnel: Path | None

    @property
    def title(self) -> str:
        way = f" by {'-'.join(self.tunnel)}" if self.tunnel else ""
        return f"{self.source}>{self.target} class {self.priority}{way}"


@dataclass(frozen=True)
class Excuse:
    """A time in which a flow may lose packets, and why; seconds as in the time line.

    `by_controller` is True if the controllers have a part in its end, and not only the switches.
    """

    start: float
    end: float
    why: str
    by_controller: bool = True

    def stretched(self, timeline: FaultTimeline) -> Excuse:
        """Return the same for a machine that stands still at times: these do not count.

        What was sent during a stall that was under way at the start waited for its switch, too.
        """
        stalls = sorted({*timeline.stalled, *(timeline.starved if self.by_controller else ())})
        start, end = self.start, self.end
        counted = start
        for begin, over in stalls:
            if over < start or begin > end or over <= counted:
                continue
            start = min(start, begin)
            end += over - max(begin, counted)
            counted = over
        return replace(self, start=start, end=end)


@dataclass(frozen=True)
class PlanInForce:
    """A plan that was asked for at a time; traffic may follow the one before until it is `settled`, and for a while."""

    since: float
    plan: Plan
    settled: float | None = None

    @property
    def replaces_until(self) -> float:
        return self.since if self.settled is None else self.settled


@dataclass(frozen=True)
class Loss:
    """Packets of a flow that did not arrive, by the times at which the first and the last were sent."""

    flow: int
    first: float
    last: float
    packets: int


@dataclass(frozen=True)
class UnexcusedLoss:
    """Packets lost without an excuse, and what was broken at about that time."""

    flow: ProbeFlow
    loss: Loss
    near: tuple[FaultSpan, ...]


def excuses(
    flow: ProbeFlow, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> tuple[Excuse, ...]:
    """Return the times in which a flow may lose packets."""
    by_faults = (
        *_by_links(flow, plans, timeline, windows),
        *_without_tunnels(flow, plans, timeline, windows),
        *_by_switches(flow, plans, timeline, windows),
    )
    return (
        *(excuse.stretched(timeline) for excuse in by_faults),
        *(
            Excuse(start - windows.before, end + windows.again, SESSIONS_ENDED)
            for start, end in _long_stalls(timeline.stalled, windows.ends_sessions)
            if _is_broken(flow, plans, timeline, windows, start, end)
        ),
        *(Excuse(start - windows.before, end, OVERLOAD) for start, end in timeline.overloaded),
    )


def _long_stalls(stalled: Sequence[tuple[float, float]], least: float) -> Iterator[tuple[float, float]]:
    """Yield the stalls of at least a length, and the times in which a half more than it has so much of stalls."""
    ordered = sorted(stalled)
    for place, (start, _) in enumerate(ordered):
        total = 0.0
        for begin, end in ordered[place:]:
            if begin - start > 1.5 * least:
                break
            total += end - begin
            if total >= least:
                yield start, end
                break


def unexcused(loss: Loss, allowed: Iterable[Excuse]) -> bool:
    """Return True if one of the packets was sent at a time without an excuse."""
    excused_until = None
    at = loss.first
    for excuse in sorted(allowed, key=lambda each: each.start):
        if excuse.start <= at <= excuse.end:
            excused_until = at = excuse.end
    return excused_until is None or excused_until < loss.last


def nothing_else(_flow: ProbeFlow) -> Iterable[Excuse]:
    """Return no further excuses."""
    return ()


def findings(
    flows: Sequence[ProbeFlow],
    losses: Iterable[Loss],
    plans: Sequence[PlanInForce],
    timeline: FaultTimeline,
    windows: LossWindows,
    others: Callable[[ProbeFlow], Iterable[Excuse]] = nothing_else,
) -> tuple[UnexcusedLoss, ...]:
    """Return the losses without an excuse, each with what was broken at about that time.

    `others` returns further excuses of a flow, for example of `full_queues`.
    """
    by_number = {flow.number: flow for flow in flows}
    allowed = {flow.number: (*excuses(flow, plans, timeline, windows), *others(flow)) for flow in flows}
    return tuple(
        UnexcusedLoss(by_number[loss.flow], loss, _near(timeline, loss))
        for loss in losses
        if unexcused(loss, allowed[loss.flow])
    )


def owed_to_the_machine(
    flows: Sequence[ProbeFlow],
    losses: Iterable[Loss],
    plans: Sequence[PlanInForce],
    timeline: FaultTimeline,
    windows: LossWindows,
    others: Callable[[FaultTimeline], Callable[[ProbeFlow], Iterable[Excuse]]] = lambda _: nothing_else,
) -> tuple[UnexcusedLoss, ...]:
    """Return the losses that nothing but this machine's own failings excuse.

    `others` returns for a time line what `findings` takes.
    """
    prompt = replace(timeline, overloaded=(), stalled=(), starved=())
    strict = findings(flows, losses, plans, prompt, windows, others(prompt))
    lenient = {each.loss for each in findings(flows, losses, plans, timeline, windows, others(timeline))}
    return tuple(each for each in strict if each.loss not in lenient)


def _near(timeline: FaultTimeline, loss: Loss, seconds: float = 2.0) -> tuple[FaultSpan, ...]:
    return tuple(span for span in timeline.spans if span.overlaps(loss.first - seconds, loss.last))


def in_force(plans: Sequence[PlanInForce], start: float, end: float, linger: float) -> Iterator[PlanInForce]:
    """Yield the plans that traffic may have followed between two times."""
    for place, each in enumerate(plans):
        until = plans[place + 1].replaces_until + linger if place + 1 < len(plans) else FOREVER
        if each.since <= end and start <= until:
            yield each


def tunnels_of(flow: ProbeFlow, plans: Sequence[PlanInForce], start: float, end: float, linger: float) -> set[Path]:
    """Return the pair's tunnels in all plans that traffic may have followed between two times."""
    return {path for each in in_force(plans, start, end, linger) for path in _tunnels(flow, each)}


def _tunnels(flow: ProbeFlow, plan: PlanInForce) -> set[Path]:
    return {
        tunnel.nodes
        for pair in plan.plan.pairs
        if (pair.source, pair.target, pair.priority) == (flow.source, flow.target, flow.priority)
        for tunnel in pair.tunnels
    }


def hops_of(path: Path) -> set[frozenset[str]]:
    return {frozenset(hop) for hop in pairwise(path)}


def _was_down(path: Path, timeline: FaultTimeline, start: float, end: float) -> bool:
    hops = hops_of(path)
    return any(frozenset(span.subject) in hops and span.overlaps(start, end) for span in timeline.of(LINK_DOWN))


def _usable(
    flow: ProbeFlow, plans: Sequence[PlanInForce], timeline: FaultTimeline, at: float, window: float
) -> set[Path]:
    """Return the tunnels that the flow may have used at a time, when all that is longer ago than `window` is known."""
    tunnels = tunnels_of(flow, plans, at, at, window)
    own = flow.tunnel
    if own not in tunnels or len(plans) > 1:
        return tunnels
    # Until the ingress has heard that its own tunnel is whole again, the flow is on another.
    hops = hops_of(own)
    was_down = any(
        frozenset(span.subject) in hops and span.start < at and span.overlaps(at - window, at)
        for span in timeline.of(LINK_DOWN)
    )
    was_away = any(start <= at and at - window <= end for start, end in timeline.away.get(own[0], ()))
    return tunnels if was_down or was_away else {own}


def _by_links(
    flow: ProbeFlow, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> Iterator[Excuse]:
    for span in timeline.of(LINK_DOWN):
        link = frozenset(span.subject)
        for at, what in ((span.start, "down"), (span.end, "up")):
            if at == FOREVER:
                continue
            for path in _usable(flow, plans, timeline, at, windows.remote + windows.again):
                if link not in hops_of(path):
                    continue
                is_local = frozenset(path[:2]) == link
                end = at + (windows.local if is_local else _remote(path, link, at, timeline, windows))
                # A link that flaps within the window may be down again before anybody has acted.
                why = f"{span.kind} {'-'.join(span.subject)} {what}"
                yield Excuse(at - windows.before, end, why, by_controller=not is_local)


def _remote(path: Path, link: frozenset[str], at: float, timeline: FaultTimeline, windows: LossWindows) -> float:
    """Return the seconds until the ingress of a path is told of a change of a link further on."""
    if windows.by_bfd:
        return windows.remote
    told = timeline.in_reach_from([path[0]], at)
    # One of the two ends is enough to report a link that is down; that it is up, both must say.
    heard = min(timeline.in_reach_from([end], at) for end in link)
    last = max(told, heard, timeline.in_reach_from([path[0], *link], at) if told > at or heard > at else at)
    return last - at + windows.remote + (windows.again if last > at else 0.0)


def _without_tunnels(
    flow: ProbeFlow, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> Iterator[Excuse]:
    """Yield the times in which no tunnel of a plan is whole, or known to be, until the pair is carried all the same."""
    unheard = windows.again if windows.by_bfd else windows.remote
    spans = [*timeline.of((*LINK_DOWN, *STANDSTILL_KINDS, SWITCH_WIPED))]
    changes = {span.start for span in spans} | {span.end for span in spans if span.end < FOREVER}
    for at in sorted(changes.union(*((each.since, each.replaces_until) for each in plans[1:]))):
        for plan in in_force(plans, at, at, windows.remote):
            tunnels = _tunnels(flow, plan)
            whole = {path for path in tunnels if not _was_down(path, timeline, at, at)}
            known = {path for path in whole if not _was_down(path, timeline, at - unheard, at)}
            if tunnels and not whole:
                end = _carried_from(flow, plan.plan, timeline, at, windows.restored)
                yield Excuse(at - windows.before, end, "no tunnel is whole")
            elif tunnels and not known:
                # Its links are up, so nobody carries the pair, but the ingress may not use it yet.
                healed = min(_whole_from(path, timeline, at) for path in whole)
                told = timeline.in_reach_from([flow.source, flow.target], healed)
                yield Excuse(
                    at - windows.before, told + windows.remote + windows.again, "no tunnel is known to be whole"
                )
            elif known and not windows.by_bfd and all(is_doubted(path, timeline, at) for path in known):
                told = timeline.in_reach_from([flow.source, flow.target], at)
                end = told + windows.remote + (windows.again if told > at else 0.0)
                yield Excuse(at - windows.before, end, "the only tunnel left has flapped")


def _carried_from(flow: ProbeFlow, plan: Plan, timeline: FaultTimeline, at: float, restored: float) -> float:
    """Return until when a pair without a whole tunnel may lose packets after something has changed."""
    while True:
        at = timeline.in_reach_from(plan.topology.nodes, _connected_from(flow, plan, timeline, at))
        # The controllers must be there all the while.
        cut_off = [start for spans in timeline.away.values() for start, _ in spans if at < start < at + restored]
        if not cut_off or at == FOREVER:
            return at + restored
        at = min(cut_off)


def _connected_from(flow: ProbeFlow, plan: Plan, timeline: FaultTimeline, at: float) -> float:
    """Return the first time from `at` on at which links that are up connect the pair."""
    spans = [*timeline.of(LINK_DOWN)]
    for time in sorted({at, *(span.end for span in spans if span.end > at)}):
        down = {frozenset(span.subject) for span in spans if span.start <= time < span.end}
        reached, ahead = {flow.source}, [flow.source]
        while ahead:
            here = ahead.pop()
            beside = {b if a == here else a for a, b in plan.topology.edges if here in (a, b) and {a, b} not in down}
            ahead += beside - reached
            reached |= beside
        if flow.target in reached:
            return time
    return FOREVER


def is_doubted(path: Path, timeline: FaultTimeline, at: float) -> bool:
    """Return True if the controller may hold down a port of the path that is up, as its link has gone down often."""
    return any(_is_held(hop, end, timeline, at) for hop in map(frozenset, pairwise(path)) for end in sorted(hop))


def _is_held(hop: frozenset[str], end: str, timeline: FaultTimeline, at: float) -> bool:
    """Return True if the port at one end of a link would be held, by the controller's own damping."""
    damping: FlapDamping[str] = FlapDamping()
    spans = (span for span in timeline.of(LINK_DOWN) if frozenset(span.subject) == hop and span.start < at)
    for span in sorted(spans, key=lambda each: each.start):
        for time, live in ((span.start, False), (span.end, True)):
            # Bad news may come late, and then all at once.
            damping.observed(end, min(timeline.in_reach_from([end], time), at), live=live)
    damping.released(at)
    return damping.is_held(end)


def _whole_from(path: Path, timeline: FaultTimeline, at: float) -> float:
    """Return when the links of a path are all up for the first time after `at`, or became so before it."""
    hops = hops_of(path)
    spans = [span for span in timeline.of(LINK_DOWN) if frozenset(span.subject) in hops]
    while True:
        ends = [span.end for span in spans if span.start <= at < span.end]
        if not ends:
            return max((span.end for span in spans if span.end <= at), default=at)
        at = max(ends)
        if at == FOREVER:
            return at


def _is_broken(
    flow: ProbeFlow,
    plans: Sequence[PlanInForce],
    timeline: FaultTimeline,
    windows: LossWindows,
    start: float,
    end: float,
) -> bool:
    """Return True if a tunnel of the pair has a broken link at about the time of a standstill."""
    paths = tunnels_of(flow, plans, start, end, windows.remote)
    return any(_was_down(path, timeline, start - windows.again, end + windows.again) for path in paths)


def _by_switches(
    flow: ProbeFlow, plans: Sequence[PlanInForce], timeline: FaultTimeline, windows: LossWindows
) -> Iterator[Excuse]:
    for span in timeline.of((*STANDSTILL_KINDS, SWITCH_WIPED)):
        # The daemon is that of all switches: it forwards nothing until every one has its tables again.
        end = span.end
        if span.kind == SWITCHES_KILLED:
            end = max([end, *(timeline.in_reach_from([switch], end) for switch in timeline.away)])
        if span.kind == SWITCH_WIPED:
            end = timeline.in_reach_from(span.subject, end)
            paths = tunnels_of(flow, plans, span.start, end + windows.again, windows.remote)
            if not any(span.subject[0] in path for path in paths):
                continue
        is_broken = _is_broken(flow, plans, timeline, windows, span.start, end)
        yield Excuse(span.start - windows.before, end + (windows.again if is_broken else windows.restored), span.title)
