"""Any transport over any scheme: what the victims' queue does to flows of victims and of others, in packets."""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.compared_schemes import add_schemes
from experiments.experiment import Options, Outcome
from experiments.grid import Execution, Offered, offered
from experiments.gscale.cases import Case, aggregates_of
from experiments.gscale.plans import plan_of
from experiments.measuring.failure_run import Failing, WantedFlow, roles_of
from experiments.measuring.packet_options import DETECTION_SECONDS, add_queues
from experiments.measuring.packet_run import FRAME, TCP_PAYLOAD, slot_of
from experiments.motivation.report import CASES, PAPERS_CUT, TABLE_2, TABLE_3, motivation_plan, wanted_flows
from experiments.results.exhibit import Exhibit, Line, Point
from experiments.results.result import Check
from experiments.results.score import limit
from kuijia_app.tables.options import OptionWords, PipelineOptions, pipeline_options
from kuijia_base.errors import InputError
from kuijia_base.option_values import different_ones
from kuijia_base.picture_file import bars, legend_below, look, new_figure, write_picture
from simulator.packet.credited import Credited
from simulator.packet.queues import Fifo, Threshold
from simulator.packet.transports import Congestion, Tcp, Transport
from simulator.planned.events import Cut, Timing
from simulator.planned.network import Physical, VictimCredits
from simulator.planned.run import PlanRun, Windows
from simulator.planned.traffic import SiteFlows
from simulator.studies.packet.transports import Credits, transport_names, transport_of
from te_solver.model.plan import Plan
from te_solver.schemes.all_schemes import failure_scheme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CAPACITY, QUICK_CAPACITY = 1000.0, 100.0
"""Mbit/s of every link."""

BUFFER_PACKETS, QUICK_BUFFER_PACKETS = 250, 50
"""Default length of a queue: 3 ms."""

LINK_DELAY_SECONDS = 0.002
"""Default delay of a link."""

MARKED_SHARE = 0.25
"""Share of a queue from which on packets are marked."""

FLOWS = 4
"""Flows of each aggregate, which share its rate equally."""

PLACES = {
    "room": "the failed tunnel's traffic has room on the others (Table 2)",
    "full": "the other tunnels are full (Table 3)",
    "gscale": "Gscale at demand 1.2, link 7-9 fails",
}
"""Network and load by name."""

TRANSPORTS = ("newreno", "cubic", "dctcp", "bbr", "expresspass", "flashpass")
"""Transports that are compared unless others are asked for."""


class Service(Enum):
    """Service of victims by a scheme that demotes them; `NORMAL` is that of a scheme that does not.

    `PLAIN` and `MARKED` are those of transports that find the rate by themselves: the victims' queue does not mark
    packets, or does. The others are those of credits: `simulator.planned.network.VictimCredits`.
    """

    NORMAL = "as all others"
    PLAIN = "no marks"
    MARKED = "marks"
    SAME = "credits mixed"
    OWN = "credits apart"
    SHARED = "credits left"


OF_CREDITS = (Service.SAME, Service.OWN, Service.SHARED)
OF_WINDOWS = (Service.PLAIN, Service.MARKED)


@dataclass(frozen=True)
class VictimRun:
    """One run."""

    place: str
    scheme: str
    transport: str
    service: Service
    repetition: int

    @property
    def line(self) -> str:
        """Label of the line that the case belongs to."""
        return self.scheme if self.service is Service.NORMAL else f"{self.scheme}, {self.service.value}"


@dataclass(frozen=True)
class RunConditions:
    """Conditions of all runs.

    Attributes:
        capacity: Mbit/s of every link.
        buffer_packets: length of a queue.
        link_delay: seconds of every link.
        seed: of the first repetition.
        warmup, before, settle, after: seconds of the flows' start, of the two windows, and between cut and the second.
    """

    capacity: float
    buffer_packets: int
    link_delay: float
    seed: int
    warmup: float = 0.75
    before: float = 0.75
    settle: float = 1.5
    after: float = 2.0

    @property
    def cut(self) -> float:
        return self.warmup + self.before


@dataclass(frozen=True)
class Choice:
    """Cases to run: each of these with each service that it can have."""

    places: Sequence[str]
    schemes: Sequence[str]
    transports: Sequence[str]
    repetitions: int


def cases_of(choice: Choice, demoting: Sequence[str], credited: Sequence[str]) -> Iterator[VictimRun]:
    """Yield all cases; `demoting` are the schemes that demote victims, `credited` the transports by credits."""
    for place in choice.places:
        for scheme in choice.schemes:
            for transport in choice.transports:
                services = OF_CREDITS if transport in credited else OF_WINDOWS
                for service in services if scheme in demoting else (Service.NORMAL,):
                    for repetition in range(1, choice.repetitions + 1):
                        yield VictimRun(place, scheme, transport, service, repetition)


