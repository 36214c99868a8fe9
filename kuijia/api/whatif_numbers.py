"""Numbers of a what-if study by the fluid model, as JSON data and back, and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from kuijia_app.tables.connected_pairs import DeadPairs, dead_pairs
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.text import csv_text
from simulator.flow.availability import GUARANTEED, KEPT, Availability, Bounds
from simulator.flow.failure_impact import Role, RoleTraffic
from simulator.flow.what_if import FailureOutcome, Recovery, SchemeFigures, loss_share, ranked
from simulator.studies.whatif.study import Likelihood, Provenance, SchemeNumbers, WhatIfStudy
from te_solver.model.failures import FailureProbabilities

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Read = TypeVar("Read", bound=DataclassInstance)

FORMAT, VERSION = "kuijia-whatif", 1

_SUMS = ("sent", "failure_loss", "congestion_loss", "goodput")


@dataclass(frozen=True, eq=False)
class WhatIfNumbers:
    """All that a file has of a study.

    Attributes:
        topology: name of the network.
        schemes: at least one.
        likelihood: None if no probabilities are known.
        provenance: how the study was made.
        pairs: their number; None if it is unknown, as of numbers from a file.
        count_dead: returns what `dead` holds, which can take seconds.
    """

    topology: str
    schemes: Sequence[SchemeNumbers]
    likelihood: Likelihood | None
    provenance: Provenance
    pairs: int | None
    count_dead: Callable[[], DeadPairs]

    @classmethod
    def of(cls, study: WhatIfStudy, provenance: Provenance) -> WhatIfNumbers:
        plan = study.contenders[0].traffic.plan
        count_dead = partial(dead_pairs, plan, PipelineOptions(), study.failures)
        return cls(study.topology.name, study.numbers, study.likelihood, provenance, len(plan.pairs), count_dead)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WhatIfNumbers:
        """Return the numbers that `as_json` has made data of."""
        outcomes: dict[str, list[FailureOutcome]] = {each["name"]: [] for each in data["schemes"]}
        for each in data["outcomes"]:
            outcomes[each["scheme"]].append(_outcome(each))
        likelihood = None
        if (chances := data.get("probabilities")) is not None:
            of = tuple(each["probability"] for each in chances["failures"])
            likelihood = Likelihood(chances["source"], FailureProbabilities(chances["none"], of))
        schemes = [_scheme(each, outcomes[each["name"]]) for each in data["schemes"]]
        dead = _read(DeadPairs, data["pairs"])
        provenance = _read(Provenance, told := data["provenance"], assumptions=tuple(told["assumptions"]))
        return cls(data["topology"], schemes, likelihood, provenance, None, lambda: dead)

    @cached_property
    def dead(self) -> DeadPairs:
        """Pairs of the first scheme's plan that lose all tunnels but not their path, as switches see it."""
        return self.count_dead()

    @property
    def classes(self) -> list[int]:
        """Classes of traffic, most important first."""
        return [priority for priority in self.schemes[0].figures if priority is not None]

    @property
    def failures(self) -> tuple[str, ...]:
        return tuple(outcome.failure for outcome in self.schemes[0].outcomes)

    def as_json(self) -> dict[str, object]:
        """Return all outcomes, their summary and their provenance; rates in Mbit/s."""
        data: dict[str, object] = {
            "format": FORMAT,
            "version": VERSION,
            "provenance": asdict(self.provenance),
            "topology": self.topology,
            "pairs": asdict(self.dead),
            "schemes": [_scheme_as_json(scheme) for scheme in self.schemes],
            "outcomes": [
                {
                    "scheme": outcome.scheme,
                    "failure": outcome.failure,
                    "moved": outcome.moved,
                    "overloaded": [list(ends) for ends in outcome.overloaded],
                    "hurt": list(outcome.hurt),
                    "sums": [
                        {"priority": priority, "role": role.name.lower(), **asdict(of_role)}
                        for (priority, role), of_role in outcome.sums.items()
                    ],
                }
                for scheme in self.schemes
                for outcome in scheme.outcomes
            ],
        }
        if self.likelihood is not None:
            chances = self.likelihood.probabilities
            data["probabilities"] = {
                "source": self.likelihood.source,
                "none": chances.none,
                "unlisted": chances.unlisted,
                "failures": [
                    {"failure": failure, "probability": probability}
                    for failure, probability in zip(self.failures, chances.of, strict=True)
                ],
            }
        return data

    def as_csv(self) -> str:
        """Return a line for each scheme, failure, class and role; rates in Mbit/s."""
        rows = (
            (
                *(outcome.scheme, outcome.failure, len(outcome.overloaded), outcome.moved),
                *(priority, role.name.lower(), *(getattr(of_role, name) for name in _SUMS)),
            )
            for scheme in self.schemes
            for outcome in scheme.outcomes
            for (priority, role), of_role in outcome.sums.items()
        )
        return csv_text(("scheme", "failure", "overloaded_links", "moved", "priority", "role", *_SUMS), rows)


def _scheme_as_json(scheme: SchemeNumbers) -> dict[str, object]:
    of_all = scheme.figures[None]
    return {
        "name": scheme.name,
        "objective": scheme.objective,
        "protected_failures": scheme.protected_failures,
        "demand": of_all.demand,
        "sent": of_all.sent,
        "all": _figures_as_json(scheme, None),
        "classes": [
            {"priority": priority, **_figures_as_json(scheme, priority)}
            for priority in scheme.figures
            if priority is not None
        ],
        "recovery": asdict(scheme.recovery),
        "worst": [
            {"failure": outcome.failure, "lost": loss_share(outcome.total())} for outcome in ranked(scheme.outcomes)
        ],
    }


def _figures_as_json(scheme: SchemeNumbers, priority: int | None) -> dict[str, object]:
    of = scheme.figures[priority]
    data = {key: value for key, value in asdict(of).items() if key not in {"scheme", "priority", "of_role"}}
    data["lost_of_role"] = {role.name.lower(): lost for role, lost in of.of_role.items()}
    if priority in scheme.availability:
        data["availability"] = _availability_as_json(scheme.availability[priority])
    return data


def _availability_as_json(found: Availability) -> dict[str, object]:
    return {
        "throughput": asdict(found.throughput),
        "kept": [{"share": kept, **asdict(bounds)} for kept, bounds in zip(KEPT, found.kept, strict=True)],
        "guaranteed": [
            {"probability": probability, **asdict(bounds)}
            for probability, bounds in zip(GUARANTEED, found.guaranteed, strict=True)
        ],
        "pair_mean": asdict(found.pair_mean),
        "pair_worst": {**asdict(found.pair_worst), "pair": list(found.worst_pair)},
    }


def _read(kind: type[Read], data: Mapping[str, Any], **known: object) -> Read:
    """Return an object of a data class: fields that are not known are keys of the data, which may have others."""
    return kind(**{each.name: data[each.name] for each in fields(kind) if each.name not in known}, **known)


def _outcome(data: Mapping[str, Any]) -> FailureOutcome:
    sums = {(each["priority"], _role(each["role"])): _read(RoleTraffic, each) for each in data["sums"]}
    overloaded = tuple((a, b) for a, b in data["overloaded"])
    return _read(FailureOutcome, data, sums=sums, overloaded=overloaded, hurt=tuple(data["hurt"]))


def _scheme(data: Mapping[str, Any], outcomes: Sequence[FailureOutcome]) -> SchemeNumbers:
    name = data["name"]
    parts = {None: data["all"], **{each["priority"]: each for each in data["classes"]}}
    figures = {priority: _figures(name, priority, each) for priority, each in parts.items()}
    chances = {
        priority: _availability(name, priority, each["availability"])
        for priority, each in parts.items()
        if "availability" in each
    }
    recovery = _read(Recovery, data["recovery"])
    return _read(SchemeNumbers, data, figures=figures, availability=chances, recovery=recovery, outcomes=outcomes)


def _figures(scheme: str, priority: int | None, data: Mapping[str, Any]) -> SchemeFigures:
    of_role = {_role(name): lost for name, lost in data["lost_of_role"].items()}
    return _read(SchemeFigures, data, scheme=scheme, priority=priority, of_role=of_role)


def _availability(scheme: str, priority: int | None, data: Mapping[str, Any]) -> Availability:
    several = {name: tuple(_read(Bounds, each) for each in data[name]) for name in ("kept", "guaranteed")}
    single = {name: _read(Bounds, data[name]) for name in ("throughput", "pair_mean", "pair_worst")}
    worst = tuple(data["pair_worst"]["pair"])
    return _read(Availability, {**several, **single}, scheme=scheme, priority=priority, worst_pair=worst)


def _role(name: str) -> Role:
    return Role[name.upper()]
