"""What `kuijia whatif` found, as lines for people and as JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from simulator.flow.comparison import ABORIGINAL, Comparison, compare, ranked, recovery
from simulator.flow.failure_impact import Role
from simulator.flow.what_if import Contender, Outcome, loss_share
from te_solver.formats.notes import counted
from te_solver.topology import Topology

FORMAT = "kuijia-whatif"
VERSION = 1

_SUMS = ("sent", "failure_loss", "congestion_loss", "goodput")
_NOTHING = 5e-5
"""A share of loss that is shown as zero."""


def outcomes_of(contender: Contender, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.scheme == contender.scheme.name]


def summary(
    topology: Topology, contenders: Sequence[Contender], outcomes: Sequence[Outcome], worst: int | None
) -> Iterator[str]:
    """The schemes side by side, then for each its worst failures, at most as many as `worst` if that is given."""
    failures = len(outcomes) // len(contenders)
    plan = contenders[0].traffic.plan
    classes = contenders[0].traffic.classes
    yield f"{topology.name}: {counted(failures, 'failure')}, {counted(len(plan.pairs), 'pair')}"
    yield from _comparison(contenders, outcomes, None)
    if len(classes) > 1:
        for priority in classes:
            yield from ("", f"class {priority}", *_comparison(contenders, outcomes, priority))
    yield from _recoveries(contenders, outcomes)
    for contender in contenders:
        mine = outcomes_of(contender, outcomes)
        yield from ("", f"worst failures under {contender.scheme.name} (Mbit/s lost)", *_worst_lines(mine, worst))


def _comparison(contenders: Sequence[Contender], outcomes: Sequence[Outcome], priority: int | None) -> Iterator[str]:
    yield ""
    yield "                              lost, mean of all failures    worst         lost of these roles   aboriginal"
    yield "scheme                   sent     all  failure  congestion      all  victim  direct  indirect        worst"
    for contender in contenders:
        yield _comparison_line(compare(contender, outcomes_of(contender, outcomes), priority))


def _comparison_line(of: Comparison) -> str:
    return (
        f"{of.scheme:<22}{of.sent:>7.6g}"
        f"{percent(of.lost):>8}{percent(of.failure_loss):>9}{percent(of.congestion_loss):>12}{percent(of.lost_worst):>9}"
        f"{percent(of.of_role[Role.VICTIM]):>8}{percent(of.of_role[Role.DIRECT]):>8}"
        f"{percent(of.of_role[Role.INDIRECT]):>10}{percent(of.aboriginal_worst):>13}"
    )


def _recoveries(contenders: Sequence[Contender], outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield ""
    yield "                       goodput, Mbit/s     changes tunnel    links over capacity   capacity"
    yield "scheme                   mean    worst      mean     worst       mean      worst     vacant"
    for contender in contenders:
        mine = outcomes_of(contender, outcomes)
        rates, effort = compare(contender, mine), recovery(contender, mine)
        yield (
            f"{rates.scheme:<22}{rates.goodput_mean:>7.6g}{rates.goodput_least:>9.6g}"
            f"{percent(effort.moved_mean):>10}{percent(effort.moved_most):>10}"
            f"{effort.overloaded_mean:>11.1f}{effort.overloaded_most:>11}{percent(effort.vacant):>11}"
        )


def _worst_lines(mine: Sequence[Outcome], worst: int | None) -> Iterator[str]:
    hurting = [outcome for outcome in ranked(mine) if loss_share(outcome.total()) > _NOTHING]
    for outcome in hurting[:worst]:
        lost, victims = outcome.total(), outcome.total((Role.VICTIM,))
        others = outcome.total(ABORIGINAL)
        yield (
            f"  {percent(loss_share(lost)):>6}  {outcome.failure}: "
            f"victims {victims.lost:.6g} of {victims.sent:.6g}, others {others.lost:.6g} of {others.sent:.6g}"
        )
    left = len(hurting) - len(hurting[:worst])
    if left:
        yield f"  and {left} more that lose something (-v names all)"
    if len(hurting) < len(mine):
        yield f"  nothing is lost in {len(mine) - len(hurting)} of {len(mine)}"


def percent(share: float) -> str:
    return f"{share:.2%}" if share > _NOTHING else "0%"


def as_json(topology: Topology, contenders: Sequence[Contender], outcomes: Sequence[Outcome]) -> dict[str, object]:
    """All outcomes; rates in Mbit/s."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "topology": topology.name,
        "schemes": [_scheme_as_json(contender, outcomes_of(contender, outcomes)) for contender in contenders],
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
            for outcome in outcomes
        ],
    }


def _scheme_as_json(contender: Contender, mine: Sequence[Outcome]) -> dict[str, object]:
    plan = contender.traffic.plan
    return {
        "name": contender.scheme.name,
        "objective": plan.objective,
        "protected_failures": plan.protected_failures,
        "demand": contender.demand(),
        "sent": contender.sent(),
        "all": _comparison_as_json(compare(contender, mine)),
        "classes": [
            {"priority": priority, **_comparison_as_json(compare(contender, mine, priority))}
            for priority in contender.traffic.classes
        ],
        "recovery": asdict(recovery(contender, mine)),
        "worst": [{"failure": outcome.failure, "lost": loss_share(outcome.total())} for outcome in ranked(mine)],
    }


def _comparison_as_json(of: Comparison) -> dict[str, object]:
    data = {key: value for key, value in asdict(of).items() if key not in {"scheme", "priority", "of_role"}}
    return {**data, "lost_of_role": {role.name.lower(): share for role, share in of.of_role.items()}}


def as_csv(outcomes: Sequence[Outcome]) -> str:
    """A line for each scheme, failure, class and role; rates in Mbit/s."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("scheme", "failure", "overloaded_links", "moved", "priority", "role", *_SUMS))
    for outcome in outcomes:
        head = (outcome.scheme, outcome.failure, len(outcome.overloaded), outcome.moved)
        for (priority, role), of_role in outcome.sums.items():
            writer.writerow((*head, priority, role.name.lower(), *(getattr(of_role, name) for name in _SUMS)))
    return text.getvalue()
