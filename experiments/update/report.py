"""Packets lost while plans and controllers are replaced: the plans, phases as numbers, and their exhibit; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from experiments.experiment import Outcome
from experiments.grid import Execution
from experiments.measuring.load import ATTEMPTS, MachineLoad
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.score import limit
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import PairPlan, Plan
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.solve import solve

if TYPE_CHECKING:  # which only Linux can import
    from testbed.lab.cuts import PlanUpdate


NETWORK = "fig1"
PAIRS = {("s1", "s4"): 1.5, ("s2", "s3"): 0.5}
"""Pair to its demand, in capacities of a link."""

LOAD = 0.5
"""Offered load as a share of the plan's allocation: no link is full, wherever the flows are hashed to."""

FLOWS_PER_PAIR = 8
PACKET_BYTES = 1000

REST_SECONDS = 1.0
"""Seconds of sending before the first and after the last event of a phase."""

IDLE_SECONDS = 5.0
"""Length in seconds of the phase in which nothing changes."""

PLANS = ((3, True), (2, False))
"""Tunnels per pair, and whether traffic is spread over all of them, of the two plans that replace each other."""


@dataclass(frozen=True)
class UpdateOptions:
    """Number of plan replacements and of controller restarts."""

    updates: int
    restarts: int


FRAME_OVERHEAD = 46
"""Bytes around a packet's payload: Ethernet, one label, IPv4, UDP."""


@dataclass(frozen=True)
class UpdatePhase:
    """Packet counts of a phase of repeated events.

    Attributes:
        events: number of events.
        seconds: duration of the phase.
        sent, lost, reordered: packets of all flows.
        lost_by_flow: lost packets by flow name, for flows with a loss.
        updates: changes that each new plan made.
        invalid: reasons not to trust the phase, in words.
    """

    name: str
    events: int
    seconds: float
    sent: int
    lost: int
    reordered: int
    lost_by_flow: dict[str, int]
    updates: tuple[PlanUpdate, ...]
    load: MachineLoad
    invalid: tuple[str, ...]


def update_plan(capacity: float, tunnels: int, *, spread: bool) -> Plan:
    """Return the plan for `PAIRS` on links of `capacity` Mbit/s with this number of tunnels for each."""
    topology = load_topology(shipped_network(NETWORK)).with_capacity(capacity)
    demands = [Demand(*ends, share * capacity) for ends, share in PAIRS.items()]
    return solve(topology, demands, tunnels, options=Options(spread=spread))


def interval_of(pair: PairPlan) -> float:
    """Return the packet interval of each of a pair's flows in seconds; together they offer `LOAD` of its allocation."""
    return FLOWS_PER_PAIR * (PACKET_BYTES + FRAME_OVERHEAD) * 8 / (LOAD * pair.allocated * 1e6)


def unbelievable(phases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the reasons why phases, as JSON data, must not be used, in words."""
    for phase in phases:
        if phase["invalid"]:
            yield f"{phase['name']}: invalid in {ATTEMPTS} attempts ({'; '.join(phase['invalid'])})"


def exhibits(phases: Sequence[Mapping[str, Any]], backend: str, remarks: Sequence[str] = ()) -> tuple[Exhibit, ...]:
    """Return the phases, given as JSON data: no packet may be lost while plans or controllers are replaced."""
    columns = {
        "events": "events",
        "seconds": "seconds",
        "packets sent": "sent",
        "packets lost": "lost",
        "packets reordered": "reordered",
    }
    updates = [
        f"Update {number}: {len(update['kept'])} tunnels kept, {len(update['added'])} added, {len(update['removed'])}"
        f" removed, {update['reweighted']} reweighted, done after {update['seconds']:.1f} s."
        for phase in phases
        for number, update in enumerate(phase["updates"], start=1)
    ]
    return (
        Exhibit(
            "update",
            f"packets lost while plans and controllers are replaced under {LOAD:.0%} load",
            "Update",
            backend,
            "count",
            f"units as in the headings; packets of {PACKET_BYTES} bytes in {FLOWS_PER_PAIR * len(PAIRS)} flows",
            tuple(
                Line(phase["name"], tuple(Point.of(title, [phase[key]]) for title, key in columns.items()))
                for phase in phases
            ),
            checks=tuple(
                limit(f"packets lost during {phase['name']}", phase["lost"], high=0.0)
                for phase in phases
                if phase["name"] != "idle"
            ),
            remarks=(*updates, *remarks, *unbelievable(phases)),
            mixed=True,
        ),
    )


def exhibits_of_run(data: Mapping[str, Any]) -> tuple[Exhibit, ...]:
    """Return the exhibits of the file of a run."""
    return exhibits(data["phases"], data["backend"], data.get("remarks", ()))


def write_outcome(
    run: Execution,
    results: Sequence[UpdatePhase],
    scheme: str,
    manifest: Mapping[str, object],
    remarks: Sequence[str] = (),
) -> Outcome:
    """Write the phases, their summary and their table; `remarks` stand below the table."""
    phases = [asdict(result) for result in results]
    data = {
        "experiment": run.name,
        "backend": run.backend,
        "scheme": scheme,
        "seed": run.seed,
        "capacity": run.settings.capacity,
        "load": LOAD,
        "published": None,
    }
    shown = exhibits(phases, run.backend, remarks)
    return run.in_phases(data, phases, shown, unbelievable(phases), manifest, remarks)
