"""Tables 2 and 3 as text and as JSON data: our goodput scaled to the paper's link beside the published one; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.motivation_cases import MotivationTable
from experiments.published import PublishedThroughput
from experiments.result import Check, Result

_LABEL_WIDTH = 22
_CELL_WIDTH = 7


@dataclass(frozen=True)
class _Shares:
    """Mean goodput of one flow over the valid runs of a scheme, in parts of the paper's link; None without any."""

    before: float | None
    after: float | None

    @property
    def kept(self) -> float | None:
        return self.after / self.before if self.before and self.after is not None else None


def table_text(table: MotivationTable, published: PublishedThroughput, results: Sequence[Result]) -> str:
    """Return a table of every flow (offered, before, after per scheme; ours and the paper's), then the bars.

    The means leave out runs on an overloaded machine.
    """
    names, schemes, first = list(table.offered_parts), _schemes(results), results[0]
    link = "-".join(first.failure.link)
    repetitions = max(result.repetition for result in results)
    title = (
        f"{table.title}: goodput in parts of a {table.link_parts}-part link, {link} cut"
        f" (here a link is {first.capacity:g} Mbit/s{f', means of {repetitions} runs' if repetitions > 1 else ''})"
    )
    lines = [title, "", _line("", [f"{name:^{2 * _CELL_WIDTH + 1}}" for name in names])]
    lines.append(_line("", [_cells("here", "paper")] * len(names)))
    lines.append(
        _line("offered", [_cells(_parts(table.offered_parts[n]), _parts(published.offered[n])) for n in names])
    )
    ours = {scheme: {name: _shares(table, results, scheme, name) for name in names} for scheme in schemes}
    before = {name: _mean([ours[scheme][name].before for scheme in schemes]) for name in names}
    lines.append(_line("before", [_cells(_parts(before[n]), _parts(published.before[n])) for n in names]))
    for scheme in schemes:
        theirs = published.after[scheme]
        cells = [_cells(_parts(ours[scheme][n].after), _parts(theirs[n])) for n in names]
        lines.append(_line(f"after, {scheme}", cells))
    for scheme in schemes:
        theirs = published.after[scheme]
        cells = [_cells(_ratio(ours[scheme][n].kept), _ratio(theirs[n] / published.before[n])) for n in names]
        lines.append(_line(f"after/before, {scheme}", cells))
    return "\n".join([*lines, "", *_check_lines(results)])


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
                        "published_after": published.after[scheme][name],
                    }
                    for name in table.offered_parts
                    for shares in [_shares(table, results, scheme, name)]
                },
                "runs": [
                    {
                        "repetition": result.repetition,
                        "invalid": list(result.invalid),
                        "checks": [_check_data(check) for check in result.checks],
                    }
                    for result in results
                    if result.scheme == scheme
                ],
            }
            for scheme in _schemes(results)
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


def _schemes(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(result.scheme for result in results))


def _check_lines(results: Sequence[Result]) -> list[str]:
    lines = []
    for result in results:
        run = f"{result.scheme} {result.repetition}"
        lines += [f"BUSY  {run}: {reason}" for reason in result.invalid]
        lines += [
            f"{'ok  ' if check.passed else 'MISS'}  {run}: {check.name} {check.measured:.3f} ({check.bar})"
            for check in result.checks
        ]
    return lines


def _check_data(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "measured": check.measured,
        "low": check.low,
        "high": check.high,
        "passed": check.passed,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _line(label: str, cells: Sequence[str]) -> str:
    return f"{label:<{_LABEL_WIDTH}}{'  '.join(cells)}".rstrip()


def _cells(here: str, paper: str) -> str:
    return f"{here:>{_CELL_WIDTH}} {paper:>{_CELL_WIDTH}}"


def _parts(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
