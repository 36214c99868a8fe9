"""The course of a failure: it happens, is detected, the controller recomputes, and the links heal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from simulator.flow.events import Event, FlowsRerouted, LinksFail, LinksHeal, Stage, stages
from simulator.flow.failure_impact import FailureModel
from simulator.flow.model import Flags, Flows, Vector
from te_solver.schemes.rerouting import NEW_TRAFFIC, Rerouting
from te_solver.schemes.traffic import Indices, PlannedTraffic

_NOWHERE = -1
"""The carrier of traffic that does not enter the network."""

_DUST = 1e-12
"""A smaller part of a tunnel's traffic is rounding."""


@dataclass(frozen=True)
class Script:
    """Times of a failure's course, in seconds.

    Attributes:
        fails: time of the failure.
        detection: delay from the failure until ingresses react, and from the repair until they return to the plan.
        end: end of the story.
        recomputation: delay from detection until the controller's new rates are in force everywhere; None for never.
        heals: time of the repair; None for never. Nobody reacts to a failure that is repaired before its detection.

    Raises:
        ValueError: a time is negative, infinite, or out of order.
    """

    fails: float
    detection: float
    end: float
    recomputation: float | None = None
    heals: float | None = None

    def __post_init__(self) -> None:
        times = [self.fails, self.detection, self.end, self.recomputation or 0.0, self.heals or self.fails]
        if not all(math.isfinite(time) and time >= 0 for time in times):
            raise ValueError("a time is negative or infinite, expected seconds")
        if self.heals is not None and self.heals <= self.fails:
            raise ValueError(f"healed at {self.heals:g} s, expected a time after {self.fails:g} s, when it fails")
        if self.end < self.fails:
            raise ValueError(f"over at {self.end:g} s, expected a time after {self.fails:g} s, when it fails")


@dataclass(frozen=True, eq=False)
class Story:
    """The stages of a failure, and the F flows in them.

    A flow is new traffic, or a part of one planned tunnel's traffic that stays together in all stages.

    Attributes:
        stages: from before the failure until its end.
        pair: the row of each flow's pair, shape (F,).
        origin: the planned tunnel of each flow as a column, or `NEW_TRAFFIC`, shape (F,).
        rerouted: the sub-flow of the scheme's rerouting that each flow is part of, -1 for none, shape (F,).
        victim: True for flows whose tunnel fails, shape (F,).
    """

    stages: tuple[Stage, ...]
    pair: Indices
    origin: Indices
    rerouted: Indices
    victim: Flags


@dataclass(frozen=True)
class _Piece:
    """A part of a tunnel's traffic under one rerouting: the sub-flow it belongs to and its share of the traffic."""

    subflow: int
    part: float


def story(model: FailureModel, answer: Rerouting, script: Script, recomputed: Rerouting | None = None) -> Story:
    """Return the timeline of the failure that `answer` reroutes.

    Between failure and detection, traffic runs into the failed links and is lost. Then `answer` is in force, and after
    the recomputation, if there is one, `recomputed`. When links heal, flows that still send over them get through at
    once; all others return to the plan when the repair is detected.

    Raises:
        ValueError: only one of `recomputed` and the time of recomputation is given, or the failures differ.
    """
    if (recomputed is None) != (script.recomputation is None):
        raise ValueError("a recomputation needs a time and a rerouting, expected both or neither")
    if recomputed is not None and (recomputed.damage.failed_links != answer.damage.failed_links).any():
        raise ValueError("reroutings of different failures")
    flows = _Flows.of(answer.traffic, answer, recomputed)
    failed = tuple(np.flatnonzero(answer.damage.failed_links).tolist())
    planned = flows.planned(model)
    events: list[Event] = [LinksFail(script.fails, failed)]
    detected = script.fails + script.detection
    back = math.inf
    if script.heals is not None:
        events.append(LinksHeal(script.heals, failed))
        back = script.heals + script.detection
    if script.heals is None or script.heals > detected:
        events.append(FlowsRerouted(detected, flows.under(model, answer, flows.first, flows.second_part), "detected"))
        if recomputed is not None and script.recomputation is not None and detected + script.recomputation < back:
            new = flows.under(model, recomputed, flows.second, flows.first_part)
            events.append(FlowsRerouted(detected + script.recomputation, new, "recomputed"))
        if math.isfinite(back):
            events.append(FlowsRerouted(back, planned, "repair detected"))
    seen = [event for event in events if event.time <= script.end]
    return Story(
        stages(answer.traffic.capacity, planned, seen, script.end),
        flows.pair,
        flows.origin,
        flows.first,
        np.asarray((flows.origin != NEW_TRAFFIC) & ~answer.damage.alive[flows.origin], dtype=np.bool_),
    )


