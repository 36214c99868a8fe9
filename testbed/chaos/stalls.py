"""Watchdogs that notice when this machine does not run the switches, or the controllers, in time."""

from __future__ import annotations

import os

from testbed.machine.ovs import SWITCH_NICENESS
from testbed.network.lab_network import LabNetwork
from testbed.traffic.recorders import Recorders

Spans = tuple[tuple[float, float], ...]


class StallWatch(Recorders):
    """One watching program of the switches' priority and one of the controllers', from `start` to `stop`."""

    def __init__(self, network: LabNetwork) -> None:
        super().__init__("the program that watches this machine")
        self._host = network.host(network.wiring.sites[0].name)

    def start(self) -> None:
        """Start to watch; raises TestbedError if a program failed."""
        for niceness in (SWITCH_NICENESS, os.getpriority(os.PRIO_PROCESS, 0)):  # controllers inherit ours
            self._launch(self._host, "watch-stalls", str(niceness))

    def stop(self) -> tuple[Spans, Spans]:
        """Return the spans in which a process like the switches was not run, and one like the controllers."""
        of_switches, of_controllers = (
            tuple((start / 1e9, end / 1e9) for start, end in each["stalls"]) for each in self._records("watch-stalls")
        )
        return of_switches, of_controllers
