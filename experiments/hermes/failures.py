"""Figures 16 and 17: a spine that drops packets silently, and one with a black hole for some pairs of hosts."""

from __future__ import annotations

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.loads import SEEDS, WEB, WHOLE, extent_of, grid_of, profile_option, written
from experiments.hermes.networks import SIMULATED, Drops, Hole
from experiments.hermes.runs import PATIENCE, GridRuns, Naming, label_of, over_loads, ratio_bar, swept_grids, theirs_of
from experiments.results.exhibit import Exhibit
from experiments.results.result import Check
from experiments.results.score import SizeBar

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

EXPERIMENTS = offered(
    {
        "hermes-fig16": Offered(run_drops, SEEDS, full=WHOLE, configure=profile_option),
        "hermes-fig17": Offered(run_hole, SEEDS, full=WHOLE, configure=profile_option),
    }
)
