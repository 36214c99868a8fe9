"""A what-if study as plain data: schemes, the failures that all of them met, what came of it, and how likely it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from simulator.flow.availability import Availability, availability
from simulator.flow.what_if import Contender, Outcome
from te_solver.failure_probabilities import FailureProbabilities
from te_solver.failures import Failure
from te_solver.topology import Topology


@dataclass(frozen=True)
class Likelihood:
    """How likely the failures are, and where that is from."""

    source: str
    probabilities: FailureProbabilities


@dataclass(frozen=True)
class Provenance:
    """How a study was made.

    Attributes:
        command: what makes it again.
        versions: of the programs, by name.
        assumptions: what readers of files assumed, a sentence each.
    """

    command: str
    versions: Mapping[str, str]
    assumptions: Sequence[str] = field(default=())


@dataclass(frozen=True, eq=False)
class Study:
    """All of it.

    Attributes:
        topology: the network.
        contenders: the schemes, one at least.
        failures: what all of them met, one at least.
        outcomes: of the first scheme all failures in their order, then of the next.
        likelihood: None when nobody said.
    """

    topology: Topology
    contenders: Sequence[Contender]
    failures: Sequence[Failure]
    outcomes: Sequence[Outcome]
    likelihood: Likelihood | None = None

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes of traffic, most important first."""
        return self.contenders[0].traffic.classes

    def of(self, contender: Contender) -> Sequence[Outcome]:
        """What came of each failure under this scheme."""
        return self._of_scheme[contender.scheme.name]

    @cached_property
    def _of_scheme(self) -> dict[str, list[Outcome]]:
        found: dict[str, list[Outcome]] = {contender.scheme.name: [] for contender in self.contenders}
        for outcome in self.outcomes:
            found[outcome.scheme].append(outcome)
        return found

    def availability(self, contender: Contender, priority: int | None = None) -> Availability:
        """A scheme's figures; raises ValueError when nobody said how likely the failures are."""
        if self.likelihood is None:
            raise ValueError("the failures of this study have no probabilities")
        return availability(contender, self.of(contender), self.likelihood.probabilities, priority)
