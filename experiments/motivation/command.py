"""Tables 2 and 3 for `kuijia run`: options, runs in the flow model and in packets; on switches it is `run`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import pairwise
from typing import Any

from experiments.compared_schemes import add_schemes
from experiments.experiment import (
    DEFAULT_CAPACITY,
    LOWER_CAPACITY,
    SIMULATED_CAPACITY,
    Options,
    Outcome,
    Settings,
    given,
    refuse_given,
)
from experiments.grid import Execution, Offered, offered
from experiments.measuring.failure_run import Failing, FlowPaths, roles
from experiments.measuring.packet_options import BUFFER_PACKETS, add_clocks, add_conditions
from experiments.measuring.packet_run import PacketConditions, conditions_from, simulate
from experiments.motivation.report import (
    CASES,
    EGRESS,
    INGRESS,
    LOCAL_CUT,
    PAPERS_CUT,
    TABLES,
    CutCase,
    MotivationOptions,
    MotivationTable,
    computed_result,
    exhibits_of_files,
    goodput_figure,
    motivation_plan,
    wanted_flows,
    write_outcome,
)
from experiments.results.result import FlowResult, Result, result_to_json
from experiments.results.score import SizeBar
from experiments.results.stored_files import timing_told
from kuijia_app.tables.options import Liveness, OptionWords, Tagging, pipeline_options
from kuijia_base.errors import InputError
from kuijia_base.option_values import positive_number
from kuijia_base.options import from_arguments
from kuijia_base.picture_file import write_picture
from simulator.flow.model import FluidFlows, share
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme

REMARK = (
    "Fluid model, not measured: rates without headers, round trips and chance; TCP flows share a full link alike, and"
    " the victims' queue gets exactly what the normal one leaves."
)

_NORMAL, _LOW = 0, 1


def compute_table(run: Execution, table: MotivationTable, options: MotivationOptions) -> Outcome:
    """Compute every scheme, write each result, then the table; there is no picture over time.

    Raises:
        InputError: more than one repetition was asked for; all would be the same.
    """
    settings = run.settings
    if settings.repetitions != 1:
        problem = f"{settings.repetitions} runs of a model that always gives the same"
        raise InputError("option", "--repetitions", problem, "1 with --backend flow")
    topology = motivation_plan(settings.capacity).topology
    results = []
    for scheme in options.schemes:
        result = _computed(table, settings, options, topology, scheme)
        run.output.write_json(f"{table.name}-{scheme}-1.json", result_to_json(result))
        results.append(result)
    return write_outcome(table, results, run.output, [REMARK])


def _computed(
    table: MotivationTable, settings: Settings, options: MotivationOptions, topology: Topology, scheme: str
) -> Result:
    began = time.time()
    flows = _flows(table, settings.capacity, CASES[options.cut], topology, scheme)
    return computed_result(table, settings, options, scheme, flows, began)


def _flows(
    table: MotivationTable, capacity: float, case: CutCase, topology: Topology, scheme: str
) -> tuple[FlowResult, ...]:
    """Return the goodput of each flow before and after the cut, one TCP connection each."""
    offered = {name: table.offered_parts[name] / table.link_parts * capacity for name in case.flow_tunnels}
    role = roles({name: FlowPaths(*tunnels) for name, tunnels in case.flow_tunnels.items()}, case.link)
    low = {name: failure_scheme(scheme).demotes(role[name]) for name in case.flow_tunnels}
    before = _goodput(topology, offered, {name: own for name, (own, _) in case.flow_tunnels.items()}, {})
    after = _goodput(topology, offered, {name: backup for name, (_, backup) in case.flow_tunnels.items()}, low)
    return tuple(
        FlowResult(
            name=name,
            role=role[name],
            protocol="tcp",
            source=INGRESS,
            target=EGRESS,
            offered=offered[name],
            before=before[name],
            after=after[name],
            tunnel_before=own,
            tunnel_after=backup,
            low_after=low[name],
        )
        for name, (own, backup) in case.flow_tunnels.items()
    )


def _goodput(
    topology: Topology,
    offered: Mapping[str, float],
    tunnels: Mapping[str, tuple[str, ...]],
    low: Mapping[str, bool],
) -> dict[str, float]:
    """Return the Mbit/s of each flow over its tunnel; those that are `low` wait in the victims' queue."""
    position = {link.ends: number for number, link in enumerate(topology.links)}
    paths = [[position[hop] for hop in pairwise(nodes)] for nodes in tunnels.values()]
    level = [_LOW if low.get(name) else _NORMAL for name in tunnels]
    flows = FluidFlows.of(paths, [offered[name] for name in tunnels], level=level)
    goodput = share([link.capacity for link in topology.links], flows).goodput
    return dict(zip(tunnels, goodput.tolist(), strict=True))


