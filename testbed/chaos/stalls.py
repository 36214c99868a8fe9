"""Watchdogs that notice when this machine does not run the switches, or the controllers, in time."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from testbed.chaos import stall_program
from testbed.machine.ovs import SWITCH_NICENESS
from testbed.machine.programs import StartedProgram
from testbed.network.lab_network import LabNetwork
from testbed.traffic.recorders import end_recorder, start_recorder

_END_SECONDS = 20.0
_PROGRAM = "the program that watches this machine"

Spans = tuple[tuple[float, float], ...]


class StallWatch:
    """One watching program of the switches' priority and one of the controllers', from `start` to `stop`."""

    def __init__(self, network: LabNetwork) -> None:
        self._host = network.host(network.wiring.sites[0].name)
        self._programs: list[StartedProgram] = []

    def __enter__(self) -> StallWatch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for program in self._programs:
            program.stop()

    def start(self) -> None:
        """Start to watch; raises TestbedError if a program failed."""
        file = Path(stall_program.__file__)
        self._programs = [
            start_recorder(self._host, file, [str(niceness)], "ticking", _PROGRAM)
            for niceness in (SWITCH_NICENESS, os.getpriority(os.PRIO_PROCESS, 0))  # controllers inherit ours
        ]

    def stop(self) -> tuple[Spans, Spans]:
        """Return the spans in which a process like the switches was not run, and one like the controllers."""
        of_switches, of_controllers = (
            tuple((start, end) for start, end in end_recorder(each, self._host.name, _END_SECONDS, _PROGRAM)["stalls"])
            for each in self._programs
        )
        return of_switches, of_controllers
