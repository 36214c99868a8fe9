"""Runs the search for the nearest reading: a sweep over draws to choose on, then one over draws to judge on."""

from __future__ import annotations

from dataclasses import asdict

from experiments.experiment import Outcome, Settings
from experiments.gscale.cases import REPETITIONS
from experiments.gscale.readings.losses import Losses, losses_of, losses_of_each
from experiments.gscale.readings.reading import GscaleReading
from experiments.gscale.readings.search import combinations, exhibits, nearest, search_to_json
from experiments.gscale.readings.summary import summary_of
from experiments.reporting.exhibit_output import write_study
from kuijia_base.manifest import describe_program, package_versions
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers

NAME = "gscale-search"

_Held = tuple[Settings, GscaleReading]


def run_search(
    settings: Settings, campaigns: int, workers: Workers, output: OutputFolder, progress: Progress
) -> Outcome:
    """Choose on the given number of campaigns of three draws, judge on as many others, and write both."""
    draws, tried = campaigns * REPETITIONS, combinations()
    told = {"seed": settings.seed, "draws": draws}
    choosing = Sweep(NAME, told, settings, _as_it_is, losses_of_draw, cases=range(1, draws + 1))
    with swept(choosing, workers, output, progress) as found:
        summaries = {name: summary_of([draw[name] for draw in found]) for name in tried}
        reading = tried[nearest(summaries)]
        judging = Sweep(
            f"{NAME}-held-out",
            {**told, "reading": asdict(reading)},
            (settings, reading),
            _held_as_it_is,
            losses_of_held_out_draw,
            cases=range(draws + 1, 2 * draws + 1),
        )
        with swept(judging, workers, output, progress) as held_out:
            data = {
                **search_to_json(summaries, draws, summary_of(held_out), draws),
                "experiment": NAME,
                "seed": settings.seed,
                "manifest": {**describe_program(), "packages": package_versions(), "settings": asdict(settings)},
            }
            return write_study(NAME, data, exhibits(data), output)


def losses_of_draw(settings: Settings, draw: int) -> dict[str, Losses]:
    """Return the losses under each combination."""
    tried = combinations()
    return dict(zip(tried, losses_of_each(list(tried.values()), draw, settings.seed), strict=True))


def losses_of_held_out_draw(held: _Held, draw: int) -> Losses:
    """Return the losses under the chosen reading."""
    settings, reading = held
    return losses_of(reading, draw, settings.seed)


def _as_it_is(settings: Settings) -> Settings:
    return settings


def _held_as_it_is(held: _Held) -> _Held:
    return held
