"""Keeps switches as one of several controllers; pure: messages of peers and the time are passed in.

The base of the controller and the scheduler. Without `_join` there is one controller, which acts.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping

from kuijia_app.control.pair import BEAT, Beat, Decision, Pair
from kuijia_app.control.role_verification import RoleVerification
from kuijia_app.control.roles import Claims, is_later
from kuijia_app.control.switch_keeper import SwitchKeeper, others_have
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import repeated

HandoverAnswer = Callable[[str | None], None]
"""Receives the reason why there is no handover, None once a peer acts; called on the application's thread."""

HANDOVER_PATIENCE = 2.0
"""Seconds in which a peer must have taken over after a request; it takes 0.2 s as a rule."""

SINGLE = "this controller has no peers"
STANDS_BY_ITSELF = "this controller stands by: ask the one that acts"
_NOT_TAKEN = f"no peer has taken over within {HANDOVER_PATIENCE:g} s"


class PairKeeper(SwitchKeeper):
    """Claims switches while this controller acts, and only watches them while it stands by."""

    _peer_address = ""

    def __init__(self, **contexts: object) -> None:
        super().__init__(**contexts)
        self._process = secrets.token_hex(8)
        self._pair: Pair | None = None
        self._unlisted: frozenset[str | None] = frozenset()
        self._next_beat = 0.0
        self._has_successor = False
        self._asked: deque[HandoverAnswer | None] = deque()
        self._asking: list[HandoverAnswer | None] = []
        self._hands_over_until = 0.0
        self._refusal = _NOT_TAKEN

    def _join(self, pair: Pair) -> None:
        """Be one of several controllers from now on."""
        self._pair = pair
        pair.process = self._process
        self._metrics.part_among_peers(is_acting=False, has_successor=False)

    @property
    def _acts(self) -> bool:
        return self._pair is None or self._pair.is_acting

    @property
    def _hands_over(self) -> bool:
        """True if a peer may take over at any moment, as it was asked to."""
        return self._pair is not None and self._pair.hands_over

    def ask_to_hand_over(self, answer: HandoverAnswer | None = None) -> None:
        """Have a peer take over; other threads and handlers of signals, which need no answer, may call this."""
        self._asked.append(answer)

    def _send_beat(self, beat: Beat) -> None:
        """Send peers a sign of life."""

    def _taken_over(self) -> None:
        """React to the change of part: this controller acts, and is about to read all switches."""

    def _left_to_peer(self, switch: str) -> None:
        """React to the change of part: a peer programs the switch from now on."""

    def _stands_by(self, switch: str, reported: int | None) -> bool:
        if self._pair is None:
            return False
        self._pair.seen(switch, reported, self._now())
        return not self._pair.is_acting

    def _heard_beat(self, beat: Beat) -> None:
        """Take in a peer's sign of life."""
        pair = self._pair
        if pair is None or beat.process == self._process:
            return  # among the addresses of peers is one of ours
        if beat.instance == pair.instance and not pair.is_acting:
            # Both have drawn the same number, which must tell generation ids apart.
            self._claims = Claims()
            pair.instance = self._claims.instance
        pair.heard(beat, self._now())
        if beat.is_acting and not pair.is_acting and is_later(beat.generation, self._claims.generation):
            self._handed_over()

    def _tend_pair(self, now: float) -> None:
        """Renew the claims of this controller or ask for those of others, and change its part if that is due."""
        self._take_requests(now)
        self._tend_roles(now)
        if self._pair is None or now < self._next_beat:
            return
        self._next_beat = now + BEAT
        for connection in self._connections.values():
            self._pair.seen(connection.switch, connection.seen, now)
            if not self._pair.is_acting:
                connection.poll_role()
        decision = self._pair.look(self._claims.generation, frozenset(self._connections), now)
        if decision is Decision.TAKE_OVER:
            self._take_over()
        elif decision is Decision.STAND_BY:
            self._give_up_acting("a peer acts")
            self._handed_over()
        elif self._pair.is_acting:
            self._claims.renewed()
            for switch, connection in self._connections.items():
                connection.claim_again(self._claims.of(switch))
        self._look_for_successor(self._pair, now)
        self._note_unlisted(self._pair, now)
        self._tell_peers()

    def _tell_peers(self) -> None:
        """Send peers a sign of life now."""
        pair, reach = self._pair, frozenset(self._connections)
        if pair is not None:
            generation = self._claims.generation
            hears, address = pair.hears, self._peer_address
            part = pair.instance, pair.is_acting, generation, reach, pair.hands_over
            self._send_beat(Beat(*part, self._process, hears, address))

    def _look_for_successor(self, pair: Pair, now: float) -> None:
        """Log when another controller could take over, and when none could any more."""
        has_successor = pair.is_acting and pair.obstacle(frozenset(self._connections), now) is None
        if has_successor != self._has_successor and pair.is_acting:
            self._log.write(event_log.SUCCESSOR_READY if has_successor else event_log.SUCCESSOR_GONE)
        self._has_successor = has_successor
        self._metrics.part_among_peers(is_acting=pair.is_acting, has_successor=has_successor)

    def _note_unlisted(self, pair: Pair, now: float) -> None:
        """Log the controllers that do not list each other, as one of them may act by its own plan one day."""
        found: dict[str | None, str | None] = {beat.process: beat.address for beat in pair.unlisted(now)}
        if pair.is_unheard(now):
            found[None] = None
        for process in found.keys() - self._unlisted:
            address = found[process]
            times = self._reports.occurred((event_log.PEER_UNLISTED, process is None), now)
            if times is not None:
                self._log.write(event_log.PEER_UNLISTED, address=address, times=times)
                heard = f"the controller at {address or 'an unknown address'} is heard, but does not hear this one"
                problem = "another controller acts, but none is heard" if process is None else heard
                self.logger.warning("%s%s: each needs the others as --peer", problem, repeated(times))
        self._unlisted = frozenset(found)

    def _take_requests(self, now: float) -> None:
        """Begin or refuse the handovers that were asked for, and give one up that takes too long."""
        while self._asked:
            answer = self._asked.popleft()
            reason = self._obstacle(now)
            if reason is not None:
                self._refuse_handover(answer, reason)
                continue
            if not self._asking:
                self._hands_over_until = now + HANDOVER_PATIENCE
                self._refusal = _NOT_TAKEN
            self._asking.append(answer)
            if self._pair is not None:
                self._pair.hand_over()
        if self._asking and now >= self._hands_over_until and self._pair is not None:
            self._pair.hands_over = False
            self._refuse_handovers()

    def _obstacle(self, now: float) -> str | None:
        """Return why no peer can take over now, None if one can."""
        if self._pair is None:
            return SINGLE
        return self._pair.obstacle(frozenset(self._connections), now) if self._pair.is_acting else STANDS_BY_ITSELF

    def _refuse_handover(self, answer: HandoverAnswer | None, reason: str) -> None:
        times: int | None = 1
        if answer is not None:
            answer(reason)
            times = self._reports.occurred((event_log.HANDOVER_REFUSED, reason), self._now())  # anybody may ask
        if times is not None:
            self._log.write(event_log.HANDOVER_REFUSED, reason=reason, times=times)
            self.logger.warning("no handover: %s%s", reason, repeated(times))

    def _handed_over(self) -> None:
        """Answer those who have asked for a handover: a peer acts."""
        while self._asking:
            answer = self._asking.pop()
            if answer is not None:
                answer(None)

    def _refuse_handovers(self) -> None:
        """Refuse the handovers under way: no peer has said that it acts."""
        while self._asking:
            self._refuse_handover(self._asking.pop(), self._refusal)

    def _take_over(self) -> None:
        """Claim all switches above what they have seen and what peers use, and read them again."""
        now = self._now()
        self._refuse_handovers()
        self._roles = RoleVerification()
        seen = {switch: connection.seen for switch, connection in self._connections.items()}
        self._claims.begun_anew()
        self._claims.raised_above((*seen.values(), *(self._pair.generations if self._pair is not None else ())))
        for switch, generation in seen.items():
            self._claims.met(switch, generation)
        self._log.write(event_log.ROLE_TAKEN, generation=self._claims.generation)
        claimed = f"{len(self._connections)} switches by generation id {self._claims.generation:016x}"
        self.logger.warning("this controller acts from now on: it claims %s", claimed)
        self._gateway.forget()
        self._taken_over()
        self._claim_all(now)

    def _displaced(self, switch: str, reason: str) -> None:
        if self._acts:
            super()._displaced(switch, reason)

    def _lose_role(self, denials: Mapping[str, str], now: float) -> None:
        if self._pair is None:
            super()._lose_role(denials, now)
            return
        self._pair.displaced(now)
        found = others_have(denials, len(self._connections))
        self._refusal = f"{found}, but no peer has said that it acts"  # one may do so soon
        self._give_up_acting(found)

    def _give_up_acting(self, reason: str) -> None:
        self._roles = RoleVerification()
        self._findings.clear(self._now())
        self._compared.clear()
        self._has_successor = False  # after the next takeover it is told again
        self._log.write(event_log.ROLE_YIELDED, reason=reason)
        self.logger.warning("this controller stands by from now on: %s", reason)
        for switch, connection in self._connections.items():
            self._metrics.left_to_peer(switch)
            self._left_to_peer(switch)
            connection.stand_by()
