"""Simulation of flows over a network, packet by packet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from simulator.packet import _core
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.results import FlowResults, FlowStates, LinkResults, Totals
from simulator.packet.scenario import Setting, core_scenario
from simulator.packet.units import LONGEST, picoseconds, seconds

_EVENTS_AT_A_TIME = 1_000_000
"""Events between two checks for Ctrl-C and calls of progress: about a tenth of a second."""

Progress = Callable[["Simulation"], None]


@dataclass
class Simulation:
    """A scenario and its state; results can be read at any time.

    Raises:
        UnsoundError: the scenario is invalid; the message says why.
        NoPathError: a flow has no path to its target.
    """

    network: Network
    flows: Sequence[Flows]
    setting: Setting = field(default_factory=Setting)

    def __post_init__(self) -> None:
        self._start = seconds(picoseconds(np.concatenate([np.empty(0), *(group.start for group in self.flows)])))
        scenario = core_scenario(self.network, self.flows, self.setting)
        try:
            self._core = _core.Simulation(scenario)
        except ValueError as error:
            raise UnsoundError((), str(error), "a valid scenario") from error

    def run(self, until: float = LONGEST, progress: Progress | None = None) -> bool:
        """Run until `until` seconds, or until no events are left.

        Returns:
            True when this is reached, False after Ctrl-C; results up to then can still be read.
        """
        end = int(picoseconds(until))
        try:
            while not self._core.run(end, _EVENTS_AT_A_TIME):
                if progress is not None:
                    progress(self)
        except KeyboardInterrupt:
            return False
        return True

    @property
    def now(self) -> float:
        """Simulated time in seconds."""
        return self._core.now / 1e12

    @property
    def unfinished(self) -> int:
        """Number of finite flows that have not ended."""
        return self._core.unfinished

    def flow_results(self) -> FlowResults:
        columns = self._core.flows()
        finished, acknowledged = (seconds(columns.pop(name)) for name in ("finished", "acknowledged"))
        return FlowResults(start=self._start, finished=finished, acknowledged=acknowledged, **columns)

    def link_results(self) -> LinkResults:
        return LinkResults(**self._core.links())

    def flow_states(self) -> FlowStates:
        columns = self._core.flow_state()
        return FlowStates(columns["window"], columns["outstanding"], columns["round_trip"] / 1e12)

    def totals(self) -> Totals:
        return Totals(**self._core.totals())

    def probes(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the times of the samples in seconds, shape (T,), and the bytes queued, shape (T, probed links)."""
        times, queued = self._core.probes(len(self.setting.probed))
        return times / 1e12, queued
