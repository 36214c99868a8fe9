"""Decides when to probe which link, and what follows from probes that arrive, or do not; pure.

A port that is up says nothing about what is behind it: frames may be too large for the link, cables may be swapped,
spanning tree may block the far end, a tunnel's underlay may be cut. So a frame of full size crosses each link in each
direction again and again, in the queue of control traffic, and the far end sends it to the controller.

A probe is lost only if the near end has confirmed that it has sent it, and the far end has answered since without
sending it on: a switch that is paused, or a controller that is late, loses no probe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.liveness import Port
from kuijia_app.control.probe_frames import SMALLEST

INTERVAL = 1.5
"""Seconds between two probes of a link that carries them."""

PATIENCE = 0.4
"""Seconds after the near end's confirmation for which a probe may be on its way."""

LOST_IN_ROW = 4
"""Rounds without any probe after which a link is lost: fewer happen on a machine that is busy."""

LARGE_LOST_IN_ROW = 3
"""Rounds of which only small probes arrived after which full frames are too large, and for a link that never carried
one."""

LARGE_LOST_AT_FIRST = 2

FIRST_HOLD, LONGEST_HOLD = 1.0, 60.0
"""Seconds for which a link that was lost must carry all probes before it is used again; they double each time."""

CALM = 120.0
"""Seconds after which a link that carries everything has a clean record."""

_REMEMBERED = 16
"""Numbers of a link's probes that may still arrive."""

KINDS = (FindingKind.LINK_LOST, FindingKind.LINK_MISWIRED, FindingKind.FRAMES_TOO_LARGE)

Token = tuple["ProbedLink", int]
"""A link and the number of a round."""


@dataclass(frozen=True, slots=True)
class ProbedLink:
    """One direction of a link, from port to port; `size` is that of full frames, after the Ethernet header."""

    source: Port
    target: Port
    size: int


class LinkVerdict(Enum):
    """Verdict of probes on one direction of a link."""

    UNKNOWN = "unknown"
    GOOD = "good"
    TOO_LARGE = "frames too large"
    LOST = "lost"
    MISWIRED = "miswired"


class _Phase(Enum):
    IDLE = "idle"
    SENT = "sent"
    ON_ITS_WAY = "on its way"
    ASKED = "asked"


@dataclass(slots=True)
class _State:
    """One direction of a link: the round under way, and what earlier ones have shown."""

    due_at: float
    number: int = 0
    phase: _Phase = _Phase.IDLE
    until: float = 0.0
    has_small: bool = False
    lost: int = 0
    large_lost: int = 0
    elsewhere: Port | None = None
    verdict: LinkVerdict = LinkVerdict.UNKNOWN
    was_good: bool = False
    failures: int = 0
    turned_at: float = 0.0
    healthy_since: float | None = None


@dataclass(frozen=True, slots=True)
class ProbeSending:
    """A probe to be sent out of a port of a switch."""

    port: int
    number: int
    size: int


@dataclass(slots=True)
class ProbeStep:
    """Actions due now, by switch.

    Attributes:
        catch: switches that need the entries which send probes to the controller; `LinkProbes.catches` must follow
            their answer.
        send: probes to be sent, with the tokens for `LinkProbes.sent` after the switch's answer.
        ask: tokens for `LinkProbes.answered` after the switch's answer to a barrier.
    """

    catch: list[str] = field(default_factory=list)
    send: defaultdict[str, list[ProbeSending]] = field(default_factory=lambda: defaultdict(list))
    sent: defaultdict[str, list[Token]] = field(default_factory=lambda: defaultdict(list))
    ask: defaultdict[str, list[Token]] = field(default_factory=lambda: defaultdict(list))