@dataclass(frozen=True, eq=False)
class _Flows:
    """The coarsest division of all traffic in which each flow lies within one sub-flow of either rerouting.

    Hashing is assumed independent: the first rerouting moves the same share of every part into which the second one
    divides a tunnel's traffic.
    """

    traffic: PlannedTraffic
    pair: Indices
    origin: Indices
    first: Indices
    second: Indices
    first_part: Vector
    second_part: Vector

    @classmethod
    def of(cls, traffic: PlannedTraffic, first: Rerouting, second: Rerouting | None) -> _Flows:
        rows: list[tuple[int, int, int, int, float, float]] = []
        pieces = _pieces(traffic, first)
        others = pieces if second is None else _pieces(traffic, second)
        for tunnel in range(traffic.sent.size):
            couples = [(piece, piece) for piece in pieces[tunnel]]
            if second is not None:
                couples = list(product(pieces[tunnel], others[tunnel]))
            for one, other in couples:
                part = 1.0 if second is None else other.part
                pair = int(traffic.tunnels.pair[tunnel])
                rows.append((pair, tunnel, one.subflow, other.subflow, one.part, part))
        new_to_first = np.flatnonzero(first.origin == NEW_TRAFFIC).tolist()
        rows += [(int(first.pair[new]), NEW_TRAFFIC, new, _NOWHERE, 1.0, 1.0) for new in new_to_first]
        if second is not None:
            new_to_second = np.flatnonzero(second.origin == NEW_TRAFFIC).tolist()
            rows += [(int(second.pair[new]), NEW_TRAFFIC, _NOWHERE, new, 1.0, 1.0) for new in new_to_second]
        table = np.array(rows, dtype=np.float64).reshape(-1, 6)
        pair, origin, of_first, of_second = table[:, :4].T.astype(np.intp)
        return cls(traffic, pair, origin, of_first, of_second, table[:, 4], table[:, 5])

    def planned(self, model: FailureModel) -> Flows:
        part = self.first_part * self.second_part
        old = self.origin != NEW_TRAFFIC
        carrier = np.where(old, self.origin, 0)
        offered = np.where(old, self.traffic.sent[carrier] * part, 0.0)
        level = 2 * self.traffic.priority[self.pair]
        return model.flows(self.traffic.tunnels, carrier, offered, level, part)

    def under(self, model: FailureModel, answer: Rerouting, subflow: Indices, part: Vector) -> Flows:
        """Return the flows while the rerouting is in force; `part` is each flow's share of its sub-flow."""
        carrier = np.append(answer.carrier, 0)[subflow]  # the last entry is for `_NOWHERE`
        offered = np.append(answer.offered, 0.0)[subflow] * part
        level = np.append(answer.level, 0)[subflow]
        return model.flows(answer.tunnels, carrier, offered, level, part)


def _pieces(traffic: PlannedTraffic, answer: Rerouting) -> list[list[_Piece]]:
    """Return the pieces of each planned tunnel's traffic; the parts of a tunnel that carries traffic sum to one."""
    found: list[list[_Piece]] = [[] for _ in range(traffic.sent.size)]
    for subflow, (origin, offered) in enumerate(zip(answer.origin.tolist(), answer.offered.tolist(), strict=True)):
        if origin != NEW_TRAFFIC and offered > 0:
            found[origin].append(_Piece(subflow, offered / float(traffic.sent[origin])))
    for tunnel, pieces in enumerate(found):
        lost = 1.0 - sum(piece.part for piece in pieces)
        if traffic.sent[tunnel] > 0 and lost > _DUST:
            pieces.append(_Piece(_NOWHERE, lost))
    return found
