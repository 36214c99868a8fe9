"""Results of a packet study as text and pictures for people and CSV for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from kuijia_base.picture_file import look, new_figure
from kuijia_base.quantities import rate, significant
from kuijia_base.text import csv_text
from kuijia_base.text_table import TextTable
from simulator.packet.simulation import Simulation
from simulator.packet.summary import FlowTable, has_marks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, Any]
"""Result of a run, as `simulator.studies.packet.study` defines it."""

_RUN = ("queue", "transport", "load", "seed")
_SPREADS = ("completion", "slowdown", "goodput")
_POINTS = ("mean", "p50", "p95", "p99", "p999")
_TOTALS = ("seconds", "goodput", "sent", "dropped", "marked", "lost", "retransmitted", "timeouts")
_QUEUES = ("mean", "busiest_mean", "peak")


def summary_lines(results: Sequence[Result]) -> Iterator[str | TextTable]:
    """Yield completion times and slowdowns by class, then losses and queues; several seeds are averaged."""
    groups = [(scheme, list(group)) for scheme, group in groupby(results, _scheme)]
    classes = [
        (*_label(scheme), first["name"], *_class_figures([each["classes"][place] for each in group]))
        for scheme, group in groups
        for place, first in enumerate(group[0]["classes"])
        if any(each["classes"][place]["flows"] for each in group)
    ]
    above = ("", "", "", "", "", "completion, ms:", "", "", "slowdown:", "", "goodput:")
    heads = ("queue", "transport", "load", "class", "flows", "mean", "median", "99 %", "mean", "99 %", "mean")
    yield TextTable((above, heads, *classes), headings=2)
    yield ""
    above = ("", "", "", "goodput:", "% of packets:", "", "", "", "queues, kB:", "", "")
    heads = (*heads[:3], "all flows", "dropped", "sent again", "marked", "timeouts", "mean", "busiest", "peak")
    totals = ((*_label(scheme), *_totals(group)) for scheme, group in groups)
    yield TextTable((above, heads, *totals), headings=2)


def summary_csv(results: Sequence[Result]) -> str:
    """Return a row for each run and size class: seconds, Mbit/s and bytes."""
    header = [*_RUN, "stopped", "class", "flows", "finished"]
    header += [f"{spread}_{point}" for spread in _SPREADS for point in _POINTS]
    header += [f"total_{name}" for name in _TOTALS] + [f"queue_{name}" for name in _QUEUES]
    rows = (
        [
            *(result[name] for name in (*_RUN, "stopped")),
            *(each[name] for name in ("name", "flows", "finished")),
            *(each[spread][point] for spread in _SPREADS for point in _POINTS),
            *(result[name] for name in _TOTALS),
            *(result["queues"][name] for name in _QUEUES),
        ]
        for result in results
        for each in result["classes"]
    )
    return csv_text(header, rows)


def flows_csv(simulation: Simulation, table: FlowTable, names: Sequence[str]) -> str:
    """Return a row for each flow; cells of flows that have not finished are empty."""
    results = simulation.flow_results()
    (flows,) = simulation.flows
    columns: dict[str, Iterable[object]] = {
        "source": [names[host] for host in flows.source],
        "target": [names[host] for host in flows.target],
        "size": table.size.tolist(),
        "start": table.start.tolist(),
        "completion": _known(table.completion),
        "ideal": _known(table.ideal),
        "slowdown": _known(table.slowdown),
        "received": results.goodput.tolist(),
    }
    for name in ("sent", "dropped", "marked", "retransmitted", "timeouts"):
        columns[name] = getattr(results, name).tolist()
    if not has_marks(simulation):
        columns["marked"] = [None] * flows.count
    return csv_text(["flow", *columns], zip(range(flows.count), *columns.values(), strict=True))


def links_csv(simulation: Simulation, names: Sequence[str]) -> str:
    """Return a row for each link, with the queue in front of it."""
    results, links, seconds = simulation.link_results(), simulation.network.links, max(simulation.now, 1e-12)
    rates = np.array([link.rate for link in links])
    columns: dict[str, Iterable[object]] = {
        "source": [names[link.source] for link in links],
        "target": [names[link.target] for link in links],
        "rate": rates.tolist(),
        "utilisation": (results.sent_bytes * 8e-6 / rates / seconds).tolist(),
        "queue_mean": (results.queued_byte_seconds / seconds).tolist(),
        "queue_peak": results.queued_peak.tolist(),
    }
    for name in ("sent_packets", "sent_bytes", "dropped_packets", "dropped_bytes", "marked_packets", "lost_packets"):
        columns[name] = getattr(results, name).tolist()
    if not has_marks(simulation):
        columns["marked_packets"] = [None] * len(links)
    return csv_text(["link", *columns], zip(range(len(links)), *columns.values(), strict=True))


def _scheme(result: Result) -> tuple[str, str, float | None]:
    return result["queue"], result["transport"], result["load"]


def _label(scheme: tuple[str, str, float | None]) -> tuple[str, str, str]:
    queue, transport, load = scheme
    return queue, transport, "-" if load is None else f"{load:g}"


def _class_figures(of: Sequence[Mapping[str, Any]]) -> list[str]:
    flows, finished = (sum(each[name] for each in of) for name in ("flows", "finished"))
    count = f"{flows}" if finished == flows else f"{finished}/{flows}"
    times = [_mean(each["completion"][point] for each in of) for point in ("mean", "p50", "p99")]
    slowdowns = [_mean(each["slowdown"][point] for each in of) for point in ("mean", "p99")]
    goodput = _mean(each["goodput"]["mean"] for each in of)
    milliseconds = (None if time is None else time * 1e3 for time in times)
    return [count, *map(_short, [*milliseconds, *slowdowns]), _rate(goodput)]


def _totals(of: Sequence[Result]) -> list[str]:
    sent = sum(each["sent"] for each in of)
    counts = [[each[name] for each in of] for name in ("dropped", "retransmitted", "marked")]
    parts = [None if None in each else sum(each) / max(sent, 1) for each in counts]
    timeouts = sum(each["timeouts"] for each in of)
    queues = [_mean(each["queues"][name] for each in of) for name in _QUEUES]
    return [
        _rate(_mean(each["goodput"] for each in of)),
        *("-" if part is None else f"{100 * part:.3g}" for part in parts),
        f"{timeouts}",
        *(_short(None if queue is None else queue / 1e3) for queue in queues),
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _rate(mbits: float | None) -> str:
    return "-" if mbits is None else rate(mbits)


def _short(value: float | None) -> str:
    """Return four digits, without an exponent."""
    return "-" if value is None else significant(value)


def _known(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


_PANEL = (4.2, 3.4)
_ALL = 0
"""Place of the class of all flows among a run's classes."""


def slowdowns(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Return two panels, the mean and the 99th percentile of slowdowns, with a line for each queue and transport.

    Seeds of a load are averaged. A slowdown is the completion time as a multiple of that in an empty network.
    """
    figure = new_figure(2 * _PANEL[0], _PANEL[1], dpi=100)
    of_line: dict[str, dict[float, list[Mapping[str, Any]]]] = {}
    for run in runs:
        line = of_line.setdefault(f"{run['queue']}, {run['transport']}", {})
        line.setdefault(run["load"] or 0.0, []).append(run["classes"][_ALL]["slowdown"])
    for axes, key, title in zip(figure.subplots(1, 2), ("mean", "p99"), ("mean", "99th percentile"), strict=True):
        for position, (label, by_load) in enumerate(of_line.items()):
            known = {
                load: [each[key] for each in found if each[key] is not None] for load, found in sorted(by_load.items())
            }
            loads = [load for load, values in known.items() if values]
            means = [sum(known[load]) / len(known[load]) for load in loads]
            style = look(position)
            axes.plot(loads, means, color=style.colour, linestyle=style.dashes, marker="o", markersize=4, label=label)
        axes.set_xlabel("offered load")
        axes.set_ylabel(f"slowdown, {title}")
        axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure
