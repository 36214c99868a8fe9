"""Findings of `kuijia whatif`, as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from kuijia_app.tables.connected_pairs import DeadPairs, dead_pairs
from kuijia_app.tables.options import PipelineOptions
from kuijia_base.csv_text import csv_text
from kuijia_base.quantities import counted, rate, rate_of, share
from kuijia_base.text_table import TextTable
from simulator.flow.availability import GUARANTEED, KEPT, Availability
from simulator.flow.comparison import ABORIGINAL, SchemeFigures, compare, ranked, recovery
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import Contender, FailureOutcome, loss_share
from simulator.studies.whatif.shown import hurting, span
from simulator.studies.whatif.study import Likelihood, Provenance, WhatIfStudy

FORMAT = "kuijia-whatif"
VERSION = 1

_SUMS = ("sent", "failure_loss", "congestion_loss", "goodput")
_THREE_NINES = GUARANTEED.index(0.999)


def summary(study: WhatIfStudy, worst: int | None) -> Iterator[str | TextTable]:
    """Yield the schemes side by side, then the worst failures of each, at most `worst` if that is given."""
    pairs = counted(len(study.contenders[0].traffic.plan.pairs), "pair")
    yield f"{study.topology.name}: {counted(len(study.failures), 'failure')}, {pairs}"
    yield from _comparison(study, None)
    if len(study.classes) > 1:
        for priority in study.classes:
            yield from ("", f"class {priority}", *_comparison(study, priority))
    yield from _recoveries(study)
    dead = _dead_pairs(study)
    if dead.without_tunnel:
        yield from ("", str(dead))
    if study.likelihood is not None:
        yield from _availability(study, study.likelihood)
    for contender in study.contenders:
        yield from ("", f"worst failures under {contender.scheme.name} (share lost, rates lost)")
        yield from _worst_lines(study.of(contender), worst)


def _dead_pairs(study: WhatIfStudy) -> DeadPairs:
    """Return the pairs of the first scheme's plan that lose all tunnels but not their path, as switches see it."""
    return dead_pairs(study.contenders[0].traffic.plan, PipelineOptions(), study.failures)


