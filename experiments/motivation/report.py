r"""Tables 2 and 3 of the paper: four TCP flows over three tunnels; one tunnel fails (section 3).

          s2                  T1 = s1-s2-s4   f1, f2: victims, go to T2 and T3
        /    \                T2 = s1-s4      f3
      s1 ---- s4              T3 = s1-s3-s4   f4
        \    /
          s3

All links have the same capacity; s2-s4 is cut. Alternatively s1-s4 is cut: then f1 and f2 are on T2, f3 on T1, f4 on
T3. That failure is local at both ends of its tunnel, so data and acknowledgements move without the controller. A
failure of T1 is always remote for one of the two directions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from experiments.compared_schemes import compared_schemes
from experiments.experiment import Outcome, Settings
from experiments.measuring.failure_run import Phases, WantedFlow
from experiments.measuring.load import ATTEMPTS
from experiments.reporting.exhibit_output import write_tables
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import PublishedThroughput, published_throughput
from experiments.results.result import LIMIT, Check, FlowResult, NoticedCut, Result, Window
from experiments.results.score import Bar, around, judge, order
from experiments.results.stored_files import StoredFile, refuse_flows, refuse_mixtures, stored_results
from kuijia_base.errors import InputError, quoted
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import look, new_figure
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.solve import solve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PANEL_INCHES = (4.8, 3.8)
_HEADROOM = 1.1


def goodput_figure(results: Sequence[Result], title: str) -> Figure:
    """Return the goodput over time around the cut at zero, a panel per scheme; repeated runs overlap.

    Published levels after the cut, scaled to the capacity, are dotted lines in the colour of their flow.
    """
    schemes = list(dict.fromkeys(result.scheme for result in results))
    width, height = _PANEL_INCHES
    figure = new_figure(width * len(schemes), height)
    panels = figure.subplots(1, len(schemes), sharex=True, sharey=True, squeeze=False)[0]
    for panel, scheme in zip(panels, schemes, strict=True):
        runs = [result for result in results if result.scheme == scheme and not result.invalid]
        for result in runs:
            _draw_run(panel, result, is_first=result is runs[0], alpha=1 / len(runs) ** 0.5)
        panel.set_title(scheme)
        panel.set_xlabel("seconds since the cut")
        panel.grid(alpha=0.3)
    # Bytes that a busy receiver reads late make spikes above the capacity, which would squash the rest.
    panels[0].set_ylim(0, _HEADROOM * results[0].capacity)
    panels[0].set_xlim(
        min(result.before.start - result.failure.at for result in results),
        max(result.after.end - result.failure.at for result in results),
    )
    panels[0].set_ylabel("goodput (Mbit/s)")
    lines = {str(line.get_label()): line for panel in panels for line in panel.get_legend_handles_labels()[0]}
    if lines:
        figure.legend(
            lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), fontsize="small", frameon=False
        )
    figure.suptitle(title)
    return figure


def _draw_run(panel: Axes, result: Result, *, is_first: bool, alpha: float) -> None:
    cut = result.failure.at
    for position, flow in enumerate(result.flows):
        colour = look(position).colour
        middles = [(start + end) / 2 - cut for start, end in zip(flow.series.start, flow.series.end, strict=True)]
        label = f"{flow.name} ({flow.role})" if is_first else None
        panel.plot(middles, flow.series.goodput, color=colour, linewidth=1, alpha=alpha, label=label)
        if is_first and result.published is not None:
            level = result.published["flows"][flow.name]["after"] / result.published["capacity"] * result.capacity
            start, end = result.after.start - cut, result.after.end - cut
            label = "in the paper" if position + 1 == len(result.flows) else None
            panel.plot([start, end], [level, level], color=colour, linewidth=2, linestyle=":", label=label)
    if is_first:
        panel.axvline(0, color="black", linestyle="--", linewidth=1)
        panel.annotate(
            f"{'-'.join(result.failure.link)} cut",
            xy=(0, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -10),
            textcoords="offset points",
            fontsize="small",
        )


NETWORK = "fig1"
INGRESS, EGRESS = "s1", "s4"
T1, T2, T3 = ("s1", "s2", "s4"), ("s1", "s4"), ("s1", "s3", "s4")

FlowTunnels = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
"""Flow to its tunnels before and after the cut."""


@dataclass(frozen=True)
class CutCase:
    """Link to cut, and the tunnels of the flows.

    `local` is True if both ends of the failed tunnel see the failure on a port of their own.
    """

    link: tuple[str, str]
    flow_tunnels: FlowTunnels
    local: bool


_T1_FAILS = {"f1": (T1, T2), "f2": (T1, T3), "f3": (T2, T2), "f4": (T3, T3)}
_T2_FAILS = {"f1": (T2, T1), "f2": (T2, T3), "f3": (T1, T1), "f4": (T3, T3)}

CASES = {
    "s2-s4": CutCase(("s2", "s4"), _T1_FAILS, local=False),
    "s1-s2": CutCase(("s1", "s2"), _T1_FAILS, local=False),
    "s1-s4": CutCase(("s1", "s4"), _T2_FAILS, local=True),
}
PAPERS_CUT, LOCAL_CUT = "s2-s4", "s1-s4"

VICTIMS = ("f1", "f2")
UNTOUCHED = 0.98
"""Least share that aboriginal flows keep under Kuijia, which is its promise; published 1."""

STARVED = 0.03
"""Largest share that victims keep where the surviving tunnels are full."""


@dataclass(frozen=True)
class MotivationTable:
    """One of the two tables: rates offered by the flows, in parts of a link, and shares to keep under each scheme."""

    name: str
    title: str
    link_parts: int
    offered_parts: Mapping[str, int]
    bars: Mapping[str, tuple[Bar, ...]]


_KUIJIA_KEEPS = (Bar(("f3",), UNTOUCHED, None, 1.0), Bar(("f4",), UNTOUCHED, None, 1.0))

TABLE_2 = MotivationTable(
    name="table2",
    title="Table 2",
    link_parts=1000,
    offered_parts={"f1": 400, "f2": 400, "f3": 800, "f4": 800},
    bars={
        "rescaling": (around(("f3",), 0.77), around(("f4",), 0.77)),
        "kuijia": (*_KUIJIA_KEEPS, around(VICTIMS, 0.46)),
    },
)
TABLE_3 = MotivationTable(
    name="table3",
    title="Table 3",
    link_parts=1000,
    offered_parts={"f1": 500, "f2": 500, "f3": 1000, "f4": 1000},
    bars={
        "rescaling": (around(("f3",), 0.49), around(("f4",), 0.49)),
        "kuijia": (*_KUIJIA_KEEPS, Bar(VICTIMS, 0.0, STARVED, 0.0)),
    },
)


@dataclass(frozen=True)
class MotivationOptions:
    """Options of these experiments beyond the common settings.

    Seconds as in `experiments.measuring.failure_run.Phases`.
    """

    schemes: tuple[str, ...]
    cut: str
    kill_controller: bool
    liveness: str
    tagging: str
    congestion_control: str
    buffer_packets: int
    link_delay_seconds: float | None
    warmup_seconds: float
    before_seconds: float
    settle_seconds: float
    after_seconds: float
    interval_seconds: float

    @property
    def phases(self) -> Phases:
        """Seconds of each phase."""
        return Phases(
            self.warmup_seconds, self.before_seconds, self.settle_seconds, self.after_seconds, self.interval_seconds
        )


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
        replace(check, name=f"{LIMIT if check.high is None else ''}{result.scheme} {result.repetition}: {check.name}")
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


_NO_TIME = Window(0.0, 0.0)
_DEMAND_TO_CAPACITY = 3
"""Demand that fills the three tunnels, which gives them equal weights."""


def motivation_plan(capacity: float, delay: float = 0.0) -> Plan:
    """Return the plan for Fig. 1: links of `capacity` Mbit/s and `delay` seconds, three tunnels of equal weight."""
    topology = load_topology(shipped_network(NETWORK)).with_capacity(capacity)
    topology = replace(topology, links=tuple(replace(link, delay=delay) for link in topology.links))
    return solve(topology, [Demand(INGRESS, EGRESS, _DEMAND_TO_CAPACITY * capacity)])


def wanted_flows(table: MotivationTable, flow_tunnels: FlowTunnels, plan: Plan) -> tuple[WantedFlow, ...]:
    """Return the flows of a table, with offered rates scaled from parts of the paper's link to links of the plan."""
    tunnels = {tunnel.nodes: tunnel for tunnel in plan.tunnels}
    capacity = min(link.capacity for link in plan.topology.links)
    return tuple(
        WantedFlow(
            name,
            table.offered_parts[name] / table.link_parts * capacity,
            INGRESS,
            EGRESS,
            tunnels[before],
            tunnels[after],
        )
        for name, (before, after) in flow_tunnels.items()
    )


