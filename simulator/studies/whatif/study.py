"""A what-if study as plain data: schemes, failures, outcomes and probabilities; the sweep that computes outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.quantities import NO_SHARE
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.work import digest_of
from kuijia_base.sweep.workers import Workers
from simulator.flow.availability import Availability, Bounds, availability
from simulator.flow.failure_impact import FailureModel, Role, RoleTraffic, Weighting
from simulator.flow.what_if import (
    Contender,
    FailureOutcome,
    Recovery,
    SchemeFigures,
    compare,
    loss_share,
    outcome_of,
    ranked,
    recovery,
)
from te_solver.formats.plan_file import plan_to_json
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
        versions: of the programs, by name.
        assumptions: made by readers of files, one sentence each.
    """

    command: str
    versions: Mapping[str, str]
    assumptions: Sequence[str] = field(default=())


@dataclass(frozen=True, eq=False)
class SchemeNumbers:
    """Numbers of a scheme, which are known without its plan too.

    Attributes:
        objective, protected_failures: of its plan.
        figures: by class; those of all traffic are at None.
        availability: likewise; empty if no probabilities are known.
    """

    name: str
    objective: str
    protected_failures: int
    figures: Mapping[int | None, SchemeFigures]
    availability: Mapping[int | None, Availability]
    recovery: Recovery
    outcomes: Sequence[FailureOutcome]


@dataclass(frozen=True, eq=False)
class WhatIfStudy:
    """A what-if study.

    Attributes:
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

    @cached_property
    def numbers(self) -> Sequence[SchemeNumbers]:
        """Numbers of each scheme."""
        return [self._numbers(contender) for contender in self.contenders]

    def _numbers(self, contender: Contender) -> SchemeNumbers:
        plan, outcomes, classes = contender.traffic.plan, self.of(contender), (None, *self.classes)
        chances = None if self.likelihood is None else self.likelihood.probabilities
        return SchemeNumbers(
            contender.scheme.name,
            plan.objective,
            plan.protected_failures,
            {each: compare(contender, outcomes, each) for each in classes},
            {each: availability(contender, outcomes, chances, each) for each in classes} if chances else {},
            recovery(contender, outcomes),
            outcomes,
        )


def hurting(outcomes: Sequence[FailureOutcome]) -> list[FailureOutcome]:
    """Return the failures with a visible cost, the worst first."""
    return [outcome for outcome in ranked(outcomes) if loss_share(outcome.total()) > NO_SHARE]


def span(bounds: Bounds) -> str:
    """Return both bounds as percentages, or one number if they look the same."""
    low, high = f"{bounds.low * 100:.2f}", f"{bounds.high * 100:.2f}"
    return f"{low}%" if low == high else f"{low}-{high}%"


_FAILURES_AT_ONCE = 16
"""Failures in one case of the sweep."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Question of a what-if study, the same for all cases.

    Attributes:
        contenders: the schemes; the first call of any solver of theirs was for their plan's own problem.
        failures: of the plans' topology.
        elastic, weighting: see `FailureModel`.
    """

    contenders: Sequence[Contender]
    failures: Sequence[Failure]
    elastic: bool
    weighting: Weighting


@dataclass(frozen=True)
class FailureRange:
    """One case: a contender by its position, and the failures from `first` up to, but not including, `end`."""

    contender: int
    first: int
    end: int


@dataclass(frozen=True, eq=False)
class ReadyModels:
    """The questions, and a model for each contender that was used."""

    questions: Questions
    models: dict[int, FailureModel] = field(default_factory=dict)

    def model(self, contender: int) -> FailureModel:
        if contender not in self.models:
            asked = self.questions
            traffic = asked.contenders[contender].traffic
            self.models[contender] = FailureModel(traffic, elastic=asked.elastic, weighting=asked.weighting)
        return self.models[contender]


@contextmanager
def outcomes_of(
    questions: Questions, options: Mapping[str, Any], workers: Workers, output: OutputFolder | None, progress: Progress
) -> Iterator[list[FailureOutcome]]:
    """Yield every failure under every scheme, in the order of `simulator.flow.what_if.what_if`.

    A checkpoint in `output` keeps finished cases until the block, which writes the files made from them, has ended.

    Args:
        questions: the schemes and the failures.
        options: of the schemes, as JSON data: what decides the outcomes apart from plans and failures.
        workers: workers of the sweep.
        output: folder of the checkpoint, None for none.
        progress: shows the remaining time.

    Raises:
        KuijiaError, InterruptedWorkError: see `kuijia_base.sweep.sweep.swept`.
    """
    with swept(what_if_sweep(questions, options), workers, output, progress) as parts:
        schemes = len(questions.contenders)
        of_schemes = (chain.from_iterable(parts[contender::schemes]) for contender in range(schemes))
        yield [_outcome(data) for data in chain.from_iterable(of_schemes)]


def what_if_sweep(questions: Questions, options: Mapping[str, Any]) -> Sweep[Questions, ReadyModels, FailureRange]:
    count = len(questions.failures)
    parts = [
        # Schemes take turns: some take much longer than others, which would distort the estimate of the remaining time.
        FailureRange(contender, first, min(first + _FAILURES_AT_ONCE, count))
        for first in range(0, count, _FAILURES_AT_ONCE)
        for contender in range(len(questions.contenders))
    ]
    told = {
        "network": questions.contenders[0].traffic.plan.topology.name,
        "schemes": [contender.scheme.name for contender in questions.contenders],
        "failures": f"{count} ({digest_of([asdict(failure) for failure in questions.failures])})",
        "plans": digest_of([_plan(contender) for contender in questions.contenders]),
        "elastic": questions.elastic,
        "weighting": questions.weighting,
        **options,
    }
    return Sweep("whatif", told, questions, ReadyModels, _work, parts)


def _work(ready: ReadyModels, part: FailureRange) -> list[dict[str, Any]]:
    asked = ready.questions
    contender, model = asked.contenders[part.contender], ready.model(part.contender)
    return [_as_json(outcome_of(contender, model, failure)) for failure in asked.failures[part.first : part.end]]


def _plan(contender: Contender) -> dict[str, Any]:
    """Return the plan without values that differ when it is made again."""
    return {**plan_to_json(contender.traffic.plan), "solve_seconds": None}


def _as_json(outcome: FailureOutcome) -> dict[str, Any]:
    sums = [[priority, int(role), *astuple(of_role)] for (priority, role), of_role in outcome.sums.items()]
    return {**vars(outcome), "sums": sums}


def _outcome(data: Mapping[str, Any]) -> FailureOutcome:
    return FailureOutcome(
        **{
            **data,
            "sums": {(priority, Role(role)): RoleTraffic(*of_role) for priority, role, *of_role in data["sums"]},
            "overloaded": tuple((a, b) for a, b in data["overloaded"]),
            "hurt": tuple(data["hurt"]),
        }
    )
