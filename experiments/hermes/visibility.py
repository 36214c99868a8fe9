"""Table 2: concurrent flows that a pair of leaves and a pair of hosts see."""

from __future__ import annotations

from experiments.experiment import Outcome
from experiments.grid import Execution, Offered, offered
from experiments.hermes.loads import BOTH, SEEDS, WHOLE, extent_of, grid_of, profile_option, written
from experiments.hermes.networks import SIMULATED
from experiments.hermes.runs import swept_grids
from experiments.hermes.schemes import PUBLISHED
from experiments.hermes.tables import label_of
from experiments.results.exhibit import Exhibit, Line, Point

COMPARED = ("ecmp", "hermes")
PAIRS = {
    "switch pair": SIMULATED.leaves * (SIMULATED.leaves - 1),
    "host pair": SIMULATED.hosts * (SIMULATED.hosts - SIMULATED.leaf_hosts),
}


def run_visibility(execution: Execution) -> Outcome:
    """Run both workloads and derive the mean number of flows between pairs from completion times."""
    name = execution.name
    extent = extent_of(execution, BOTH, ((0.6, 0.8), (0.6, 0.8)))
    grids = [grid_of(SIMULATED, workload, COMPARED, extent) for workload in extent.flows]
    with swept_grids(grids, execution) as measured:
        theirs = PUBLISHED["table2"]
        lines = []
        for scheme in COMPARED:
            for pair, count in PAIRS.items():
                points = []
                for workload, found in zip(extent.flows, measured, strict=True):
                    for load in extent.loads:
                        column = f"{workload}, {load:g}"
                        value = theirs[pair][theirs["cases"].index(column)] if column in theirs["cases"] else None
                        flows = [each for each in found.values(scheme, load, "in progress") if each is not None]
                        points.append(Point.of(column, [each / count for each in flows], value))
                lines.append(Line(f"{label_of(scheme)}, {pair}", tuple(points)))
        exhibit = Exhibit(
            name=name,
            title=f"concurrent flows between two leaves and between two hosts, {SIMULATED.name}",
            reproduces="Hermes Table 2",
            backend="packet",
            axis="workload, load",
            quantity="flows at a time, mean over pairs",
            lines=tuple(lines),
            published=PUBLISHED["source"],
            remarks=(
                "All flows from one leaf, or host, to another that have begun and not ended, on all paths together.",
                "The paper does not define its count.",
                "By Little's law: the rate of arrival times the completion times of the middle half of the flows.",
                *(f"{each.grid.size} of {each.grid.workload} in each run." for each in measured),
            ),
            logarithmic=True,
        )
        return written([exhibit], extent, execution)


EXPERIMENTS = offered(
    {
        "hermes-table2": Offered(run_visibility, SEEDS, full=WHOLE, configure=profile_option),
    }
)
