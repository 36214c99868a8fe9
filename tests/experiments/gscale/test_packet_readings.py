"""Other readings of the evaluation on Gscale packet by packet: failures cost what they do in the fluid model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.compared_schemes import PAPERS_SCHEMES
from experiments.experiment import Settings
from experiments.gscale import readings
from experiments.gscale.cases import DEMANDS, LINKS, Edge
from experiments.gscale.plans import SHARED, GscaleReading, pairs_under, plans_under
from experiments.gscale.readings import (
    PROTOCOLS,
    READINGS,
    Failed,
    PacketReadings,
    exhibits,
    fluid_failure,
    losses_of_each,
    run_packet_study,
    summary_of,
)
from te_solver.model.plan import Plan
from tests.experiments.executions import execution_in

SETTINGS = Settings("packet", 20.0, "os-ken", 64, 1, quick=True, seed=1)
COMPARED = ("as reproduced", "loss: mean of flows", "nearest", "TCP: max-min fair")


def test_a_failure_costs_in_packets_what_it_does_in_the_fluid_model() -> None:
    plan = plans_under(SHARED, pairs_under(SHARED, 1, SETTINGS.seed))[DEMANDS.index(1.2)]
    packet, fluid = (fail(SHARED, plan, LINKS[0]) for fail in (PacketReadings(SETTINGS).failure, fluid_failure))
    assert packet.flows != ()
    assert packet.victims.tolist() == fluid.victims.tolist()
    for protocol in PROTOCOLS:
        for scheme in PAPERS_SCHEMES:
            for chosen in (packet.victims, ~packet.victims):
                ours, theirs = (
                    each.after[protocol, scheme][chosen].sum() / each.had[protocol, scheme][chosen].sum()
                    for each in (packet, fluid)
                )
                assert ours == pytest.approx(theirs, abs=0.1 if protocol == "tcp" else 0.03)


def test_readings_are_summed_up_in_packets_as_in_the_fluid_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = {name: READINGS[name] for name in COMPARED}
    failures: list[GscaleReading] = []

    def fail(_: PacketReadings, reading: GscaleReading, plan: Plan, link: Edge) -> Failed:
        failures.append(reading)
        return fluid_failure(reading, plan, link)

    monkeypatch.setattr(readings, "READINGS", compared)
    monkeypatch.setattr(PacketReadings, "failure", fail)
    run_packet_study(execution_in(tmp_path, "gscale-readings", SETTINGS), 1)
    data = json.loads((tmp_path / "gscale-readings.json").read_text())
    used = [compared[name] for name in COMPARED[:3]]
    draws = [losses_of_each(used, draw, SETTINGS.seed) for draw in (1, 2, 3)]
    assert list(data["readings"]) == list(COMPARED[:3])
    for number, name in enumerate(COMPARED[:3]):
        assert data["readings"][name]["curves"] == summary_of([draw[number] for draw in draws]).curves_to_json()
    assert {exhibit.backend for exhibit in exhibits(data)} == {"packet"}
    assert len(failures) == 2 * 3 * len(DEMANDS) * len(LINKS)  # two readings share their runs
