"""Figures 9 to 14: load balancers on the testbed and in the simulated network, symmetric and asymmetric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from experiments.experiment import Outcome
from experiments.hermes.faults import Fault
from experiments.hermes.networks import CUT_TESTBED, PUBLIC_UNEQUAL, SIMULATED, TESTBED, UNEQUAL, Fabric
from experiments.hermes.runs import Grid, Measured, Where, swept_grids
from experiments.hermes.schemes import NAMES, Scheme
from experiments.hermes.tables import Naming, order_as_published, over_loads, ratio_bar, theirs_of
from experiments.reporting.exhibit_output import write_exhibits
from experiments.results.exhibit import Exhibit
from simulator.flow_sizes.published import published_flow_sizes

ON_TESTBED = ("clove-ecn", "hermes", "presto", "ecmp")
SYMMETRIC = ("ecmp", "conga", "hermes")
ASYMMETRIC = ("clove-ecn", "conga", "letflow", "presto", "hermes")

ORDERED_AT = (0.5, 0.7)
SPRAYING_BREAKS = {0.7: 1.5}
"""Bar: Presto* relative to Hermes, web search, by load; published off the scale."""

BELOW_ECMP_FROM = 0.7
"""Load from which Hermes must be faster than ECMP, web search; published .67 and .64 of its time."""


@dataclass(frozen=True)
class Extent:
    """Size of an experiment.

    Attributes:
        loads: of its runs.
        flows: of each workload in a run.
        profile: `paper`, or the other one (`Scheme.of`).
        seconds: of arrivals in a run, which then decide the number of flows at each load; 0 for the numbers as given.
    """

    loads: tuple[float, ...]
    flows: Mapping[str, int]
    profile: str = "paper"
    seconds: float = 0.0

    def at(self, load: float) -> Extent:
        """Return the size of an experiment that has a load of its own."""
        return replace(self, loads=(load,))

    def counts(self, fabric: Fabric, workload: str) -> dict[float, int]:
        """Return the number of flows in a run by its load."""
        if not self.seconds:
            return dict.fromkeys(self.loads, self.flows[workload])
        mean = published_flow_sizes(workload).mean
        return {load: round(self.seconds * fabric.offered(load) / mean) for load in self.loads}


def grid_of(fabric: Fabric, workload: str, names: tuple[str, ...], extent: Extent, fault: Fault | None = None) -> Grid:
    """Return the grid of these schemes, with the parameters of the profile."""
    schemes = {name: Scheme.of(name, fabric, extent.profile) for name in names}
    return Grid(fabric, workload, schemes, extent.counts(fabric, workload), fault)


def unequal(extent: Extent) -> Fabric:
    """Return the network with slow links: those of the authors' public simulation if the profile is its."""
    return PUBLIC_UNEQUAL if extent.profile == "ns3" else UNEQUAL


def written(
    name: str, exhibits: Sequence[Exhibit], extent: Extent, where: Where, fabric: Fabric | None = None
) -> Outcome:
    """Write the exhibits; under another profile than the paper's, say what it changes."""
    if extent.profile != "paper":
        sprays = any(line.label == NAMES["presto"] for each in exhibits for line in each.lines)
        said = _said_of(extent.profile, sprays=sprays, slow=fabric is not None and bool(fabric.slow))
        exhibits = [replace(each, remarks=(*each.remarks, said)) for each in exhibits]
    return write_exhibits(name, exhibits, where.settings, where.output)


def _said_of(profile: str, *, sprays: bool, slow: bool) -> str:
    """Return in words what a profile other than the paper's takes from the authors' public simulation."""
    if profile == "buffer":
        return "All receivers have the resequencing buffer of the authors' public simulation."
    said = ["Hermes has the constants of the authors' public simulation"]
    if sprays:
        said.append(f"Presto* its turns of ten packets{', its buffer and its weights' if slow else ' and its buffer'}")
    if slow:
        said.append("and the network its slow links")
    return f"{', '.join(said)}."


@contextmanager
def _swept(
    name: str, fabric: Fabric, names: tuple[str, ...], extent: Extent, where: Where
) -> Iterator[dict[str, Measured]]:
    """Yield the runs of each workload while the block writes the experiment's own files."""
    grids = [grid_of(fabric, workload, names, extent) for workload in extent.flows]
    with swept_grids(name, grids, where) as found:
        yield dict(zip(extent.flows, found, strict=True))


