"""Runs Tables 2 and 3 on the emulated testbed: all schemes and repetitions; runs on a busy machine are repeated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

from experiments.experiment import Outcome, Settings
from experiments.grid import Execution
from experiments.measuring.emulation import (
    LinkCut,
    MeasuredFlow,
    Sending,
    describe_run,
    evaluate,
    failure_of,
    find_flows,
    ground_of,
    record_failure,
    windows_of,
)
from experiments.measuring.load import believable, overload, runs_on_links_it_can_carry
from experiments.motivation.report import (
    CASES,
    EGRESS,
    INGRESS,
    NETWORK,
    MotivationOptions,
    MotivationTable,
    goodput_figure,
    motivation_plan,
    queue_checks,
    wanted_flows,
    write_outcome,
)
from experiments.results.published import published_throughput
from experiments.results.result import Result, result_to_json
from experiments.results.score import judge, uncarried
from kuijia_base.errors import InputError, TestbedError
from kuijia_base.picture_file import write_picture
from kuijia_base.progress import Progress
from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from testbed.lab.lab import Ground, Lab
from testbed.lab.lab_options import LabOptions
from testbed.machine.machine import Machine
from testbed.network.bridges import NetworkOptions


@dataclass(frozen=True)
class _Job:
    """Values shared by all runs of a table."""

    table: MotivationTable
    settings: Settings
    options: MotivationOptions
    plan: Plan
    ground: Ground
    machine: Machine


def run_table(run: Execution, table: MotivationTable, options: MotivationOptions) -> Outcome:
    """Measure every scheme and repetition, writing each result at once, then the table and the picture.

    Raises:
        InputError: the machine cannot run an emulation, or lacks the congestion control or link delays.
        TestbedError: the lab or a flow failed.
    """
    settings, output = run.settings, run.output
    ground, machine = ground_of(settings, load_topology(shipped_network(NETWORK)), (INGRESS, EGRESS))

    def measure(capacity: float) -> Iterator[Result]:
        plan = motivation_plan(capacity, options.link_delay_seconds or 0.0)
        job = _Job(table, replace(settings, capacity=capacity), options, plan, ground, machine)
        for repetition in range(1, settings.repetitions + 1):
            for scheme in options.schemes:
                measured = partial(_run, job, scheme, repetition, run.progress)
                result = believable(measured, f"run {repetition} of {scheme}", run.progress.say)
                output.write_json(f"{table.name}-{scheme}-{repetition}.json", result_to_json(result))
                yield result

    results = runs_on_links_it_can_carry(settings.capacities, measure, run.progress.say)
    title = "Goodput of each flow around the cut, at the receivers"
    write_picture(output, f"{table.name}-over-time.svg", lambda: goodput_figure(results, title))
    return write_outcome(table, results, output)


def _run(job: _Job, scheme: str, repetition: int, progress: Progress) -> Result:
    table, settings, options = job.table, job.settings, job.options
    case = CASES[options.cut]
    began = time.time()
    label = f"{table.name} {scheme}" + (f" {repetition}/{settings.repetitions}" if settings.repetitions > 1 else "")

    def show(text: str) -> None:
        progress.show(f"{label}: {text}")

    show("building the network")
    lab_options = LabOptions(
        scheme=scheme,
        slot_count=settings.slots,
        framework=settings.framework,
        liveness=options.liveness,
        tagging=options.tagging,
        network=NetworkOptions(buffer_packets=options.buffer_packets),
    )
    with Lab(job.plan, lab_options, show, job.ground) as lab:
        _require_congestion_control(lab, options.congestion_control)
        if options.link_delay_seconds is not None:
            _require_delays(lab)
        show("calibrating the links")
        calibration = lab.calibrate()
        cut = LinkCut(case.link, options.kill_controller)
        show("looking for source ports that hash to the wanted tunnels")
        wanted = wanted_flows(table, case.flow_tunnels, job.plan)
        keys = find_flows(lab, wanted, cut.link, settings.seed)
        flows = [MeasuredFlow(flow, keys[flow.name]) for flow in wanted]
        recording = record_failure(lab, flows, cut, options.phases, Sending(options.congestion_control), show)
    results = evaluate(recording, flows, cut)
    before, after = windows_of(recording)
    try:
        checks = (*judge(table.bars.get(scheme, ()), results), *queue_checks(scheme, results))
    except ValueError as error:
        raise TestbedError(f"{label}: {error}") from error
    return Result(
        experiment=table.name,
        backend=settings.backend,
        scheme=scheme,
        seed=settings.seed,
        repetition=repetition,
        capacity=settings.capacity,
        started_at=recording.started_at,
        failure=failure_of(recording, cut),
        before=before,
        after=after,
        flows=results,
        published=published_throughput(table.name).for_scheme(scheme),
        checks=checks,
        invalid=(*overload(recording.load), *uncarried(results)),
        manifest={
            **describe_run(job.machine, lab.network, calibration, began, time.time() - began),
            "settings": asdict(settings),
            "options": asdict(options),
            "ports": {name: asdict(key) for name, key in keys.items()},
            "load": asdict(recording.load),
        },
    )


def _require_delays(lab: Lab) -> None:
    if not lab.network.describe().get("link_delays", False):
        problem = "these links have no delay"
        raise InputError("option", "--link-delay-seconds", problem, "the kernel's datapath and netem (kuijia uml)")


def _require_congestion_control(lab: Lab, name: str) -> None:
    available = lab.network.congestion_controls()
    if name not in available:
        expected = f"one of {', '.join(sorted(available))}"
        raise InputError("option", "--congestion-control", f"{name} is not available on the hosts", expected)
