"""Computes cases in the packet simulator, each in a process of its own: a plan's compiled tables, TCP and queues."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from experiments.experiment import Settings
from experiments.gscale.aggregates import aggregates_of
from experiments.gscale.bench import LAYOUTS, timing_of
from experiments.gscale.campaign import Campaign, CampaignOutcome
from experiments.gscale.case_plan import parameters_of, plan_of, with_roles_read
from experiments.gscale.cases import EXPERIMENT, Case
from experiments.measuring.packet_run import Conditions, Failing, Phases, simulate
from experiments.results.result import Failure, Result, result_from_json, result_to_json
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_base.manifest import describe_computation
from kuijia_base.output_folder import OutputFolder
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers
from te_solver.model.plan import Plan
from testbed.traffic.hash_probe import Protocol

_NAME = "gscale-packet"


@dataclass(frozen=True)
class PacketModel:
    """Settings and conditions of all cases."""

    settings: Settings
    conditions: Conditions

    def phases(self, case: Case) -> Phases:
        return phases_of(case.protocol, quick=self.settings.quick)

    def told(self, case: Case) -> Mapping[str, Any]:
        """Return the part of a manifest that runs to be compared must share."""
        return {"timing": asdict(self.phases(case)), "sending": asdict(self.conditions)}


def phases_of(protocol: Protocol, *, quick: bool) -> Phases:
    """Return the emulation's times."""
    timing = timing_of(protocol, quick=quick)
    return Phases(timing.warmup, timing.before, timing.settle, timing.after, timing.interval)


def simulate_cases(
    cases: tuple[Case, ...], model: PacketModel, workers: Workers, output: OutputFolder, progress: Progress
) -> CampaignOutcome:
    """Simulate the cases without a result in the folder.

    Raises:
        InputError: the folder holds results of other settings, or slots are too few for an aggregate.
    """
    campaign = Campaign(cases, model.settings, output, None, progress, told=model.told)
    missing = campaign.missing()
    plans = {case: plan_of(case, model.settings.capacity, model.settings.seed) for case in missing}
    told = {"settings": asdict(model.settings), "conditions": asdict(model.conditions), "first": str(missing[:1])}
    work = [(case, plans[case]) for case in missing]
    with swept(Sweep(_NAME, told, model, _as_it_is, _work, work), workers, output, progress) as found:
        for case, data in zip(missing, found, strict=True):
            campaign.keep(case, result_from_json(data, case.name))
    return campaign.outcome()


def compute(case: Case, plan: Plan, model: PacketModel) -> Result:
    """Return the result of a case."""
    began = time.time()
    settings, phases = model.settings, model.phases(case)
    tables = pipeline_options(OptionWords(scheme=case.scheme, slots=settings.slots, layout=LAYOUTS[case.traffic]))
    wanted = aggregates_of(plan, case.link)
    run = Failing(plan, tables, wanted, case.protocol, case.link, settings.seed)
    flows = simulate(run, model.conditions, phases)
    before, after = phases.windows
    return Result(
        experiment=EXPERIMENT,
        backend=settings.backend,
        scheme=case.scheme,
        seed=settings.seed,
        repetition=case.repetition,
        capacity=settings.capacity,
        started_at=began,
        failure=Failure(case.link, phases.cut, {}),
        before=before,
        after=after,
        flows=with_roles_read(case, wanted, flows),
        published=None,
        checks=(),
        invalid=(),
        manifest={
            "settings": asdict(settings),
            **model.told(case),
            **describe_computation(began, time.time() - began),
        },
        parameters=parameters_of(case, plan),
    )


def _work(model: PacketModel, work: tuple[Case, Plan]) -> dict[str, Any]:
    case, plan = work
    return result_to_json(compute(case, plan, model))


def _as_it_is(model: PacketModel) -> PacketModel:
    return model