def computed_result(
    table: MotivationTable,
    settings: Settings,
    options: MotivationOptions,
    scheme: str,
    flows: tuple[FlowResult, ...],
    began: float,
    **told: object,
) -> Result:
    """Return the first result of a model, in which nothing takes time; `told` is what else the manifest has."""
    return Result(
        experiment=table.name,
        backend=settings.backend,
        scheme=scheme,
        seed=settings.seed,
        repetition=1,
        capacity=settings.capacity,
        started_at=began,
        failure=NoticedCut(CASES[options.cut].link, 0.0, {}),
        before=_NO_TIME,
        after=_NO_TIME,
        flows=flows,
        published=published_throughput(table.name).for_scheme(scheme),
        checks=(*judge(table.bars.get(scheme, ()), flows), *queue_checks(scheme, flows)),
        manifest={
            "settings": asdict(settings),
            "options": asdict(options),
            **told,
            **describe_computation(began, time.time() - began),
        },
    )


def write_outcome(
    table: MotivationTable, results: Sequence[Result], output: OutputFolder, remarks: Sequence[str] = ()
) -> Outcome:
    """Write the table with its picture, and its summary; `remarks` stand below the table."""
    data = summary(table, published_throughput(table.name), results)
    output.write_json(f"{table.name}-summary.json", data)
    exhibit = motivation_exhibit(results)
    exhibit = replace(exhibit, remarks=(*exhibit.remarks, *remarks))
    return write_tables(table.name, data, [exhibit], output, unbelievable(results), with_json=True)


def queue_checks(scheme: str, flows: Iterable[FlowResult]) -> Iterator[Check]:
    """Yield a check for each flow seen after the cut: those that the scheme demotes are in the low queue."""
    for flow in flows:
        if flow.low_after is not None:
            expected = float(failure_scheme(scheme).demotes(flow.role))
            yield order(f"{flow.name} in the low queue after the cut", float(flow.low_after), expected, expected)


def unbelievable(results: Iterable[Result]) -> Iterator[str]:
    """Yield the reasons why runs must not be used, in words."""
    for result in results:
        if result.invalid:
            run = f"{result.experiment} with {result.scheme}, repetition {result.repetition}"
            yield f"{run}: the machine was too busy in each of {ATTEMPTS} attempts ({'; '.join(result.invalid)})"
