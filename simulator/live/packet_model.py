"""A plan in the packet model, steered while its clock runs: compiled tables, TCP and queues, packet by packet.

Roles of flows, dead tunnels and the log are those of the flow model, which is asked too; goodput and queues are
counted. Where the machine is too slow, the clock runs slower than it should.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError, KuijiaError, UnsoundError, key_path
from kuijia_base.text import link_id
from simulator.live.flow_model import REQUEST, LiveFlowModel
from simulator.live.states import ClockState, Direction, LinkState, QueueInfo, QueueLoad, View
from simulator.packet.queues import Fifo
from simulator.packet.transports import ConstantRate, Tcp
from simulator.planned.events import Cut, CutNode, Heal, HealNode, Timing
from simulator.planned.network import MOST_HOSTS, Physical
from simulator.planned.run import PlanRun, Windows
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme

STEP = 0.2
"""Seconds of a step, whose mean rates a state shows."""

_LONGEST_STEP = 0.5
_FIRST_STEP = 0.5
_PAUSE = 0.01
"""Least seconds between two steps, in which actions come in."""

FRAME, PAYLOAD = 1518, 1448
"""Bytes on the wire of a full frame with a label, and of its payload."""

_BUFFER_PACKETS = 50
_SLOTS = 256
_CONNECTIONS = 4
"""Most connections of a flow, one for each of some slots, so that victims spread over several tunnels."""

Vector = NDArray[np.float64]

_DETECTION_SECONDS = 0.01
_CATCH_UP_PACKETS = 164
_START_SECONDS = 0.1


class LivePacketModel:
    """A small network packet by packet; a thread of its own moves its time on.

    Args:
        plan: the plan in force at first.
        schemes: failure schemes to show side by side, ones that switches can be programmed with.
        elastic: True for TCP, False for packets at a constant rate.
        wall: gives the seconds that pass.
        runs: True to start the thread; False for tests, which call `step`.
    """

    def __init__(
        self,
        plan: Plan,
        schemes: Sequence[str],
        *,
        elastic: bool = True,
        wall: Callable[[], float] = time.monotonic,
        runs: bool = True,
    ) -> None:
        _require_on_switches(schemes)
        self._elastic, self._wall = elastic, wall
        self.seconds, self.clock = 0.0, ClockState(1.0, paused=False)
        self.flow = LiveFlowModel(plan, schemes, elastic=elastic, wall=lambda: self.seconds)
        self._stepping, self._ended = threading.Lock(), threading.Event()
        self._pool = ThreadPoolExecutor(max(2, len(schemes)), "packets")
        self.faults: tuple[str, ...] = ()
        self.views: tuple[View, ...] = ()
        self._layout = layout_for(plan)
        self._runs = self._started(plan, schemes, self._layout)
        self.step(_FIRST_STEP)
        self._thread = threading.Thread(target=self._go_on, name="steps", daemon=True)
        if runs:
            self._thread.start()

    @property
    def queues(self) -> tuple[QueueInfo, ...]:
        return layout_queues(self._layout)

    @property
    def schemes_available(self) -> tuple[str, ...]:
        return tuple(name for name in self.flow.schemes_available if failure_scheme(name).is_precut)

    def switch_link(self, name: str, *, up: bool) -> None:
        with self._stepping:  # so that the log has the moment at which it happens
            self.flow.switch_link(name, up=up)
            for run in self._runs:
                run.switch_link(name, up=up)

    def switch_node(self, name: str, *, up: bool) -> None:
        with self._stepping:
            self.flow.switch_node(name, up=up)
            for run in self._runs:
                run.switch_node(name, up=up)

    def put_in_force(self, plan: Plan) -> None:
        self.flow.put_in_force(plan)
        with self._stepping:
            self._start_again()

    def choose(self, schemes: Sequence[str]) -> None:
        _require_on_switches(schemes)
        self.flow.choose(schemes)
        with self._stepping:
            self._start_again()

    def start_over(self, plan: Plan) -> None:
        """Show another network, that of a plan, with nothing down."""
        layout = layout_for(plan)
        with self._stepping:
            runs = self._started(plan, [run.scheme for run in self._runs], layout)
            self.flow.start_over(plan)
            self._layout, self._runs = layout, runs
            self._step(_FIRST_STEP)

    def withdraw(self) -> None:
        raise KuijiaError("the packet model always has a plan: put another one in force")

    def set_clock(self, speed: float | None, paused: bool | None) -> None:  # noqa: FBT001  # None leaves it
        old = self.clock
        self.clock = ClockState(speed or old.speed, paused=old.paused if paused is None else paused)

    def close(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()

    def step(self, seconds: float) -> None:
        """Move all runs on by so many seconds of their time."""
        with self._stepping:
            self._step(seconds)

    def _step(self, seconds: float) -> None:
        windows = list(self._pool.map(lambda run: run.advance(seconds), self._runs))
        self.seconds += seconds
        views = {view.scheme: view for view in self.flow.views}
        self.views = tuple(run.view(views[run.scheme], window) for run, window in zip(self._runs, windows, strict=True))

    def _go_on(self) -> None:
        last = self._wall()
        while not self._ended.wait(max(_PAUSE, last + STEP - self._wall())):
            now = self._wall()
            elapsed, last = min(now - last, _LONGEST_STEP), now
            if not self.clock.paused:
                try:
                    self.step(elapsed * self.clock.speed)
                except Exception as error:  # noqa: BLE001  # browsers learn of it; there is nobody else to tell
                    self.faults = (f"the packet model failed: {type(error).__name__}: {error}",)
                    return

    def _started(self, plan: Plan, schemes: Sequence[str], layout: QueueLayout) -> list[SteeredRun]:
        return [SteeredRun(plan, scheme, layout, elastic=self._elastic) for scheme in schemes]

    def _start_again(self) -> None:
        """Start the traffic of another plan, or schemes, on the network as it is."""
        plan, views = self.flow.plan, self.flow.views
        assert plan is not None, "there is always a plan"
        self._layout = layout_for(plan)
        runs = self._started(plan, [view.scheme for view in views], self._layout)
        for run in runs:
            for link in views[0].links:
                if not link.up:
                    run.switch_link(link.id, up=False)
            for node in views[0].nodes_down:
                run.switch_node(node, up=False)
            run.advance(_FIRST_STEP)
        self._runs = runs


@dataclass(frozen=True)
class _Group:
    """The connections of a flow, as positions among all of a run."""

    id: str
    first: int
    count: int


class SteeredRun:
    """A run of one scheme whose time goes on step by step.

    Args:
        scheme: name of the failure scheme, one that switches can be programmed with.
        elastic: True for TCP, False for packets at a constant rate.

    Raises:
        InputError: the plan has too many flows at a site, or cannot be on switches.
    """

    def __init__(self, plan: Plan, scheme: str, layout: QueueLayout, *, elastic: bool, seed: int = 1) -> None:
        self.scheme, self._layout, self._plan = scheme, layout, plan
        traffic, self._groups = _traffic(plan, elastic=elastic, seed=seed)
        try:
            self._run = PlanRun(
                plan,
                PipelineOptions(failure_scheme(scheme), _SLOTS, layout),
                traffic,
                Physical(queue=Fifo(_BUFFER_PACKETS * FRAME)),
                Timing(port=_DETECTION_SECONDS),
                seed=seed,
            )
        except UnsoundError as error:
            raise InputError("packet model", key_path(error.where), error.problem, error.expected) from error
        self._payload = 1.0 if elastic else PAYLOAD / FRAME

    def switch_link(self, name: str, *, up: bool) -> None:
        now = self._run.simulation.now
        ends = next(edge for edge in self._plan.topology.edges if link_id(*edge) == name)
        self._run.schedule(Heal(now, ends) if up else Cut(now, ends))

    def switch_node(self, name: str, *, up: bool) -> None:
        now = self._run.simulation.now
        self._run.schedule(HealNode(now, name) if up else CutNode(now, name))

    def advance(self, seconds: float) -> Windows:
        """Run for so many seconds and return what happened in them."""
        return self._run.run(self._run.simulation.now + seconds).windows

    def view(self, model: View, windows: Windows) -> View:
        """Return the measured view of a step; roles, paths and dead tunnels are those of the model's view."""
        rates, seconds = windows.goodput_rates[0] * self._payload, float(windows.edges[-1] - windows.edges[0])
        of_flow = {each.id: float(rates[each.first : each.first + each.count].sum()) for each in self._groups}
        flows = tuple(replace(flow, goodput=round(of_flow.get(flow.id, 0.0), 3)) for flow in model.flows)
        place = {ends: number for number, ends in enumerate(self._run.network.links)}
        sent, dropped = windows.queue_rates[0], windows.queue_dropped[0] / seconds
        links = tuple(self._measured(link, place, sent, dropped) for link in model.links)
        return replace(model, links=links, flows=flows)

    def _measured(
        self, link: LinkState, place: Mapping[tuple[str, str], int], sent: Vector, dropped: Vector
    ) -> LinkState:
        """Return a link with what its queues have sent and dropped; the arrays have the shape (outputs, queues)."""
        directions = []
        for each in link.directions:
            row = place[each.from_, each.to]
            loads = (
                QueueLoad(queue.queue_id, round(float(sent[row, number]), 3), round(float(dropped[row, number]), 1))
                for number, queue in enumerate(self._layout.queues)
            )
            directions.append(Direction(each.from_, each.to, tuple(loads)))
        return replace(link, directions=tuple(directions))