def _comparison(study: WhatIfStudy, priority: int | None) -> Iterator[str | TextTable]:
    groups = ("", "", "lost, mean:", "", "", "worst:", "of role:", "", "", "", "aboriginal:")
    heads = (
        "scheme",
        "sent",
        "all",
        "failure",
        "congestion",
        "all",
        "victim",
        "direct",
        "indirect",
        "untouched",
        "worst",
    )
    rows = (_comparison_row(compare(contender, study.of(contender), priority)) for contender in study.contenders)
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _comparison_row(of: SchemeFigures) -> list[str]:
    roles = (Role.VICTIM, Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
    lost = (of.lost, of.failure_loss, of.congestion_loss, of.lost_worst)
    shares = (*lost, *(of.of_role[role] for role in roles), of.aboriginal_worst)
    return [of.scheme, rate(of.sent), *map(share, shares)]


def _recoveries(study: WhatIfStudy) -> Iterator[str | TextTable]:
    groups = ("", "goodput:", "", "changes tunnel:", "", "links over capacity:", "", "capacity:")
    heads = ("scheme", *["mean", "worst"] * 3, "vacant")
    rows = []
    for contender in study.contenders:
        mine = study.of(contender)
        rates, effort = compare(contender, mine), recovery(contender, mine)
        goodput = (rate(rates.goodput_mean), rate(rates.goodput_least))
        moved = (share(effort.moved_mean), share(effort.moved_most))
        overloaded = (f"{effort.overloaded_mean:.1f}", f"{effort.overloaded_most}")
        rows.append((rates.scheme, *goodput, *moved, *overloaded, share(effort.vacant)))
    yield ""
    yield TextTable((groups, heads, *rows), headings=2)


def _availability(study: WhatIfStudy, likelihood: Likelihood) -> Iterator[str | TextTable]:
    chances = likelihood.probabilities
    yield ""
    yield f"availability by {likelihood.source}: nothing fails {chances.none:.4%}, failures not examined"
    yield f"{chances.unlisted:.4%}; bounds if these lose everything or nothing"
    for priority in (None, *(study.classes if len(study.classes) > 1 else ())):
        yield "" if priority is None else f"class {priority}"
        heads = ("scheme", "of the demand", "all arrives", "pair, mean", "pair, worst", "99.9% of time")
        found = (study.availability(contender, priority) for contender in study.contenders)
        yield TextTable((heads, *map(_availability_row, found)))


def _availability_row(of: Availability) -> list[str]:
    shares = (of.throughput, of.kept[0], of.pair_mean, of.pair_worst, of.guaranteed[_THREE_NINES])
    return [of.scheme, *map(span, shares)]


def _worst_lines(mine: Sequence[FailureOutcome], worst: int | None) -> Iterator[str]:
    listed = hurting(mine)
    for outcome in listed[:worst]:
        lost, victims = outcome.total(), outcome.total((Role.VICTIM,))
        others = outcome.total(ABORIGINAL)
        yield (
            f"  {share(loss_share(lost)):>6}  {outcome.failure}: "
            f"victims {rate_of(victims.lost, victims.sent)}, others {rate_of(others.lost, others.sent)}"
        )
    left = len(listed) - len(listed[:worst])
    if left:
        yield f"  and {left} more with losses (-v lists all)"
    if len(listed) < len(mine):
        yield f"  nothing is lost in {len(mine) - len(listed)} of {len(mine)}"


def as_json(study: WhatIfStudy, provenance: Provenance) -> dict[str, object]:
    """Return all outcomes, their summary and their provenance; rates in Mbit/s."""
    data: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "provenance": asdict(provenance),
        "topology": study.topology.name,
        "pairs": asdict(_dead_pairs(study)),
        "schemes": [_scheme_as_json(study, contender) for contender in study.contenders],
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
            for outcome in study.outcomes
        ],
    }
    if study.likelihood is not None:
        chances = study.likelihood.probabilities
        data["probabilities"] = {
            "source": study.likelihood.source,
            "none": chances.none,
            "unlisted": chances.unlisted,
            "failures": [
                {"failure": failure.name, "probability": probability}
                for failure, probability in zip(study.failures, chances.of, strict=True)
            ],
        }
    return data


def _scheme_as_json(study: WhatIfStudy, contender: Contender) -> dict[str, object]:
    plan = contender.traffic.plan
    mine = study.of(contender)
    return {
        "name": contender.scheme.name,
        "objective": plan.objective,
        "protected_failures": plan.protected_failures,
        "demand": contender.demand(),
        "sent": contender.sent(),
        "all": _figures_as_json(study, contender, None),
        "classes": [
            {"priority": priority, **_figures_as_json(study, contender, priority)} for priority in study.classes
        ],
        "recovery": asdict(recovery(contender, mine)),
        "worst": [{"failure": outcome.failure, "lost": loss_share(outcome.total())} for outcome in ranked(mine)],
    }


def _figures_as_json(study: WhatIfStudy, contender: Contender, priority: int | None) -> dict[str, object]:
    data = _comparison_as_json(compare(contender, study.of(contender), priority))
    if study.likelihood is not None:
        data["availability"] = _availability_as_json(study.availability(contender, priority))
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


def _comparison_as_json(of: SchemeFigures) -> dict[str, object]:
    data = {key: value for key, value in asdict(of).items() if key not in {"scheme", "priority", "of_role"}}
    return {**data, "lost_of_role": {role.name.lower(): lost for role, lost in of.of_role.items()}}


def as_csv(outcomes: Sequence[FailureOutcome]) -> str:
    """Return a line for each scheme, failure, class and role; rates in Mbit/s."""
    rows = (
        (
            *(outcome.scheme, outcome.failure, len(outcome.overloaded), outcome.moved),
            *(priority, role.name.lower(), *(getattr(of_role, name) for name in _SUMS)),
        )
        for outcome in outcomes
        for (priority, role), of_role in outcome.sums.items()
    )
    return csv_text(("scheme", "failure", "overloaded_links", "moved", "priority", "role", *_SUMS), rows)
