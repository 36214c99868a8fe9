"""Keeps the role of master of switches, perhaps as one of several controllers; pure: events and the time are passed in.

Without `ControllerRoles.join` there is one controller, which acts.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from kuijia_app.control.pair import BEAT, Beat, Decision, Pair
from kuijia_app.control.role_verification import RoleVerification
from kuijia_app.control.roles import Claims, is_later
from kuijia_app.control.switches import ControlledSwitches, Runtime
from kuijia_app.framework import event_log
from kuijia_app.framework.switch_limits import repeated

HandoverAnswer = Callable[[str | None], None]
"""Receives the reason why there is no handover, None once a peer acts; called on the application's thread."""

HANDOVER_PATIENCE = 2.0
"""Seconds in which a peer must have taken over after a request; it takes 0.2 s as a rule."""

SINGLE = "this controller has no peers"
STANDS_BY_ITSELF = "this controller stands by: ask the one that acts"
_NOT_TAKEN = f"no peer has taken over within {HANDOVER_PATIENCE:g} s"


class RolePolicy(Protocol):
    """Decides what follows from the roles of controllers."""

    def begun(self, switch: str) -> None:
        """Forget what is known of a switch: it is read from the start."""

    def left_to_other(self, switch: str) -> None:
        """React to a switch that says that another controller is its master: it is not programmed for now."""

    def left_to_peer(self, switch: str) -> None:
        """React to the change of part: a peer programs the switch from now on."""

    def taken_over(self) -> None:
        """React to the change of part: this controller acts, and is about to read all switches."""

    def send_beat(self, beat: Beat) -> None:
        """Send peers a sign of life."""


