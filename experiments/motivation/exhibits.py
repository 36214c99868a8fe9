"""Makes Tables 2 and 3 exhibits: goodput of each flow before and after the cut, beside published figures; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from experiments.compared_schemes import compared_schemes
from experiments.motivation.cases import TABLE_2, TABLE_3, MotivationTable
from experiments.results.comparability import refuse_flows, refuse_mixtures, stored_results
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_throughput
from experiments.results.result import Result
from experiments.results.stored_files import StoredFile
from kuijia_base.errors import InputError, quoted

TABLES = {table.name: table for table in (TABLE_2, TABLE_3)}


def motivation_exhibit(results: Sequence[Result]) -> Exhibit:
    """Return the exhibit of one or more results of the same table and backend.

    Numbers are means over the valid ones.
    """
    usable = [result for result in results if not result.invalid]
    table: MotivationTable = TABLES[results[0].experiment]
    published = published_throughput(table.name)
    names = list(table.offered_parts)
    lines = [
        Line("offered", tuple(Point.of(name, [table.offered_parts[name]], published.offered[name]) for name in names)),
        Line(
            "before",
            tuple(Point.of(name, _parts(usable, table, name, "before"), published.before[name]) for name in names),
        ),
    ]
    for scheme in dict.fromkeys(result.scheme for result in results):
        own = [result for result in usable if result.scheme == scheme]
        theirs = published.after.get(scheme, {})
        points = tuple(Point.of(name, _parts(own, table, name, "after"), theirs.get(name)) for name in names)
        lines.append(Line(f"after, {scheme}", points))
    checks = tuple(
        replace(check, name=f"{result.scheme} {result.repetition}: {check.name}")
        for result in usable
        for check in result.checks
    )
    unused = tuple(
        f"Not used: {result.scheme} {result.repetition}: {'; '.join(result.invalid)}."
        for result in results
        if result.invalid
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
        unused,
    )


def _parts(results: Sequence[Result], table: MotivationTable, flow: str, moment: str) -> list[float]:
    return [getattr(result.flow(flow), moment) / result.capacity * table.link_parts for result in results]


def exhibits_of_files(files: Sequence[StoredFile]) -> tuple[Exhibit, ...]:
    """Return the exhibit of each backend that has a valid run.

    Raises:
        InputError: a result has a scheme or flows that are not of the table, or runs were not measured alike.
    """
    stored = stored_results(files)
    for path, result in stored:
        if result.scheme not in compared_schemes():
            expected = f"one of {', '.join(compared_schemes())}"
            raise InputError(path, "scheme", f"{quoted(result.scheme)} is unknown", expected)
        refuse_flows(path, result, TABLES[result.experiment].offered_parts)
    backends = refuse_mixtures(stored).values()
    return tuple(
        motivation_exhibit([result for _, result in runs])
        for runs in backends
        if not all(result.invalid for _, result in runs)
    )
