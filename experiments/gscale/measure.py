"""Gets the results of cases, measured or computed; results that a folder already holds stay as they are."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from experiments.experiment import Settings
from experiments.gscale.bench import Bench
from experiments.gscale.campaign import Campaign, CampaignOutcome, Measuring, Show
from experiments.gscale.case_plan import pairs_of_case
from experiments.gscale.cases import Case
from experiments.gscale.flow_run import FlowModel
from experiments.gscale.packet_grid import PacketModel, simulate_cases
from experiments.gscale.scenario import gscale
from experiments.measuring.ground import ground_of
from experiments.measuring.packet_run import Conditions
from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.workers import Workers
from testbed.machine.processes import preferred_session

_WITHOUT_ENTRIES = {
    "flow": "the fluid model has no switches",
    "packet": "the packet simulator runs a plan's own tables",
}

NICENESS = -10
"""Niceness of senders, receivers and observers, and of the switch that they load."""


@dataclass(frozen=True)
class Means:
    """Means of a backend: private entries of flows on switches; conditions and workers of the packet simulator."""

    private_entries: bool = False
    conditions: Conditions = field(default_factory=Conditions)
    workers: Workers = field(default_factory=partial(Workers, 1))


def measure(
    cases: tuple[Case, ...],
    settings: Settings,
    output: OutputFolder,
    progress: Progress,
    means: Means,
) -> CampaignOutcome:
    """Measure or compute the cases without a valid result in the folder, writing each result at once.

    Raises:
        InputError: the machine cannot run an emulation, boxes are missing, the folder holds results of other settings,
            or the backend has no entries to make private.
    """
    if settings.backend in _WITHOUT_ENTRIES and means.private_entries:
        problem = _WITHOUT_ENTRIES[settings.backend]
        raise InputError("option", "--private-entries", problem, "--backend emulation or boxes")
    if settings.backend == "packet":
        return simulate_cases(cases, PacketModel(settings, means.conditions), means.workers, output, progress)
    if settings.backend == "flow":
        return Campaign(cases, settings, output, lambda *_: nullcontext(FlowModel(settings)), progress).run()
    pairs = (pair for case in cases for pair in pairs_of_case(case, settings.seed))
    ground, machine = ground_of(settings, gscale(), (site for pair in pairs for site in pair))

    def open_bench(case: Case, show: Show) -> AbstractContextManager[Measuring]:
        return Bench(case, settings, ground, machine, show, private_entries=means.private_entries)

    campaign = Campaign(cases, settings, output, open_bench, progress, private_entries=means.private_entries)
    with preferred_session(NICENESS):
        return campaign.run()