def layout_queues(layout: QueueLayout) -> tuple[QueueInfo, ...]:
    """Return the queues of a layout as descriptions name them."""
    normal = {each.normal.queue_id: each.priority for each in layout.classes}
    victims = [each.victim.queue_id for each in layout.classes]
    found = []
    for queue in layout.queues:
        if queue.queue_id in normal:
            found.append(QueueInfo(queue.queue_id, "normal", normal[queue.queue_id]))
        elif queue.queue_id in victims:
            alone = victims.count(queue.queue_id) == 1
            found.append(QueueInfo(queue.queue_id, "victim", victims.index(queue.queue_id) if alone else None))
        else:
            found.append(QueueInfo(queue.queue_id, "control"))
    return tuple(found)


def _traffic(plan: Plan, *, elastic: bool, seed: int) -> tuple[list[SiteFlows], list[_Group]]:
    """Return a group of connections for each tunnel that carries traffic, and their ids, as the fluid view has them."""
    chance = random.Random(seed)
    carrying = Counter(
        pair.source for pair in plan.pairs for tunnel in pair.tunnels if tunnel.weight * pair.allocated > 0
    )
    busiest = max(carrying.values(), default=0)
    if busiest >= MOST_HOSTS:
        raise InputError("packet model", "", f"{busiest} flows from a site", f"fewer than {MOST_HOSTS}; the flow model")
    count = max(1, min(_CONNECTIONS, (MOST_HOSTS - 1) // max(busiest, 1)))
    capacity = max(link.capacity for link in plan.topology.links)
    traffic, groups = [], []
    first = 0
    for pair in plan.pairs:
        slots = cut_slots([tunnel.weight for tunnel in pair.tunnels], _SLOTS).slots
        for position, tunnel in enumerate(pair.tunnels):
            rate = tunnel.weight * pair.allocated / count
            if rate <= 0:
                continue
            promised = sorted(
                {slot.backup for slot in slots if slot.primary == position and slot.backup is not None}
            ) or [-1]
            traffic.append(
                SiteFlows.of(
                    [(pair.source, pair.target)] * count,
                    Tcp(payload=PAYLOAD, header=FRAME - PAYLOAD, ack_every=2) if elastic else ConstantRate(rate, FRAME),
                    start=[chance.uniform(0, _START_SECONDS) for _ in range(count)],
                    priority=pair.priority,
                    tunnel=position,
                    backup=[promised[number % len(promised)] for number in range(count)],
                    limit=rate if elastic else 0.0,
                    catch_up=_CATCH_UP_PACKETS * FRAME * 8e-6 / capacity,
                )
            )
            name = f"f{tunnel.path_id}" + (f".{pair.priority}" if pair.priority else "")
            groups.append(_Group(name, first, count))
            first += count
    return traffic, groups


def layout_for(plan: Plan) -> QueueLayout:
    """Return the smallest queue layout that serves a plan's classes of traffic; raises InputError if none does."""
    priorities = {pair.priority for pair in plan.pairs}
    fitting = [each for each in LAYOUTS.values() if priorities <= {served.priority for served in each.classes}]
    if not fitting:
        raise InputError("plan", "pairs", f"a pair of priority {max(priorities)}", "one that a queue layout serves")
    return min(fitting, key=lambda each: len(each.classes))


def _require_on_switches(schemes: Sequence[str]) -> None:
    for name in schemes:
        if not failure_scheme(name).is_precut:
            raise InputError(REQUEST, "schemes", f"found {name}", "one that switches can be programmed with")
