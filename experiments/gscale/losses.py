"""What flows lose, by the part they play in a failure: the table that every figure of the evaluation is drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import get_args

from experiments.result import FlowResult, Result, Role


def role_loss(flows: Iterable[FlowResult]) -> float | None:
    """What flows lose together: of UDP of the packets sent after the failure, of TCP of their goodput before it.

    None when they had nothing to lose.
    """
    members = list(flows)
    had = sum(flow.before if flow.sent is None else flow.sent for flow in members)
    return 1 - sum(flow.after for flow in members) / had if had > 0 else None


def losses_text(results: Sequence[Result]) -> str:
    """A line for every kind of traffic, demand and scheme: the mean over runs of what each role loses, in per cent."""
    roles: tuple[Role, ...] = get_args(Role)
    groups: dict[tuple[str, float, str], list[Result]] = {}
    for result in results:
        key = (result.parameters["traffic"], result.parameters["demand"], result.scheme)
        groups.setdefault(key, []).append(result)
    lines = [
        "loss in %, mean of the failures",
        "traffic     demand  scheme     runs" + "".join(f"{role:>12}" for role in roles),
    ]
    for (traffic, demand, scheme), members in groups.items():
        cells = []
        for role in roles:
            found = [role_loss(flow for flow in result.flows if flow.role == role) for result in members]
            losses = [loss for loss in found if loss is not None]
            cells.append(f"{100 * fmean(losses):>12.2f}" if losses else f"{'-':>12}")
        lines.append(f"{traffic:<10} {demand:>7g}  {scheme:<9} {len(members):>5}" + "".join(cells))
    return "\n".join(lines)
