"""Losses on Gscale under other readings of the paper: one table of variants, in the flow model or in packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import DEFAULT_CAPACITY, Outcome, Settings
from experiments.grid import Execution, Offered, offered
from experiments.gscale.cases import (
    AXIS,
    CURVES,
    DEMANDS,
    FIGURES,
    LAYOUTS,
    LINKS,
    REPETITIONS,
    Edge,
    aggregates_of,
    phases_of,
)
from experiments.gscale.models import fluid_flows
from experiments.gscale.plans import (
    DIRECTED,
    NEAREST,
    NOTHING,
    PLANNED_SHARE,
    SHARED,
    Direct,
    GscaleReading,
    pairs_under,
    plans_under,
    scaled,
)
from experiments.measuring.failure_run import Failing, WantedFlow
from experiments.measuring.packet_run import PacketConditions, simulate
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import FlowResult, Protocol
from experiments.results.stored_files import each_file
from kuijia_app.tables.options import OptionWords, pipeline_options
from simulator.flow.model import share
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.schemes.failure_scheme import VICTIM

READINGS = {
    "as reproduced": DIRECTED,
    "pairs: any five": replace(DIRECTED, redrawn=False),
    "pairs: any five, of ten sites": replace(DIRECTED, redrawn=False, ten_sites=True),
    "pairs: any five, two tunnels left": replace(DIRECTED, redrawn=False, two_left=True),
    "pairs: any five, both": replace(DIRECTED, redrawn=False, ten_sites=True, two_left=True),
    "pairs: any five, three disjoint tunnels": replace(DIRECTED, redrawn=False, three_disjoint=True),
    "tunnels: node-disjoint": replace(DIRECTED, tunnels="node-disjoint"),
    "tunnels: three shortest": replace(DIRECTED, tunnels="k-shortest"),
    "plan: fewest hops": replace(DIRECTED, rates="fewest hops"),
    "plan: interior point": replace(DIRECTED, rates="interior point"),
    "plan: equal rates on tunnels": replace(DIRECTED, rates="equal"),
    "plan: directions share a link": replace(DIRECTED, shared=True),
    "planned: the whole link": replace(DIRECTED, planned_share=1.0),
    "planned: 90 % of it": replace(DIRECTED, planned_share=0.9),
    "planned: 80 % of it": replace(DIRECTED, planned_share=0.8),
    "demand in parts of a whole link": replace(DIRECTED, whole_links=True),
    "aggregates: halves of a tunnel": replace(DIRECTED, halves=True),
    "sent: all that is demanded": replace(DIRECTED, unthrottled=True),
    "TCP: max-min fair": replace(DIRECTED, round_trips=False),
    "direct: in either direction": replace(DIRECTED, direct="both directions"),
    "direct: all but victims": replace(DIRECTED, direct="all but victims"),
    "loss: mean of flows": replace(DIRECTED, average="of flows"),
    "nearest": NEAREST,
    "nearest, but pairs of any sites": replace(NEAREST, ten_sites=False),
    "nearest, but any tunnels left": replace(NEAREST, two_left=False),
    "nearest, but plan spread": replace(NEAREST, rates="spread"),
    "nearest, but loss of the role": replace(NEAREST, average="of the role"),
    "nearest, redrawn until all hurt": replace(NEAREST, redrawn=True),
    "nearest, planned 90 %": replace(NEAREST, planned_share=0.9),
    "nearest, direct in either direction": replace(NEAREST, direct="both directions"),
    "shared": SHARED,
    "shared, but directions apart": replace(SHARED, shared=False),
    "shared, but pairs of any sites": replace(SHARED, ten_sites=False),
    "shared, but any tunnels left": replace(SHARED, two_left=False),
    "shared, but plan spread": replace(SHARED, rates="spread"),
    "shared, but equal rates on tunnels": replace(SHARED, rates="equal"),
    "shared, but loss of the role": replace(SHARED, average="of the role"),
    "shared, planned 95 %": replace(SHARED, planned_share=PLANNED_SHARE),
    "shared, direct in one direction": replace(SHARED, direct="one direction"),
}
"""Ours, and ours with one change; then two readings near to the published losses, with one change likewise: the nearest
of full-duplex plans, and the nearest of those whose links share their capacity between both directions."""

Losses = dict[str, dict[str, list[list[float]]]]
"""Figure and scheme to the losses in % at each demand, one number for each link that has flows of the role."""

PROTOCOLS: tuple[Protocol, ...] = ("tcp", "udp")
Rates = NDArray[np.float64]


@dataclass(frozen=True)
class Failed:
    """Flows around a failure under both schemes.

    Attributes:
        had: goodput before the failure of TCP, rate sent of UDP, of each flow, by protocol and scheme.
        after: goodput after it, likewise.
    """

    flows: tuple[WantedFlow, ...]
    victims: NDArray[np.bool_]
    had: Mapping[tuple[Protocol, str], Rates]
    after: Mapping[tuple[Protocol, str], Rates]


Fail = Callable[[GscaleReading, Plan, Edge], Failed]
"""Returns what the failure of a link does to a plan for links on which 1 Mbit/s may be planned."""


def losses_of_each(readings: Sequence[GscaleReading], draw: int, seed: int, fail: Fail | None = None) -> list[Losses]:
    """Return the losses of a draw under each reading; those that differ only in what is counted share their runs.

    Draws 1 to 3 of `DIRECTED` are the repetitions of `--reading directed`.
    A failure that cuts off a pair, which no scheme covers, counts for nothing; the three shortest tunnels allow it.
    """
    fail = fail or fluid_failure
    found: list[Losses] = [
        {figure: {scheme: [[] for _ in DEMANDS] for scheme in PAPERS_SCHEMES} for figure in FIGURES} for _ in readings
    ]
    for simulated, numbers in alike(readings).items():
        for at, plan in enumerate(plans_under(simulated, pairs_under(simulated, draw, seed))):
            for link in LINKS:
                if any(all(tunnel.crosses(*link) for tunnel in pair.tunnels) for pair in plan.pairs):
                    continue
                failed = fail(simulated, plan, link)
                for number in numbers:
                    for figure, scheme, loss in _losses_of_failure(readings[number], failed):
                        found[number][figure][scheme][at].append(loss)
    return found


def alike(readings: Sequence[GscaleReading]) -> dict[GscaleReading, list[int]]:
    """Return the readings without what is only counted, each with the numbers of those that share its runs."""
    found: dict[GscaleReading, list[int]] = {}
    for number, reading in enumerate(readings):
        found.setdefault(replace(reading, direct=DIRECTED.direct, average=DIRECTED.average), []).append(number)
    return found


def fluid_failure(reading: GscaleReading, plan: Plan, link: Edge) -> Failed:
    """Return the flows around the failure of a link in the fluid model."""
    plan = scaled(plan, 1.0, reading.planned_share)
    flows = sent_under(reading, plan, link)
    victims = victims_of(flows, link)
    had: dict[tuple[Protocol, str], Rates] = {}
    after: dict[tuple[Protocol, str], Rates] = {}
    for protocol in PROTOCOLS:
        before = (
            np.array([flow.offered for flow in flows])
            if protocol == "udp"
            else _goodput(reading, plan, protocol, flows, rerouted=False, low=set())
        )
        for scheme in PAPERS_SCHEMES:
            demotes = failure_scheme(scheme).demotes(VICTIM)
            low = {flow.name for flow, victim in zip(flows, victims, strict=True) if victim and demotes}
            had[protocol, scheme] = before
            after[protocol, scheme] = _goodput(reading, plan, protocol, flows, rerouted=True, low=low)
    return Failed(flows, victims, had, after)


def victims_of(flows: Sequence[WantedFlow], link: Edge) -> NDArray[np.bool_]:
    """Return True for each flow whose tunnel fails with the link."""
    return np.array([flow.tunnel.crosses(*link) for flow in flows])


def _losses_of_failure(reading: GscaleReading, failed: Failed) -> Iterator[tuple[str, str, float]]:
    """Yield (figure, scheme, loss in %) for each role that has flows when a link fails."""
    direct = _directly_affected(reading.direct, failed.flows, failed.victims)
    for figure, (protocol, role) in FIGURES.items():
        for scheme in PAPERS_SCHEMES:
            had = failed.had[protocol, scheme]
            chosen = (failed.victims if role == "victim" else direct) & (had > 0)
            if chosen.any():
                yield figure, scheme, _part_lost(reading, had[chosen], failed.after[protocol, scheme][chosen])


def sent_under(reading: GscaleReading, plan: Plan, link: Edge) -> tuple[WantedFlow, ...]:
    """Return the aggregates of a plan, sized according to a reading."""
    flows = aggregates_of(plan, link)
    if reading.halves:
        on_tunnel: dict[int, list[float]] = {}
        for flow in flows:
            on_tunnel.setdefault(flow.tunnel.path_id, []).append(flow.offered)
        flows = tuple(replace(flow, offered=fmean(on_tunnel[flow.tunnel.path_id])) for flow in flows)
    if reading.unthrottled:
        asked = {(pair.source, pair.target): pair.demand / pair.allocated for pair in plan.pairs if pair.allocated}
        flows = tuple(replace(flow, offered=flow.offered * asked[flow.source, flow.target]) for flow in flows)
    return flows


def _directly_affected(direct: Direct, flows: Sequence[WantedFlow], victims: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if direct == "all but victims":
        return ~victims
    taken = {hop for flow, victim in zip(flows, victims, strict=True) if victim for hop in flow.backup.hops}
    if direct == "both directions":
        taken |= {hop[::-1] for hop in taken}
    sharing: NDArray[np.bool_] = np.array([bool(taken & set(flow.tunnel.hops)) for flow in flows])
    return ~victims & sharing


def _goodput(
    reading: GscaleReading,
    plan: Plan,
    protocol: Protocol,
    flows: Sequence[WantedFlow],
    *,
    rerouted: bool,
    low: set[str],
) -> Rates:
    tunnels = [flow.backup if rerouted else flow.tunnel for flow in flows]
    waiting = dict.fromkeys(low, True)
    each = fluid_flows(plan.topology, protocol, tunnels, flows, waiting, round_trips=reading.round_trips)
    return share([link.capacity for link in plan.topology.links], each).goodput


def _part_lost(reading: GscaleReading, had: Rates, after: Rates) -> float:
    part = np.mean(1 - after / had) if reading.average == "of flows" else 1 - after.sum() / had.sum()
    return 100 * float(part)


BAND = (5, 95)
"""Percentiles that enclose most campaigns."""


@dataclass(frozen=True)
class Cell:
    """A point of a curve, in %, over all campaigns.

    Attributes:
        mean: of all runs.
        low, high: ends of the `BAND` of the campaigns' means.
        below: share of the campaigns whose mean is below the published number.
    """

    mean: float
    low: float
    high: float
    published: float
    below: float

    @property
    def holds_published(self) -> bool:
        return self.low <= self.published <= self.high


@dataclass(frozen=True)
class ReadingSummary:
    """A reading's curves, a cell for each demand.

    Attributes:
        distance: root mean square of the differences of all cells' means from the published numbers, in percentage
            points.
        nearest: distance of the campaign nearest to the published numbers.
    """

    curves: Mapping[tuple[str, str], tuple[Cell, ...]]
    distance: float
    nearest: float

    @property
    def held(self) -> int:
        """Number of cells with the published number inside the band."""
        return sum(cell.holds_published for cells in self.curves.values() for cell in cells)

    def curves_to_json(self) -> dict[str, list[dict[str, Any]]]:
        return {
            f"{figure}, {scheme}": [asdict(cell) for cell in cells] for (figure, scheme), cells in self.curves.items()
        }


def summary_of(draws: Sequence[Losses]) -> ReadingSummary:
    """Return the summary of campaigns of three successive draws; a mean covers all links with flows of the role.

    Raises:
        ValueError: fewer than three draws, or a curve without any number at some demand.
    """
    campaigns = [draws[at : at + REPETITIONS] for at in range(0, len(draws) - REPETITIONS + 1, REPETITIONS)]
    if not campaigns:
        raise ValueError(f"{len(draws)} draws, expected at least {REPETITIONS}")
    curves = {
        (figure, scheme): tuple(_cell(campaigns, figure, scheme, at) for at in range(len(DEMANDS)))
        for figure, scheme in CURVES
    }
    of_each = np.array([_distance([campaign]) for campaign in campaigns])
    return ReadingSummary(curves, _distance(campaigns), float(np.nanmin(of_each)))


def _cell(campaigns: Sequence[Sequence[Losses]], figure: str, scheme: str, at: int) -> Cell:
    of_campaigns = [runs for campaign in campaigns if (runs := _runs(campaign, figure, scheme, at))]
    if not of_campaigns:
        raise ValueError(f"nothing is lost or kept in {figure} under {scheme} at {DEMANDS[at]}")
    means = [fmean(runs) for runs in of_campaigns]
    low, high = np.percentile(means, BAND)
    published = _published(figure, scheme, at)
    below = fmean(mean < published for mean in means)
    return Cell(fmean(loss for runs in of_campaigns for loss in runs), float(low), float(high), published, below)


def _runs(campaign: Sequence[Losses], figure: str, scheme: str, at: int) -> list[float]:
    return [loss for draw in campaign for loss in draw[figure][scheme][at]]


def _distance(campaigns: Sequence[Sequence[Losses]]) -> float:
    """Return the distance of the joint means of these campaigns; not a number if a cell has none."""
    gaps = []
    for figure, scheme in CURVES:
        for at in range(len(DEMANDS)):
            runs = [loss for campaign in campaigns for loss in _runs(campaign, figure, scheme, at)]
            gaps.append((fmean(runs) if runs else np.nan) - _published(figure, scheme, at))
    return float(np.sqrt(np.mean(np.square(gaps))))


def _published(figure: str, scheme: str, at: int) -> float:
    number = published_curves(figure).at(scheme, DEMANDS[at])
    if number is None:
        raise ValueError(f"{figure} of the paper has nothing for {scheme} at {DEMANDS[at]}")
    return number


FORMAT, VERSION = "kuijia-readings", 1
SHOWN = ("as reproduced", "nearest")
"""Readings whose curves are shown in full."""

_CAMPAIGNS = 2
"""Any number beyond one has the band shown."""

BACKEND = "flow"
"""Of files that name none."""

PUBLISHED = "the paper's Figures 10 to 13"


def readings_to_json(summaries: Mapping[str, ReadingSummary], draws: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "draws": draws,
        "demands": list(DEMANDS),
        "band": list(BAND),
        "readings": {
            name: {
                "reading": asdict(READINGS[name]),
                "distance": summary.distance,
                "nearest_campaign": summary.nearest,
                "held": summary.held,
                "curves": summary.curves_to_json(),
            }
            for name, summary in summaries.items()
        },
    }


def exhibits(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the curves of `SHOWN` with the band of campaigns, and all readings at the heaviest demand."""
    readings, draws, backend = data["readings"], data["draws"], data.get("backend", BACKEND)
    band = f"{BAND[0]} % to {BAND[1]} % of campaigns"
    cells = len(CURVES) * len(data["demands"])
    return (
        Exhibit(
            data["experiment"],
            "losses on Gscale as reproduced and under the reading nearest to the published losses",
            "Figures 10 to 13",
            backend,
            AXIS,
            f"loss (%); lowest and highest run are those of {band}",
            tuple(
                Line(f"{figure}, {scheme}, {name}", tuple(_points(data["demands"], readings[name], curve, name)))
                for curve in map(", ".join, CURVES)
                for figure, scheme in [curve.split(", ")]
                for name in SHOWN
            ),
            PUBLISHED,
            remarks=(f"Means over {draws} draws of pairs in campaigns of three.",),
        ),
        Exhibit(
            f"{data['experiment']}-all",
            f"losses on Gscale under {len(readings)} readings of section 5 at a demand of {data['demands'][-1]:g}",
            "Figures 10 to 13",
            backend,
            "reading",
            "loss (%)",
            tuple(
                Line(
                    curve,
                    tuple(
                        Point(name, each["curves"][curve][-1]["mean"], published=each["curves"][curve][-1]["published"])
                        for name, each in readings.items()
                    ),
                )
                for curve in map(", ".join, CURVES)
            ),
            PUBLISHED,
            remarks=tuple(
                f"{name}: {each['distance']:.1f} percentage points off, as the root mean square of all differences;"
                f" {each['held']} of {cells} published numbers are where {band} are."
                for name, each in readings.items()
            ),
        ),
    )


