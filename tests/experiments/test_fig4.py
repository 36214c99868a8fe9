"""Fig. 4: networks and demands match the paper, curves are written and judged, and draws are reproducible."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from experiments import fig4
from experiments.catalog import find_entry
from experiments.experiment import Settings
from experiments.fig4 import CURVES, DEMANDS, Draw, figure_4_from_json, losses_of, random_graph, random_pairs, summary
from experiments.results.exhibit import exhibit_text
from kuijia.cli.main import main
from kuijia_base.errors import SolverError
from kuijia_base.progress import Progress
from kuijia_base.sweep.sweep import swept
from kuijia_base.sweep.workers import Workers

SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the figure small, so that it takes a moment."""
    monkeypatch.setattr(fig4, "NODES", 8)
    monkeypatch.setattr(fig4, "EDGES", 14)
    monkeypatch.setattr(fig4, "PAIRS", 4)
    monkeypatch.setattr(fig4, "DEMANDS", (0.8, 3.0))


def test_graphs_and_pairs_are_as_many_as_in_the_paper() -> None:
    topology = random_graph(1000.0, [1, 1])
    assert (len(topology.nodes), len(topology.edges)) == (100, 200)
    assert nx.is_connected(nx.Graph(topology.edges))
    pairs = random_pairs(topology, np.random.default_rng(1))
    assert len(set(pairs)) == 40
    assert all(source != target for source, target in pairs)
    assert (DEMANDS[0], DEMANDS[-1], len(DEMANDS)) == (0.8, 3.0, 12)


@pytest.mark.usefixtures("small")
def test_a_draw_is_the_same_again_and_no_worse_by_precomputed_weights() -> None:
    losses = losses_of(SETTINGS, Draw(1, 1))
    assert losses == losses_of(SETTINGS, Draw(1, 1))
    assert losses != losses_of(SETTINGS, Draw(1, 2))
    for precomputed, original in zip(losses["precomputed"], losses["kuijia"], strict=True):
        assert 0 <= precomputed <= original + 1e-6


@pytest.mark.usefixtures("small")
def test_a_checkpoint_of_another_seed_is_refused_and_one_of_this_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "fig4", "--workers", "1", "-o", str(tmp_path)]
    works = fig4.losses_of

    def fails_at_last(settings: Settings, draw: Draw) -> fig4.Losses:
        if draw == Draw(2, 2):
            raise SolverError("gave up")
        return works(settings, draw)

    monkeypatch.setattr(fig4, "losses_of", fails_at_last)
    assert main(command) == 1
    assert "error: fig4, case 4 of 4: gave up" in capsys.readouterr().err
    checkpoint = tmp_path / "fig4.checkpoint"
    kept = checkpoint.read_bytes()
    assert main([*command, "--seed", "2"]) == 2
    assert "fig4.checkpoint: holds results of another run (seed was 1, is 2)" in capsys.readouterr().err
    assert checkpoint.read_bytes() == kept
    monkeypatch.setattr(fig4, "losses_of", works)
    assert main(command) in {0, 1}
    assert "3 of 4 cases were finished by an earlier run" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"fig4.json", "fig4.txt", "fig4.svg"}


@pytest.mark.slow
def test_curves_are_the_same_whatever_the_number_of_workers() -> None:
    of_workers = []
    for processes in (1, 2):
        sweep = replace(fig4.figure_sweep(SETTINGS, 1, 2), work=first_demand)
        with swept(sweep, Workers(processes), None, Progress(io.StringIO())) as losses:
            of_workers.append(losses)
    assert of_workers[0] == of_workers[1]


def first_demand(settings: Settings, draw: Draw) -> fig4.Losses:
    """Return the same small part of the work in every process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fig4, "DEMANDS", (0.8,))
        patch.setattr(fig4, "NODES", 20)
        patch.setattr(fig4, "EDGES", 40)
        patch.setattr(fig4, "PAIRS", 10)
        return losses_of(settings, draw)


@pytest.mark.usefixtures("small")
def test_the_figure_is_written_with_what_was_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "fig4", "--quick", "--workers", "1", "-o", str(tmp_path)]) in {0, 1}
    data = json.loads((tmp_path / "fig4.json").read_text())
    assert [len(curve) for curve in data["loss"].values()] == [2, 2]
    assert (data["seed"], data["capacity"]) == (1, 20.0)
    system, run = {"kuijia", "commit", "kernel", "python", "packages", "machine"}, {"command", "options", "seeds"}
    assert system | run | {"started", "duration", "settings"} == data["manifest"].keys()
    told = capsys.readouterr().out
    assert "highly comparable" in told
    assert "1 Gbit/s is assumed, here 20 Mbit/s with demands in proportion" in told
    assert "original weights" in (tmp_path / "fig4.svg").read_text()


def test_curves_that_are_apart_are_reported_as_missed() -> None:
    losses = {name: [0.1] * len(DEMANDS) for name in CURVES}
    apart = {**losses, "kuijia": [0.13, *losses["kuijia"][1:]]}
    data = {**summary([apart]), "capacity": 20.0}
    exhibit = figure_4_from_json(data, "fig4.json")
    assert list(exhibit.missed()) == [
        "fig4 (flow): limit: what original weights lose more, in % is 3, expected at most 2"
    ]
    assert "MISS" in exhibit_text(exhibit)
    assert figure_4_from_json(summary([losses]), "fig4.json").passed


def test_it_runs_in_the_flow_model_alone() -> None:
    assert find_entry("fig4").backends == ("flow",)
