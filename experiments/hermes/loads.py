"""Figures 9 to 14, Table 2 and plain TCP: load balancers on the testbed and in the simulated network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.networks import (
    CUT_TESTBED,
    NAMES,
    ONE_WAY,
    PUBLIC_PAYLOAD,
    PUBLIC_UNEQUAL,
    PUBLISHED,
    SIMULATED,
    SIMULATED_HERMES,
    TESTBED,
    UNEQUAL,
    BalancingScheme,
    Fault,
    LeafSpineFabric,
    packet_exhibit,
)
from experiments.hermes.runs import (
    Grid,
    GridRuns,
    Naming,
    label_of,
    order_as_published,
    over_loads,
    ratio_bar,
    swept_grids,
    theirs_of,
)
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from simulator.flow_sizes.published import published_flow_sizes
from simulator.packet.transports import Congestion

ON_TESTBED = ("clove-ecn", "hermes", "presto", "ecmp")
SYMMETRIC = ("ecmp", "conga", "hermes")
ASYMMETRIC = ("clove-ecn", "conga", "letflow", "presto", "hermes")

ORDERED_AT = (0.5, 0.7)
SPRAYING_BREAKS = {0.7: 1.5}
"""Bar: Presto* relative to Hermes, web search, by load; published off the scale."""

BELOW_ECMP_FROM = 0.7
"""Load from which Hermes must be faster than ECMP, web search; published .67 and .64 of its time."""


WEB, MINING = ("web-search",), ("data-mining",)
BOTH = (*WEB, *MINING)

SEEDS, TESTBED_SEEDS = (1, 1, 5), (2, 1, 5)
"""Seeds by default, with --quick and with --full."""

_TESTBED_FLOWS = {"quick": (200, 50), "default": (2_000, 3_000), "full": (20_000, 10_000)}
_SIMULATED_FLOWS = {"quick": (200, 40), "default": (20_000, 4_000), "full": (60_000, 13_000)}
"""Flows of web search and of data mining in each run, for `full` where it has one load.

A few of data mining's flows carry most of its bytes: with so few that they hardly meet, schemes differ little.
"""

_OWN_DEFAULT = {
    "hermes-table2": (20_000, 8_000),
    "hermes-fig12": (40_000, 4_000),
    "hermes-fig17": (4_000, 4_000),
}
"""Flows of the default where an experiment has so few runs that they can be longer, or so many that they cannot."""

_FULL_SECONDS = 2.0
"""Seconds in which flows start in each of the paper's simulations, whatever the load."""

_LOADS = (0.3, 0.5, 0.7, 0.9)
_FEW_LOADS = (0.5, 0.7, 0.9)
_FULL_LOADS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_CUT_LOADS = (0.3, 0.5, 0.6)
_CUT = (_CUT_LOADS, (0.3, 0.4, 0.5, 0.6, 0.65, 0.7))


@dataclass(frozen=True)
class Extent:
    """Size of an experiment.

    Attributes:
        loads: of its runs.
        flows: of each workload in a run.
        profile: `paper`, or the other one (`BalancingScheme.of`).
        seconds: of arrivals in a run, which then decide the number of flows at each load; 0 for the numbers as given.
    """

    loads: tuple[float, ...]
    flows: Mapping[str, int]
    profile: str = "paper"
    seconds: float = 0.0

    def at(self, load: float) -> Extent:
        """Return the size of an experiment that has its own load."""
        return replace(self, loads=(load,))

    def counts(self, fabric: LeafSpineFabric, workload: str) -> dict[float, int]:
        """Return the number of flows in a run by its load."""
        if not self.seconds:
            return dict.fromkeys(self.loads, self.flows[workload])
        mean = published_flow_sizes(workload).mean
        return {load: round(self.seconds * fabric.offered(load) / mean) for load in self.loads}