def _points(demands: Sequence[float], reading: Mapping[str, Any], curve: str, name: str) -> Iterator[Point]:
    for demand, cell in zip(demands, reading["curves"][curve], strict=True):
        published = cell["published"] if name == SHOWN[0] else None
        yield Point(demand, cell["mean"], cell["low"], cell["high"], _CAMPAIGNS, published)


CAPACITY = DEFAULT_CAPACITY
"""Mbit/s of every link, as on the emulated switches; losses at 1 Gbit/s are the same (docs/gscale.md)."""


@dataclass(frozen=True)
class PacketReadings:
    """Simulates failures in packets, with the emulation's queues and times."""

    settings: Settings

    def losses(self, case: tuple[Sequence[str], int]) -> dict[str, Losses]:
        """Return the losses of a draw under the readings of some names."""
        names, draw = case
        readings = [READINGS[name] for name in names]
        return dict(zip(names, losses_of_each(readings, draw, self.settings.seed, self.failure), strict=True))

    def failure(self, reading: GscaleReading, plan: Plan, link: Edge) -> Failed:
        """Return the flows around the failure of a link, but for those of pairs that are allocated nothing."""
        plan = scaled(plan, CAPACITY, reading.planned_share * CAPACITY)
        flows = tuple(flow for flow in sent_under(reading, plan, link) if flow.offered > NOTHING * CAPACITY)
        had: dict[tuple[Protocol, str], Rates] = {}
        after: dict[tuple[Protocol, str], Rates] = {}
        for protocol in PROTOCOLS:
            phases = phases_of(protocol, quick=self.settings.quick)
            for scheme in PAPERS_SCHEMES:
                tables = pipeline_options(
                    OptionWords(scheme=scheme, slots=self.settings.slots, layout=LAYOUTS[protocol])
                )
                run = Failing(plan, tables, flows, protocol, link, self.settings.seed)
                found = simulate(run, PacketConditions(), phases)
                had[protocol, scheme] = np.array([_had(flow) for flow in found])
                after[protocol, scheme] = np.array([flow.after for flow in found])
        return Failed(flows, victims_of(flows, link), had, after)


