"""Breaks controllers: kills and freezes them, sets their clocks, cuts what they say to switches and to each other."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from testbed.chaos import clock_program
from testbed.chaos.relay import Channel, Relay, Rule
from testbed.controllers.application_process import Listening
from testbed.controllers.controller_process import ControllerProcess, Peers
from testbed.controllers.controller_set import ControllerSet, LabController
from testbed.lab.lab import Lab, ports_of
from testbed.lab.lab_options import LabOptions

CLOCK_JUMP = 86_400.0
"""Seconds by which a wall clock is set forward or back."""

_HOST = "127.0.0.1"

Mend = Callable[[], None]


def members_of(controller: LabController) -> tuple[ControllerProcess, ...]:
    """Return the controllers of a lab, one or more."""
    return controller.members if isinstance(controller, ControllerSet) else (controller,)


def channels_of(switches: Sequence[str], options: LabOptions, listening: Listening) -> dict[Channel, int]:
    """Return the TCP port that each connection leads to: of each switch and each peer, to each controller."""
    ports = ports_of(options, listening)
    found = {(switch, number): port for switch in switches for number, port in enumerate(ports, 1)}
    peers = range(1, len(ports) + 1)
    return found | {(peer(a), b): ports[b - 1] + len(ports) for a in peers for b in peers if a != b}


def peer(number: int) -> str:
    """Return the name of a controller as one that connects to another."""
    return f"controller {number}"


class ControllerBreaker:
    """The controllers of a lab, with a relay in front of them and with clocks that can be set."""

    def __init__(self, lab: Lab, relay: Relay) -> None:
        self._lab = lab
        self._relay = relay
        self._members = members_of(lab.controller)
        self._clocks = {member: lab.directory / f"clock-{number}" for number, member in enumerate(self._members, 1)}

    def take_over(self) -> None:
        """Start the controllers again behind the relay and with clocks of their own; return when all is programmed."""
        lab, relay = self._lab, self._relay
        numbers = range(1, len(self._members) + 1)
        lab.controller.kill()
        for number, member in zip(numbers, self._members, strict=True):
            self._set_clock(member, 0.0)
            member.wrap = partial(_with_clock, self._clocks[member])
            if member.peers is not None:
                others = tuple(f"{_HOST}:{relay.ports[peer(number), other]}" for other in numbers if other != number)
                member.peers = Peers(member.peers.listen, others)
        switches = lab.plan.topology.nodes
        lab.emulated_network.connect_each(
            {switch: [relay.ports[switch, number] for number in numbers] for switch in switches}
        )
        lab.controller.start()
        lab.controller.wait_until_ready(switches)

    def kill(self) -> Mend:
        self._lab.kill_controller()
        return self._lab.controller.start

    def kill_standby(self) -> Mend:
        for member in self._members:
            if member is not self._acting:
                member.kill()
        return self._lab.controller.start

    def freeze(self) -> Mend:
        return freeze(self._acting.pid)

    def hand_over(self) -> Mend:
        self._acting.hand_over()
        return nothing

    def set_clock(self, seconds: float) -> Mend:
        member = self._acting
        self._set_clock(member, seconds)
        return partial(self._set_clock, member, 0.0)

    def treat_peers(self, rule: Rule) -> Mend:
        """Treat all connections between the controllers by a rule; what it holds arrives late."""
        return self._treat({(peer(a), b): rule for a in self._numbers for b in self._numbers if a != b})

    def cut_from_acting(self) -> Mend:
        """Let the others no longer hear the controller that acts; it hears them."""
        return self._treat(one_way({self._acting_number}, set(self._numbers) - {self._acting_number}))

    def cut_to_acting(self) -> Mend:
        """Let the controller that acts no longer hear the others; they hear it."""
        return self._treat(one_way(set(self._numbers) - {self._acting_number}, {self._acting_number}))

    def treat(self, switch: str, rule: Rule) -> Mend:
        """Treat the connection of a switch to the controller that acts by a rule."""
        return self._treat({(switch, self._acting_number): rule})

    def reset(self, switch: str, *, all_controllers: bool = False) -> Mend:
        """End the connections of a switch to the controller that acts, or to all."""
        for number in self._numbers if all_controllers else [self._acting_number]:
            self._relay.reset((switch, number))
        return nothing

    @property
    def _numbers(self) -> range:
        return range(1, len(self._members) + 1)

    @property
    def _acting(self) -> ControllerProcess:
        return self._members[self._acting_number - 1]

    @property
    def _acting_number(self) -> int:
        controller = self._lab.controller
        return self._members.index(controller.acting) + 1 if isinstance(controller, ControllerSet) else 1

    def _treat(self, rules: Mapping[Channel, Rule]) -> Mend:
        for channel, rule in rules.items():
            self._relay.rule(channel, rule)

        def release() -> None:
            for channel in rules:
                self._relay.rule(channel, Rule())

        return release

    def _set_clock(self, member: ControllerProcess, seconds: float) -> None:
        # Written in place: the controller has mapped the file.
        file = os.open(self._clocks[member], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(file, clock_program.OFFSET.pack(round(seconds * 1e9)), 0)
        finally:
            os.close(file)


def one_way(silent: Iterable[int], deaf: Iterable[int]) -> dict[Channel, Rule]:
    """Return the rules by which the one controllers say nothing to the others, on connections of either side."""
    ends = [(a, b) for a in silent for b in deaf]
    theirs: dict[Channel, Rule] = {(peer(a), b): Rule(hold_from_near=True) for a, b in ends}
    return theirs | {(peer(b), a): Rule(hold_to_near=True) for a, b in ends}


def _with_clock(clock: Path, command: list[str]) -> list[str]:
    """Return the command that runs another one of Python with a clock that can be set."""
    program = command[2:] if command[:2] == [sys.executable, "-m"] else command
    return [sys.executable, "-m", clock_program.__name__, str(clock), *program]


def freeze(pid: int | None) -> Mend:
    """Stop a process until it is mended; nothing happens if there is none."""
    if pid is None:
        return nothing
    os.kill(pid, signal.SIGSTOP)

    def thaw() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    return thaw


def nothing() -> None:
    """Mend a fault that is over at once."""
