"""Table 4 at the paper's rate, in packets: how the time to converge changes with buffers, delays, TCP and detection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import Outcome, Settings
from experiments.grid import Execution, Offered, offered
from experiments.gscale.cases import DEMANDS, LINKS, Case
from experiments.gscale.models import PAPER_CAPACITY, PacketModel, compute_packets
from experiments.gscale.plans import plan_of
from experiments.gscale.table4 import OWN_TOLERANCE, restless_flows, seconds_by_flow
from experiments.measuring.packet_run import PacketConditions
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.published import published_curves
from experiments.results.result import Role
from te_solver.model.plan import Plan

NAME = "table4-factors"

RESCALING, KUIJIA = PAPERS_SCHEMES

REFERENCE = PacketConditions(buffer_packets=1000, link_delay_seconds=5e-5)
"""Conditions of which one at a time is varied: queues of Linux's default length, round trips of 0.2 to 0.6 ms."""

HEAVIEST = DEMANDS[-1]
"""Demand of all runs."""

_TITLES: Mapping[Role, str] = {"direct": "directly affected TCP flows", "victim": "TCP victims"}

_MEANING = (
    "A flow is stable from the first second on in which it stays within the tolerance around its own final goodput, the"
    " mean over the last third of the 30 s watched; a number is the mean over flows. It is a lower bound where a flow"
    " was not stable at the end."
)

_QUICK_CAPACITY = 20.0
"""Mbit/s of links with --quick."""

TOLERANCES = (0.15, OWN_TOLERANCE)
"""Shares of a flow's final goodput within which it is stable: one by choice, and the one fitted to the emulation."""

_ROLES: tuple[Role, ...] = ("direct", "victim")

VARIED: Mapping[str, PacketConditions] = {
    "reference": REFERENCE,
    "50 packets": replace(REFERENCE, buffer_packets=50),
    "1 ms a link": replace(REFERENCE, link_delay_seconds=1e-3),
    "NewReno": replace(REFERENCE, transport="newreno"),
    "noticed after 1 s": replace(REFERENCE, detection_seconds=1.0),
}
"""Conditions by name, the reference first; the others differ from it in what their names say."""


@dataclass(frozen=True)
class Work:
    """A run: the conditions' name and values, the case, and its plan."""

    conditions: str
    model: PacketModel
    case: Case
    plan: Plan


def works(settings: Settings) -> Iterator[Work]:
    """Yield every condition under rescaling, and the reference under Kuijia, for each failing link."""
    links = LINKS[:1] if settings.quick else LINKS
    cases = [(name, HEAVIEST, RESCALING) for name in VARIED]
    reference = next(iter(VARIED))
    cases += [(reference, HEAVIEST, KUIJIA)]
    for name, demand, scheme in cases:
        for link in links:
            case = Case("tcp", demand, link, scheme, 1)
            plan = plan_of(case, settings.capacity, settings.seed)
            yield Work(name, PacketModel(settings, VARIED[name]), case, plan)


def simulate(ready: None, work: Work) -> dict[str, Any]:
    """Return the seconds that the flows of each role take in a run, and if some are not stable at its end."""
    del ready
    result = compute_packets(work.case, work.plan, work.model)
    return {
        "conditions": work.conditions,
        "demand": work.case.demand,
        "link": "-".join(work.case.link),
        "scheme": work.case.scheme,
        "seconds": {
            _key(role, share): (seconds_by_flow(result, role, share), restless_flows(result, role, share) > 0)
            for role, share in product(_ROLES, TOLERANCES)
        },
    }


def run_factors(run: Execution) -> Outcome:
    """Simulate all runs, and write the tables of both roles."""
    settings = replace(run.settings, capacity=run.sized(_QUICK_CAPACITY, PAPER_CAPACITY))
    told = {"settings": asdict(settings), "conditions": {name: asdict(each) for name, each in VARIED.items()}}
    with run.swept_cases(simulate, None, list(works(settings)), told) as found:
        return run.written(*by_condition(found))


def by_condition(found: Sequence[Mapping[str, Any]]) -> Iterator[Exhibit]:
    """Yield a table of conditions for each role and tolerance; those of direct flows with the published times."""
    published = published_curves("table4")
    for role, share in product(_ROLES, TOLERANCES):
        lines = []
        for scheme, link in dict.fromkeys((each["scheme"], each["link"]) for each in found):
            label = f"{scheme}, {link}"
            theirs = published.at(label, HEAVIEST) if role == "direct" else None
            own = [each for each in found if (each["scheme"], each["link"]) == (scheme, link)]
            lines.append(Line(label, tuple(_point(each["conditions"], each, role, share, theirs) for each in own)))
        yield Exhibit(
            f"{NAME}-{_key(role, share)}",
            f"time until {_TITLES[role]} are stable within {share:.0%}, by condition",
            "Table 4",
            "packet",
            "condition",
            "seconds",
            tuple(lines),
            published.source if role == "direct" else None,
            remarks=(_conditions(), _MEANING),
        )


def _point(x: float | str, run: Mapping[str, Any], role: Role, share: float, published: float | None) -> Point:
    seconds, restless = run["seconds"][_key(role, share)]
    return replace(Point.of(x, [seconds], published), at_least=restless)


def _key(role: Role, share: float) -> str:
    return f"{role}-{100 * share:g}"


def _conditions() -> str:
    return (
        f"The reference: a demand of {HEAVIEST}, Cubic, queues of {REFERENCE.buffer_packets} packets,"
        f" {1e6 * REFERENCE.link_delay_seconds:g} us a link, failures noticed after"
        f" {1e3 * REFERENCE.detection_seconds:g} ms. Each other condition differs in what its name says."
    )


SIZE_BARS = {"table4-factors*": None}  # shows conditions beside each other

EXPERIMENTS = offered({NAME: Offered(run_factors, without=("repetitions", "full"))})
