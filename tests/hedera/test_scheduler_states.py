"""Whatever switches, links, flows and the clock do, and in whatever order: every switch ends with what is wanted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from hypothesis import settings
from hypothesis.stateful import precondition, rule

from hedera import scheduler
from hedera.scheduler import HederaScheduler, SchedulerTick
from hedera.scheduling.messages import SchedulerMessages
from hedera.scheduling.polling import FiveTuple
from hedera.scheduling.routes import routes_around
from tests.hedera.test_multi_rooted import leaf_spine
from tests.kuijia_app.control.applications import scheduler_of
from tests.kuijia_app.control.fake_switch import PARSER
from tests.kuijia_app.control.model_switch import Box
from tests.kuijia_app.control.switch_world import PICK, SwitchWorld, failed_cables

TCP = 6

NETWORK = leaf_spine(leaves=3, spines=2, hosts=1)


class SchedulerWorld(SwitchWorld):
    """Adds flows, and routes that are found while all the rest goes on."""

    application: HederaScheduler

    def __init__(self) -> None:
        super().__init__(scheduler)
        self._ticks: list[SchedulerTick] = []
        self._duration = 0

    def _made(self, folder: Path) -> HederaScheduler:
        return self.rig.enter_context(scheduler_of(NETWORK, folder))

    def _promised(self, box: Box) -> str:
        return box.differs_from(self.application._tables[box.name])

    def _tick(self) -> None:
        self._count()
        self.application.time_passed(SchedulerTick())

    @precondition(lambda self: self.application._sought is not None)
    @rule()
    def find_routes(self) -> None:
        """The background thread has its turn; what it has found waits in the application's queue."""
        failed, self.application._sought = self.application._sought, None
        assert failed is not None
        self._ticks.append(SchedulerTick(routes_around(self.application._routing, failed)))

    @precondition(lambda self: self._ticks)
    @rule()
    def hear_of_routes(self) -> None:
        self.application.time_passed(self._ticks.pop(0))

    @rule(source=PICK, destination=PICK)
    def send(self, source: int, destination: int) -> None:
        """Another flow begins, at the full rate of its host."""
        sites = self.application._centre.wiring.sites
        one, other = sites[source % len(sites)], sites[destination % len(sites)]
        ports = {"tcp_src": 10_000 + source, "tcp_dst": 80}
        addresses = {"ipv4_src": str(one.address), "ipv4_dst": str(other.address)}
        match = PARSER.OFPMatch(eth_type=0x0800, ip_proto=TCP, **addresses, **ports)
        counter = SimpleNamespace(match=match, byte_count=0, duration_sec=0, duration_nsec=0, began=self.now)
        self.box_of(one.switch).counters.append(counter)

    @rule(pick=PICK)
    def cease(self, pick: int) -> None:
        """All flows of a switch end."""
        self._box(pick).counters.clear()

    def _count(self) -> None:
        for box in self.boxes:
            for each in box.counters:
                seconds = self.now - each.began
                each.duration_sec, each.byte_count = int(seconds), int(seconds * 125e6)

    def _work_aside(self) -> None:
        if self.application._sought is not None:
            self.find_routes()
        while self._ticks:
            self.hear_of_routes()

    def _lacking_entries(self, box: Box) -> list[FiveTuple]:
        """Return the elephants for which a switch has another entry than the scheduler believes, or none."""
        messages = SchedulerMessages(self.present[box.name])
        believed = [entry for (switch, _), entry in self.application._schedule._entries.items() if switch == box.name]
        has = [repr(each.match) + repr(each.instructions) for each in box.flows.values()]
        sent = {entry.flow: messages.put(entry, self.application._options.idle_timeout) for entry in believed}
        return [flow for flow, each in sent.items() if repr(each.match) + repr(each.instructions) not in has]

    def _require_right(self) -> None:
        application = self.application
        for box in self.boxes:
            differs = box.differs_from(application._tables[box.name])
            assert not differs, f"{box.name} {differs}"
            assert not self._lacking_entries(box)
        assert application._settled == {box.name for box in self.boxes}
        assert application._links._told == failed_cables(self)


TestScheduler = SchedulerWorld.TestCase
TestScheduler.settings = settings(max_examples=100, stateful_step_count=40)
