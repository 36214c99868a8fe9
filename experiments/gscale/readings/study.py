"""Runs the comparison of readings: a sweep over draws of pairs, each under all readings; in packets also over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from experiments.gscale.cases import REPETITIONS
from experiments.gscale.readings.losses import Losses, alike, losses_of_each
from experiments.gscale.readings.packet_losses import PacketReadings
from experiments.gscale.readings.reading import READINGS
from experiments.gscale.readings.show import exhibits, readings_to_json
from experiments.gscale.readings.summary import summary_of
from experiments.registry import Outcome, Settings
from experiments.reporting.exhibit_output import write_study
from experiments.sweep.sweep import Sweep, swept
from experiments.sweep.workers import Workers
from kuijia_base.manifest import describe_program, package_versions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress

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
