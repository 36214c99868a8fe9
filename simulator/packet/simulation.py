"""Simulation of flows over a network, packet by packet."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kuijia_base.errors import UnsoundError
from kuijia_base.quantities import exact
from simulator.packet import _core
from simulator.packet.faults import last_change
from simulator.packet.flows import Flows, Path
from simulator.packet.load_balancing import TableSwitched
from simulator.packet.network import Network
from simulator.packet.results import (
    CreditResults,
    FlowResults,
    FlowStates,
    LinkResults,
    PathTotals,
    QueueResults,
    Totals,
)
from simulator.packet.round_trips import ready_transports
from simulator.packet.scenario import Setting, check_sizes, core_rules, core_scenario, flow_columns
from simulator.packet.units import LONGEST, picoseconds, seconds

_EVENTS_AT_A_TIME = 1_000_000
"""Events between two checks for Ctrl-C and calls of progress: about a tenth of a second."""

_LESS_OFTEN = 8
"""Times as many by several threads, which all wait for the last one at each check."""

NO_SLOT = _core.NONE
"""Slot of a flow whose slot follows from its hash."""

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
        scenario, table = core_scenario(self.network, self.flows, self.setting)
        self._table = table
        self._transports = len(self.flows)
        self._calls: list[tuple[int, int, Callable[[], object]]] = []
        self._called = 0
        with _refusals():
            threads = self.setting.threads
            self._events_at_a_time = _EVENTS_AT_A_TIME * (_LESS_OFTEN if threads > 1 else 1)
            self._core = _core.PartedSimulation(scenario, threads) if threads > 1 else _core.Simulation(scenario)

    def run(self, until: float = LONGEST, progress: Progress | None = None, patience: float = LONGEST) -> bool:
        """Run until `until` seconds, or until no events are left and no functions of `at` are due.

        With `patience` the run also ends when no flow has received anything new for so many seconds after the last
        start, failure or repair: a fault may leave flows that try again for ever.

        Returns:
            True when this is reached, False after Ctrl-C; results up to then can still be read.
        """
        end, patient = int(picoseconds(until)), int(picoseconds(patience))
        try:
            while True:
                call = self._calls[0][0] if self._calls else None
                stop = end if call is None else min(end, call)
                self._run_to(stop, progress, patient if call is None else stop)
                if call is None or call > end:
                    return True
                self._steered.advance(call)
                heapq.heappop(self._calls)[2]()
        except KeyboardInterrupt:
            return False

    def complete(self, until: float = LONGEST, progress: Progress | None = None, patience: float = LONGEST) -> None:
        """Run as `run` does, for results that are worth nothing before `until` is reached.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C.
        """
        if not self.run(until, progress, patience):
            raise KeyboardInterrupt

    def _run_to(self, stop: int, progress: Progress | None, patience: int) -> None:
        """Run to a moment, or until flows have received nothing new for so long."""
        settled = int(picoseconds(self._settled()))
        before, received = -1, 0
        while before != received:
            goal = min(stop, max(self._core.now, settled) + patience)
            while not self._core.run(goal, self._events_at_a_time):
                if progress is not None:
                    progress(self)
            if goal == stop or self._core.now < goal:
                return
            before, received = received, int(self._core.flows()["goodput"].sum())

    def _settled(self) -> float:
        """Return the time in seconds of the last start of a flow, and the last failure or repair that is planned."""
        outages = (time + outage.detected for outage in self.setting.outages for time in (outage.fails, outage.heals))
        planned = max((time for time in outages if time <= LONGEST), default=0.0)
        return max(float(self._start.max(initial=0.0)), planned, last_change(self.setting.faults))

    def at(self, time: float, call: Callable[[], object]) -> None:
        """Call a function at a time in seconds, after all that happens until then: a controller in the loop.

        The function may read and steer the simulation, and ask for its next call.
        """
        moment = int(picoseconds(time))
        if moment < self._core.now:
            raise UnsoundError(("at",), f"{exact(time)} s is in the past", f"{exact(self.now)} s or later")
        self._called += 1
        heapq.heappush(self._calls, (moment, self._called, call))

    def add_flows(self, flows: Flows, *, around: AbstractSet[int] = frozenset()) -> range:
        """Add flows that start now or later, on paths around failed links; return their numbers.

        Raises:
            UnsoundError, NoPathError: as for flows that are there from the beginning.
        """
        by_tables = isinstance(self.setting.load_balancer.forwarding, TableSwitched)
        check_sizes(self.network, [flows], by_tables=by_tables)
        if flows.count and picoseconds(flows.start).min() < self._core.now:
            raise UnsoundError(
                ("flows", "start"), f"{exact(flows.start.min())} s is in the past", f"{exact(self.now)} s or later"
            )
        routes, sets = (table[0].size - 1 for table in (self._table.arrays(), self._table.sets()))
        first = len(self._table.taken)
        self._table.extend([flows], around)
        columns = flow_columns([flows], self._table.taken[first:], self._transports)
        (transport,) = ready_transports(self.network, [flows], self._table, first)
        with _refusals():
            self._steered.add_transport(core_rules(transport))
            self._transports += 1
            self._add_paths(routes, sets)
            self._steered.add_flows(**columns)
        self.flows = [*self.flows, flows]
        self._start = np.concatenate([self._start, seconds(picoseconds(flows.start))])
        return range(first, first + flows.count)

    def move(self, flow: int, path: Path) -> None:
        """Let a flow's packets take other paths from now on; those on their way stay on theirs.

        Raises:
            UnsoundError: a path does not lead from one end of the flow to the other.
        """
        self.move_all({flow: path})

    def move_all(self, paths: Mapping[int, Path]) -> None:
        """Move many flows as `move` does, in much less time than one by one.

        Raises:
            UnsoundError: as for `move`; the flows before this one have moved.
        """
        routes, sets = (table[0].size - 1 for table in (self._table.arrays(), self._table.sets()))
        moved: list[tuple[int, int, int]] = []
        try:
            for flow, path in paths.items():
                moved.append((flow, *self._table.move(flow, path)))
        finally:
            self._add_paths(routes, sets)
            for change in moved:
                self._steered.move_flow(*change)

    def label(self, path: Sequence[int]) -> int:
        """Return the label of packets that senders send on this path, given as numbers of links.

        A path that no flow has had is put into the tables of its switches.

        Raises:
            UnsoundError: its links do not lead from one to the next.
        """
        routes, sets = (table[0].size - 1 for table in (self._table.arrays(), self._table.sets()))
        number = self._table.number(path)
        if number == routes:
            self._add_paths(routes, sets)
        return number

    def label_table(self, switch: int) -> dict[int, int]:
        """Return the link by which a switch sends the packets with each label.

        Raises:
            UnsoundError: the node is no switch, or switches do not forward by labels.
        """
        with _refusals():
            labels, links = self._steered.label_table(switch)
        return dict(zip(labels.tolist(), links.tolist(), strict=True))

    def set_label_table(self, switch: int, table: Mapping[int, int]) -> None:
        """Replace a switch's label table from now on; paths that senders take later come to it.

        Raises:
            UnsoundError: as for `label_table`, or a link does not leave the switch, or a label is not below 2^24.
        """
        labels = sorted(table)
        for what, numbers, end in (("labels", table, 1 << 24), ("links", table.values(), len(self.network.links))):
            if (wrong := next((number for number in numbers if not 0 <= number < end), None)) is not None:
                raise UnsoundError((what,), f"{wrong} is none", f"0 to {end - 1}")
        with _refusals():
            self._steered.set_label_table(
                switch, np.array(labels, np.uint32), np.array([table[label] for label in labels], np.uint32)
            )

    def fail(self, link: int, *, known: bool = True) -> None:
        """Fail a link now: packets that wait for it, are on it or come later are lost.

        Args:
            link: its number.
            known: True if switches that forward packets by themselves learn of it at once.
        """
        self._set_link(link, up=False, known=known)

    def heal(self, link: int, *, known: bool = True) -> None:
        """Repair a link now; arguments as of `fail`."""
        self._set_link(link, up=True, known=known)

    def set_tables(self, switch: int, rows: _core.TableRows) -> None:
        """Replace all flow entries and groups of a switch.

        Raises:
            UnsoundError: rows are invalid, the node is no switch, or switches have no flow tables.
        """
        with _refusals():
            self._steered.set_tables(switch, rows)

    def set_groups(self, switch: int, rows: _core.TableRows) -> None:
        """Add groups to a switch, or replace those with the same numbers; raises UnsoundError as `set_tables`."""
        with _refusals():
            self._steered.set_groups(switch, rows)

    def set_port(self, switch: int, port: int, *, live: bool) -> None:
        """Set if a port of a switch with flow tables counts as live, for the buckets that watch it.

        Raises:
            UnsoundError: the node is no switch, or switches have no flow tables.
        """
        with _refusals():
            self._steered.set_port(switch, port, live)

    def set_slots(self, first: int, slots: NDArray[np.uint32]) -> None:
        """Give the flows from number `first` on these slots in groups that select; `NO_SLOT` for one by hash.

        Raises:
            UnsoundError: switches have no flow tables.
        """
        with _refusals():
            self._steered.set_slots(first, slots)

    def queue_counters(self, queues: int) -> QueueResults:
        """Return the counters of the first queues of all links; zeros for those without strict priority."""
        return QueueResults(**self._steered.queue_counters(queues))

    def port_counters(self) -> dict[str, NDArray[Any]]:
        """Return views, not copies, of the packets and bytes counted at each link, as in `LinkResults`; read-only.

        The bytes that wait in the link's queue are `queued`, their maximum `queued_peak`. The values change when the
        simulation runs; call this again after a run, as packets are counted only on request.
        """
        return self._steered.port_counters()

    def flow_counters(self) -> dict[str, NDArray[Any]]:
        """Return views, not copies, of the numbers counted for each flow, as in `FlowResults`; read-only.

        They change when the simulation runs; call again after a run, as transports hand over their counters when
        somebody asks. Views from before `add_flows` may keep the values that they had then.
        """
        return self._steered.flow_counters()

    def _set_link(self, link: int, *, up: bool, known: bool) -> None:
        with _refusals():
            self._steered.set_link(link, up)
            if known:
                self._steered.set_known(link, up)

    def _add_paths(self, routes: int, sets: int) -> None:
        """Hand over the paths from number `routes` on, and the sets of paths from number `sets` on."""
        first_link, links = self._table.arrays()
        first_path, paths = self._table.sets()
        self._steered.add_paths(
            first_link[routes:] - first_link[routes],
            links[first_link[routes] :],
            first_path[sets:] - first_path[sets],
            paths[first_path[sets] :],
        )

    @property
    def _steered(self) -> _core.Simulation:
        if isinstance(self._core, _core.PartedSimulation):
            raise UnsoundError(("threads",), f"{self.setting.threads} cannot be steered, or read without copies", "1")
        return self._core

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

    def credit_results(self) -> CreditResults:
        return CreditResults(**self._core.credits())

    def totals(self) -> Totals:
        return Totals(**self._core.totals())

    def path_totals(self) -> PathTotals:
        return PathTotals(**self._core.path_totals())

    def probes(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the times of the samples in seconds, shape (T,), and the bytes queued, shape (T, probed links)."""
        times, queued = self._core.probes(len(self.setting.probed))
        return times / 1e12, queued


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise UnsoundError((), str(error), "a valid scenario") from error
