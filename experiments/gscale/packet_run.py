"""Computes a case in the packet simulator: a plan's compiled tables, TCP and queues."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from experiments.experiment import Settings
from experiments.gscale.cases import EXPERIMENT, LAYOUTS, Case, aggregates_of, phases_of
from experiments.gscale.plans import parameters_of, with_roles_read
from experiments.measuring.failure_run import Failing, Phases
from experiments.measuring.packet_run import Conditions, simulate
from experiments.results.comparability import timing_told
from experiments.results.result import Failure, Result
from kuijia_app.tables.options import OptionWords, pipeline_options
from kuijia_base.manifest import describe_computation
from te_solver.model.plan import Plan


@dataclass(frozen=True)
class PacketModel:
    """Settings and conditions of all cases."""

    settings: Settings
    conditions: Conditions

    def phases(self, case: Case) -> Phases:
        return phases_of(case.protocol, quick=self.settings.quick)

    def told(self, case: Case) -> Mapping[str, Any]:
        """Return the part of a manifest that runs to be compared must share."""
        return {"timing": timing_told(asdict(self.phases(case))), "sending": asdict(self.conditions)}


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
