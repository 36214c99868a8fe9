"""Hermes, Figures 15 to 19: flowlet gaps, parts and thresholds of Hermes, and spines that fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.loads import BOTH, MINING, SEEDS, WEB, WHOLE, extent_of, grid_of, profile_option, written
from experiments.hermes.networks import (
    ONE_WAY,
    PUBLISHED,
    RESEQUENCING,
    SIMULATED,
    SIMULATED_HERMES,
    UNEQUAL,
    BalancingScheme,
    Drops,
    Hole,
    hermes_of,
    packet_exhibit,
)
from experiments.hermes.runs import (
    PATIENCE,
    Grid,
    GridRuns,
    Naming,
    label_of,
    over_loads,
    ratio_bar,
    remarks_of,
    swept_grids,
    theirs_of,
)
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import SizeBar, slower

COMPARED = ("ecmp", "conga", "hermes", "presto", "letflow")

FAULT_LOADS = ((0.3, 0.7), (0.3, 0.4, 0.5, 0.6, 0.7))

DROPPED = 0.02
"""Part of the packets that the spine drops."""

BETTER = 1.3
"""Bar of random drops: every other relative to Hermes."""

READINGS = {
    "from all hosts of a rack": Hole(1.0, wide=True),
    "from half of a rack's hosts": Hole(0.5, wide=True),
    "of half of the pairs from the first rack to the last": Hole(0.5),
}
"""Readings of "half of the source-destination pairs from rack 1 to rack 8".

