"""Checks the goodput of a run against the bars of its experiment; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.results.result import Check, FlowResult

MARGIN = 0.08
"""Largest distance of a goodput share from the published one where TCP flows compete."""

CARRIED = 0.92
"""Least goodput / offered rate of a network that is not overloaded; headers alone make it 0.954 (paper: 0.95)."""


@dataclass(frozen=True)
class Bar:
    """Bounds on the share of goodput (after / before) that some flows keep together, and the published share."""

    flows: tuple[str, ...]
    low: float
    high: float | None
    published: float

    @property
    def name(self) -> str:
        return f"{' + '.join(self.flows)} after/before"


def around(flows: tuple[str, ...], share: float) -> Bar:
    """Return a bar: the flows keep `share` of their goodput, within `MARGIN`."""
    return Bar(flows, share - MARGIN, share + MARGIN, share)


def judge(bars: Sequence[Bar], flows: Sequence[FlowResult]) -> tuple[Check, ...]:
    """Return one check per bar.

    Raises:
        ValueError: the flows of a bar had no goodput before the failure, so their share is undefined.
    """
    by_name = {flow.name: flow for flow in flows}
    checks = []
    for bar in bars:
        before = sum(by_name[name].before for name in bar.flows)
        after = sum(by_name[name].after for name in bar.flows)
        if before <= 0:
            raise ValueError(f"{' and '.join(bar.flows)} had no goodput before the failure")
        checks.append(Check(bar.name, after / before, bar.low, bar.high, bar.published))
    return tuple(checks)


def uncarried(flows: Sequence[FlowResult]) -> tuple[str, ...]:
    """Return reasons, in words, if the network did not carry the offered load before the failure, as it should have.

    Flows are added up, as those that fill a link share it by chance.
    """
    offered, carried = sum(flow.offered for flow in flows), sum(flow.before for flow in flows)
    if carried >= CARRIED * offered:
        return ()
    return (f"before the cut {carried:.1f} of {offered:g} Mbit/s offered got through, less than {CARRIED:.0%}",)
