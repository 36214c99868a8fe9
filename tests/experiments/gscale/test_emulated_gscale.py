"""The evaluation on real switches: one demand and one link, shortened, with wide margins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.gscale import campaign
from experiments.gscale.bench import Bench
from experiments.gscale.loss_figures import role_loss
from experiments.result import Result, Role, load_result
from kuijia_app.cli.main import main

pytestmark = pytest.mark.emulation

TRAFFICS = ("tcp", "udp")
SCHEMES = ("kuijia", "rescaling")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of all four cases; a busy machine holds the tests up for one more run of each, no longer."""
    path = tmp_path_factory.mktemp("gscale")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(campaign, "BUSY_ATTEMPTS", 2)
        assert run(path) in (0, 1)  # bars missed by little do not count here
    return path


def run(folder: Path) -> int:
    return main(["run", "gscale", "--quick", "--traffic", ",".join(TRAFFICS), "-o", str(folder)])


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[tuple[str, str], Result]:
    """By traffic and scheme."""
    return {
        (traffic, scheme): load_result(folder / f"{traffic}-1.2-7-9-{scheme}-1.json")
        for traffic in TRAFFICS
        for scheme in SCHEMES
    }


def loss(result: Result, role: Role) -> float:
    found = role_loss([flow for flow in result.flows if flow.role == role])
    assert found is not None
    return found


@pytest.mark.parametrize("traffic", TRAFFICS)
def test_kuijia_spares_those_that_rescaling_harms_at_the_cost_of_victims(
    results: dict[tuple[str, str], Result], traffic: str
) -> None:
    kuijia, rescaling = results[traffic, "kuijia"], results[traffic, "rescaling"]
    assert loss(kuijia, "direct") < 0.05
    assert loss(rescaling, "direct") > loss(kuijia, "direct") + 0.05
    assert loss(kuijia, "victim") > loss(rescaling, "victim") + 0.1


@pytest.mark.parametrize("traffic", TRAFFICS)
def test_victims_and_nobody_else_wait_in_the_low_queue_under_kuijia(
    results: dict[tuple[str, str], Result], traffic: str
) -> None:
    for scheme in SCHEMES:
        flows = results[traffic, scheme].flows
        seen = [flow for flow in flows if flow.low_after is not None]
        assert {flow.name for flow in seen} >= {flow.name for flow in flows if flow.role != "victim"}
        assert all(flow.low_after == (scheme == "kuijia" and flow.role == "victim") for flow in seen)


def test_a_folder_that_holds_the_results_is_not_measured_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = json.loads((folder / campaign.LOG_NAME).read_text())["attempts"]
    if {attempt["outcome"] for attempt in attempts} != {"measured"}:
        pytest.skip("the machine was too busy for some of the results")
    monkeypatch.delattr(Bench, "__enter__")
    assert run(folder) in (0, 1)