The first is the default of the authors' public simulation, whose flow monitor sees the two directions of a connection
apart: flows whose acknowledgements vanish have delivered all they sent. The last is that of the letter.
"""

NEXT_BEST = 1.6
"""Bar of the black hole: the best other relative to Hermes."""


def run_drops(execution: Execution) -> Outcome:
    """Run Figure 16: web search while a spine drops some of all packets."""
    name = execution.name
    extent = extent_of(execution, WEB, FAULT_LOADS)
    grid = grid_of(SIMULATED, "web-search", COMPARED, extent, Drops(DROPPED))
    with swept_grids([grid], execution) as (found,):
        theirs = theirs_of("fig16", "overall average")
        checks: list[Check] = []
        for load in grid.loads:
            for other in COMPARED:
                if other != "hermes":
                    checks += ratio_bar(found, other, "hermes", load, BETTER, theirs=theirs)
        title = f"web search, {SIMULATED.name}, a spine drops {100 * DROPPED:g} % of its packets"
        exhibits = [
            over_loads(
                Naming(f"{name}-{statistic.partition(' ')[0]}", f"Figure 16{letter}", title),
                found,
                statistic,
                theirs_of("fig16", statistic),
                checks if letter == "a" else (),
            )
            for letter, statistic in (("a", "overall average"), ("b", "small average"))
        ]
        return written(exhibits, extent, execution)


def run_hole(execution: Execution) -> Outcome:
    """Run Figure 17 with three readings of the pairs that the black hole swallows; bars apply to the first."""
    name = execution.name
    extent = extent_of(execution, WEB, FAULT_LOADS)
    grids = [grid_of(SIMULATED, "web-search", COMPARED, extent, hole) for hole in READINGS.values()]
    with swept_grids(grids, execution) as measured:
        exhibits = []
        for number, (reading, found) in enumerate(zip(READINGS, measured, strict=True)):
            exhibits += _hole(f"{name}-{'abc'[number]}", reading, found, with_bars=number == 0)
        return written(exhibits, extent, execution)


def _hole(name: str, reading: str, found: GridRuns, *, with_bars: bool) -> list[Exhibit]:
    title = f"web search, {SIMULATED.name}, a spine swallows packets {reading}"
    swallowed = "Data and acknowledgements are swallowed; packets in the other direction are not."
    aged = (
        f"An unfinished flow counts with its age {PATIENCE:g} s after the last start, unless its data is swallowed: the"
        " scripts of the public simulation leave out flows of which nothing is received."
    )
    shown = {
        "received average": ("overall", "overall average", aged),
        "unfinished": ("unfinished", "unfinished", swallowed),
        "unfinished data": ("unfinished-data", "unfinished", f"{swallowed} Only flows count whose data is."),
    }
    bars = {"received average": _next_best(found, "received average"), "unfinished data": _unfinished(found)}
    made = []
    for statistic, (suffix, published, said) in shown.items():
        theirs = theirs_of("fig17", published)
        naming = Naming(f"{name}-{suffix}", f"Figure 17{'a' if suffix == 'overall' else 'b'}", title, remarks=(said,))
        made.append(over_loads(naming, found, statistic, theirs, bars.get(statistic, ()) if with_bars else ()))
    return made


def _unfinished(found: GridRuns) -> list[Check]:
    """Return the bars that, under Hermes, all flows end whose data the black hole would swallow."""
    checks = []
    for load in found.grid.loads:
        values = [value for value in found.values("hermes", load, "unfinished data") if value is not None]
        checks.append(Check(f"{label_of('hermes')} unfinished at {load:g}", sum(values) / len(values), None, 0.0))
    return checks


def _next_best(found: GridRuns, statistic: str) -> list[Check]:
    checks: list[Check] = []
    theirs = theirs_of("fig17", "overall average")
    others = [name for name in found.grid.schemes if name != "hermes"]
    for load in found.grid.loads:
        best = min(others, key=lambda other: found.ratio(other, "hermes", load, statistic))
        checks += ratio_bar(found, best, "hermes", load, NEXT_BEST, statistic, theirs)
    return checks


SIZE_BARS = {"hermes-fig17-?-unfinished*": SizeBar(0.2)}  # four of two thousand flows


GAP_LOAD = 0.8
USUAL_GAP = 150

PARAMETER_LOAD = 0.6
PART_LOADS = ((0.4, 0.8), (0.4, 0.6, 0.8))

_SPARSE = 3
"""The default runs every third of the thresholds in Figure 19."""

DEFAULTS = {"high rtt": 180, "rtt gain": 75}


def run_gaps(execution: Execution) -> Outcome:
    """Run Figure 15: CONGA with a resequencing buffer and three flowlet gaps."""
    name = execution.name
    extent = extent_of(execution, WEB)
    data = PUBLISHED["fig15"]
    schemes = {f"{gap} us": BalancingScheme.conga(gap * 1e-6, UNEQUAL, RESEQUENCING) for gap in data["gaps"]}
    grid = Grid(UNEQUAL, "web-search", schemes, extent.at(GAP_LOAD).counts(UNEQUAL, "web-search"))
    with swept_grids([grid], execution) as (found,):
        usual = f"{USUAL_GAP} us"
        lines = [
            Line(
                statistic.partition(" ")[0],
                tuple(
                    Point.of(scheme, found.ratios(scheme, usual, GAP_LOAD, statistic), data[statistic][place])
                    for place, scheme in enumerate(schemes)
                ),
            )
            for statistic in ("overall average", "large average", "small average")
        ]
        overall = lines[0]
        checks = slower("50 us / 150 us, overall", overall.at("50 us"), overall.at(usual), relative=True)
        exhibit = packet_exhibit(
            name=name,
            title=f"CONGA with three flowlet gaps, web-search at load {GAP_LOAD:g}, slow links, {grid.size}",
            reproduces="Hermes Figure 15",
            axis="flowlet gap",
            quantity=f"average completion time, {usual} = 1",
            lines=tuple(lines),
            checks=tuple(checks),
            remarks=("Receivers have a resequencing buffer.", *remarks_of(found)),
        )
        return execution.written(exhibit)


def run_parts(execution: Execution) -> Outcome:
    """Run Figure 18: Hermes without rerouting, without probing, and with faster probing."""
    name = execution.name
    extent = extent_of(execution, MINING, PART_LOADS)
    whole = hermes_of(SIMULATED, extent.profile)
    mining = {
        "without both": BalancingScheme.hermes(replace(whole, rerouting=False, probing=False), SIMULATED),
        "without rerouting": BalancingScheme.hermes(replace(whole, rerouting=False), SIMULATED),
        "hermes": BalancingScheme.hermes(whole, SIMULATED),
    }
    probing = {
        "no probing": BalancingScheme.hermes(replace(whole, probing=False), SIMULATED),
        "500 us": mining["hermes"],
        "100 us": BalancingScheme.hermes(replace(whole, probe_every=1e-4), SIMULATED),
    }
    grids = [
        Grid(SIMULATED, "data-mining", schemes, extent.counts(SIMULATED, "data-mining"))
        for schemes in (mining, probing)
    ]
    data = PUBLISHED["fig18"]
    with swept_grids(grids, execution) as (parts, probes):
        saved = [
            *_saved("rerouting", parts, "without rerouting", "hermes", data, "overall average"),
            *_saved("probing", parts, "without both", "without rerouting", data, "overall average"),
        ]
        title = f"parts of Hermes, data-mining, {SIMULATED.name}"
        exhibits = [
            over_loads(
                Naming(f"{name}-overall", "Figure 18a", title, bars=True),
                parts,
                "overall average",
                (data["loads"], data["overall average"]),
                saved,
            ),
            over_loads(
                Naming(f"{name}-small", "Figure 18b", title, bars=True),
                probes,
                "small average",
                (data["loads"], data["small average"]),
                _saved("probing every 500 us", probes, "no probing", "500 us", data, "small average"),
            ),
        ]
        return written(exhibits, extent, execution)


def _saved(
    what: str, found: GridRuns, without: str, with_it: str, data: Mapping[str, Any], statistic: str
) -> list[Check]:
    """Return the orders that a part of Hermes saves time at each load."""
    theirs = data["loads"], data[statistic]
    return [
        replace(bar, name=f"{what} saves time at {load:g}")
        for load in found.grid.loads
        for bar in ratio_bar(found, without, with_it, load, 1.0, statistic, theirs)
    ]


def run_thresholds(execution: Execution) -> Outcome:
    """Run Figure 19: other thresholds of Hermes; every `sparse`-th of the paper's values, and the default."""
    name = execution.name
    extent = extent_of(execution, BOTH)
    sparse = execution.sized(_SPARSE, _SPARSE, 1)
    data = PUBLISHED["fig19"]
    swept = {
        key: [us for place, us in enumerate(data[key]["us"]) if place % sparse == 0 or us == DEFAULTS[key]]
        for key in DEFAULTS
    }
    made = {
        **{
            f"high rtt {us}": BalancingScheme.hermes(replace(SIMULATED_HERMES, high=(us - ONE_WAY) * 1e-6), SIMULATED)
            for us in swept["high rtt"]
        },
        **{
            f"rtt gain {us}": BalancingScheme.hermes(replace(SIMULATED_HERMES, better_round_trip=us * 1e-6), SIMULATED)
            for us in swept["rtt gain"]
        },
    }
    extent = extent.at(PARAMETER_LOAD)
    grids = [Grid(SIMULATED, workload, made, extent.counts(SIMULATED, workload)) for workload in extent.flows]
    with swept_grids(grids, execution) as found:
        measured = dict(zip(extent.flows, found, strict=True))
        exhibits = [_threshold(name, key, swept[key], measured, data[key]) for key in DEFAULTS]
        return execution.written(*exhibits)


