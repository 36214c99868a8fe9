"""Losses under a reading packet by packet: the plan's compiled tables, TCP and queues take the fluid model's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.gscale.bench import LAYOUTS
from experiments.gscale.cases import Edge
from experiments.gscale.packet_grid import phases_of
from experiments.gscale.readings.losses import PROTOCOLS, Failed, Losses, Rates, losses_of_each, sent_under, victims_of
from experiments.gscale.readings.reading import READINGS, GscaleReading
from experiments.gscale.scenario import NOTHING, scaled
from experiments.measuring.packet_run import Conditions, Failing, simulate
from experiments.registry import DEFAULT_CAPACITY, Settings
from experiments.results.result import FlowResult
from kuijia_app.tables.options import OptionWords, pipeline_options
from te_solver.plan import Plan
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