_GSCALE_DEMAND, _GSCALE_LINK = 1.2, ("7", "9")

_START_SECONDS = 0.1
"""Flows start at random within this time."""

_CREDITS = {
    Service.OWN: VictimCredits.OWN,
    Service.SHARED: VictimCredits.SHARED,
}


def named_transport(name: str) -> Transport:
    """Return a transport of the registry; TCP is ECN-capable."""
    return transport_of(name, Tcp(payload=TCP_PAYLOAD, header=FRAME - TCP_PAYLOAD, ecn=True), Credits())


def is_credited(name: str) -> bool:
    return isinstance(named_transport(name), Credited)


def demotes(scheme: str) -> bool:
    """Return True if victims of a scheme wait in their own queue."""
    return failure_scheme(scheme).demotes("victim")


def outcome(conditions: RunConditions, case: VictimRun) -> dict[str, Any]:
    """Return the Mbit/s of each role before and after the cut, and packets sent and dropped after it, as JSON data."""
    seed = conditions.seed + case.repetition - 1
    plan, wanted, link = _place(case, conditions)
    options = pipeline_options(OptionWords(scheme=case.scheme))
    transport = named_transport(case.transport)
    traffic = list(_traffic(Failing(plan, options, wanted, "tcp", link, seed), transport, case))
    # Each flow has a host at both ends.
    hosts = FLOWS * max(Counter(flow.target for flow in wanted).values())
    physical = replace(_physical(transport, case, conditions, options), hosts=hosts, host_rate=conditions.capacity)
    timing = Timing(port=DETECTION_SECONDS)
    run = PlanRun(plan, options, traffic, physical, timing, [Cut(conditions.cut, link)], seed)
    run.run(conditions.warmup)
    before = run.run(conditions.cut).windows
    offered = _emulated(run)
    run.run(conditions.cut + conditions.settle)
    after = run.run(conditions.cut + conditions.settle + conditions.after).windows
    kinds = roles_of(wanted, link)
    of_flow = np.repeat([kinds[flow.name] for flow in wanted], FLOWS)
    found: dict[str, Any] = {"case": {**vars(case), "service": case.service.name}, "roles": {}}
    for role in dict.fromkeys(of_flow.tolist()):
        mine = of_flow == role
        found["roles"][role] = {
            "before": _rate(before, mine),
            "after": _rate(after, mine),
            "sent": int(after.sent[:, mine].sum()),
            "dropped": int(after.dropped[:, mine].sum()),
        }
    found["offered"], found["credits"], found["unused"] = (_emulated(run) - offered).tolist()
    return found


def _place(case: VictimRun, conditions: RunConditions) -> tuple[Plan, Sequence[WantedFlow], tuple[str, str]]:
    """Return the plan, the aggregates and the link that fails."""
    if case.place == "gscale":
        link = _GSCALE_LINK
        wanted_case = Case("tcp", _GSCALE_DEMAND, link, "kuijia", case.repetition)
        plan = plan_of(wanted_case, conditions.capacity, conditions.seed)
        links = tuple(replace(each, delay=conditions.link_delay) for each in plan.topology.links)
        return replace(plan, topology=replace(plan.topology, links=links)), aggregates_of(plan, link), link
    motivated = CASES[PAPERS_CUT]
    plan = motivation_plan(conditions.capacity, conditions.link_delay)
    table = TABLE_2 if case.place == "room" else TABLE_3
    return plan, wanted_flows(table, motivated.flow_tunnels, plan), motivated.link


def _traffic(run: Failing, transport: Transport, case: VictimRun) -> Iterator[SiteFlows]:
    chance = random.Random(f"{run.seed} {case.place}")
    for number, flow in enumerate(run.flows):
        yield SiteFlows.of(
            [(flow.source, flow.target)] * FLOWS,
            transport,
            start=[chance.uniform(0, _START_SECONDS) for _ in range(FLOWS)],
            slot=slot_of(run, number),
            limit=flow.offered / FLOWS,
        )


