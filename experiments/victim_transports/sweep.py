"""Runs all cases, in parallel or on a cluster, and writes their exhibits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from experiments.experiment import Outcome, Settings
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.bars import limit
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.victim_transports.cases import PLACES, Case, Choice, Conditions, Service, cases_of
from experiments.victim_transports.run import demotes, is_credited, outcome
from kuijia_base.errors import InputError
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture
from kuijia_base.picture_style import bars, legend_below, look, new_figure
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, no_preparation, swept
from kuijia_base.sweep.workers import Workers
from simulator.studies.packet.transports import transport_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Found = Sequence[tuple[Case, Mapping[str, Any]]]
"""Cases with what `run.outcome` found."""

UNTOUCHED = 97.0
"""Per cent that the others keep at least where the scheme demotes all that victims send: our own bar."""

_PROTECTED = (Service.PLAIN, Service.MARKED, Service.OWN, Service.SHARED)


def exhibits(found: Found, conditions: Conditions) -> Iterator[Exhibit]:
    """Yield three exhibits for each network: what victims get, what the others keep, what victims lose."""
    for place in dict.fromkeys(case.place for case, _ in found):
        mine = [(case, data) for case, data in found if case.place == place]
        title = PLACES[place]
        yield _exhibit(f"{place}-victims", f"goodput of victims; {title}", mine, _kept("victim"), conditions)
        yield _exhibit(
            f"{place}-others",
            f"goodput of the flows whose links victims take; {title}",
            mine,
            _kept("direct"),
            conditions,
            tuple(_checks(mine)),
        )
        yield _exhibit(f"{place}-lost", f"data lost by victims; {title}", mine, _lost, conditions)


def _exhibit(
    name: str,
    title: str,
    found: Found,
    value: Callable[[Mapping[str, Any]], float | None],
    conditions: Conditions,
    checks: Sequence[Check] = (),
) -> Exhibit:
    names = dict.fromkeys(case.transport for case, _ in found)
    lines = []
    for label in dict.fromkeys(case.line for case, _ in found):
        of_line = [(case, data) for case, data in found if case.line == label]
        values = {x: [value(data) for case, data in of_line if case.transport == x] for x in names}
        lines.append(Line(label, tuple(Point.of(x, each) for x, each in values.items() if each)))
    lost = value is _lost
    remark = (
        f"Links of {conditions.capacity:g} Mbit/s and {1000 * conditions.link_delay:g} ms, queues of"
        f" {conditions.buffer_packets} packets; means over {conditions.after:g} s, from {conditions.settle:g} s after"
        " the failure on. `kuijia, marks` marks packets of victims from a quarter of the queue on. Credits of victims"
        " wait with the others' (mixed), behind them with as many again (apart), or get what they leave (left)."
    )
    return Exhibit(
        name=f"victim-transports-{name}",
        title=title,
        reproduces="A question of our own",
        backend="packet",
        axis="transport",
        quantity="% of the packets sent after the failure" if lost else "% of the goodput before the failure",
        lines=tuple(lines),
        checks=tuple(checks),
        remarks=(remark,),
    )


def _kept(role: str) -> Callable[[Mapping[str, Any]], float | None]:
    def share(data: Mapping[str, Any]) -> float | None:
        of_role = data["roles"].get(role)
        return 100 * float(of_role["after"]) / float(of_role["before"]) if of_role and of_role["before"] else None

    return share


def _lost(data: Mapping[str, Any]) -> float | None:
    """Return 0 where nothing is sent any more."""
    of_role = data["roles"].get("victim")
    if of_role is None:
        return None
    return 100 * float(of_role["dropped"]) / max(1, int(of_role["sent"]), int(of_role["dropped"]))


def _checks(found: Found) -> Iterator[Check]:
    kept = _kept("direct")
    for case, data in found:
        value = kept(data)
        if case.service in _PROTECTED and value is not None:
            name = f"{case.transport} with {case.line}, run {case.repetition}: kept by the others in %"
            yield limit(name, value, low=UNTOUCHED)


_ROWS = {
    "others": "kept by flows whose\nlinks victims take, %",
    "victims": "kept by victims, %",
    "lost": "lost packets\nof victims, %",
}
"""End of an exhibit's name to the label of its panels."""

_WIDTH = 0.21
"""Width of a bar; a transport has four at most, one place apart from those of the next."""


def transports_figure(exhibits: Sequence[Exhibit]) -> Figure:
    """Return a column of panels for each network."""
    by_row = {end: [each for each in exhibits if each.name.endswith(f"-{end}")] for end in _ROWS}
    columns = len(by_row["others"])
    labels = list(dict.fromkeys(line.label for each in exhibits for line in each.lines))
    figure = new_figure(4.2 * columns + 0.4, 6.4)
    panels = figure.subplots(len(_ROWS), columns, squeeze=False, sharey="row")
    for row, (end, shown) in zip(panels, by_row.items(), strict=True):
        row[0].set_ylabel(_ROWS[end], fontsize="small")
        for axes, exhibit in zip(row, shown, strict=True):
            _draw(axes, exhibit, labels)
            if end == "others":
                axes.set_title(exhibit.title.partition("; ")[2], fontsize="small", wrap=True)
    legend_below(figure, panels[0][0], most=4)
    return figure


def _draw(axes: Axes, exhibit: Exhibit, labels: Sequence[str]) -> None:
    """Draw the bars of each transport without gaps between them."""
    names = exhibit.columns
    drawn: dict[str, list[tuple[float, float]]] = {label: [] for label in labels}
    for place, name in enumerate(names):
        points = {label: exhibit.line(label).at(name).value for label in labels}
        known = {label: value for label, value in points.items() if value is not None}
        for number, (label, value) in enumerate(known.items()):
            drawn[label].append((place + (number - (len(known) - 1) / 2) * _WIDTH, value))
    for position, (label, found) in enumerate(drawn.items()):
        if found:
            places, heights = zip(*found, strict=True)
            bars(axes, places, heights, _WIDTH, look(position), label)
    axes.set_xticks(range(len(names)), [str(name) for name in names], fontsize="small", rotation=20)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)


_NAME = "victim-transports"


def run_cases(
    choice: Choice,
    conditions: Conditions,
    settings: Settings,
    workers: Workers,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Simulate all cases, and write tables, pictures and the numbers of each case.

    Raises:
        InputError: a transport is unknown.
    """
    known = transport_names()
    if unknown := [name for name in choice.transports if name not in known]:
        raise InputError("option", "--transports", f"{unknown[0]} is unknown", f"among {', '.join(known)}")
    demoting = [scheme for scheme in choice.schemes if demotes(scheme)]
    credited = [name for name in choice.transports if is_credited(name)]
    cases = list(cases_of(choice, demoting, credited))
    began = time.time()
    told = {"choice": asdict(choice), "conditions": asdict(conditions)}
    with swept(Sweep(_NAME, told, conditions, no_preparation, outcome, cases), workers, output, progress) as found:
        data = {**told, "cases": found, "manifest": describe_computation(began, time.time() - began)}
        output.write_json(f"{_NAME}.json", data)
        shown = list(exhibits(_paired(cases, found), conditions))
        write_picture(output, f"{_NAME}.svg", lambda: transports_figure(shown))
        return write_exhibits(_NAME, shown, settings, output)


def _paired(cases: list[Case], found: list[dict[str, Any]]) -> list[tuple[Case, dict[str, Any]]]:
    return list(zip(cases, found, strict=True))
