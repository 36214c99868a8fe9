"""Gets the results of cases, measured or computed; results that a folder already holds stay as they are."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from experiments.gscale.bench import Bench
from experiments.gscale.campaign import Campaign, CampaignOutcome, Measuring, Show
from experiments.gscale.cases import Case
from experiments.gscale.flow_run import FlowModel
from experiments.gscale.scenario import gscale, pairs_of
from experiments.measuring.ground import ground_of
from experiments.registry import Settings
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from testbed.machine.processes import preferred_session

NICENESS = -10
"""Niceness of senders, receivers and observers, and of the switch that they load."""


def measure(
    cases: tuple[Case, ...],
    settings: Settings,
    output: OutputFolder,
    progress: Progress,
    *,
    private_entries: bool = False,
) -> CampaignOutcome:
    """Measure or compute the cases without a valid result in the folder, writing each result at once.

    Raises:
        InputError: the machine cannot run an emulation, boxes are missing, the folder holds results of other settings,
            or the backend has no entries to make private.
    """
    if settings.backend == "flow" and private_entries:
        raise InputError(
            "option", "--private-entries", "the fluid model has no switches", "--backend emulation or boxes"
        )
    if settings.backend == "flow":
        return Campaign(cases, settings, output, lambda *_: nullcontext(FlowModel(settings)), progress).run()
    pairs = (pair for case in cases for pair in pairs_of(case.repetition, settings.seed))
    ground, machine = ground_of(settings, gscale(), (site for pair in pairs for site in pair))

    def open_bench(case: Case, show: Show) -> AbstractContextManager[Measuring]:
        return Bench(case, settings, ground, machine, show, private_entries=private_entries)

    campaign = Campaign(cases, settings, output, open_bench, progress, private_entries=private_entries)
    with preferred_session(NICENESS):
        return campaign.run()
