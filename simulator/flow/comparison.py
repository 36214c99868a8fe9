"""Sets schemes side by side: what their outcomes come to over all failures, each failure counting alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulator.flow.failure_impact import Role, RoleSum
from simulator.flow.what_if import Contender, Outcome, loss_share

ABORIGINAL = (Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
OLD = (Role.VICTIM, *ABORIGINAL)
"""The roles of traffic that was sent before the failure."""


@dataclass(frozen=True)
class Comparison:
    """One scheme's figures over all failures, for all traffic or one class; losses are shares of what was sent.

    Attributes:
        scheme: its name.
        priority: the class, None for all traffic.
        demand, sent: Mbit/s that are asked for, and that are sent before anything fails.
        goodput_mean, goodput_least: Mbit/s that arrive after a failure, new traffic included.
        lost, failure_loss, congestion_loss: means.
        lost_worst: in the failure that costs most.
        of_role: what of each role's traffic is lost, all failures together.
        aboriginal_worst: of all traffic whose tunnel survived, in the failure that costs it most.
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
    """What one scheme's recoveries take, over all failures.

    Attributes:
        vacant: the share of all links' capacity that carries nothing before anything fails.
        moved_mean, moved_most: what changes tunnel, as a share of what was sent.
        overloaded_mean, overloaded_most: how many links are offered more than their capacity.
    """

    vacant: float
    moved_mean: float
    moved_most: float
    overloaded_mean: float
    overloaded_most: int


def compare(contender: Contender, outcomes: Sequence[Outcome], priority: int | None = None) -> Comparison:
    """The figures of a scheme's outcomes, one at least, for all traffic or one class."""
    sent = contender.sent(priority)
    totals = [outcome.total(OLD, priority) for outcome in outcomes]
    goodput = [outcome.total(tuple(Role), priority).goodput for outcome in outcomes]

    def mean(rates: Sequence[float]) -> float:
        return sum(rates) / len(rates) / sent if sent else 0.0

    return Comparison(
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


def recovery(contender: Contender, outcomes: Sequence[Outcome]) -> Recovery:
    """What the recoveries of a scheme's outcomes take, one at least."""
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


def ranked(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those that cost most first, equal ones as they come; shares of the traffic sent decide."""
    return sorted(outcomes, key=lambda outcome: -loss_share(outcome.total()))


def _together(sums: Sequence[RoleSum]) -> RoleSum:
    return RoleSum(
        sum(each.sent for each in sums),
        sum(each.failure_loss for each in sums),
        sum(each.congestion_loss for each in sums),
        sum(each.goodput for each in sums),
    )
