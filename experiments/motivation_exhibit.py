"""Makes Tables 2 and 3 exhibits: goodput of each flow before and after the cut, beside published figures; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.exhibit import Exhibit, Line, Point
from experiments.motivation_cases import TABLE_2, TABLE_3, MotivationTable
from experiments.published import published_throughput
from experiments.result import Result

TABLES = {table.name: table for table in (TABLE_2, TABLE_3)}


def motivation_exhibit(results: Sequence[Result]) -> Exhibit:
    """Return the exhibit of valid results (at least one) that share one table and backend."""
    table: MotivationTable = TABLES[results[0].experiment]
    published = published_throughput(table.name)
    names = list(table.offered_parts)
    lines = [
        Line(
            "before",
            tuple(Point.of(name, _parts(results, table, name, "before"), published.before[name]) for name in names),
        )
    ]
    for scheme in dict.fromkeys(result.scheme for result in results):
        own = [result for result in results if result.scheme == scheme]
        theirs = published.after[scheme]
        points = tuple(Point.of(name, _parts(own, table, name, "after"), theirs[name]) for name in names)
        lines.append(Line(f"after, {scheme}", points))
    checks = tuple(
        replace(check, name=f"{result.scheme} {result.repetition}: {check.name}")
        for result in results
        for check in result.checks
    )
    return Exhibit(
        table.name,
        f"throughput of four TCP flows around the cut of {'-'.join(results[0].failure.link)}",
        table.title,
        results[0].backend,
        "flow",
        f"goodput in parts of a {table.link_parts}-part link",
        tuple(lines),
        published.source,
        checks,
    )


def _parts(results: Sequence[Result], table: MotivationTable, flow: str, moment: str) -> list[float]:
    return [getattr(result.flow(flow), moment) / result.capacity * table.link_parts for result in results]