def simulate_table(
    run: Execution, table: MotivationTable, options: MotivationOptions, conditions: PacketConditions
) -> Outcome:
    """Simulate every scheme and repetition, writing each result at once, then the table and the picture."""
    settings = run.settings

    def results_in_turn() -> Iterator[Result]:
        for repetition in range(1, settings.repetitions + 1):
            for scheme in options.schemes:
                run.progress.show(f"{table.name} {scheme} {repetition}/{settings.repetitions}")
                result = _simulated(table, settings, options, conditions, scheme, repetition)
                run.output.write_json(f"{table.name}-{scheme}-{repetition}.json", result_to_json(result))
                yield result

    results = list(results_in_turn())
    title = "Goodput of each flow around the cut, at the receivers"
    write_picture(run.output, f"{table.name}-over-time.svg", lambda: goodput_figure(results, title))
    return write_outcome(table, results, run.output, [_remark(conditions)])


def _simulated(
    table: MotivationTable,
    settings: Settings,
    options: MotivationOptions,
    conditions: PacketConditions,
    scheme: str,
    repetition: int,
) -> Result:
    began = time.time()
    case = CASES[options.cut]
    plan = motivation_plan(settings.capacity, conditions.link_delay_seconds)
    tables = pipeline_options(
        OptionWords(scheme=scheme, slots=settings.slots, liveness=options.liveness, tagging=options.tagging)
    )
    wanted = wanted_flows(table, case.flow_tunnels, plan)
    flows = simulate(
        Failing(plan, tables, wanted, "tcp", case.link, settings.seed + repetition - 1), conditions, options.phases
    )
    before, after = options.phases.windows
    result = computed_result(
        table,
        settings,
        options,
        scheme,
        flows,
        began,
        timing=timing_told(asdict(options.phases)),
        sending=asdict(conditions),
    )
    failure = replace(result.failure, at=options.phases.cut)
    return replace(result, repetition=repetition, failure=failure, before=before, after=after)


def _remark(conditions: PacketConditions) -> str:
    ppm = conditions.clock_ppm
    return (
        f"Packet simulator, not measured: the compiled tables, TCP {conditions.transport}, queues of"
        f" {conditions.buffer_packets} packets, {1000 * conditions.link_delay_seconds:g} ms of delay on each link,"
        f" failures noticed after {1000 * conditions.detection_seconds:g} ms"
        + (f", clocks within {ppm:g} parts per million." if ppm else ".")
    )


_SECONDS = {
    "warmup": (4.0, 3.0, "from the start of the flows to the first measurement"),
    "before": (8.0, 4.0, "measured before the cut"),
    "settle": (6.0, 6.0, "from the cut to the second measurement, for TCP to settle"),
    "after": (30.0, 12.0, "measured after the cut"),
}
"""Phase to its default, its default with --quick, and its meaning."""

_CAPACITY = (
    "capacity of a link, in Mbit/s or as in 10M; published rates are scaled to it (default:"
    f" {DEFAULT_CAPACITY:g}, or {LOWER_CAPACITY:g} on a machine too slow for that; with --backend packet"
    f" {SIMULATED_CAPACITY:g}, as in the paper)"
)

