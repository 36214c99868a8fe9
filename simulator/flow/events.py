"""Events of a network over time, and the stages between them in which nothing changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from simulator.flow.model import FluidFlows, Vector


@dataclass(frozen=True)
class FlowArrives:
    """A flow begins; until its first arrival it offers nothing."""

    time: float
    flow: int


@dataclass(frozen=True)
class FlowEnds:
    """A flow offers nothing from now on."""

    time: float
    flow: int


@dataclass(frozen=True)
class LinksFail:
    """Links, as positions, carry nothing from now on; their flows lose everything until they are rerouted."""

    time: float
    links: tuple[int, ...]


@dataclass(frozen=True)
class LinksHeal:
    """Links have their capacity again."""

    time: float
    links: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class FlowsRerouted:
    """The flows get other paths, levels and rates: a failure was detected, or the controller has recomputed.

    `flows` are the same flows in the same order; absent ones (not yet arrived, or ended) stay absent.
    """

    time: float
    flows: FluidFlows
    cause: str = "rerouted"


Event: TypeAlias = FlowArrives | FlowEnds | LinksFail | LinksHeal | FlowsRerouted


@dataclass(frozen=True, eq=False)
class Stage:
    """An interval in which nothing changes.

    Attributes:
        start, end: times in seconds.
        name: the event that it began with.
        capacity: Mbit/s of each link, zero for failed ones, shape (L,).
        flows: all flows of the network; absent ones offer zero.
    """

    start: float
    end: float
    name: str
    capacity: Vector
    flows: FluidFlows


def stages(capacity: Vector, flows: FluidFlows, events: Sequence[Event], end: float) -> tuple[Stage, ...]:
    """Return the stages from time 0 to `end`; events of the same time happen together, in the order given.

    Raises:
        ValueError: an event is not between 0 and `end`, or names a flow or link that does not exist.
    """
    for event in events:
        _require_sound(event, capacity.size, flows, end)
    present = np.ones(flows.size, dtype=np.bool_)
    present[[event.flow for event in events if isinstance(event, FlowArrives)]] = False
    failed = np.zeros(capacity.size, dtype=np.bool_)
    found: list[Stage] = []
    start, name = 0.0, "start"
    for event in sorted(events, key=lambda event: event.time):
        if event.time > start:
            found.append(_stage(start, event.time, name, (capacity, failed), (flows, present)))
            start, name = event.time, _name(event)
        elif start > 0:
            name = f"{name}, {_name(event)}"
        if isinstance(event, FlowsRerouted):
            flows = event.flows
        elif isinstance(event, FlowArrives | FlowEnds):
            present[event.flow] = isinstance(event, FlowArrives)
        else:
            failed[list(event.links)] = isinstance(event, LinksFail)
    if end > start or not found:
        found.append(_stage(start, end, name, (capacity, failed), (flows, present)))
    return tuple(found)


def _stage(
    start: float, end: float, name: str, links: tuple[Vector, np.ndarray], traffic: tuple[FluidFlows, np.ndarray]
) -> Stage:
    capacity, failed = links
    flows, present = traffic
    return Stage(
        start,
        end,
        name,
        np.where(failed, 0.0, capacity),
        flows.offering(np.where(present, flows.offered, 0.0)),
    )


def _name(event: Event) -> str:
    if isinstance(event, FlowsRerouted):
        return event.cause
    if isinstance(event, FlowArrives | FlowEnds):
        return f"flow {event.flow} {'arrives' if isinstance(event, FlowArrives) else 'ends'}"
    return f"links {'fail' if isinstance(event, LinksFail) else 'heal'}"


def _require_sound(event: Event, links: int, flows: FluidFlows, end: float) -> None:
    if not (math.isfinite(event.time) and 0 <= event.time <= end):
        raise ValueError(f"an event at {event.time:g} s, expected one between 0 and {end:g} s")
    if isinstance(event, FlowsRerouted):
        if event.flows.size != flows.size:
            raise ValueError(f"{event.flows.size} flows rerouted, expected the same {flows.size} flows")
        return
    things, size = ("flow", flows.size) if isinstance(event, FlowArrives | FlowEnds) else ("link", links)
    named = (event.flow,) if isinstance(event, FlowArrives | FlowEnds) else event.links
    for number in named:
        if not 0 <= number < size:
            raise ValueError(f"an event of {things} {number}, expected one of 0 to {size - 1}")
