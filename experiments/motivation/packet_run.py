"""Runs Tables 2 and 3 in the packet simulator: the plan's compiled tables, TCP, queues and delays, no machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace

from experiments.experiment import Outcome, Settings
from experiments.measuring.failure_run import Failing
from experiments.measuring.packet_run import Conditions, simulate
from experiments.motivation.report import (
    CASES,
    MotivationOptions,
    MotivationTable,
    computed_result,
    motivation_plan,
    wanted_flows,
    write_outcome,
)
from experiments.reporting.plots import goodput_figure
from experiments.results.comparability import timing_told
from experiments.results.result import Result, result_to_json
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture
from kuijia_base.progress import Progress


def run_table(
    table: MotivationTable,
    settings: Settings,
    options: MotivationOptions,
    conditions: Conditions,
    output: OutputFolder,
    progress: Progress,
) -> Outcome:
    """Simulate every scheme and repetition, writing each result at once, then the table and the picture."""

    def simulated() -> Iterator[Result]:
        for repetition in range(1, settings.repetitions + 1):
            for scheme in options.schemes:
                progress.show(f"{table.name} {scheme} {repetition}/{settings.repetitions}")
                result = _run(table, settings, options, conditions, scheme, repetition)
                output.write_json(f"{table.name}-{scheme}-{repetition}.json", result_to_json(result))
                yield result

    results = list(simulated())
    title = "Goodput of each flow around the cut, at the receivers"
    write_picture(output, f"{table.name}-over-time.svg", lambda: goodput_figure(results, title))
    return write_outcome(table, results, output, [_remark(conditions)])


def _run(
    table: MotivationTable,
    settings: Settings,
    options: MotivationOptions,
    conditions: Conditions,
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


def _remark(conditions: Conditions) -> str:
    ppm = conditions.clock_ppm
    return (
        f"Packet simulator, not measured: the compiled tables, TCP {conditions.transport}, queues of"
        f" {conditions.buffer_packets} packets, {1000 * conditions.link_delay_seconds:g} ms of delay on each link,"
        f" failures noticed after {1000 * conditions.detection_seconds:g} ms"
        + (f", clocks within {ppm:g} parts per million." if ppm else ".")
    )