def run_testbed(extent: Extent, where: Where, *, cut: bool) -> Outcome:
    """Run Figure 9, or Figure 10 with a cut cable."""
    figure = "fig10" if cut else "fig9"
    fabric = CUT_TESTBED if cut else TESTBED
    name = f"hermes-{figure}"
    exhibits = []
    with _swept(name, fabric, ON_TESTBED, extent, where) as measured:
        for workload, found in measured.items():
            naming = Naming(
                f"{name}-{workload}",
                f"Figure {figure[3:]}",
                f"{workload}, {fabric.name}{', one cable cut' if cut else ''}",
            )
            exhibits.append(over_loads(naming, found, "overall average", theirs_of(figure, workload)))
        return written(name, exhibits, extent, where)


def run_testbed_sizes(extent: Extent, where: Where) -> Outcome:
    """Run Figure 11: small and large flows of web search with a cut cable."""
    name = "hermes-fig11"
    with _swept(name, CUT_TESTBED, ON_TESTBED, extent, where) as measured:
        found = measured["web-search"]
        title = f"web search, {CUT_TESTBED.name}, one cable cut"
        small = over_loads(
            Naming(f"{name}-small", "Figure 11a", title), found, "small average", theirs_of("fig11", "small average")
        )
        large = over_loads(
            Naming(f"{name}-large", "Figure 11b", title, "hermes"),
            found,
            "large average",
            theirs_of("fig11", "large average"),
            order_as_published(found, "fig11", "large average", (0.5,), "large average"),
        )
        return written(name, [small, large], extent, where)


def run_symmetric(extent: Extent, where: Where) -> Outcome:
    """Run Figure 12."""
    name = "hermes-fig12"
    exhibits = []
    with _swept(name, SIMULATED, SYMMETRIC, extent, where) as measured:
        for workload, found in measured.items():
            theirs = theirs_of("fig12", workload)
            checks = [
                bar
                for load in found.grid.loads
                if workload == "web-search" and load >= BELOW_ECMP_FROM
                for bar in ratio_bar(found, "ecmp", "hermes", load, 1.0, theirs=theirs)
            ]
            naming = Naming(f"{name}-{workload}", "Figure 12", f"{workload}, {SIMULATED.name}", bars=True)
            exhibits.append(over_loads(naming, found, "overall average", theirs, checks))
        return written(name, exhibits, extent, where)


def run_asymmetric(workload: str, extent: Extent, where: Where) -> Outcome:
    """Run Figure 13 with web search, or Figure 14 with data mining."""
    figure = "fig13" if workload == "web-search" else "fig14"
    name = f"hermes-{figure}"
    fabric = unequal(extent)
    with _swept(name, fabric, ASYMMETRIC, extent, where) as measured:
        found = measured[workload]
        part = f"{len(fabric.slow)} of 64" if fabric.slow else "a fifth of the"
        title = f"{workload}, {fabric.name}, {part} links between switches at 2 Gbit/s"
        theirs = theirs_of(figure, "overall average")
        checks = order_as_published(found, figure, "overall average", ORDERED_AT)
        for load in found.grid.loads:
            if workload == "web-search" and load in SPRAYING_BREAKS:
                checks += ratio_bar(found, "presto", "hermes", load, SPRAYING_BREAKS[load])
            if workload == "data-mining" and load >= 0.5:
                others = (name for name in ASYMMETRIC if name != "hermes")
                best = min(others, key=lambda other: found.ratio(other, "hermes", load))
                checks += ratio_bar(found, best, "hermes", load, 1.0, theirs=theirs)
        exhibits: list[Exhibit] = []
        statistics = ["overall average", "small average", "large average"]
        statistics.append("small 99th" if workload == "web-search" else "overall 99th")
        for letter, statistic in zip("abcd", statistics, strict=True):
            naming = Naming(f"{name}-{statistic.replace(' ', '-')}", f"Figure {figure[3:]}{letter}", title, "hermes")
            bars = tuple(dict.fromkeys(checks)) if statistic == "overall average" else ()
            exhibits.append(over_loads(naming, found, statistic, theirs_of(figure, statistic), bars))
        exhibits.append(over_loads(Naming(f"{name}-ms", f"Figure {figure[3:]}", title), found, "overall average", None))
        return written(name, exhibits, extent, where, fabric)
