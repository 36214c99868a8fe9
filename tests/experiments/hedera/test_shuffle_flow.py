"""The shuffle in the flow model: every host sends everything, and schemes rank as on switches."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from experiments.experiment import Settings
from experiments.hedera.schemes import ANNEALING, ARRANGEMENTS, ECMP, FIRST_FIT, NON_BLOCKING, ONE_TREE
from experiments.hedera.shuffle import (
    ShuffleOptions,
    exhibits,
    figures,
    flow_shuffle,
    published_shuffle,
    shuffle_workload,
    transfers_of,
)
from experiments.hedera.shuffle_readings import (
    READINGS,
    Hash,
    ShuffleReading,
    compared,
    labels,
    of_reading,
    off_the_matrices,
    run_readings,
)
from experiments.hedera.simulation import FluidSetting
from experiments.reporting.exhibit_output import exhibit_figure
from hedera.network.fat_tree import FatTree
from kuijia.cli.main import main
from kuijia_base.errors import InputError
from simulator.flow.timeline import Ramp
from tests.experiments.executions import execution_in

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).resolve().parents[3] / "docs/results/hedera"
TREE = FatTree(4, 1000.0)
DEFAULT = ShuffleOptions(1_250_000, 2, ARRANGEMENTS, 5.0, 1.0, 0.5)


def test_the_flow_model_shuffles_as_fast_as_the_switches_did_and_leaves_no_scheduler_30_percent_over_ecmp() -> None:
    measured = json.loads((RESULTS / "hedera-shuffle.json").read_text())["measured"]
    seconds = {
        scheme: fmean(
            figures(flow_shuffle(DEFAULT, scheme, seed), DEFAULT.size)["mean_completion_seconds"] for seed in (1, 2)
        )
        for scheme in DEFAULT.schemes
    }
    for scheme, ours in seconds.items():
        assert ours == pytest.approx(measured[scheme]["mean_completion_seconds"], rel=0.12)
    assert seconds[ECMP] < 1.3 * seconds[NON_BLOCKING]
    assert seconds[ANNEALING] < 1.1 * seconds[NON_BLOCKING]


def test_the_picture_has_a_bar_for_each_scheme() -> None:
    data = json.loads((RESULTS / "hedera-shuffle.json").read_text())
    (exhibit,) = exhibits(data)
    (panel,) = [axes for axes in exhibit_figure(exhibit).axes if axes.get_title() == "bisection (Mbit/s)"]
    heights = [bar.get_height() for bar in panel.patches if isinstance(bar, Rectangle)]
    assert heights == [each["bisection_mbps"] for each in data["measured"].values()]


@pytest.mark.parametrize("scheme", ARRANGEMENTS)
def test_in_a_shuffle_everybody_sends_to_everybody_else_once_some_at_a_time(scheme: str) -> None:
    done = flow_shuffle(replace(DEFAULT, size=250_000), scheme, 1)
    assert {(each.source, each.target) for each in done} == {
        (f"h{a}", f"h{b}") for a in range(16) for b in range(16) if a != b
    }
    assert len(done) == 240
    for moment in sorted({each.began for each in done}):
        sending = Counter(each.source for each in done if each.began <= moment < each.ended)
        assert max(sending.values()) <= DEFAULT.at_once


def test_slow_ramps_make_a_shuffle_slower() -> None:
    small = replace(DEFAULT, size=100_000)
    at_once, ramped = (
        figures(flow_shuffle(replace(small, ramp=ramp), ECMP, 1), small.size)["mean_completion_seconds"]
        for ramp in (None, Ramp(0.1))
    )
    assert ramped > 1.05 * at_once


def test_ramps_are_refused_on_switches_which_have_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["run", "hedera-shuffle", "--backend", "emulation", "--ramp", "1", "-o", str(tmp_path)])
    assert status == InputError.exit_status
    assert capsys.readouterr().err.startswith("error: option:--ramp: changes nothing where TCP has its own")


@given(st.integers(1, 15), st.integers(0, 2**16))
@settings(max_examples=15, deadline=None)
def test_a_host_begins_a_transfer_when_another_one_ends(at_once: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    receivers = [random.permutation(np.delete(np.arange(16), host))[:4].tolist() for host in range(16)]
    done = transfers_of(TREE, NON_BLOCKING, shuffle_workload(receivers, 10**8, at_once), FluidSetting(step=0.02))
    for host in range(16):
        own = [each for each in done if each.source == f"h{host}"]
        assert [int(each.target[1:]) for each in own] == receivers[host]
        ended = {each.ended for each in own}
        assert [each.began for each in own[:at_once]] == [0.0] * min(at_once, 4)
        assert all(each.began in ended for each in own[at_once:])


@pytest.mark.parametrize(
    ("kind", "by"), [("flow", None), ("source", "source"), ("destination", "target"), ("suffix", "target")]
)
def test_hashes_choose_by_what_they_are_called(kind: Hash, by: str | None) -> None:
    workload = shuffle_workload([[other for other in range(16) if other != host] for host in range(16)], 1, 1)
    chosen = labels(kind, TREE, workload.source, workload.target, seed=1)
    assert set(chosen.tolist()) == {0, 1, 2, 3}
    if by is not None:
        assert len(set(zip(getattr(workload, by).tolist(), chosen.tolist(), strict=True))) == 16


def test_a_hash_that_repeats_itself_leaves_half_the_core_idle() -> None:
    hosts = np.arange(16, dtype=np.int32)
    assert set(labels("repeated", TREE, hosts, hosts, seed=1).tolist()) == {0, 3}
    assert set(labels("none", TREE, hosts, hosts, seed=1).tolist()) == {0}


def test_only_one_core_switch_is_what_the_authors_measured_of_their_matrices() -> None:
    off = {kind: off_the_matrices(TREE, kind, range(2)) for kind in ("none", "flow", "destination", "repeated")}
    assert off["none"] < 0.06
    assert min(part for kind, part in off.items() if kind != "none") > 0.15


def test_with_a_poor_hash_for_all_schemes_annealing_is_30_percent_better() -> None:
    for name in ("destination's suffix", "one core switch", "one core switch, hosts at .6"):
        assert of_reading(TREE, READINGS[name], range(1, 3))["gain"] >= 1.25
    assert of_reading(TREE, ShuffleReading(), range(1, 3))["gain"] < 1.2


def test_the_published_shuffle_is_compared_like_ours() -> None:
    theirs = compared(
        {scheme: published_shuffle()["schemes"][scheme] for scheme in (NON_BLOCKING, ECMP, FIRST_FIT, ANNEALING)}
    )
    assert theirs == pytest.approx(
        {"host": 0.265, ECMP: 0.633, FIRST_FIT: 0.876, ANNEALING: 0.865, "gain": 1.367}, abs=1e-3
    )


def test_readings_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.hedera.shuffle_readings.READINGS", {"all at once": ShuffleReading(at_once=15)})
    chosen = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)
    outcome = run_readings(execution_in(tmp_path, "hedera-shuffle-readings", chosen), 1)
    data = json.loads((tmp_path / "hedera-shuffle-readings.json").read_text())
    assert data["readings"].keys() == {"all at once"}
    assert "published" in outcome.text
    assert "annealing/hash, here" in outcome.text
    assert ONE_TREE not in data["readings"]["all at once"]