def _threshold(
    name: str, key: str, values: Sequence[int], measured: Mapping[str, GridRuns], theirs: Mapping[str, Sequence[float]]
) -> Exhibit:
    base = f"{key} {DEFAULTS[key]}"
    lines = []
    for workload, found in measured.items():
        points = [
            Point.of(
                us,
                found.ratios(f"{key} {us}", base, PARAMETER_LOAD, "overall average"),
                theirs[workload][list(theirs["us"]).index(us)],
            )
            for us in values
        ]
        lines.append(Line(workload, tuple(points)))
    letter, title = ("a", "T_RTT_high") if key == "high rtt" else ("b", "Delta_RTT")
    sizes = ", ".join(f"{found.grid.size} of {workload}" for workload, found in measured.items())
    return packet_exhibit(
        name=f"{name}-{key.replace(' ', '-')}",
        title=f"{title} of Hermes, load {PARAMETER_LOAD:g}",
        reproduces=f"Hermes Figure 19{letter}",
        axis=f"{title} (us)",
        quantity=f"completion time, overall average, {DEFAULTS[key]} us = 1",
        lines=tuple(lines),
        remarks=(f"{sizes} in each run.", "The load and the network of this figure are not known to us."),
    )


EXPERIMENTS = offered(
    {
        "hermes-fig15": Offered(run_gaps, SEEDS, full=WHOLE),
        "hermes-fig18": Offered(run_parts, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig19": Offered(run_thresholds, SEEDS, full=WHOLE),
        "hermes-fig16": Offered(run_drops, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig17": Offered(run_hole, SEEDS, full=WHOLE, configure=profile_option),
    }
)
