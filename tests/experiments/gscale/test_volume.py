from __future__ import annotations

import pytest

from experiments.experiment import Settings
from experiments.gscale.cases import grid
from experiments.gscale.exhibits import exhibits_of
from experiments.gscale.models import compute

SETTINGS = Settings("flow", 20.0, "os-ken", 64, 1, quick=False, seed=1)


def test_low_traffic_on_the_link_yields_to_victims_under_rescaling_and_hardly_under_kuijia() -> None:
    runs = [compute(case, SETTINGS) for case in grid(("priorities",), (1.2, 1.6), repetitions=1)]
    (figure,) = exhibits_of(runs, ["fig16"])
    assert "demand 1.6" in figure.title
    low, victims = figure.line("low, direct"), figure.line("low, victims")
    before = low.at("before")
    assert before.published == 697.263
    after = {scheme: low.at(f"after, {scheme}").value or 0.0 for scheme in ("rescaling", "kuijia")}
    assert after["rescaling"] < after["kuijia"] == pytest.approx(before.value, rel=0.02)
    assert (victims.at("after, rescaling").value or 0.0) > (victims.at("after, kuijia").value or 0.0)
    high = figure.line("high, direct")
    assert [point.value for point in high.points] == pytest.approx([high.at("before").value] * 3)


def test_no_link_carries_more_than_it_can() -> None:
    runs = [compute(case, SETTINGS) for case in grid(("priorities",), (1.6,), repetitions=1)]
    (figure,) = exhibits_of(runs, ["fig16"])
    for column in figure.columns:
        assert sum(line.at(column).value or 0.0 for line in figure.lines) <= 1000 + 1e-6
