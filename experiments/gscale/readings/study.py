"""Runs the comparison of readings: a sweep over draws of pairs, each under all readings; in packets also over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import DEFAULT_CAPACITY, Outcome, Settings
from experiments.gscale.bench import LAYOUTS
from experiments.gscale.cases import REPETITIONS, Edge
from experiments.gscale.packet_grid import phases_of
from experiments.gscale.readings.losses import (
    PROTOCOLS,
    Failed,
    Losses,
    Rates,
    alike,
    losses_of_each,
    sent_under,
    victims_of,
)
from experiments.gscale.readings.reading import READINGS, GscaleReading
from experiments.gscale.readings.show import exhibits, readings_to_json
from experiments.gscale.readings.summary import summary_of
from experiments.gscale.scenario import NOTHING, scaled
from experiments.measuring.packet_run import Conditions, Failing, simulate
from experiments.reporting.exhibit_output import write_study
from experiments.results.result import FlowResult
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_base.manifest import describe_program, package_versions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers
from te_solver.model.plan import Plan
from testbed.traffic.hash_probe import Protocol

CAPACITY = DEFAULT_CAPACITY
"""Mbit/s of every link, as on the emulated switches; losses at 1 Gbit/s are the same (docs/gscale.md)."""


@dataclass(frozen=True)
class PacketReadings:
    """Simulates failures in packets, with the emulation's queues and times."""

    settings: Settings

    def losses(self, names: Sequence[str], draw: int) -> dict[str, Losses]:
        """Return the losses of a draw under the readings of these names."""
        readings = [READINGS[name] for name in names]
        return dict(zip(names, losses_of_each(readings, draw, self.settings.seed, self.failure), strict=True))

    def failure(self, reading: GscaleReading, plan: Plan, link: Edge) -> Failed:
        """Return the flows around the failure of a link, but for those of pairs that are allocated nothing."""
        plan = scaled(plan, CAPACITY, reading.planned_share * CAPACITY)
        flows = tuple(flow for flow in sent_under(reading, plan, link) if flow.offered > NOTHING * CAPACITY)
        had: dict[tuple[Protocol, str], Rates] = {}
        after: dict[tuple[Protocol, str], Rates] = {}
        for protocol in PROTOCOLS:
            phases = phases_of(protocol, quick=self.settings.quick)
            for scheme in PAPERS_SCHEMES:
                tables = pipeline_options(
                    OptionWords(scheme=scheme, slots=self.settings.slots, layout=LAYOUTS[protocol])
                )
                run = Failing(plan, tables, flows, protocol, link, self.settings.seed)
                found = simulate(run, Conditions(), phases)
                had[protocol, scheme] = np.array([_had(flow) for flow in found])
                after[protocol, scheme] = np.array([flow.after for flow in found])
        return Failed(flows, victims_of(flows, link), had, after)


def _had(flow: FlowResult) -> float:
    return flow.before if flow.sent is None else flow.sent


NAME = "gscale-readings"


def run_study(
    settings: Settings, campaigns: int, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Compute the given number of campaigns of three draws; write the comparison as text, JSON and picture."""
    draws = campaigns * REPETITIONS
    told = {"seed": settings.seed, "draws": draws}
    sweep = Sweep(NAME, told, settings, _as_it_is, losses_of_draw, cases=range(1, draws + 1))
    with swept(sweep, workers, output, progress) as found:
        return _written({name: [draw[name] for draw in found] for name in READINGS}, draws, settings, output)


def run_packet_study(
    settings: Settings, campaigns: int, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Simulate the same in packets, without readings of how TCP shares a link: there it shares as it does."""
    draws = campaigns * REPETITIONS
    told = {"seed": settings.seed, "draws": draws, "quick": settings.quick, "slots": settings.slots}
    shown = [name for name, reading in READINGS.items() if reading.round_trips]
    groups = [[shown[number] for number in numbers] for numbers in alike([READINGS[name] for name in shown]).values()]
    cases = [(names, draw) for draw in range(1, draws + 1) for names in groups]
    sweep = Sweep(f"{NAME}-packet", told, settings, PacketReadings, _losses_in_packets, cases)
    with swept(sweep, workers, output, progress) as found:
        losses: dict[str, list[Losses]] = {name: [] for name in shown}
        for each in found:
            for name, its in each.items():
                losses[name].append(its)
        return _written(losses, draws, settings, output)


def losses_of_draw(settings: Settings, draw: int) -> dict[str, Losses]:
    """Return the losses under each reading."""
    return dict(zip(READINGS, losses_of_each(list(READINGS.values()), draw, settings.seed), strict=True))


def _losses_in_packets(readings: PacketReadings, case: tuple[Sequence[str], int]) -> dict[str, Losses]:
    return readings.losses(*case)


def _written(losses: Mapping[str, Sequence[Losses]], draws: int, settings: Settings, output: OutputFolder) -> Outcome:
    summaries = {name: summary_of(each) for name, each in losses.items()}
    data = {**readings_to_json(summaries, draws), "experiment": NAME, "seed": settings.seed}
    if settings.backend != "flow":
        data["backend"] = settings.backend
    # The file has no times, so that it does not depend on who computed it or on interruptions.
    data["manifest"] = {**describe_program(), "packages": package_versions(), "settings": asdict(settings)}
    return write_study(NAME, data, exhibits(data), output)


def _as_it_is(settings: Settings) -> Settings:
    return settings
