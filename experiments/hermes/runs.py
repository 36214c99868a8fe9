"""One run of flows over a network, as a case of a sweep, and grids of such runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.grid import Execution
from experiments.hermes.faults import Fault
from experiments.hermes.networks import Fabric
from experiments.hermes.schemes import Scheme
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.flows import Flows
from simulator.packet.network import Network
from simulator.packet.scenario import Setting
from simulator.packet.simulation import Simulation
from simulator.packet.traffic.workload import Workload

MARGIN = 4
"""One of so many flows at the beginning, which meet a network that fills, and as many at the end do not count."""


def in_progress(
    start: NDArray[np.float64], time: NDArray[np.float64], size: NDArray[np.int64], offered: float
) -> float:
    """Return the mean number of flows in progress in a network at which flows arrive for ever.

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
class Case:
    """A run.

    Attributes:
        fabric: network without faults.
        scheme: load balancer and transport.
        workload: name of the distribution of flow sizes.
        load: of the links between leaves and spines of the symmetric network.
        flows: their number.
        fault: of a switch; None for none.
    """

    fabric: Fabric
    scheme: Scheme
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


def outcome(ready: None, case: Case) -> dict[str, Any]:
    """Return completion times in milliseconds by size and the state of flows at the end, as JSON data.

    The overall average counts an unfinished flow with its age at the end of the run; the others leave it out. That of
    received flows counts it too, unless its data is lost.
    """
    del ready
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
        schemes: by name.
        flows: in each run, by its load.
    """

    fabric: Fabric
    workload: str
    schemes: Mapping[str, Scheme]
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

    def cases(self, seeds: Sequence[int]) -> dict[tuple[str, float], list[Case]]:
        """Return the cases of each scheme and load, one for each seed."""
        return {
            (name, load): [Case(self.fabric, scheme, self.workload, load, flows, seed, self.fault) for seed in seeds]
            for load, flows in self.flows.items()
            for name, scheme in self.schemes.items()
        }


@dataclass(frozen=True)
class Measured:
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
def swept_grids(grids: Sequence[Grid], execution: Execution) -> Iterator[list[Measured]]:
    """Yield the runs of all grids, as one sweep, while the block writes the experiment's own files.

    Finished runs are kept in the output folder until it has. A case that several grids share runs once.
    """
    keyed = [grid.cases(execution.seeds) for grid in grids]
    cases = {repr(case): case for of_grid in keyed for of_key in of_grid.values() for case in of_key}
    # Those that take longest come first, so that no worker is left alone with one at the end.
    ordered = {name: [case] for name, case in sorted(cases.items(), key=lambda item: -item[1].load)}
    with execution.swept(outcome, ordered) as found:
        yield [
            Measured(grid, {key: [found[repr(case)][0] for case in of_key] for key, of_key in of_grid.items()})
            for grid, of_grid in zip(grids, keyed, strict=True)
        ]


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if values.size else None


def _percentile(values: NDArray[np.float64]) -> float | None:
    return float(np.percentile(values, 99)) if values.size else None
