"""What-if analysis: the outcome of every failure under every scheme, summed by role and class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.flow.failure_impact import FailureModel, Role, RoleTraffic, Weighting
from te_solver.model.failures import Failure
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.traffic import Flags, PlannedTraffic

_DUST = 1e-9
"""A pair that loses less than this share of its goodput is not hurt: that is rounding."""


@dataclass(frozen=True)
class FailureOutcome:
    """The outcome of one failure under one scheme; rates in Mbit/s.

    Attributes:
        scheme, failure: the names of both.
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


def what_if(
    contenders: Sequence[Contender],
    failures: Sequence[Failure],
    *,
    elastic: bool = True,
    weighting: Weighting = "equal",
) -> Iterator[FailureOutcome]:
    """Yield the outcome of every failure under every scheme: all failures under the first scheme, then the next.

    Args:
        contenders: the schemes.
        failures: failures of the plans' topology.
        elastic: True if all traffic is TCP, False if it is UDP.
        weighting: see `failure_impact.Weighting`.

    Raises:
        NoFixedPointError, SolverError: see `FailureModel.impact` and `Scheme.reroute`.
    """
    for contender in contenders:
        model = FailureModel(contender.traffic, elastic=elastic, weighting=weighting)
        for failure in failures:
            yield outcome_of(contender, model, failure)


def outcome_of(contender: Contender, model: FailureModel, failure: Failure) -> FailureOutcome:
    """Return the outcome of one failure under one scheme; the model is of the contender's traffic.

    Raises what `what_if` raises.
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