_MODELLED = ("schemes", "cut")
_UNMODELLED = {
    "kill_controller": "the model has no controller",
    "liveness": "in the model failures are noticed at once",
    "tagging": "the model has no headers",
    "buffer_packets": "the model has no buffers",
    "link_delay_seconds": "the model has no delays",
    "congestion_control": "the model has one kind of TCP",
    "clock_ppm": "the model has no packets",
}
_MEASURED = "--backend emulation or boxes"


def configure(options: Options) -> None:
    add_schemes(options)
    options.add_argument("--cut", choices=CASES, default=PAPERS_CUT, help="the link that fails (default: %(default)s)")
    options.add_argument(
        "--kill-controller",
        action="store_true",
        help=f"kill the controller before the cut; needs --cut {LOCAL_CUT} or --liveness bfd",
    )
    options.add_argument(
        "--liveness",
        choices=[each.value for each in Liveness],
        default=Liveness.CONTROLLER.value,
        help="detection of failures beyond a tunnel's first link (default: %(default)s)",
    )
    options.add_argument(
        "--tagging",
        choices=[each.value for each in Tagging],
        default=Tagging.MPLS.value,
        help="header fields that carry tunnel and queue (default: %(default)s)",
    )
    add_conditions(options)
    for phase, (usual, quick, meaning) in _SECONDS.items():
        options.add_argument(
            f"--{phase}-seconds",
            type=positive_number,
            metavar="S",
            help=f"seconds {meaning} (default: {usual:g}, with --quick {quick:g})",
        )
    options.add_argument(
        "--interval-seconds",
        type=positive_number,
        default=0.2,
        metavar="S",
        help="interval of the throughput series (default: 0.2)",
    )


def options_from(args: argparse.Namespace, *, quick: bool) -> MotivationOptions:
    """Return the options given on the command line.

    Raises:
        InputError: the controller is to be killed before a cut that one direction cannot notice without it.
    """
    if args.kill_controller and not CASES[args.cut].local and args.liveness != Liveness.BFD.value:
        problem = f"one end of the failed tunnel cannot notice a cut of {args.cut} without the controller"
        raise InputError("option", "--kill-controller", problem, f"--cut {LOCAL_CUT} or --liveness bfd")
    options = from_arguments(MotivationOptions, args)
    usual = {f"{phase}_seconds": quick_one if quick else long for phase, (long, quick_one, _) in _SECONDS.items()}
    seconds: dict[str, Any] = {name: default for name, default in usual.items() if getattr(options, name) is None}
    return replace(options, buffer_packets=options.buffer_packets or BUFFER_PACKETS, **seconds)


def refuse_unmodelled(args: argparse.Namespace) -> None:
    """Raise InputError when an option has a value that the fluid model, which has no packets, would ignore."""
    for name in given(args, configure):
        if name not in _MODELLED:
            option = f"--{name.replace('_', '-')}"
            raise InputError("option", option, _UNMODELLED.get(name, "changes nothing in the model"), _MEASURED)


def _run(table: MotivationTable, run: Execution) -> Outcome:
    args, options = run.args, options_from(run.args, quick=run.settings.quick)
    if run.backend == "flow":
        refuse_unmodelled(args)
        return compute_table(run, table, options)
    if run.backend == "packet":
        if args.kill_controller:
            problem = "the simulated controller cannot be killed"
            raise InputError("option", "--kill-controller", problem, _MEASURED)
        conditions = conditions_from(args)
        options = replace(options, buffer_packets=conditions.buffer_packets)
        return simulate_table(run, table, options, conditions)
    refuse_given(args, add_clocks, f"changes nothing in {args.experiment} on {run.backend}", "packet")
    from experiments.motivation.run import run_table  # noqa: PLC0415  # only on Linux

    return run_table(run, table, options)


# 2 % of the link: flows that a full link starves still send again now and then.
SIZE_BARS = {"table[23]": SizeBar(20.0, frozenset({"offered"}))}

EXPERIMENTS = offered(
    {
        table.name: Offered(
            partial(_run, table),
            without=("full",),
            capacity=_CAPACITY,
            sweeps=False,
            configure=configure,
            reader=exhibits_of_files,
        )
        for table in TABLES.values()
    }
)