class LinkProbes:
    """The probes of all links of a network. Times are seconds of any clock that nobody sets."""

    def __init__(self, links: Iterable[ProbedLink], now: float) -> None:
        self._states = {link: _State(now) for link in links}
        self._from = {link.source: link for link in self._states}
        self._caught: dict[str, bool] = {}
        self._to_catch: set[str] = set()
        self._delivers: set[str] = set()

    def connected(self, switch: str) -> None:
        """Take in that a switch has connected, or has been read again: somebody may have deleted its entries."""
        if switch in self._caught:
            self._to_catch.add(switch)
            return
        self._caught[switch] = not self._is_target(switch)
        self._to_catch.add(switch)
        self._begin_anew(switch)

    def left(self, switch: str) -> None:
        """Take in that a switch has gone, or that another controller acts."""
        self._caught.pop(switch, None)
        self._delivers.discard(switch)
        self._begin_anew(switch)

    def catches(self, switch: str) -> None:
        """Take in that a switch has the entries that send probes to the controller."""
        if switch in self._caught:
            self._caught[switch] = True

    def step(self, now: float, may_probe: Callable[[ProbedLink], bool]) -> ProbeStep:
        """Return what is to be done now; links that may not be probed now begin again later."""
        step = ProbeStep(sorted(switch for switch in self._to_catch & self._caught.keys() if self._is_target(switch)))
        self._to_catch.clear()
        for link, state in self._states.items():
            ends = self._caught.get(link.source[0]), self._caught.get(link.target[0])
            if not all(ends) or not may_probe(link):
                self._rest(state, now)
            elif state.phase is _Phase.IDLE and now >= state.due_at:
                self._begin_round(link, state, step)
            elif state.phase is _Phase.ON_ITS_WAY and now >= state.until:
                state.phase = _Phase.ASKED
                step.ask[link.target[0]].append((link, state.number))
        return step

    def sent(self, tokens: Iterable[Token], now: float) -> None:
        """Take in that a switch has sent the probes of these rounds."""
        for link, number in tokens:
            state = self._states[link]
            if state.phase is _Phase.SENT and state.number == number:
                state.phase, state.until = _Phase.ON_ITS_WAY, now + PATIENCE

    def answered(self, tokens: Iterable[Token], now: float) -> None:
        """Take in that the far end has answered: what has not arrived by now is lost."""
        for link, number in tokens:
            state = self._states[link]
            if state.phase is _Phase.ASKED and state.number == number:
                self._missed(link, state, now)

    def arrived(self, source: Port, at: Port, number: int, size: int, now: float) -> None:
        """Take in a probe of ours that has arrived somewhere."""
        self._delivers.add(at[0])
        link = self._from.get(source)
        if link is None:
            return
        state = self._states[link]
        if not state.number - _REMEMBERED < number <= state.number:
            return
        if at != link.target:
            self._turn(state, LinkVerdict.MISWIRED, now)
            state.elsewhere, state.healthy_since = at, None
        elif size == link.size:
            self._passed(state, now)
        elif number == state.number:
            state.has_small = True

    def verdict(self, link: ProbedLink) -> LinkVerdict:
        return self._states[link].verdict

    @property
    def lossy(self) -> frozenset[frozenset[str]]:
        """The pairs of neighbours whose link does not carry full frames both ways.

        Where no probe has come from the far switch at all, since it connected, it may be what keeps them from us: its
        links are named, but used.
        """
        return frozenset(
            frozenset((link.source[0], link.target[0]))
            for link, state in self._states.items()
            if state.verdict in (LinkVerdict.TOO_LARGE, LinkVerdict.MISWIRED)
            or (state.verdict is LinkVerdict.LOST and link.target[0] in self._delivers)
        )

    def is_judged(self, switch: str, may_probe: Callable[[ProbedLink], bool]) -> bool:
        """Return True if all links of a switch that may be probed have been judged."""
        return all(
            state.verdict is not LinkVerdict.UNKNOWN
            for link, state in self._states.items()
            if switch in (link.source[0], link.target[0]) and may_probe(link)
        )

    def findings(self, switch: str) -> Iterator[SwitchFinding]:
        """Yield what is wrong with the links that begin at a switch."""
        for link, state in self._states.items():
            if link.source[0] == switch:
                found = _finding(link, state)
                if found is not None:
                    yield found

    def _is_target(self, switch: str) -> bool:
        return any(link.target[0] == switch for link in self._states)

    def _begin_anew(self, switch: str) -> None:
        for link, state in self._states.items():
            if switch in (link.source[0], link.target[0]):
                state.phase, state.due_at = _Phase.IDLE, 0.0

    def _rest(self, state: _State, now: float) -> None:
        """Forget what probes have shown of a link: others know that it is down, or nobody can know."""
        state.phase, state.due_at = _Phase.IDLE, now
        state.lost = state.large_lost = 0
        state.verdict, state.elsewhere, state.healthy_since = LinkVerdict.UNKNOWN, None, None

    @staticmethod
    def _begin_round(link: ProbedLink, state: _State, step: ProbeStep) -> None:
        state.number += 1
        state.phase, state.has_small = _Phase.SENT, False
        is_calm = state.verdict is LinkVerdict.GOOD and not state.lost and not state.large_lost
        sizes = (link.size,) if is_calm else (link.size, SMALLEST)
        switch, port = link.source
        step.send[switch] += [ProbeSending(port, state.number, size) for size in sizes]
        step.sent[switch].append((link, state.number))

    def _passed(self, state: _State, now: float) -> None:
        """Take in that a full frame has crossed the link, perhaps a late one."""
        if state.verdict is LinkVerdict.MISWIRED:
            state.elsewhere = None
        state.lost = state.large_lost = 0
        state.healthy_since = now if state.healthy_since is None else state.healthy_since
        hold = min(FIRST_HOLD * 2.0 ** (state.failures - 1), LONGEST_HOLD) if state.failures else 0.0
        if now - state.healthy_since >= hold:
            self._turn(state, LinkVerdict.GOOD, now)
        if now - state.turned_at >= CALM:
            state.failures = 0
        state.phase = _Phase.IDLE
        state.due_at = now + (INTERVAL if state.verdict is LinkVerdict.GOOD else PATIENCE)

    def _missed(self, link: ProbedLink, state: _State, now: float) -> None:
        """Take in that no full frame has crossed the link in this round."""
        state.phase, state.due_at, state.healthy_since = _Phase.IDLE, now, None
        state.lost = 0 if state.has_small else state.lost + 1
        state.large_lost += 1
        self._to_catch.add(link.target[0])  # perhaps somebody has deleted its entries
        most = LARGE_LOST_IN_ROW if state.was_good else LARGE_LOST_AT_FIRST
        if state.lost >= LOST_IN_ROW and state.elsewhere is None:
            self._turn(state, LinkVerdict.LOST, now)
        elif state.has_small and state.large_lost >= most:
            state.elsewhere = None
            self._turn(state, LinkVerdict.TOO_LARGE, now)

    @staticmethod
    def _turn(state: _State, verdict: LinkVerdict, now: float) -> None:
        if state.verdict is verdict:
            return
        if verdict is LinkVerdict.GOOD:
            state.was_good = True
        elif state.was_good and state.verdict in (LinkVerdict.GOOD, LinkVerdict.UNKNOWN):
            state.failures += 1
        state.verdict, state.turned_at = verdict, now


