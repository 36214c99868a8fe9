"""Tables 2 and 3 as JSON data: our goodput scaled to the paper's link beside the published one; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from experiments.motivation.cases import MotivationTable
from experiments.results.published import PublishedThroughput
from experiments.results.result import Result


@dataclass(frozen=True)
class _Shares:
    """Mean goodput of one flow over the valid runs of a scheme, in parts of the paper's link; None without any."""

    before: float | None
    after: float | None


def summary(table: MotivationTable, published: PublishedThroughput, results: Sequence[Result]) -> dict[str, Any]:
    """Return the same as JSON data: goodput in parts of the paper's link (means of valid runs), and every check."""
    return {
        "experiment": table.name,
        "source": published.source,
        "link_parts": table.link_parts,
        "capacity": results[0].capacity,
        "link": list(results[0].failure.link),
        "passed": all(result.passed for result in results),
        "schemes": {
            scheme: {
                "flows": {
                    name: {
                        "offered": table.offered_parts[name],
                        "before": shares.before,
                        "after": shares.after,
                        "published_before": published.before[name],
                        "published_after": published.after.get(scheme, {}).get(name),
                    }
                    for name in table.offered_parts
                    for shares in [_shares(table, results, scheme, name)]
                },
                "runs": [
                    {
                        "repetition": result.repetition,
                        "invalid": list(result.invalid),
                        "checks": [{**asdict(check), "passed": check.passed} for check in result.checks],
                    }
                    for result in results
                    if result.scheme == scheme
                ],
            }
            for scheme in dict.fromkeys(result.scheme for result in results)
        },
    }


def _shares(table: MotivationTable, results: Sequence[Result], scheme: str, name: str) -> _Shares:
    runs = [result for result in results if result.scheme == scheme and not result.invalid]
    scale = table.link_parts / results[0].capacity
    if not runs:
        return _Shares(None, None)
    return _Shares(
        before=fmean(run.flow(name).before for run in runs) * scale,
        after=fmean(run.flow(name).after for run in runs) * scale,
    )
