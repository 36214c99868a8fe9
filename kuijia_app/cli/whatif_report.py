"""What `kuijia whatif` found, as lines for people and as JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from simulator.flow.failure_impact import Role
from simulator.flow.what_if import Contender, Outcome, loss_share
from te_solver.formats.notes import counted
from te_solver.topology import Topology

FORMAT = "kuijia-whatif"
VERSION = 1

_ABORIGINAL = (Role.DIRECT, Role.INDIRECT, Role.UNTOUCHED)
_SUMS = ("sent", "failure_loss", "congestion_loss", "goodput")
_NOTHING = 5e-5
"""A share of loss that is shown as zero."""


def summary(
    topology: Topology, contenders: Sequence[Contender], outcomes: Sequence[Outcome], worst: int | None
) -> Iterator[str]:
    """The schemes side by side, then for each its worst failures, at most as many as `worst` if that is given."""
    failures = len(outcomes) // len(contenders)
    plan = contenders[0].traffic.plan
    yield f"{topology.name}: {counted(failures, 'failure')}, {counted(len(plan.pairs), 'pair')}"
    yield ""
    yield "                              lost, mean of all failures    worst   aboriginal traffic lost    links over"
    yield "scheme                   sent     all  failure  congestion      all  direct indirect     worst     capacity"
    for contender in contenders:
        mine = [outcome for outcome in outcomes if outcome.scheme == contender.scheme.name]
        yield _line(contender, mine)
    for contender in contenders:
        mine = [outcome for outcome in outcomes if outcome.scheme == contender.scheme.name]
        yield from ("", f"worst failures under {contender.scheme.name} (Mbit/s lost)", *_worst_lines(mine, worst))


def _line(contender: Contender, mine: Sequence[Outcome]) -> str:
    totals = [outcome.total() for outcome in mine]
    sent = float(contender.traffic.sent.sum())

    def mean(lost: Sequence[float]) -> str:
        return _percent(sum(lost) / len(lost) / sent if sent else 0.0)

    def of_role(role: Role) -> str:
        sums = [outcome.total((role,)) for outcome in mine]
        before = sum(each.sent for each in sums)
        return _percent(sum(each.failure_loss + each.congestion_loss for each in sums) / before if before else 0.0)

    return (
        f"{contender.scheme.name:<22}{sent:>7.6g}"
        f"{mean([each.failure_loss + each.congestion_loss for each in totals]):>8}"
        f"{mean([each.failure_loss for each in totals]):>9}"
        f"{mean([each.congestion_loss for each in totals]):>12}"
        f"{_percent(max(map(loss_share, totals))):>9}"
        f"{of_role(Role.DIRECT):>8}{of_role(Role.INDIRECT):>9}"
        f"{_percent(max(loss_share(outcome.total(_ABORIGINAL)) for outcome in mine)):>10}"
        f"{sum(len(outcome.overloaded) for outcome in mine) / len(mine):>13.1f}"
    )


def _worst_lines(mine: Sequence[Outcome], worst: int | None) -> Iterator[str]:
    ranked = sorted(mine, key=lambda outcome: -loss_share(outcome.total()))
    hurting = [outcome for outcome in ranked if loss_share(outcome.total()) > _NOTHING]
    for outcome in hurting[:worst]:
        lost, victims = outcome.total(), outcome.total((Role.VICTIM,))
        others = outcome.total(_ABORIGINAL)
        yield (
            f"  {_percent(loss_share(lost)):>6}  {outcome.failure}: "
            f"victims {victims.failure_loss + victims.congestion_loss:.6g} of {victims.sent:.6g}, "
            f"others {others.failure_loss + others.congestion_loss:.6g} of {others.sent:.6g}"
        )
    left = len(hurting) - len(hurting[:worst])
    if left:
        yield f"  and {left} more that lose something (-v names all)"
    if len(hurting) < len(mine):
        yield f"  nothing is lost in {len(mine) - len(hurting)} of {len(mine)}"


def _percent(share: float) -> str:
    return f"{share:.2%}" if share > _NOTHING else "0%"


def as_json(topology: Topology, contenders: Sequence[Contender], outcomes: Sequence[Outcome]) -> dict[str, object]:
    """All outcomes; rates in Mbit/s."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "topology": topology.name,
        "schemes": [
            {
                "name": contender.scheme.name,
                "objective": contender.traffic.plan.objective,
                "demand": float(contender.traffic.demand.sum()),
                "sent": float(contender.traffic.sent.sum()),
            }
            for contender in contenders
        ],
        "outcomes": [
            {
                "scheme": outcome.scheme,
                "failure": outcome.failure,
                "moved": outcome.moved,
                "overloaded": [list(ends) for ends in outcome.overloaded],
                "sums": [
                    {"priority": priority, "role": role.name.lower(), **asdict(of_role)}
                    for (priority, role), of_role in outcome.sums.items()
                ],
            }
            for outcome in outcomes
        ],
    }


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