def _had(flow: FlowResult) -> float:
    return flow.before if flow.sent is None else flow.sent


NAME = "gscale-readings"

Studied = tuple[Settings, Mapping[str, GscaleReading]]

_QUICK, _CAMPAIGNS, _FULL = 1, 10, 67
"""Campaigns of three draws of pairs, unless `--repetitions` sets their number."""

_IN_PACKETS, _IN_PACKETS_IN_FULL = 1, 10
"""The same in packets, where one campaign takes a quarter of an hour of processor time."""


def gscale_readings(run: Execution) -> Outcome:
    """Compute campaigns of three draws, on one of the backends; write the comparison as text, JSON and picture."""
    if run.backend == "packet":
        return run_packet_study(run, run.args.repetitions or run.sized(_IN_PACKETS, _IN_PACKETS, _IN_PACKETS_IN_FULL))
    draws = REPETITIONS * (run.args.repetitions or run.sized(_QUICK, _CAMPAIGNS, _FULL))
    told = {"seed": run.seed, "draws": draws}
    with run.swept_cases(losses_of_draw, (run.settings, READINGS), range(1, draws + 1), told) as found:
        return _written(run, {name: [draw[name] for draw in found] for name in READINGS}, draws)


def run_packet_study(run: Execution, campaigns: int) -> Outcome:
    """Simulate the same in packets, without readings of how TCP shares a link: there it shares as it does."""
    draws, settings = campaigns * REPETITIONS, run.settings
    told = {"seed": settings.seed, "draws": draws, "quick": settings.quick, "slots": settings.slots}
    shown = [name for name, reading in READINGS.items() if reading.round_trips]
    groups = [[shown[number] for number in numbers] for numbers in alike([READINGS[name] for name in shown]).values()]
    cases = [(names, draw) for draw in range(1, draws + 1) for names in groups]
    with run.swept_cases(PacketReadings.losses, PacketReadings(settings), cases, told, "-packet") as found:
        losses: dict[str, list[Losses]] = {name: [] for name in shown}
        for each in found:
            for name, its in each.items():
                losses[name].append(its)
        return _written(run, losses, draws)


def losses_of_draw(studied: Studied, draw: int) -> dict[str, Losses]:
    """Return the losses under each reading."""
    settings, readings = studied
    return dict(zip(readings, losses_of_each(list(readings.values()), draw, settings.seed), strict=True))


def _written(run: Execution, losses: Mapping[str, Sequence[Losses]], draws: int) -> Outcome:
    summaries = {name: summary_of(each) for name, each in losses.items()}
    data = {**readings_to_json(summaries, draws), "experiment": NAME, "seed": run.seed}
    if run.backend != BACKEND:
        data["backend"] = run.backend
    data["manifest"] = run.timeless()
    return run.studied(data, exhibits(data))


EXPERIMENTS = offered(
    {
        NAME: Offered(
            gscale_readings,
            full="67 campaigns instead of 10; in packets 10 instead of 1",
            repetitions="N campaigns of 3 draws of pairs (default: 10, with --quick 1, with --full 67;"
            " in packets 1, with --full 10)",
            reader=each_file(exhibits),
        )
    }
)
