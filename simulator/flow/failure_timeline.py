"""A failure as it passes: it happens, is detected, the controller computes anew, and it heals."""

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
    """When what happens, in seconds.

    Attributes:
        fails: when the failure strikes.
        detection: from there until ingresses act on it, and from the repair until they go back to their plan.
        end: of the story.
        recomputation: from detection until the controller's new rates are in force everywhere; None for never.
        heals: when it is repaired; None for never. What is repaired before it was detected is never acted on.

    Raises:
        ValueError: a time that cannot be.
    """

    fails: float
    detection: float
    end: float
    recomputation: float | None = None
    heals: float | None = None

    def __post_init__(self) -> None:
        times = [self.fails, self.detection, self.end, self.recomputation or 0.0, self.heals or self.fails]
        if not all(math.isfinite(time) and time >= 0 for time in times):
            raise ValueError("a time that is negative or without end, expected seconds")
        if self.heals is not None and self.heals <= self.fails:
            raise ValueError(f"healed at {self.heals:g} s, expected a time after {self.fails:g} s, when it fails")
        if self.end < self.fails:
            raise ValueError(f"over at {self.end:g} s, expected a time after {self.fails:g} s, when it fails")


@dataclass(frozen=True, eq=False)
class Story:
    """The stages of a failure, and whose F flows they are about.

    A flow is a part of one planned tunnel's traffic that stays together all the time, or new traffic.

    Attributes:
        stages: from before the failure until its end.
        pair: the row of each flow's pair, shape (F,).
        origin: the planned tunnel of each flow as a column, or `NEW_TRAFFIC`, shape (F,).
        rerouted: the sub-flow of the scheme's answer that each flow is part of, -1 for none, shape (F,).
        victim: whether the failure takes a flow's tunnel, shape (F,).
    """

    stages: tuple[Stage, ...]
    pair: Indices
    origin: Indices
    rerouted: Indices
    victim: Flags


@dataclass(frozen=True)
class _Piece:
    """A part of a tunnel's traffic under one answer: the sub-flow it belongs to and how much of the tunnel's it is."""

    subflow: int
    part: float


def story(model: FailureModel, answer: Rerouting, script: Script, recomputed: Rerouting | None = None) -> Story:
    """The failure that `answer` answers to, on one timeline.

    Between failure and detection traffic runs into the failed links and is lost. Then `answer` is in force, and after
    the recomputation, if there is one, `recomputed`. Links that heal are used again by those that still send over them
    at once, and by all others a detection later, when everybody goes back to the plan.

    Raises:
        ValueError: a recomputation without an answer of it or the other way round, or answers to different failures.
    """
    if (recomputed is None) != (script.recomputation is None):
        raise ValueError("a recomputation needs a time and an answer, expected both or none")
    if recomputed is not None and (recomputed.damage.failed_links != answer.damage.failed_links).any():
        raise ValueError("answers to different failures")
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
    """The coarsest division of all traffic in which each flow is within one sub-flow of both answers.

    Hashing is taken to be independent: of a tunnel's traffic the first answer moves the same part in all parts that
    the second one makes.
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
        """What is offered when the answer is in force; `part` is what each flow is of its sub-flow."""
        carrier = np.append(answer.carrier, 0)[subflow]  # the last one is that of nowhere
        offered = np.append(answer.offered, 0.0)[subflow] * part
        level = np.append(answer.level, 0)[subflow]
        return model.flows(answer.tunnels, carrier, offered, level, part)


def _pieces(traffic: PlannedTraffic, answer: Rerouting) -> list[list[_Piece]]:
    """For each planned tunnel that carries something, what becomes of that traffic; the parts sum to one."""
    found: list[list[_Piece]] = [[] for _ in range(traffic.sent.size)]
    for subflow, (origin, offered) in enumerate(zip(answer.origin.tolist(), answer.offered.tolist(), strict=True)):
        if origin != NEW_TRAFFIC and offered > 0:
            found[origin].append(_Piece(subflow, offered / float(traffic.sent[origin])))
    for tunnel, pieces in enumerate(found):
        lost = 1.0 - sum(piece.part for piece in pieces)
        if traffic.sent[tunnel] > 0 and lost > _DUST:
            pieces.append(_Piece(_NOWHERE, lost))
    return found
