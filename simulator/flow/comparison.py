"""Comparison of schemes: their outcomes over all failures, with equal weight for each failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.flow.failure_impact import Role, RoleTraffic
from simulator.flow.what_if import Contender, FailureOutcome, loss_share

ABORIGINAL = (Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
OLD = (Role.VICTIM, *ABORIGINAL)
"""The roles of traffic that was sent before the failure."""


@dataclass(frozen=True)
class SchemeFigures:
    """One scheme's figures over all failures, for all traffic or one class; losses are shares of what was sent.

    Attributes:
        scheme: its name.
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
