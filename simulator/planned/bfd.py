"""BFD sessions over tunnels (RFC 5880): when their ends notice failures and repairs, computed instead of simulated.

Packets of a session use the control queue, so only the delays of links hold them up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random

from kuijia_app.tables.bfd import BfdSession
from simulator.packet.simulation import Simulation
from simulator.planned.events import Bfd
from simulator.planned.network import Ends, PlannedNetwork

_DOWN, _INIT, _UP = range(3)
"""States of a session's end (6.2)."""

_LEAST = 0.75
"""Share of the interval after which the next packet leaves at the earliest (6.8.7)."""


@dataclass
class _Session:
    """A session and the state of its ends.

    Attributes:
        cut: cables of its path that are cut.
        up: True for each end that is up.
        deadline: for ends that hear nothing, when they will be down.
        turn: counts failures and repairs, so that what was planned before is ignored.
    """

    session: BfdSession
    cut: set[frozenset[str]] = field(default_factory=set)
    up: dict[str, bool] = field(default_factory=dict)
    deadline: dict[str, float] = field(default_factory=dict)
    turn: int = 0


class BfdWatch:
    """The sessions of all plans in use: sets the liveness of the ports that they watch."""

    def __init__(
        self, simulation: Simulation, network: PlannedNetwork, delays: Mapping[Ends, float], rules: Bfd, seed: int
    ) -> None:
        self._simulation, self._network = simulation, network
        self._delays, self._rules = delays, rules
        self._random = Random(seed)
        self._sessions: dict[int, _Session] = {}
        self._cut: set[frozenset[str]] = set()

    def follow(self, sessions: Iterable[BfdSession]) -> None:
        """Add sessions that are new: those of the first plan are up, others come up as after a repair."""
        is_first = not self._sessions
        for session in sessions:
            if session.path_id in self._sessions:
                continue
            ends = session.nodes[0], session.nodes[-1]
            state = _Session(session, {edge for edge in _edges(session) if edge in self._cut})
            state.up = dict.fromkeys(ends, is_first)
            self._sessions[session.path_id] = state
            if not is_first:
                for end in ends:
                    self._set(state, end, up=False)
                if not state.cut:
                    self._come_up(state, self._now)

    def cut(self, edge: frozenset[str]) -> None:
        """Note that a cable fails now."""
        self._cut.add(edge)
        for state in self._sessions.values():
            if edge not in _edges(state.session):
                continue
            was_whole = not state.cut
            state.cut.add(edge)
            if was_whole:
                self._lose(state, edge)

    def heal(self, edge: frozenset[str]) -> None:
        """Note that a cable works again."""
        self._cut.discard(edge)
        for state in self._sessions.values():
            if edge in state.cut:
                state.cut.discard(edge)
                if not state.cut:
                    self._hear_again(state, edge)

    @property
    def _now(self) -> float:
        return self._simulation.now

    def _lose(self, state: _Session, edge: frozenset[str]) -> None:
        """Each end that is up will be down when nothing has come for as long as the multiplier says."""
        state.turn += 1
        for end, is_up in state.up.items():
            if is_up:
                last = self._now - self._random.random() * self._gap(self._rules.interval)
                arrived = last + self._delay_after(state.session, edge, end)
                silent = max(self._now, arrived + self._rules.multiplier * self._rules.interval)
                state.deadline[end] = silent
                self._at(silent, partial(self._expire, state, end, silent))

    def _hear_again(self, state: _Session, edge: frozenset[str]) -> None:
        """Ends that hear from the other in time stay up, unless that one is down and says so."""
        for end, silent in list(state.deadline.items()):
            first = self._random.random() * self._gap(self._rules.interval)
            if self._now + first + self._delay_after(state.session, edge, end) < silent:
                del state.deadline[end]
        falls = list(state.deadline.values())
        if falls or not all(state.up.values()):
            begins = max(self._now, min(falls, default=self._now))
            delay = self._delay(state.session.nodes)
            for end, is_up in state.up.items():
                if is_up:
                    told = min(state.deadline.get(end, begins + delay), begins + delay)
                    state.deadline[end] = told
                    self._at(told, partial(self._expire, state, end, told))
            self._come_up(state, begins)

    def _come_up(self, state: _Session, begins: float) -> None:
        state.turn += 1
        one, other = state.session.nodes[0], state.session.nodes[-1]
        delay = self._delay(state.session.nodes)
        for end, time in zip((one, other), self._handshake(begins, delay), strict=True):
            self._at(time, partial(self._rise, state, end, state.turn))

    def _handshake(self, begins: float, delay: float) -> tuple[float, float]:
        """Return when each end is up: it sends its state at slow intervals, and answers that of the other (6.2)."""
        slow = self._rules.slow
        sends = [begins + self._random.random() * self._gap(slow) for _ in range(2)]
        states, ups = [_DOWN, _DOWN], [0.0, 0.0]
        arriving: list[tuple[float, int, int]] = []
        while min(states) != _UP:
            sender = min((0, 1), key=lambda end: sends[end])
            if arriving and min(arriving)[0] <= sends[sender]:
                time, end, heard = arriving.pop(arriving.index(min(arriving)))
                if states[end] == _DOWN and heard == _DOWN:
                    states[end] = _INIT
                elif states[end] != _UP and heard != _DOWN:
                    states[end], ups[end] = _UP, time
                continue
            arriving.append((sends[sender] + delay, 1 - sender, states[sender]))
            sends[sender] += self._gap(slow)
        return ups[0], ups[1]

    def _expire(self, state: _Session, end: str, silent: float) -> None:
        if state.deadline.get(end) == silent:
            del state.deadline[end]
            self._set(state, end, up=False)

    def _rise(self, state: _Session, end: str, turn: int) -> None:
        if state.turn == turn:
            state.deadline.pop(end, None)
            self._set(state, end, up=True)

    def _set(self, state: _Session, end: str, *, up: bool) -> None:
        state.up[end] = up
        self._simulation.set_port(self._network.switches[end], state.session.watched_port, live=up)

    def _gap(self, interval: float) -> float:
        """Draw the seconds until the next packet."""
        return interval * (_LEAST + (1 - _LEAST) * self._random.random())

    def _delay_after(self, session: BfdSession, edge: frozenset[str], end: str) -> float:
        """Return the seconds from the far side of a cable to an end of the session."""
        nodes = session.nodes if session.nodes[-1] == end else session.nodes[::-1]
        crossed = next(place for place, hop in enumerate(pairwise(nodes), start=1) if frozenset(hop) == edge)
        return self._delay(nodes[crossed:])

    def _delay(self, nodes: tuple[str, ...]) -> float:
        return sum(self._delays[hop] for hop in pairwise(nodes))

    def _at(self, time: float, call: partial[None]) -> None:
        self._simulation.at(max(time, self._now), call)


def _edges(session: BfdSession) -> frozenset[frozenset[str]]:
    return frozenset(map(frozenset, session.hops))
