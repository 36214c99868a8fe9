"""Runs of flows over a network: cases of a sweep, grids of them, and the exhibits and bars of a measured grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.grid import Execution
from experiments.hermes.networks import NAMES, PUBLISHED, BalancingScheme, Fault, LeafSpineFabric
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.workload import Workload

MARGIN = 4
"""Divisor of the flows excluded at the beginning, which meet a network that is filling, and at the end."""


def in_progress(
    start: NDArray[np.float64], time: NDArray[np.float64], size: NDArray[np.int64], offered: float
) -> float:
    """Return the mean number of flows in progress in a network where flows keep arriving.

    By Little's law it is the number of flows that arrive in a second times their mean completion time, or the bytes
    that arrive in a second times the completion time of a byte. A count while flows arrive would leave out the rest of
    all flows that are not over at the last arrival; a large flow can take longer than all arrivals of a run.

    Args:
        start: of each flow, in seconds.
        time: from the start of each flow to its end, in seconds.
        size: of each flow, in bytes.
        offered: bytes that arrive in a second.
    """
    margin = len(start) // MARGIN
    counted = np.argsort(start, kind="stable")[margin : len(start) - margin]
    return offered * float(time[counted].sum() / size[counted].sum())


SMALL, LARGE = 100_000, 10_000_000
"""Bytes below which a flow is small, and above which it is large."""

PATIENCE = 5.0
"""Simulated seconds after the last start; a flow that takes longer is unfinished."""

Run = Mapping[str, Any]


@dataclass(frozen=True)
class LeafSpineRun:
    """A run.

    Attributes:
        fabric: network without faults.
        scheme: load balancer and transport.
        workload: name of the distribution of flow sizes.
        load: of the links between leaves and spines of the symmetric network.
        fault: of a switch; None for none.
    """

    fabric: LeafSpineFabric
    scheme: BalancingScheme
    workload: str
    load: float
    flows: int
    seed: int
    fault: Fault | None = None

    def drawn(self, network: Network) -> Flows:
        """Return the flows, the same under every scheme."""
        sizes = published_flow_sizes(self.workload)
        workload = Workload(sizes, self.fabric.load(self.load), self.flows, pattern=self.fabric.pattern)
        return workload.drawn(network, self.scheme.transport, self.seed)

    def loses_data(self, flows: Flows) -> NDArray[np.bool_]:
        """Return True for each flow whose data the fault may lose; False for all without a fault."""
        if self.fault is None:
            return np.zeros(flows.count, dtype=np.bool_)
        return self.fault.loses_data(self.fabric, self.seed, flows)

    def setting(self) -> Setting:
        setting = Setting(seed=self.seed, load_balancer=self.scheme.balancer)
        return setting if self.fault is None else self.fault.on(setting, self.fabric)


def outcome(case: LeafSpineRun) -> dict[str, Any]:
    """Return completion times in milliseconds by size and the state of flows at the end, as JSON data.

    The overall average counts an unfinished flow with its age at the end of the run; the others leave it out. That of
    received flows counts it too, unless its data is lost.
    """
    network = case.fabric.network(case.seed)
    flows = case.drawn(network)
    simulation = Simulation(network, [flows], case.setting())
    last = float(flows.start.max())
    simulation.complete(last + PATIENCE)
    results = simulation.flow_results()
    ended = np.isfinite(results.completion)
    age = np.where(ended, results.completion, last + PATIENCE - flows.start)
    small = flows.size < SMALL
    in_vain = ~ended & case.loses_data(flows)
    return {
        "overall average": _mean(1e3 * age),
        "received average": _mean(1e3 * age[~in_vain]),
        "overall 99th": _percentile(1e3 * results.completion[ended]),
        "small average": _mean(1e3 * results.completion[ended & small]),
        "small 99th": _percentile(1e3 * results.completion[ended & small]),
        "large average": _mean(1e3 * results.completion[ended & (flows.size > LARGE)]),
        "unfinished": 100 * float((~ended).mean()),
        "unfinished data": 100 * float(in_vain.mean()),
        "in progress": in_progress(flows.start, age, flows.size, case.fabric.offered(case.load)),
        "dropped": int(results.dropped.sum()),
        "timeouts": int(results.timeouts.sum()),
        "seconds": last,
        "sent": int(results.sent.sum()),
        "retransmitted": int(results.retransmitted.sum()),
    }


@dataclass(frozen=True)
class Grid:
    """Runs of several schemes under several loads.

    Attributes:
        flows: in each run, by its load.
    """

    fabric: LeafSpineFabric
    workload: str
    schemes: Mapping[str, BalancingScheme]
    flows: Mapping[float, int]
    fault: Fault | None = None

    @property
    def loads(self) -> tuple[float, ...]:
        return tuple(self.flows)

    @property
    def size(self) -> str:
        """The number of flows in words."""
        least, most = min(self.flows.values()), max(self.flows.values())
        return f"{most:,} flows" if least == most else f"{least:,} to {most:,} flows"

    def cases(self, seeds: Sequence[int]) -> dict[tuple[str, float], list[LeafSpineRun]]:
        """Return the cases of each scheme and load, one for each seed."""
        return {
            (name, load): [
                LeafSpineRun(self.fabric, scheme, self.workload, load, flows, seed, self.fault) for seed in seeds
            ]
            for load, flows in self.flows.items()
            for name, scheme in self.schemes.items()
        }


@dataclass(frozen=True)
class GridRuns:
    """The runs of a grid, of each scheme and load one for each seed."""

    grid: Grid
    runs: Mapping[tuple[str, float], Sequence[Run]]

    def values(self, scheme: str, load: float, statistic: str) -> list[float | None]:
        """Return a statistic of all seeds; None where no flow has it."""
        return [run[statistic] for run in self.runs[scheme, load]]

    def ratios(self, scheme: str, base: str, load: float, statistic: str) -> list[float | None]:
        """Return a statistic relative to that of another scheme with the same seed."""
        pairs = zip(self.values(scheme, load, statistic), self.values(base, load, statistic), strict=True)
        return [one / other if one is not None and other else None for one, other in pairs]

    def ratio(self, scheme: str, base: str, load: float, statistic: str = "overall average") -> float:
        """Return the ratio of the means over all seeds; nan if it is not known."""
        one, other = (
            [value for value in self.values(name, load, statistic) if value is not None] for name in (scheme, base)
        )
        return float(np.mean(one) / np.mean(other)) if one and other else float("nan")

    def total(self, what: str) -> int:
        return sum(run[what] for of_key in self.runs.values() for run in of_key)


@contextmanager
def swept_grids(grids: Sequence[Grid], execution: Execution) -> Iterator[list[GridRuns]]:
    """Yield the runs of all grids, as one sweep, while the block writes the experiment's own files.

    Finished runs are kept in the output folder until it has. A case that several grids share runs once.
    """
    keyed = [grid.cases(execution.seeds) for grid in grids]
    cases = {repr(case): case for of_grid in keyed for of_key in of_grid.values() for case in of_key}
    # Those that take longest come first, so that no worker is left alone with one at the end.
    ordered = {name: [case] for name, case in sorted(cases.items(), key=lambda item: -item[1].load)}
    with execution.swept(outcome, ordered) as found:
        yield [
            GridRuns(grid, {key: [found[repr(case)][0] for case in of_key] for key, of_key in of_grid.items()})
            for grid, of_grid in zip(grids, keyed, strict=True)
        ]


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if values.size else None


def _percentile(values: NDArray[np.float64]) -> float | None:
    return float(np.percentile(values, 99)) if values.size else None


Theirs = tuple[Sequence[float], Mapping[str, Sequence[float | None]]]
"""Loads of published numbers, and these by scheme."""


@dataclass(frozen=True)
class Naming:
    """Names of an exhibit.

    Attributes:
        name: such as `hermes-fig12-web-search`.
        figure: such as `Figure 12a`.
        title: without the size of the runs.
        base: scheme that numbers are relative to, seed by seed; None for absolute numbers.
        bars: True if the picture has bars for each load, as some of the paper's have.
        remarks: whole sentences.
    """

    name: str
    figure: str
    title: str
    base: str | None = None
    bars: bool = False
    remarks: tuple[str, ...] = ()


def over_loads(
    naming: Naming,
    measured: GridRuns,
    statistic: str,
    theirs: Theirs | None,
    checks: Sequence[Check] = (),
) -> Exhibit:
    """Return a line for each scheme over the load; `theirs` has the loads of the published numbers, and these."""
    base = naming.base
    lines = []
    for scheme in measured.grid.schemes:
        points = []
        for load in measured.grid.loads:
            values = (
                measured.values(scheme, load, statistic)
                if base is None
                else measured.ratios(scheme, base, load, statistic)
            )
            points.append(
                Point.of(f"{100 * load:g} %" if naming.bars else load, values, _published(theirs, scheme, load))
            )
        lines.append(Line(label_of(scheme), tuple(points)))
    quantity = f"{statistic} (%)" if statistic.startswith("unfinished") else f"completion time (ms), {statistic}"
    return Exhibit(
        name=naming.name,
        title=f"{naming.title}, {measured.grid.size}",
        reproduces=f"Hermes {naming.figure}",
        backend="packet",
        axis="load",
        quantity=quantity if base is None else f"{quantity}, {label_of(base)} = 1",
        lines=tuple(lines),
        published=PUBLISHED["source"] if theirs else None,
        checks=tuple(check for check in checks if not math.isnan(check.measured)),
        remarks=(*naming.remarks, *remarks_of(measured)),
    )


def label_of(scheme: str) -> str:
    return NAMES.get(scheme, scheme)


def theirs_of(figure: str, key: str) -> Theirs:
    """Return the loads and the numbers by scheme of a figure."""
    data = PUBLISHED[figure]
    return data["loads"], data[key]


def _published(theirs: Theirs | None, scheme: str, load: float) -> float | None:
    if theirs is None or scheme not in theirs[1] or load not in theirs[0]:
        return None
    return theirs[1][scheme][list(theirs[0]).index(load)]


def remarks_of(measured: GridRuns) -> list[str]:
    """Return sentences on the size of the runs and on flows that did not end."""
    seeds = max(len(of_key) for of_key in measured.runs.values())
    said = [f"Means of {seeds} seeds; in each all schemes have the same flows." if seeds > 1 else "One seed."]
    unfinished = sum(
        round(run["unfinished"] * measured.grid.flows[load] / 100)
        for (_, load), of_key in measured.runs.items()
        for run in of_key
    )
    if unfinished:
        said.append(f"{unfinished:,} flows of all runs had not ended 5 s after the last had begun.")
    return said


def order_as_published(
    measured: GridRuns, figure: str, key: str, loads: Sequence[float], statistic: str = "overall average"
) -> list[Check]:
    """Return the bars that schemes are in the published order; those off the published scale are the last.

    Schemes with equal published values are not compared with each other.
    """
    theirs = theirs_of(figure, key)
    checks = []
    for load in loads:
        if load not in measured.grid.loads:
            continue
        by_value: dict[float, list[str]] = {}
        for name in measured.grid.schemes:
            value = 1.0 if name == "hermes" else _published(theirs, name, load)
            by_value.setdefault(math.inf if value is None else value, []).append(name)
        for better_ones, worse_ones in pairwise(by_value[value] for value in sorted(by_value)):
            for better, worse in product(better_ones, worse_ones):
                checks += ratio_bar(measured, worse, better, load, 1.0, statistic, theirs)
    return checks


def ratio_bar(
    measured: GridRuns,
    scheme: str,
    base: str,
    load: float,
    low: float,
    statistic: str = "overall average",
    theirs: Theirs | None = None,
) -> list[Check]:
    """Return the least ratio of a statistic of two schemes at a load as a bar; nothing if it was not measured.

    With the published numbers, absolute or relative to Hermes, schemes that these set apart by less than seeds differ
    are a tie, unless the bar asks for more than an order.
    """
    if (scheme, load) not in measured.runs or (base, load) not in measured.runs:
        return []
    name = f"{label_of(scheme)} / {label_of(base)} at {load:g}"
    ratios = [each for each in measured.ratios(scheme, base, load, statistic) if each is not None]
    spread = (max(ratios) - min(ratios)) / 2 if len(ratios) > 1 and low == 1.0 else None
    one, other = (_published(theirs, each, load) or (1.0 if each == "hermes" else None) for each in (scheme, base))
    published = one / other if theirs is not None and one is not None and other is not None else None
    return [Check(name, measured.ratio(scheme, base, load, statistic), low, None, published, spread=spread)]
