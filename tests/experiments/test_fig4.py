"""Fig. 4: its networks and demands are the paper's, its curves are written and judged, and a draw is the same again."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from experiments import fig4_run
from experiments.fig4_run import DEMANDS, Draw, losses_of, missed_bars, random_graph, random_pairs, summary, table_text
from experiments.registry import Settings, find_experiment
from kuijia_app.cli.main import main

SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure that takes a moment."""
    monkeypatch.setattr(fig4_run, "NODES", 8)
    monkeypatch.setattr(fig4_run, "EDGES", 14)
    monkeypatch.setattr(fig4_run, "PAIRS", 4)
    monkeypatch.setattr(fig4_run, "DEMANDS", (0.8, 3.0))


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
    for demand in fig4_run.DEMANDS:
        assert 0 <= losses["precomputed", demand] <= losses["kuijia", demand] + 1e-6


@pytest.mark.usefixtures("small")
def test_the_figure_is_written_with_what_was_published(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "fig4", "--quick", "-o", str(tmp_path)]) in {0, 1}
    data = json.loads((tmp_path / "fig4.json").read_text())
    assert [len(curve) for curve in data["loss"].values()] == [2, 2]
    assert "highly comparable" in capsys.readouterr().out
    assert (tmp_path / "fig4.png").read_bytes().startswith(b"\x89PNG")


def test_curves_that_are_apart_are_reported_as_missed() -> None:
    losses = {(name, demand): 0.1 for name in fig4_run.SCHEMES for demand in DEMANDS}
    apart = {**losses, ("kuijia", 0.8): 0.13}
    data = summary([Draw(1, 1)], [apart])
    assert missed_bars(data) == ["fig4: original weights lose 3.000% more, expected at most 2%"]
    assert "MISSED" in table_text(data)
    assert missed_bars(summary([Draw(1, 1)], [losses])) == []


def test_it_runs_in_the_flow_model_alone() -> None:
    assert find_experiment("fig4").backends == ("flow",)
