"""Results of a packet study as text for people and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from simulator.packet.simulation import Simulation
from simulator.packet.summary import FlowTable

Result = Mapping[str, Any]
"""Result of a run, as `experiments.packet_study.study` defines it."""

_RUN = ("queue", "transport", "load", "seed")
_SPREADS = ("completion", "slowdown", "goodput")
_POINTS = ("mean", "p50", "p95", "p99", "p999")
_TOTALS = ("seconds", "goodput", "sent", "dropped", "marked", "lost", "retransmitted", "timeouts")
_QUEUES = ("mean", "busiest_mean", "peak")


def summary_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield completion times and slowdowns by class, then losses and queues; several seeds are averaged."""
    widest = max(len(each["name"]) for each in results[0]["classes"])
    yield f"{'':{widest + 29}}             completion, ms              slowdown        goodput"
    yield (
        f"{'queue':<12}{'transport':<10}{'load':>5}  {'class':<{widest}}   flows"
        f"      mean    median      99 %     mean     99 %    Mbit/s"
    )
    groups = [(scheme, list(group)) for scheme, group in groupby(results, _scheme)]
    for scheme, group in groups:
        for place, first in enumerate(group[0]["classes"]):
            of_it = [each["classes"][place] for each in group]
            if any(each["flows"] for each in of_it):
                yield f"{_label(scheme)}  {first['name']:<{widest}}{_class_figures(of_it)}"
    yield ""
    yield f"{'':27}  goodput    packets of data, % of sent                queues of switches, kB"
    yield (
        f"{'queue':<12}{'transport':<10}{'load':>5}   Mbit/s   dropped  sent again    marked  timeouts"
        f"     mean   busiest      peak"
    )
    for scheme, group in groups:
        yield f"{_label(scheme)}{_totals(group)}"


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
    return _csv(header, rows)


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
    return _csv(["flow", *columns], zip(range(flows.count), *columns.values(), strict=True))


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
    return _csv(["link", *columns], zip(range(len(links)), *columns.values(), strict=True))


def _scheme(result: Result) -> tuple[str, str, float | None]:
    return result["queue"], result["transport"], result["load"]


def _label(scheme: tuple[str, str, float | None]) -> str:
    queue, transport, load = scheme
    return f"{queue:<12}{transport:<10}{'-' if load is None else f'{load:g}':>5}"


def _class_figures(of: Sequence[Mapping[str, Any]]) -> str:
    flows, finished = (sum(each[name] for each in of) for name in ("flows", "finished"))
    count = f"{flows}" if finished == flows else f"{finished}/{flows}"
    times = [_mean(each["completion"][point] for each in of) for point in ("mean", "p50", "p99")]
    slowdowns = [_mean(each["slowdown"][point] for each in of) for point in ("mean", "p99")]
    goodput = _mean(each["goodput"]["mean"] for each in of)
    return (
        f"{count:>8}"
        + "".join(f"{_short(None if time is None else time * 1e3):>10}" for time in times)
        + "".join(f"{_short(slowdown):>9}" for slowdown in slowdowns)
        + f"{_short(goodput):>10}"
    )


def _totals(of: Sequence[Result]) -> str:
    sent = sum(each["sent"] for each in of)
    parts = [sum(each[name] for each in of) / max(sent, 1) for name in ("dropped", "retransmitted", "marked")]
    timeouts = sum(each["timeouts"] for each in of)
    queues = [_mean(each["queues"][name] for each in of) for name in _QUEUES]
    return (
        f"{_short(_mean(each['goodput'] for each in of)):>9}"
        + "".join(f"{100 * part:>{width}.3g}" for part, width in zip(parts, (10, 12, 10), strict=True))
        + f"{timeouts:>10}"
        + "".join(
            f"{_short(None if queue is None else queue / 1e3):>{width}}"
            for queue, width in zip(queues, (9, 10, 10), strict=True)
        )
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _short(value: float | None) -> str:
    """Return four digits, without an exponent."""
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _known(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
