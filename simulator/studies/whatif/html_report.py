"""A what-if study as one self-contained HTML page: figures, maps, tables, their meaning and their provenance."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from kuijia_base.picture_file import picture_bytes
from kuijia_base.quantities import counted, rate, rate_of, share
from simulator.flow.availability import GUARANTEED, KEPT, Availability
from simulator.flow.comparison import ABORIGINAL, OLD, Recovery, SchemeFigures, compare, recovery
from simulator.flow.failure_impact import Role, RoleTraffic
from simulator.flow.what_if import Contender, FailureOutcome, loss_share
from simulator.studies.whatif.figures import figures
from simulator.studies.whatif.network_map import NetworkMap, network_map
from simulator.studies.whatif.shown import hurting, span
from simulator.studies.whatif.study import Provenance, WhatIfStudy
from te_solver.pictures.layout import mapped

LISTED = 25
"""Failures that the page lists for each scheme; a file lists all."""

_NAMED_LINKS = 2

_CAPTIONS = {
    "loss-distribution": "How many of the failures cost more than a given part of the traffic sent.",
    "loss-and-vacancy": "What a scheme leaves vacant in advance, and what failures cost it: the mean and the worst.",
    "loss-ranked": "Each failure by what it costs, and who loses it.",
}


@dataclass(frozen=True)
class _Row:
    """A failure in a scheme's list."""

    rank: int
    outcome: FailureOutcome
    lost: float
    probability: float | None
    overloaded: str


@dataclass(frozen=True)
class _Scheme:
    """Content of the page for one scheme."""

    name: str
    objective: str
    figures: SchemeFigures
    recovery: Recovery
    worst: str
    classes: Sequence[SchemeFigures]
    maps: Sequence[tuple[str, NetworkMap]]
    rows: Sequence[_Row]
    harmless: int
    unlisted: int


def html_report(study: WhatIfStudy, provenance: Provenance, seed: int = 1) -> str:
    """Return the page; `seed` places nodes that neither a file nor distances place."""
    environment = Environment(
        loader=PackageLoader("simulator.studies.whatif", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": share, "rate": rate, "rate_of": _rate_of, "counted": counted, "span": span}
    places = mapped(study.topology, seed)
    maps = (("all traffic", OLD), ("aboriginal traffic, whose own tunnels survive", ABORIGINAL))
    schemes = [
        _scheme(study, contender, [(title, network_map(study, contender, places, roles)) for title, roles in maps])
        for contender in study.contenders
    ]
    classes = study.classes if len(study.classes) > 1 else ()
    return environment.get_template("report.html.j2").render(
        study=study,
        demand=study.contenders[0].demand(),
        schemes=schemes,
        classes=classes,
        pictures=[(name, _CAPTIONS[name], _data_uri(figure)) for name, figure in figures(study).items()],
        availability=[(priority, _availability(study, priority)) for priority in (None, *classes)],
        kept=KEPT,
        guaranteed=GUARANTEED,
        provenance=provenance,
        listed=LISTED,
        Role=Role,
        ABORIGINAL=ABORIGINAL,
    )


def _scheme(study: WhatIfStudy, contender: Contender, maps: Sequence[tuple[str, NetworkMap]]) -> _Scheme:
    outcomes = study.of(contender)
    chances: dict[str, float] = {}
    if study.likelihood is not None:
        names = (failure.name for failure in study.failures)
        chances = dict(zip(names, study.likelihood.probabilities.of, strict=True))
    worst = hurting(outcomes)
    plan = contender.traffic.plan
    protected = f", survives any {counted(plan.protected_failures, 'failed link')}" if plan.protected_failures else ""
    return _Scheme(
        contender.scheme.name,
        f"{plan.objective}{protected}",
        compare(contender, outcomes),
        recovery(contender, outcomes),
        worst[0].failure if worst else "none",
        [compare(contender, outcomes, priority) for priority in study.classes],
        maps,
        [
            _Row(rank, each, loss_share(each.total()), chances.get(each.failure), _links(each))
            for rank, each in enumerate(worst[:LISTED], start=1)
        ],
        harmless=len(outcomes) - len(worst),
        unlisted=max(0, len(worst) - LISTED),
    )


def _availability(study: WhatIfStudy, priority: int | None) -> list[Availability]:
    if study.likelihood is None:
        return []
    return [study.availability(contender, priority) for contender in study.contenders]


def _links(outcome: FailureOutcome) -> str:
    named = ", ".join(f"{a}→{b}" for a, b in outcome.overloaded[:_NAMED_LINKS])
    more = len(outcome.overloaded) - _NAMED_LINKS
    return f"{named} and {more} more" if more > 0 else named or "none"


def _data_uri(figure: Figure) -> str:
    return f"data:image/svg+xml;base64,{b64encode(picture_bytes(figure, '.svg')).decode()}"


def _rate_of(of: RoleTraffic) -> str:
    return rate_of(of.lost, of.sent)
