"""The scheduler in the loop of a packet simulation: its own polling, estimation and placement, with delays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.hedera.packet.forwarding import Forwarding, reverse_of
from hedera.network.data_centre import DataCentre
from hedera.scheduling.elephant_schedule import ElephantSchedule, Round
from hedera.scheduling.messages import COUNTER_IDLE_SECONDS
from hedera.scheduling.polling import CounterReading, FlowKey, Polls, ScheduledEntry
from simulator.packet.simulation import Simulation


@dataclass(frozen=True)
class Timing:
    """Times of the scheduler in seconds.

    Attributes:
        period: from one poll to the next.
        message_delay: of each message between scheduler and switches, one way.
    """

    period: float
    message_delay: float


def in_rounds(simulation: Simulation, timing: Timing, ask: Callable[[], Any], *steps: Callable[[Any], Any]) -> None:
    """Ask from the first period on; each step gets the result of the one before, a message's delay later."""

    def pass_on(value: object, left: Sequence[Callable[[Any], Any]]) -> None:
        if left:
            first, *others = left
            simulation.at(simulation.now + timing.message_delay, lambda: pass_on(first(value), others))

    def begin() -> None:
        pass_on(ask(), steps)
        simulation.at(simulation.now + timing.period, begin)

    simulation.at(timing.period, begin)


@dataclass(frozen=True)
class Counted:
    """A flow that a switch counts.

    Attributes:
        number: of the flow in the simulation.
        started: seconds when its first packet left.
        packet: bytes of its packets on the wire.
    """

    number: int
    started: float
    packet: int


class ControlLoop:
    """Polls edge switches, runs rounds and moves flows when entries arrive, as `hedera.scheduler` does.

    A poll takes a message each way, entries another one: what a round sees is that much old, and what it decides takes
    effect that much later. The decisions themselves take no simulated time. Counters are exact when they are read;
    those of flows that send nothing expire. Pure acknowledgements, some hundredth of a flow, are not counted.

    Attributes:
        rounds: results of all rounds until now.
    """

    def __init__(
        self,
        simulation: Simulation,
        centre: DataCentre,
        forwarding: Forwarding,
        schedule: ElephantSchedule,
        timing: Timing,
    ) -> None:
        self.rounds: list[Round] = []
        self._simulation, self._forwarding, self._schedule = simulation, forwarding, schedule
        self._polls = Polls.every(timing.period, centre.fabric.nic_rate)
        self._edge_of = {site.address: site.switch for site in centre.wiring.sites}
        self._edges = tuple(dict.fromkeys(self._edge_of.values()))
        self._flows: dict[FlowKey, Counted] = {}
        self._entries: dict[tuple[str, FlowKey], ScheduledEntry] = {}
        self._paths: dict[FlowKey, tuple[int, ...]] = {}
        self._last_sent: dict[FlowKey, tuple[int, float]] = {}
        in_rounds(simulation, timing, self._ask, self._read, self._place, self._apply)

    def count(self, flow: FlowKey, counted: Counted, path: tuple[int, ...]) -> None:
        """Count a flow from now on, which begins on this path."""
        self._flows[flow] = counted
        self._paths[flow] = path

    def _ask(self) -> list[str]:
        return [switch for switch in self._edges if self._polls.ask(switch, self._simulation.now)]

    def _read(self, asked: Sequence[str]) -> dict[str, list[CounterReading]]:
        now = self._simulation.now
        sent = self._simulation.flow_counters()["sent"]
        answers: dict[str, list[CounterReading]] = {switch: [] for switch in asked}
        for flow, counted in self._flows.items():
            edge = self._edge_of[flow.source]
            if edge not in answers or counted.started > now:
                continue
            packets = int(sent[counted.number])
            before, since = self._last_sent.get(flow, (-1, now))
            if packets != before:
                self._last_sent[flow] = packets, now
            elif now - since > COUNTER_IDLE_SECONDS:
                continue
            answers[edge].append(CounterReading(flow, packets * counted.packet, now - counted.started))
        return answers

    def _place(self, answers: dict[str, list[CounterReading]]) -> Round:
        for switch, readings in answers.items():
            self._polls.answered(switch, self._simulation.now, readings, more=False)
        found = self._schedule.run(self._polls.rates())
        self.rounds.append(found)
        return found

    def _apply(self, found: Round) -> None:
        """Change the entries of switches, and the paths of the flows that these entries are for."""
        for entry in found.deleted:
            if self._entries.get((entry.switch, entry.flow)) == entry:
                del self._entries[entry.switch, entry.flow]
        self._entries.update(((entry.switch, entry.flow), entry) for entry in found.put)
        for flow in dict.fromkeys(entry.flow for entry in (*found.deleted, *found.put)):
            path = self._forwarding.path(flow, self._entries)
            if path != self._paths[flow]:
                self._paths[flow] = path
                back = self._forwarding.path(reverse_of(flow), {})
                self._simulation.move(self._flows[flow].number, (path, back))
