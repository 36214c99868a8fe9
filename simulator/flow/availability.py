"""Availability of schemes: the outcomes of failures weighted by the failures' probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.flow.failure_impact import Role
from simulator.flow.what_if import OLD, Contender, FailureOutcome, loss_share
from te_solver.model.failures import FailureProbabilities

KEPT = (1.0, 0.99, 0.95, 0.9)
"""Shares of the sent traffic; each scheme reports the probability that at least so much arrives."""

GUARANTEED = (0.9, 0.99, 0.999, 0.9999)
"""Probabilities; each scheme reports the share of the demand that arrives with at least this probability."""

_DUST = 1e-9


@dataclass(frozen=True)
class Bounds:
    """Bounds of a figure: unlisted states serve nothing (low), or as much as without a failure (high)."""

    low: float
    high: float


@dataclass(frozen=True)
class Availability:
    """One scheme's figures for all traffic or one class.

    Attributes:
        priority: the class, None for all traffic.
        throughput: the expected goodput as a share of the demand.
        kept: for each of `KEPT` the probability that at least that share of what is sent arrives.
        guaranteed: for each of `GUARANTEED` the share of the demand that arrives with at least that probability.
        pair_mean: the probability that a pair loses nothing of what it sends, the mean of all pairs that send.
        pair_worst: the same for the pair where it is smallest.
        worst_pair: that pair's ends, empty when no pair sends anything.
    """

    scheme: str
    priority: int | None
    throughput: Bounds
    kept: tuple[Bounds, ...]
    guaranteed: tuple[Bounds, ...]
    pair_mean: Bounds
    pair_worst: Bounds
    worst_pair: tuple[str, ...]


def availability(
    contender: Contender,
    outcomes: Sequence[FailureOutcome],
    probabilities: FailureProbabilities,
    priority: int | None = None,
) -> Availability:
    """Return the figures of a scheme from its outcomes and the probabilities of the same failures, in the same order.

    Without a failure all sent traffic arrives; this state counts with its own probability.
    """
    of = np.array([probabilities.none, *probabilities.of])
    demand, sent = contender.demand(priority), contender.sent(priority)
    intact = sent / demand if demand else 1.0
    goodput = [outcome.total(tuple(Role), priority).goodput for outcome in outcomes]
    served = np.array([intact, *(each / demand if demand else 1.0 for each in goodput)])
    kept = 1 - np.array([0.0, *(loss_share(outcome.total(OLD, priority)) for outcome in outcomes)])
    unlisted = probabilities.unlisted
    expected = float(of @ served)
    pairs, unhurt = _unhurt(contender, outcomes, of, priority)
    worst = int(unhurt.argmin()) if pairs.size else 0
    ends = contender.traffic.plan.pairs[pairs[worst]] if pairs.size else None
    return Availability(
        contender.scheme.name,
        priority,
        Bounds(expected, expected + unlisted * intact),
        tuple(_bounds(float(of[kept >= share - _DUST].sum()), unlisted) for share in KEPT),
        tuple(
            Bounds(_served_with(of, served, unlisted, 0.0, each), _served_with(of, served, unlisted, intact, each))
            for each in GUARANTEED
        ),
        _bounds(float(unhurt.mean()) if pairs.size else 1.0 - unlisted, unlisted),
        _bounds(float(unhurt[worst]) if pairs.size else 1.0 - unlisted, unlisted),
        (ends.source, ends.target) if ends else (),
    )


def _bounds(probability: float, unlisted: float) -> Bounds:
    return Bounds(probability, min(1.0, probability + unlisted))


def _unhurt(
    contender: Contender, outcomes: Sequence[FailureOutcome], of: NDArray[np.float64], priority: int | None
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the sending pairs of a class, and the probability of the listed states in which each loses nothing."""
    traffic = contender.traffic
    hurt = np.zeros(len(traffic.plan.pairs))
    for outcome, probability in zip(outcomes, of[1:], strict=True):
        hurt[list(outcome.hurt)] += probability
    sends = traffic.tunnels.sums(traffic.sent) > 0
    if priority is not None:
        sends &= traffic.priority == priority
    pairs = np.flatnonzero(sends)
    return pairs, of.sum() - hurt[pairs]


def _served_with(
    of: NDArray[np.float64], served: NDArray[np.float64], unlisted: float, then: float, probability: float
) -> float:
    """Return the largest share reached with at least this probability, if unlisted states reach `then`."""
    shares = np.append(served, then)
    order = np.argsort(-shares, kind="stable")
    reached = np.cumsum(np.append(of, unlisted)[order])
    enough = np.flatnonzero(reached >= probability - _DUST)
    return float(shares[order][enough[0]]) if enough.size else 0.0