class ControllerRoles:
    """Claims switches while this controller acts, and only watches them while it stands by.

    Attributes:
        claims: generation ids.
        verification: what switches say of other masters.
        is_displaced: it has no peers, and stays quiet as most switches have another master.
        process: a number of this process that no other has.
        pair: this controller among its peers, None without any.
    """

    def __init__(
        self, runtime: Runtime, policy: RolePolicy, switches: ControlledSwitches, claims: Claims | None = None
    ) -> None:
        """Act, without peers; `claims` are new ones if not given."""
        self._runtime = runtime
        self._policy = policy
        self._switches = switches
        switches.roles = self
        self.claims = Claims() if claims is None else claims
        self.verification = RoleVerification()
        self.is_displaced = False
        self.process = secrets.token_hex(8)
        self.pair: Pair | None = None
        self._address = ""
        self._unlisted: frozenset[str | None] = frozenset()
        self._next_beat = 0.0
        self._has_successor = False
        self._asked: deque[HandoverAnswer | None] = deque()
        self._asking: list[HandoverAnswer | None] = []
        self._hands_over_until = 0.0
        self._refusal = _NOT_TAKEN

    def join(self, pair: Pair, address: str = "") -> None:
        """Be one of several controllers from now on, which others reach at an address."""
        self.pair = pair
        self._address = address
        pair.process = self.process
        self._switches.metrics.part_among_peers(is_acting=False, has_successor=False)

    @property
    def generation(self) -> int:
        """The generation id of the latest claim."""
        return self.claims.generation

    @property
    def acts(self) -> bool:
        """True if this controller acts, or has no peers."""
        return self.pair is None or self.pair.is_acting

    @property
    def hands_over(self) -> bool:
        """True if a peer may take over at any moment, as it was asked to."""
        return self.pair is not None and self.pair.hands_over

    def ask_to_hand_over(self, answer: HandoverAnswer | None = None) -> None:
        """Have a peer take over; other threads and handlers of signals, which need no answer, may call this."""
        self._asked.append(answer)

    def role_told(self, switch: str, reported: int | None) -> None:
        """Claim the role of master of a switch, which has told the greatest generation id that it has seen.

        A switch that says that it has met a later controller since it was ours is left alone while the others are
        asked. One that is met for the first time may have any generation id: ours is then raised above it.
        """
        now, connections = self._runtime.now(), self._switches.connections
        if self.pair is not None:
            self.pair.seen(switch, reported, now)
            if not self.pair.is_acting:
                connections[switch].stand_by()
                return
        before = self.claims.generation
        is_ours, reason = self.claims.met(switch, reported), f"generation id {reported or 0:016x}"
        if self.is_displaced:
            if is_ours:
                self.verification.vouched(switch, now)
            else:
                self.verification.denied(switch, reason, now)
            return
        if not is_ours:
            self.displaced(switch, reason)
            return
        if self.claims.generation != before:
            for other, connection in connections.items():
                connection.claim_again(self.claims.of(other))
        self._start(switch, now)

    def left(self, switch: str) -> None:
        """Take in that the connection of a switch has ended."""
        self.verification.left(switch)

    def _start(self, switch: str, now: float) -> None:
        """Claim a switch from now on, and read it."""
        self.verification.claimed(switch, now)
        self._switches.connections[switch].start(self.claims.of(switch))

    def _verify(self, now: float) -> None:
        """Verify what switches say of other masters; call this regularly, and when one has said something new."""
        connections = {switch: each for switch, each in self._switches.connections.items() if not each.is_given_up}
        if self.is_displaced:
            if self.verification.is_to_look_again(now):
                for connection in connections.values():
                    connection.ask_for_role()
            if self.verification.is_wrong(connections, now):
                self._come_back(now)
            return
        if self.verification.is_to_be_asked(now):
            for switch, connection in connections.items():
                if not self.verification.is_denying(switch):
                    connection.claim_again(self.claims.of(switch), partial(self._obeyed, switch, now))
        if self.verification.is_lost(connections, now):
            self._lose_role(self.verification.denials(connections), now)
            return
        for switch in self.verification.due(connections, now):
            self.claims.left(switch)  # whatever id it tells, it is claimed above that
            self._policy.begun(switch)
            self._switches.metrics.began(switch)
            connections[switch].ask_for_role()

    def _obeyed(self, switch: str, claimed_at: float) -> None:
        self.verification.obeyed(switch, claimed_at)
        self._verify(self._runtime.now())

    def displaced(self, switch: str, reason: str) -> None:
        """Take in that a switch says that it has another master: leave it alone until the others have answered."""
        now, connection = self._runtime.now(), self._switches.connections.get(switch)
        if self.is_displaced or not self.acts:
            return
        if connection is not None:
            connection.yield_to_other()  # some applications send it messages of their own
        self.verification.denied(switch, reason, now)
        times = self._runtime.reports.occurred((event_log.ROLE_DENIED, switch), now)
        if times is not None:
            self._runtime.log.write(event_log.ROLE_DENIED, switch=switch, reason=reason, times=times)
            words = "switch %s says that it has another master (%s)%s: others are asked"
            self._runtime.logger.warning(words, switch, reason, repeated(times))
        self._switches.metrics.left_to_peer(switch)
        self._policy.left_to_other(switch)
        self._verify(now)

    def _lose_role(self, denials: Mapping[str, str], now: float) -> None:
        """Stand down: most of the switches that answer say that they have another master, for the given reasons."""
        found = _others_have(denials, len(self._switches.connections))
        if self.pair is not None:
            self.pair.displaced(now)
            self._refusal = f"{found}, but no peer has said that it acts"  # one may do so soon
            self._give_up_acting(found)
            return
        self.is_displaced = True
        switch, reason = min(denials.items())
        self._runtime.log.write(event_log.ROLE_LOST, switch=switch, error=reason, switches=len(denials))
        self._runtime.logger.error("this controller stays quiet: %s", found)
        for connection in self._switches.connections.values():
            connection.yield_to_other()

    def _come_back(self, now: float) -> None:
        """Act again, as at most half of the switches say that they have another master."""
        self.is_displaced = False
        self._runtime.log.write(event_log.ROLE_TAKEN, generation=self.claims.generation)
        self._runtime.logger.warning("most switches have no other master: this controller acts again")
        self._claim_all(now)

    def _claim_all(self, now: float) -> None:
        """Claim all switches and read them, but for those that deny this controller their role."""
        for switch in self._switches.connections:
            self._switches.metrics.began(switch)
            self._policy.begun(switch)
            if not self.verification.is_denying(switch):
                self._start(switch, now)

    def heard_beat(self, beat: Beat) -> None:
        """Take in a peer's sign of life."""
        pair = self.pair
        if pair is None or beat.process == self.process:
            return  # among the addresses of peers is one of ours
        if beat.instance == pair.instance and not pair.is_acting:
            # Both have drawn the same number, which must tell generation ids apart.
            self.claims = Claims()
            pair.instance = self.claims.instance
        pair.heard(beat, self._runtime.now())
        if beat.is_acting and not pair.is_acting and is_later(beat.generation, self.claims.generation):
            self._handed_over()

    def tend(self, now: float) -> None:
        """Renew the claims of this controller or ask for those of others, and change its part if that is due."""
        self._take_requests(now)
        self._verify(now)
        if self.pair is None or now < self._next_beat:
            return
        self._next_beat = now + BEAT
        for connection in self._switches.connections.values():
            self.pair.seen(connection.switch, connection.seen, now)
            if not self.pair.is_acting:
                connection.poll_role()
        decision = self.pair.look(self.claims.generation, frozenset(self._switches.connections), now)
        if decision is Decision.TAKE_OVER:
            self._take_over()
        elif decision is Decision.STAND_BY:
            self._give_up_acting("a peer acts")
            self._handed_over()
        elif self.pair.is_acting:
            self.claims.renewed()
            for switch, connection in self._switches.connections.items():
                connection.claim_again(self.claims.of(switch))
        self._look_for_successor(self.pair, now)
        self._note_unlisted(self.pair, now)
        self.tell_peers()

    def tell_peers(self) -> None:
        """Send peers a sign of life now."""
        pair, reach = self.pair, frozenset(self._switches.connections)
        if pair is not None:
            generation = self.claims.generation
            hears, address = pair.hears, self._address
            part = pair.instance, pair.is_acting, generation, reach, pair.hands_over
            self._policy.send_beat(Beat(*part, self.process, hears, address))

    def _look_for_successor(self, pair: Pair, now: float) -> None:
        """Log when another controller could take over, and when none could any more."""
        has_successor = pair.is_acting and pair.obstacle(frozenset(self._switches.connections), now) is None
        if has_successor != self._has_successor and pair.is_acting:
            self._runtime.log.write(event_log.SUCCESSOR_READY if has_successor else event_log.SUCCESSOR_GONE)
        self._has_successor = has_successor
        self._switches.metrics.part_among_peers(is_acting=pair.is_acting, has_successor=has_successor)

    def _note_unlisted(self, pair: Pair, now: float) -> None:
        """Log the controllers that do not list each other, as one of them may act by its own plan one day."""
        found: dict[str | None, str | None] = {beat.process: beat.address for beat in pair.unlisted(now)}
        if pair.is_unheard(now):
            found[None] = None
        for process in found.keys() - self._unlisted:
            address = found[process]
            times = self._runtime.reports.occurred((event_log.PEER_UNLISTED, process is None), now)
            if times is not None:
                self._runtime.log.write(event_log.PEER_UNLISTED, address=address, times=times)
                heard = f"the controller at {address or 'an unknown address'} is heard, but does not hear this one"
                problem = "another controller acts, but none is heard" if process is None else heard
                self._runtime.logger.warning("%s%s: each needs the others as --peer", problem, repeated(times))
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
            if self.pair is not None:
                self.pair.hand_over()
        if self._asking and now >= self._hands_over_until and self.pair is not None:
            self.pair.hands_over = False
            self._refuse_handovers()

    def _obstacle(self, now: float) -> str | None:
        """Return why no peer can take over now, None if one can."""
        if self.pair is None:
            return SINGLE
        return (
            self.pair.obstacle(frozenset(self._switches.connections), now) if self.pair.is_acting else STANDS_BY_ITSELF
        )

    def _refuse_handover(self, answer: HandoverAnswer | None, reason: str) -> None:
        times: int | None = 1
        if answer is not None:
            answer(reason)
            times = self._runtime.reports.occurred(
                (event_log.HANDOVER_REFUSED, reason), self._runtime.now()
            )  # anybody may ask
        if times is not None:
            self._runtime.log.write(event_log.HANDOVER_REFUSED, reason=reason, times=times)
            self._runtime.logger.warning("no handover: %s%s", reason, repeated(times))

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
        now = self._runtime.now()
        self._refuse_handovers()
        self.verification = RoleVerification()
        seen = {switch: connection.seen for switch, connection in self._switches.connections.items()}
        self.claims.begun_anew()
        self.claims.raised_above((*seen.values(), *(self.pair.generations if self.pair is not None else ())))
        for switch, generation in seen.items():
            self.claims.met(switch, generation)
        self._runtime.log.write(event_log.ROLE_TAKEN, generation=self.claims.generation)
        claimed = f"{len(self._switches.connections)} switches by generation id {self.claims.generation:016x}"
        self._runtime.logger.warning("this controller acts from now on: it claims %s", claimed)
        self._switches.gateway.forget()
        self._policy.taken_over()
        self._claim_all(now)

    def _give_up_acting(self, reason: str) -> None:
        self.verification = RoleVerification()
        self._switches.compare_foreign_anew()
        self._has_successor = False  # logged anew after the next takeover
        self._runtime.log.write(event_log.ROLE_YIELDED, reason=reason)
        self._runtime.logger.warning("this controller stands by from now on: %s", reason)
        for switch, connection in self._switches.connections.items():
            self._switches.metrics.left_to_peer(switch)
            self._policy.left_to_peer(switch)
            connection.stand_by()


def _others_have(denials: Mapping[str, str], connected: int) -> str:
    """Return in words how many switches have another master, with the first of their reasons."""
    switch, reason = min(denials.items())
    return f"{len(denials)} of {connected} switches have another master (switch {switch}: {reason})"
