"""A what-if study: all numbers, how probable failures are, where it came from, and which failures are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kuijia_base.quantities import NO_SHARE
from simulator.flow.availability import Availability, Bounds, availability
from simulator.flow.what_if import Contender, FailureOutcome, loss_share, ranked
from te_solver.model.failures import Failure, FailureProbabilities
from te_solver.model.topology import Topology


@dataclass(frozen=True)
class Likelihood:
    """Probabilities of the failures and their source."""

    source: str
    probabilities: FailureProbabilities


@dataclass(frozen=True)
class Provenance:
    """Origin of a study.

    Attributes:
        command: command that reproduces it.
        versions: of the programs, by name.
        assumptions: made by readers of files, one sentence each.
    """

    command: str
    versions: Mapping[str, str]
    assumptions: Sequence[str] = field(default=())


@dataclass(frozen=True, eq=False)
class WhatIfStudy:
    """A what-if study.

    Attributes:
        topology: the network.
        contenders: the schemes, at least one.
        failures: common to all schemes, at least one.
        outcomes: all failures in order for the first scheme, then for the next.
        likelihood: None if no probabilities are known.
    """

    topology: Topology
    contenders: Sequence[Contender]
    failures: Sequence[Failure]
    outcomes: Sequence[FailureOutcome]
    likelihood: Likelihood | None = None

    @property
    def classes(self) -> tuple[int, ...]:
        """Classes of traffic, most important first."""
        return self.contenders[0].traffic.classes

    def of(self, contender: Contender) -> Sequence[FailureOutcome]:
        """Return the outcome of each failure under this scheme."""
        return self._of_scheme[contender.scheme.name]

    @cached_property
    def _of_scheme(self) -> dict[str, list[FailureOutcome]]:
        found: dict[str, list[FailureOutcome]] = {contender.scheme.name: [] for contender in self.contenders}
        for outcome in self.outcomes:
            found[outcome.scheme].append(outcome)
        return found

    def availability(self, contender: Contender, priority: int | None = None) -> Availability:
        """Return a scheme's availability; raises ValueError if the failures have no probabilities."""
        if self.likelihood is None:
            raise ValueError("the failures of this study have no probabilities")
        return availability(contender, self.of(contender), self.likelihood.probabilities, priority)


def hurting(outcomes: Sequence[FailureOutcome]) -> list[FailureOutcome]:
    """Return the failures with a visible cost, the worst first."""
    return [outcome for outcome in ranked(outcomes) if loss_share(outcome.total()) > NO_SHARE]


def span(bounds: Bounds) -> str:
    """Return both bounds as percentages, or one number if they look the same."""
    low, high = f"{bounds.low * 100:.2f}", f"{bounds.high * 100:.2f}"
    return f"{low}%" if low == high else f"{low}-{high}%"
