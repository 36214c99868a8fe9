"""What-if analysis: the outcome of every failure under every scheme, by role and class, and schemes compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.flow.failure_impact import FailureModel, Role, RoleTraffic
from te_solver.model.failures import Failure
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.traffic import Flags, PlannedTraffic

_DUST = 1e-9
"""A pair that loses less than this share of its goodput is not hurt: that is rounding."""


@dataclass(frozen=True)
class FailureOutcome:
    """The outcome of one failure under one scheme; rates in Mbit/s.

    Attributes:
        sums: the sums of each role's traffic in each class.
        overloaded: the links that are offered more than their capacity, as their ends.
        moved: traffic that changes tunnel, the churn of the recovery: victims and, under some schemes, others.
        hurt: the pairs that get less than before, as their rows in the plan.
    """

    scheme: str
    failure: str
    sums: Mapping[tuple[int, Role], RoleTraffic]
    overloaded: tuple[tuple[str, str], ...]
    moved: float
    hurt: tuple[int, ...]

    def total(self, roles: Sequence[Role] | None = None, priority: int | None = None) -> RoleTraffic:
        """Return the sum over some roles, by default all but new traffic, for one class or all."""
        chosen = [
            of_role
            for (of_class, role), of_role in self.sums.items()
            if (role != Role.NEW if roles is None else role in roles) and priority in (None, of_class)
        ]
        return RoleTraffic(
            sum(each.sent for each in chosen),
            sum(each.failure_loss for each in chosen),
            sum(each.congestion_loss for each in chosen),
            sum(each.goodput for each in chosen),
        )


@dataclass(frozen=True)
class Contender:
    """A scheme with the planned traffic that it reroutes."""

    scheme: Scheme
    traffic: PlannedTraffic

    def demand(self, priority: int | None = None) -> float:
        """Return the demand in Mbit/s of all pairs, or of those of one class."""
        return float(self.traffic.demand[self._pairs(priority)].sum())

    def sent(self, priority: int | None = None) -> float:
        """Return the Mbit/s that all pairs, or those of one class, send before the failure."""
        return float(self.traffic.tunnels.sums(self.traffic.sent)[self._pairs(priority)].sum())

    @property
    def vacant(self) -> float:
        """The share of all links' capacity that is unused before the failure."""
        carried = self.traffic.tunnels.incidence.links @ self.traffic.sent
        return 1 - float(carried.sum() / self.traffic.capacity.sum())

    def _pairs(self, priority: int | None) -> Flags:
        classes = self.traffic.priority
        return np.asarray(np.ones(classes.size, np.bool_) if priority is None else classes == priority)


def outcome_of(contender: Contender, model: FailureModel, failure: Failure) -> FailureOutcome:
    """Return the outcome of one failure under one scheme; the model is of the contender's traffic.

    Raises:
        NoFixedPointError, SolverError: see `FailureModel.impact` and `Scheme.reroute`.
    """
    impact = model.impact(contender.scheme.reroute(contender.traffic, failure))
    links = contender.traffic.plan.topology.links
    answer = impact.rerouting
    return FailureOutcome(
        contender.scheme.name,
        failure.name,
        {(priority, role): impact.of_role(role, priority) for priority in contender.traffic.classes for role in Role},
        tuple(links[row].ends for row in np.flatnonzero(impact.overloaded).tolist()),
        float(answer.offered[answer.moved].sum()),
        tuple(np.flatnonzero(impact.before - impact.pair_goodput > _DUST * impact.before).tolist()),
    )


def loss_share(of: RoleTraffic) -> float:
    """Return the lost share of the sent traffic, 0 to 1; zero if nothing was sent."""
    return of.lost / of.sent if of.sent > 0 else 0.0


ABORIGINAL = (Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
OLD = (Role.VICTIM, *ABORIGINAL)
"""The roles of traffic that was sent before the failure."""


@dataclass(frozen=True)
class SchemeFigures:
    """One scheme's figures over all failures, for all traffic or one class; losses are shares of what was sent.

    Attributes:
        priority: the class, None for all traffic.
        demand, sent: Mbit/s demanded, and Mbit/s sent before the failure.
        goodput_mean, goodput_least: Mbit/s that arrive after a failure, new traffic included.
        lost, failure_loss, congestion_loss: mean losses.
        lost_worst: the loss in the failure that costs most.
        of_role: the loss of each role's traffic, all failures together.
        aboriginal_worst: the loss of all traffic whose tunnel survived, in the failure that costs it most.
    """

    scheme: str
    priority: int | None
    demand: float
    sent: float
    goodput_mean: float
    goodput_least: float
    lost: float
    failure_loss: float
    congestion_loss: float
    lost_worst: float
    of_role: Mapping[Role, float]
    aboriginal_worst: float


@dataclass(frozen=True)
class Recovery:
    """The cost of one scheme's recoveries, over all failures.

    Attributes:
        vacant: the share of all links' capacity that is unused before the failure.
        moved_mean, moved_most: traffic that changes tunnel, as a share of the sent traffic.
        overloaded_mean, overloaded_most: number of links offered more than their capacity.
    """

    vacant: float
    moved_mean: float
    moved_most: float
    overloaded_mean: float
    overloaded_most: int


def compare(contender: Contender, outcomes: Sequence[FailureOutcome], priority: int | None = None) -> SchemeFigures:
    """Return the figures of a scheme for all traffic or one class, from at least one outcome."""
    sent = contender.sent(priority)
    totals = [outcome.total(OLD, priority) for outcome in outcomes]
    goodput = [outcome.total(tuple(Role), priority).goodput for outcome in outcomes]

    def mean(rates: Sequence[float]) -> float:
        return sum(rates) / len(rates) / sent if sent else 0.0

    return SchemeFigures(
        contender.scheme.name,
        priority,
        contender.demand(priority),
        sent,
        sum(goodput) / len(goodput),
        min(goodput),
        mean([each.lost for each in totals]),
        mean([each.failure_loss for each in totals]),
        mean([each.congestion_loss for each in totals]),
        max(map(loss_share, totals)),
        {role: loss_share(_together([each.total((role,), priority) for each in outcomes])) for role in OLD},
        max(loss_share(outcome.total(ABORIGINAL, priority)) for outcome in outcomes),
    )


def recovery(contender: Contender, outcomes: Sequence[FailureOutcome]) -> Recovery:
    """Return the cost of a scheme's recoveries, from at least one outcome."""
    sent = contender.sent() or 1.0
    moved = [outcome.moved / sent for outcome in outcomes]
    overloaded = [len(outcome.overloaded) for outcome in outcomes]
    return Recovery(
        contender.vacant,
        sum(moved) / len(moved),
        max(moved),
        sum(overloaded) / len(overloaded),
        max(overloaded),
    )


def ranked(outcomes: Sequence[FailureOutcome]) -> list[FailureOutcome]:
    """Return the outcomes by the share of sent traffic lost, largest first; ties keep their order."""
    return sorted(outcomes, key=lambda outcome: -loss_share(outcome.total()))


def _together(sums: Sequence[RoleTraffic]) -> RoleTraffic:
    return RoleTraffic(
        sum(each.sent for each in sums),
        sum(each.failure_loss for each in sums),
        sum(each.congestion_loss for each in sums),
        sum(each.goodput for each in sums),
    )
