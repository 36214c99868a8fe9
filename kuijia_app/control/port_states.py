"""States of the switches' ports as they describe them, in full: what carries frames, and what is wrong; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.tables.identifiers import FIRST_BFD_PORT, LAST_PORT

SETTLES = 1.0
"""Seconds that a switch may take to call a port live after its carrier has come."""

MOST_OTHERS = 8
"""Ports of a switch outside the plan that are remembered, to name them where one of the plan is missing."""

MOST_COMING = 1024
"""Ports of a switch that may be those of sessions of the next plan, and are remembered for it."""

KINDS = (
    FindingKind.PORT_MISSING,
    FindingKind.PORT_NOT_LIVE,
    FindingKind.PORT_DISABLED,
    FindingKind.PORT_UNPROBED,
    FindingKind.SESSION_PORT_MISSING,
)


@dataclass(frozen=True, slots=True)
class PortState:
    """A port's configuration and state (OpenFlow 1.3.5, 7.2.1).

    Attributes:
        number: OpenFlow number.
        name: of its device, as the switch calls it.
        is_up: it is switched on and has a carrier: neither OFPPC_PORT_DOWN nor OFPPS_LINK_DOWN.
        is_live: the switch says that it is usable: OFPPS_LIVE.
        is_blocked: a protocol such as spanning tree keeps it from forwarding: OFPPS_BLOCKED.
        no_forward, no_receive: it drops what it should send or receive: OFPPC_NO_FWD, OFPPC_NO_RECV.
        no_packet_in: frames that arrive there are not sent to controllers: OFPPC_NO_PACKET_IN.
    """

    number: int
    name: str = ""
    is_up: bool = True
    is_live: bool = False
    is_blocked: bool = False
    no_forward: bool = False
    no_receive: bool = False
    no_packet_in: bool = False

    @property
    def drops(self) -> bool:
        """True if it is up, and yet drops frames on purpose."""
        return self.is_up and (self.is_blocked or self.no_forward or self.no_receive)


class PortStates:
    """The ports of all switches. Times are seconds of any clock.

    Only some switches say that ports are live: one that never calls any port so is not asked for it. A port that is up
    but not live is down: it runs a protocol that has no partner, such as BFD or LACP. Any thread may ask for findings.
    """

    def __init__(self) -> None:
        self._states: dict[str, Mapping[int, PortState]] = {}
        """Mappings are replaced and never changed, as another thread may iterate over one."""
        self._unsettled: dict[str, dict[int, float]] = {}
        self._says_live: set[str] = set()

    def described(
        self, switch: str, states: Mapping[int, PortState], known: Collection[int], now: float
    ) -> dict[int, bool]:
        """Take in all ports of a switch; `known` are those of the plan. Return which ports are live."""
        if any(state.is_live for state in states.values()):
            self._says_live.add(switch)
        others = [number for number in sorted(states) if number not in known and number <= LAST_PORT]
        coming = [number for number in others if number >= FIRST_BFD_PORT][:MOST_COMING]
        others = [number for number in others if number < FIRST_BFD_PORT][:MOST_OTHERS]
        self._states[switch] = {number: states[number] for number in (*known, *coming, *others) if number in states}
        since = self._unsettled.get(switch, {})
        self._unsettled[switch] = {number: since[number] for number in self._states[switch] if number in since}
        for state in self._states[switch].values():
            self._note(switch, state, now)
        return {number: self._carries(switch, state) for number, state in states.items()}

    def changed(self, switch: str, state: PortState, now: float, *, is_there: bool) -> bool:
        """Take in a port-status about a port that may matter; return True if the port is live."""
        others = {number: other for number, other in self._states.get(switch, {}).items() if number != state.number}
        if state.is_live:
            self._says_live.add(switch)
        if not is_there:
            self._states[switch] = others
            return False
        self._states[switch] = {**others, state.number: state}
        self._note(switch, state, now)
        return self._carries(switch, state)

    def may_matter(self, switch: str, port: int, known: Collection[int]) -> bool:
        """Return True for a port of the plan, and for others that are remembered or for which there is room.

        Such a port may be that of a session of the next plan, or the place of one of this plan that is missing.
        """
        states = self._states.get(switch, {})
        if port in known or port in states:
            return True
        if port >= FIRST_BFD_PORT:
            return port <= LAST_PORT and len(states) < MOST_COMING
        return sum(each < FIRST_BFD_PORT and each not in known for each in states) < MOST_OTHERS

    def forget(self, switch: str) -> None:
        """Forget a switch that has gone."""
        self._states.pop(switch, None)
        self._unsettled.pop(switch, None)

    def has_described(self, switch: str) -> bool:
        """Return True if the ports of a switch are known."""
        return switch in self._states

    def state(self, switch: str, port: int) -> PortState | None:
        """Return the state of a port, None if the switch has not described it."""
        return self._states.get(switch, {}).get(port)

    def is_usable(self, switch: str, port: int) -> bool:
        """Return True if a port carries frames both ways, as far as its switch says."""
        state = self.state(switch, port)
        return state is not None and self._carries(switch, state) and not state.drops

    @property
    def dropping(self) -> frozenset[tuple[str, int]]:
        """The ports that drop frames although they are up."""
        return frozenset(
            (switch, port) for switch, states in self._states.items() for port, state in states.items() if state.drops
        )

    def findings(
        self, switch: str, uses: Mapping[int, str], sessions: Iterable[int], now: float
    ) -> Iterator[SwitchFinding]:
        """Yield what is wrong with the ports of a switch that has described them.

        Args:
            switch: its name.
            uses: for the number of each port of the plan, what it leads to, in words.
            sessions: numbers of the ports that BFD sessions need.
            now: the time.
        """
        states = self._states.get(switch)
        if states is None:
            return
        others = [state for number, state in states.items() if number not in uses]
        for port, use in uses.items():
            state = states.get(port)
            if state is None:
                yield _missing(switch, port, use, others)
            elif state.is_up:
                yield from self._faults(switch, state, use, now)
        missing = [number for number in sessions if number not in states]
        if missing:
            listed = ", ".join(map(str, missing[:8])) + (", ..." if len(missing) > 8 else "")
            yield SwitchFinding(
                FindingKey(FindingKind.SESSION_PORT_MISSING, switch),
                f"{len(missing)} ports of BFD sessions are missing: {listed}",
                "make them, as `kuijia switches prepare` does, or use --liveness controller",
                is_lack=True,
            )

    def _faults(self, switch: str, state: PortState, use: str, now: float) -> Iterator[SwitchFinding]:
        named = f"port {state.number}{_device(state)} to {use}"

        def finding(kind: FindingKind, problem: str, what_to_do: str) -> SwitchFinding:
            return SwitchFinding(FindingKey(kind, switch, state.number), f"{named} {problem}", what_to_do)

        unsettled = now - self._unsettled.get(switch, {}).get(state.number, now)
        if not self._carries(switch, state) and unsettled >= SETTLES:
            yield finding(
                FindingKind.PORT_NOT_LIVE,
                "has a carrier, but the switch does not call it live",
                "look at BFD, CFM or LACP on it: a session or bond without a partner",
            )
        said = {"is blocked": state.is_blocked, "has no-forward": state.no_forward, "has no-receive": state.no_receive}
        wrong = [words for words, holds in said.items() if holds]
        if wrong:
            what_to_do = "let it forward and receive: `ovs-ofctl mod-port BRIDGE PORT forward` and `receive`"
            yield finding(FindingKind.PORT_DISABLED, f"{' and '.join(wrong)}: it drops frames", what_to_do)
        if state.no_packet_in:
            what_to_do = "allow them: `ovs-ofctl mod-port BRIDGE PORT packet-in`"
            yield finding(FindingKind.PORT_UNPROBED, "has no-packet-in: probes may not reach us", what_to_do)

    def _carries(self, switch: str, state: PortState) -> bool:
        return state.is_up and (state.is_live or switch not in self._says_live)

    def _note(self, switch: str, state: PortState, now: float) -> None:
        unsettled = self._unsettled.setdefault(switch, {})
        if not state.is_up or state.is_live:
            unsettled.pop(state.number, None)
        else:
            unsettled.setdefault(state.number, now)


def _missing(switch: str, port: int, use: str, others: Iterable[PortState]) -> SwitchFinding:
    spare = ", ".join(f"{state.number}{_device(state)}" for state in others)
    has = f"; it has port {spare}, which the plan does not use" if spare else ""
    return SwitchFinding(
        FindingKey(FindingKind.PORT_MISSING, switch, port),
        f"port {port} to {use} is missing{has}",
        "give the device that number (ofport_request), or correct the wiring file",
    )


def _device(state: PortState) -> str:
    return f" ({state.name})" if state.name else ""