def _physical(transport: Transport, case: VictimRun, conditions: RunConditions, options: PipelineOptions) -> Physical:
    """Return queues that mark where the service, or DCTCP, wants it."""
    limit = conditions.buffer_packets * FRAME
    plain, marking = Fifo(limit), Fifo(limit, Threshold(round(MARKED_SHARE * limit)))
    if isinstance(transport, Credited):
        victims = _CREDITS.get(case.service, VictimCredits.SAME)
        return Physical(queue=plain, limit_by_link=True, victim_credits=victims)
    marks = isinstance(transport, Tcp) and transport.congestion is Congestion.DCTCP
    behind = [each.victim for each in options.layout.classes]
    victims_mark = case.service is Service.MARKED
    queues = [
        (marking if victims_mark else plain) if queue in behind else (marking if marks else plain)
        for queue in options.layout.queues
    ]
    return Physical(queue=queues, limit_by_link=True)


def _rate(windows: Windows, mine: NDArray[np.bool_]) -> float:
    return float(windows.goodput[:, mine].sum() * 8e-6 / (windows.edges[-1] - windows.edges[0]))


def _emulated(run: PlanRun) -> NDArray[np.int64]:
    """Return all emulation packets or credits sent so far, those that arrived, and those that released no data."""
    counted = run.simulation.credit_results()
    return np.array([counted.offered.sum(), counted.credits.sum(), counted.unused.sum()], np.int64)


Found = Sequence[tuple[VictimRun, Mapping[str, Any]]]
"""Cases with what `run.outcome` found."""

UNTOUCHED = 97.0
"""Least per cent that the others keep where the scheme demotes all that victims send: our own bar."""

_PROTECTED = (Service.PLAIN, Service.MARKED, Service.OWN, Service.SHARED)


def exhibits(found: Found, conditions: RunConditions) -> Iterator[Exhibit]:
    """Yield three exhibits for each network: goodput of victims, of the others, and losses of victims."""
    for place in dict.fromkeys(case.place for case, _ in found):
        mine = [(case, data) for case, data in found if case.place == place]
        title = PLACES[place]
        yield _exhibit(f"{place}-victims", f"goodput of victims; {title}", mine, _kept("victim"), conditions)
        yield _exhibit(
            f"{place}-others",
            f"goodput of the flows whose links victims take; {title}",
            mine,
            _kept("direct"),
            conditions,
            tuple(_checks(mine)),
        )
        yield _exhibit(f"{place}-lost", f"data lost by victims; {title}", mine, _lost, conditions)


def _exhibit(
    name: str,
    title: str,
    found: Found,
    value: Callable[[Mapping[str, Any]], float | None],
    conditions: RunConditions,
    checks: Sequence[Check] = (),
) -> Exhibit:
    names = dict.fromkeys(case.transport for case, _ in found)
    lines = []
    for label in dict.fromkeys(case.line for case, _ in found):
        of_line = [(case, data) for case, data in found if case.line == label]
        values = {x: [value(data) for case, data in of_line if case.transport == x] for x in names}
        lines.append(Line(label, tuple(Point.of(x, each) for x, each in values.items() if each)))
    lost = value is _lost
    remark = (
        f"Links of {conditions.capacity:g} Mbit/s and {1000 * conditions.link_delay:g} ms, queues of"
        f" {conditions.buffer_packets} packets; means over {conditions.after:g} s, from {conditions.settle:g} s after"
        " the failure on. `kuijia, marks` marks packets of victims from a quarter of the queue on. Credits of victims"
        " wait with the others' (mixed), behind them with as many again (apart), or get what they leave (left)."
    )
    return Exhibit(
        name=f"victim-transports-{name}",
        title=title,
        reproduces="A question of our own",
        backend="packet",
        axis="transport",
        quantity="% of the packets sent after the failure" if lost else "% of the goodput before the failure",
        lines=tuple(lines),
        checks=tuple(checks),
        remarks=(remark,),
    )


def _kept(role: str) -> Callable[[Mapping[str, Any]], float | None]:
    def share(data: Mapping[str, Any]) -> float | None:
        of_role = data["roles"].get(role)
        return 100 * float(of_role["after"]) / float(of_role["before"]) if of_role and of_role["before"] else None

    return share


def _lost(data: Mapping[str, Any]) -> float | None:
    """Return 0 if nothing is sent any more."""
    of_role = data["roles"].get("victim")
    if of_role is None:
        return None
    return 100 * float(of_role["dropped"]) / max(1, int(of_role["sent"]), int(of_role["dropped"]))


def _checks(found: Found) -> Iterator[Check]:
    kept = _kept("direct")
    for case, data in found:
        value = kept(data)
        if case.service in _PROTECTED and value is not None:
            name = f"{case.transport} with {case.line}, run {case.repetition}: kept by the others in %"
            yield limit(name, value, low=UNTOUCHED)