def _finding(link: ProbedLink, state: _State) -> SwitchFinding | None:
    (switch, port), (neighbour, far_port) = link.source, link.target

    def finding(kind: FindingKind, text: str, what_to_do: str, *, is_lack: bool = False) -> SwitchFinding:
        return SwitchFinding(FindingKey(kind, switch, port), f"port {port} to {neighbour}: {text}", what_to_do, is_lack)

    match state.verdict:
        case LinkVerdict.TOO_LARGE:
            return finding(
                FindingKind.FRAMES_TOO_LARGE,
                f"frames of {link.size} bytes after the Ethernet header do not arrive at port {far_port} of "
                f"{neighbour}, small ones do",
                f"set an MTU of at least {link.size} at both ends (mtu_request), or state a smaller --host-mtu",
                is_lack=True,
            )
        case LinkVerdict.MISWIRED if state.elsewhere is not None:
            other, other_port = state.elsewhere
            return finding(
                FindingKind.LINK_MISWIRED,
                f"what it sends arrives at port {other_port} of {other}, not at port {far_port} of {neighbour}",
                "swap the cables back, or correct the wiring file",
            )
        case LinkVerdict.LOST | LinkVerdict.MISWIRED:
            return finding(
                FindingKind.LINK_LOST,
                f"nothing that it sends arrives at port {far_port} of {neighbour}, although both ports are up",
                "look at the cable, its queues, spanning tree, entries of others, and the underlay of a tunnel",
            )
        case _:
            return None
