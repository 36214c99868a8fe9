"""Selects and formats a study's shares to show: the same in the summary, on the page and on its maps."""

from __future__ import annotations

from collections.abc import Sequence

from kuijia_base.quantities import NO_SHARE
from simulator.flow.availability import Bounds
from simulator.flow.comparison import ranked
from simulator.flow.what_if import FailureOutcome, loss_share


def hurting(outcomes: Sequence[FailureOutcome]) -> list[FailureOutcome]:
    """Return the failures with a visible cost, the worst first."""
    return [outcome for outcome in ranked(outcomes) if loss_share(outcome.total()) > NO_SHARE]


def span(bounds: Bounds) -> str:
    """Return both bounds as percentages, or one number if they look the same."""
    low, high = f"{bounds.low * 100:.2f}", f"{bounds.high * 100:.2f}"
    return f"{low}%" if low == high else f"{low}-{high}%"