_ROWS = {
    "others": "kept by flows whose\nlinks victims take, %",
    "victims": "kept by victims, %",
    "lost": "lost packets\nof victims, %",
}
"""End of an exhibit's name to the label of its panels."""

_WIDTH = 0.21
"""Width of a bar; a transport has four at most, one place apart from those of the next."""


def transports_figure(exhibits: Sequence[Exhibit]) -> Figure:
    """Return a column of panels for each network."""
    by_row = {end: [each for each in exhibits if each.name.endswith(f"-{end}")] for end in _ROWS}
    columns = len(by_row["others"])
    labels = list(dict.fromkeys(line.label for each in exhibits for line in each.lines))
    figure = new_figure(4.2 * columns + 0.4, 6.4)
    panels = figure.subplots(len(_ROWS), columns, squeeze=False, sharey="row")
    for row, (end, shown) in zip(panels, by_row.items(), strict=True):
        row[0].set_ylabel(_ROWS[end], fontsize="small")
        for axes, exhibit in zip(row, shown, strict=True):
            _draw(axes, exhibit, labels)
            if end == "others":
                axes.set_title(exhibit.title.partition("; ")[2], fontsize="small", wrap=True)
    legend_below(figure, panels[0][0], most=4)
    return figure


def _draw(axes: Axes, exhibit: Exhibit, labels: Sequence[str]) -> None:
    """Draw the bars of each transport without gaps between them."""
    names = exhibit.columns
    drawn: dict[str, list[tuple[float, float]]] = {label: [] for label in labels}
    for place, name in enumerate(names):
        points = {label: exhibit.line(label).at(name).value for label in labels}
        known = {label: value for label, value in points.items() if value is not None}
        for number, (label, value) in enumerate(known.items()):
            drawn[label].append((place + (number - (len(known) - 1) / 2) * _WIDTH, value))
    for position, (label, found) in enumerate(drawn.items()):
        if found:
            places, heights = zip(*found, strict=True)
            bars(axes, places, heights, _WIDTH, look(position), label)
    axes.set_xticks(range(len(names)), [str(name) for name in names], fontsize="small", rotation=20)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)


_NAME = "victim-transports"


def run_cases(run: Execution) -> Outcome:
    """Simulate all cases, and write tables, pictures and the numbers of each case.

    Raises:
        InputError: a transport is unknown.
    """
    args, settings = run.args, run.settings
    delay = LINK_DELAY_SECONDS if args.link_delay_seconds is None else args.link_delay_seconds
    buffer = args.buffer_packets or run.sized(QUICK_BUFFER_PACKETS, BUFFER_PACKETS)
    conditions = RunConditions(run.sized(QUICK_CAPACITY, CAPACITY), buffer, delay, settings.seed)
    choice = Choice(args.places, args.schemes, args.transports, settings.repetitions)
    known = transport_names()
    if unknown := [name for name in choice.transports if name not in known]:
        raise InputError("option", "--transports", f"{unknown[0]} is unknown", f"among {', '.join(known)}")
    demoting = [scheme for scheme in choice.schemes if demotes(scheme)]
    credited = [name for name in choice.transports if is_credited(name)]
    cases = list(cases_of(choice, demoting, credited))
    told = {"choice": asdict(choice), "conditions": asdict(conditions)}
    with run.swept_cases(outcome, conditions, cases, told) as found:
        run.output.write_json(f"{_NAME}.json", {**told, "cases": found, "manifest": run.computed()})
        shown = list(exhibits(list(zip(cases, found, strict=True)), conditions))
        write_picture(run.output, f"{_NAME}.svg", lambda: transports_figure(shown))
        return run.written(*shown)


def configure(options: Options) -> None:
    add_schemes(options)
    add_queues(options, f"{BUFFER_PACKETS}, with --quick {QUICK_BUFFER_PACKETS}", f"{LINK_DELAY_SECONDS:g}")
    options.add_argument(
        "--transports",
        type=_names,
        default=TRANSPORTS,
        metavar="NAME[,NAME]",
        help=f"transports of `kuijia packet` (default: {','.join(TRANSPORTS)})",
    )
    options.add_argument(
        "--places",
        type=different_ones(tuple(PLACES)),
        default=tuple(PLACES),
        metavar="PLACE[,PLACE]",
        help=f"networks and loads (default: {','.join(PLACES)})",
    )


def _names(text: str) -> tuple[str, ...]:
    names = tuple(each.strip() for each in text.split(","))
    if len(set(names)) < len(names) or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r}, expected different names with commas between them")
    return names


EXPERIMENTS = offered({_NAME: Offered(run_cases, without=("full", "framework", "slots"), configure=configure)})