def profile_option(options: Options) -> None:
    """Add the option that all experiments share which compare Hermes with others."""
    options.add_argument(
        "--profile",
        choices=("paper", "ns3", "buffer"),
        default="paper",
        help="constants of Hermes, paths of acknowledgements, buffer and weights of Presto*, and slow links: those of"
        " the paper, or of its public ns-3 code (ns3), or of the paper with that code's resequencing buffer at all"
        " receivers (buffer) (default: %(default)s)",
    )


def extent_of(
    execution: Execution,
    workloads: Sequence[str],
    loads: tuple[tuple[float, ...], tuple[float, ...]] = (_FEW_LOADS, _FULL_LOADS),
    *,
    on_testbed: bool = False,
) -> Extent:
    """Return the size of an experiment's runs: `loads` are those of the default and of `--full`."""
    size = execution.sized("quick", "default", "full")
    profile = getattr(execution.args, "profile", "paper")  # not every experiment has the option
    counts = _SIMULATED_FLOWS[size]
    if on_testbed:  # in the runs of the default ECMP is over before the link that it fills is
        counts = _TESTBED_FLOWS["full" if profile == "ns3" and size == "default" else size]
    if size == "default":
        counts = _OWN_DEFAULT.get(execution.name, counts)
    flows = dict(zip(BOTH, counts, strict=True))
    middle = loads[0][len(loads[0]) // 2]
    chosen = execution.sized((middle,), *loads)
    seconds = _FULL_SECONDS if size == "full" and not on_testbed else 0.0
    return Extent(chosen, {workload: flows[workload] for workload in workloads}, profile, seconds)


def grid_of(
    fabric: LeafSpineFabric, workload: str, names: tuple[str, ...], extent: Extent, fault: Fault | None = None
) -> Grid:
    """Return the grid of these schemes, with the parameters of the profile."""
    schemes = {name: BalancingScheme.of(name, fabric, extent.profile) for name in names}
    return Grid(fabric, workload, schemes, extent.counts(fabric, workload), fault)


def unequal(extent: Extent) -> LeafSpineFabric:
    """Return the network with slow links: those of the authors' public simulation if the profile is its."""
    return PUBLIC_UNEQUAL if extent.profile == "ns3" else UNEQUAL


def testbed(extent: Extent, *, cut: bool) -> LeafSpineFabric:
    """Return the testbed; its load counts headers, as that of the authors' generator, if the profile is `ns3`."""
    fabric = CUT_TESTBED if cut else TESTBED
    return replace(fabric, payload=PUBLIC_PAYLOAD) if extent.profile == "ns3" else fabric


def written(
    exhibits: Sequence[Exhibit], extent: Extent, execution: Execution, fabric: LeafSpineFabric | None = None
) -> Outcome:
    """Write the exhibits; under another profile than the paper's, say what it changes."""
    if extent.profile != "paper":
        sprays = any(line.label == NAMES["presto"] for each in exhibits for line in each.lines)
        said = _said_of(extent.profile, fabric or SIMULATED, sprays=sprays)
        exhibits = [replace(each, remarks=(*each.remarks, said)) for each in exhibits]
    return execution.written(*exhibits)


def _said_of(profile: str, fabric: LeafSpineFabric, *, sprays: bool) -> str:
    """Return in words what a profile other than the paper's takes from the authors' public simulation."""
    if profile == "buffer":
        return "All receivers have the resequencing buffer of the authors' public simulation."
    said = ["Hermes has the constants of the authors' public simulation, acknowledgements keep a path by hash"]
    if sprays:
        said.append(f"Presto* has its buffer{' and its weights' if fabric.slow else ''}")
    if fabric.slow:
        said.append("and the network its slow links")
    if fabric.payload < 1:
        said.append("loads count headers, as in the generator of the authors' testbed")
    return f"{', '.join(said)}."


@contextmanager
def _swept(
    fabric: LeafSpineFabric, names: tuple[str, ...], extent: Extent, execution: Execution
) -> Iterator[dict[str, GridRuns]]:
    """Yield the runs of each workload while the block writes the experiment's own files."""
    grids = [grid_of(fabric, workload, names, extent) for workload in extent.flows]
    with swept_grids(grids, execution) as found:
        yield dict(zip(extent.flows, found, strict=True))


def run_testbed(execution: Execution) -> Outcome:
    """Run Figure 9, or Figure 10 with a cut cable."""
    name = execution.name
    figure = name.removeprefix("hermes-")
    cut = figure == "fig10"
    extent = extent_of(execution, BOTH, _CUT if cut else (_LOADS[:3], _FULL_LOADS), on_testbed=True)
    fabric = testbed(extent, cut=cut)
    exhibits = []
    with _swept(fabric, ON_TESTBED, extent, execution) as measured:
        for workload, found in measured.items():
            naming = Naming(
                f"{name}-{workload}",
                f"Figure {figure[3:]}",
                f"{workload}, {fabric.name}{', one cable cut' if cut else ''}",
            )
            exhibits.append(over_loads(naming, found, "overall average", theirs_of(figure, workload)))
        return written(exhibits, extent, execution, fabric)


def run_testbed_sizes(execution: Execution) -> Outcome:
    """Run Figure 11: small and large flows of web search with a cut cable."""
    name = execution.name
    extent = extent_of(execution, WEB, _CUT, on_testbed=True)
    fabric = testbed(extent, cut=True)
    with _swept(fabric, ON_TESTBED, extent, execution) as measured:
        found = measured["web-search"]
        title = f"web search, {fabric.name}, one cable cut"
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
        return written([small, large], extent, execution, fabric)


def run_symmetric(execution: Execution) -> Outcome:
    """Run Figure 12."""
    name = execution.name
    extent = extent_of(execution, BOTH, (_FEW_LOADS, _LOADS))
    exhibits = []
    with _swept(SIMULATED, SYMMETRIC, extent, execution) as measured:
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
        return written(exhibits, extent, execution)


def run_asymmetric(execution: Execution) -> Outcome:
    """Run Figure 13 with web search, or Figure 14 with data mining."""
    name = execution.name
    figure = name.removeprefix("hermes-")
    (workload,) = WEB if figure == "fig13" else MINING
    extent = extent_of(execution, (workload,))
    fabric = unequal(extent)
    with _swept(fabric, ASYMMETRIC, extent, execution) as measured:
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
        return written(exhibits, extent, execution, fabric)


WHOLE = "five seeds, and the paper's loads and flows (default: a part of them)"
"""Help of --full."""

SEEN_UNDER = ("ecmp", "hermes")
PAIRS = {
    "switch pair": SIMULATED.leaves * (SIMULATED.leaves - 1),
    "host pair": SIMULATED.hosts * (SIMULATED.hosts - SIMULATED.leaf_hosts),
}


def run_visibility(execution: Execution) -> Outcome:
    """Run both workloads and derive the mean number of flows between pairs from completion times.

    A second exhibit has the published columns exchanged: by Little's law the completion times of the paper's own Figure
    12 give 2.3 to 3.5 flows of web search and 1.5 to 1.8 of data mining at load 0.6.
    """
    name = execution.name
    extent = extent_of(execution, BOTH, ((0.6, 0.8), (0.6, 0.8)))
    grids = [grid_of(SIMULATED, workload, SEEN_UNDER, extent) for workload in extent.flows]
    with swept_grids(grids, execution) as measured:
        found = dict(zip(extent.flows, measured, strict=True))
        exhibits = [
            _visibility(name, found, {workload: workload for workload in found}),
            _visibility(f"{name}-exchanged", found, dict(zip(BOTH, reversed(BOTH), strict=True))),
        ]
        return written(exhibits, extent, execution)


def _visibility(name: str, found: Mapping[str, GridRuns], column_of: Mapping[str, str]) -> Exhibit:
    """Return the exhibit; `column_of` names the published column with which each workload is compared."""
    theirs = PUBLISHED["table2"]
    lines = []
    for scheme in SEEN_UNDER:
        for pair, count in PAIRS.items():
            points = []
            for workload, of_workload in found.items():
                for load in of_workload.grid.loads:
                    column = f"{column_of[workload]}, {load:g}"
                    value = theirs[pair][theirs["cases"].index(column)] if column in theirs["cases"] else None
                    flows = [each for each in of_workload.values(scheme, load, "in progress") if each is not None]
                    points.append(Point.of(f"{workload}, {load:g}", [each / count for each in flows], value))
            lines.append(Line(f"{label_of(scheme)}, {pair}", tuple(points)))
    exchanged = ("The published columns are exchanged.",) if any(one != own for one, own in column_of.items()) else ()
    return packet_exhibit(
        name=name,
        title=f"concurrent flows between two leaves and between two hosts, {SIMULATED.name}",
        reproduces="Hermes Table 2",
        axis="workload, load",
        quantity="flows at a time, mean over pairs",
        lines=tuple(lines),
        remarks=(
            "All flows from one leaf, or host, to another that have begun and not ended, on all paths together.",
            "The paper does not define its count.",
            "By Little's law: the rate of arrival times the completion times of the middle half of the flows.",
            *(f"{each.grid.size} of {each.grid.workload} in each run." for each in found.values()),
            *exchanged,
        ),
        logarithmic=True,
    )


LONGER = 1.5
"""Factor of T_RTT_high and Delta_RTT under plain TCP, the paper's."""

TCP_FLOWLET = 500e-6
"""Seconds of CONGA's gap under plain TCP, the paper's."""

WITHIN = (0.75, 1.25)
"""Bar: Hermes relative to CONGA; published is that it is within 10 to 25 % of it."""

HERMES = replace(
    SIMULATED_HERMES,
    uses_ecn=False,
    high=LONGER * (SIMULATED_HERMES.high + ONE_WAY * 1e-6) - ONE_WAY * 1e-6,
    better_round_trip=LONGER * SIMULATED_HERMES.better_round_trip,
)
"""Hermes without marks. The factor is for the paper's T_RTT_high, which contains the way of an empty network."""


def plain(scheme: BalancingScheme) -> BalancingScheme:
    """Return the scheme with NewReno, which does not react to marks."""
    return replace(scheme, transport=replace(scheme.transport, congestion=Congestion.NEW_RENO))


def run_plain_tcp(execution: Execution) -> Outcome:
    """Run ECMP, CONGA and Hermes with web search in the symmetric network."""
    name = execution.name
    extent = extent_of(execution, WEB)
    (workload,) = extent.flows
    schemes = {
        "ecmp": BalancingScheme.of("ecmp", SIMULATED),
        "conga": BalancingScheme.conga(TCP_FLOWLET, SIMULATED),
        "hermes": BalancingScheme.hermes(HERMES, SIMULATED),
    }
    grid = Grid(
        SIMULATED,
        workload,
        {scheme: plain(each) for scheme, each in schemes.items()},
        extent.counts(SIMULATED, workload),
    )
    with swept_grids([grid], execution) as (found,):
        checks = [
            Check(f"Hermes / CONGA at {load:g}", found.ratio("hermes", "conga", load), *WITHIN) for load in extent.loads
        ]
        remark = "Published, in words alone: Hermes is within 10 to 25 % of CONGA."
        naming = Naming(name, "plain TCP", f"{workload}, NewReno, {SIMULATED.name}", bars=True, remarks=(remark,))
        exhibit = over_loads(naming, found, "overall average", None, checks)
        exhibit = replace(exhibit, published=PUBLISHED["source"])  # in words alone, so without points
        return execution.written(exhibit)


EXPERIMENTS = offered(
    {
        "hermes-fig9": Offered(run_testbed, TESTBED_SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig10": Offered(run_testbed, TESTBED_SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig11": Offered(run_testbed_sizes, TESTBED_SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig12": Offered(run_symmetric, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig13": Offered(run_asymmetric, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig14": Offered(run_asymmetric, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-table2": Offered(run_visibility, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-plain-tcp": Offered(run_plain_tcp, SEEDS, full=WHOLE),
    }
)
