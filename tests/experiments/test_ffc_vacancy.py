"""What protection against failures costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import ffc_vacancy
from experiments.experiment import Settings
from experiments.ffc_vacancy import fitting, run_vacancy, vacant
from experiments.gscale.plans import gscale
from te_solver.model.demand_generators import gravity
from tests.experiments.executions import execution_in

SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)


def test_protection_is_free_at_light_demands_and_costs_more_for_more_links() -> None:
    network = gscale()
    most = fitting(gravity(network, np.random.default_rng(1)), network)
    assert vacant(most, 0.2, network)[1] == pytest.approx(0, abs=1e-6)
    costs = vacant(most, 1.0, network)
    assert 0 < costs[1] < costs[2] < 100


def test_the_published_range_is_a_bar_where_demands_just_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ffc_vacancy, "DEMANDS", (0.2, 1.0))
    outcome = run_vacancy(execution_in(tmp_path, "ffc-vacancy", SETTINGS))
    exhibit = outcome.summary["exhibits"][0]  # type: ignore[index]  # JSON data
    light, full = exhibit["lines"][0]["points"]
    assert light["value"] == pytest.approx(0, abs=1e-6)
    (check,) = exhibit["checks"]
    assert check["measured"] == pytest.approx(full["value"])
    assert check["passed"] == (5 <= full["value"] <= 10)
