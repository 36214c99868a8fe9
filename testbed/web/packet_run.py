"""A plan in the packet model under one scheme, steered while it runs: what each queue and flow gets in a step."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import InputError, UnsoundError, key_path
from kuijia_base.text import link_id
from simulator.packet.queues import Fifo
from simulator.packet.transports import ConstantRate, Tcp
from simulator.planned.events import Cut, CutNode, Event, Heal, HealNode, Timing
from simulator.planned.network import MOST_HOSTS, Physical
from simulator.planned.results import Windows
from simulator.planned.run import PlanRun
from simulator.planned.traffic import SiteFlows
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme
from testbed.web.backend import Action, Direction, LinkState, QueueInfo, QueueLoad, SetLink, SetNode, View

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


@dataclass(frozen=True)
class _Group:
    """The connections of a flow, as positions among all of a run."""

    id: str
    first: int
    count: int


class SteeredRun:
    """A run of one scheme whose time goes on step by step.

    Args:
        plan: the plan in force.
        scheme: name of the failure scheme, one that switches can be programmed with.
        layout: queues of the ports.
        elastic: True for TCP, False for packets at a constant rate.
        seed: of all randomness.

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

    def happen(self, action: Action) -> None:
        """Cut or restore a link or node now."""
        now = self._run.simulation.now
        event: Event
        match action:
            case SetLink(name, up):
                a, b = next(edge for edge in self._plan.topology.edges if link_id(*edge) == name)
                event = Heal(now, (a, b)) if up else Cut(now, (a, b))
            case SetNode(name, up):
                event = HealNode(now, name) if up else CutNode(now, name)
            case _:
                raise AssertionError("only links and nodes fail")
        self._run.schedule(event)

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
