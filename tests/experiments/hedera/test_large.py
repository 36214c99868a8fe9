"""Patterns and arrivals on large networks: draws match the request, and figures are written and judged."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.catalog import find_entry
from experiments.experiment import Settings
from experiments.hedera import large
from experiments.hedera.large import SMALLEST, LargeOptions, arriving, exhibits, larger, run_large
from experiments.hedera.simulation import FluidSetting, FluidSimulation
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import stride
from hedera.placement.registry import EcmpPlacement
from kuijia.cli.main import main
from kuijia_base.errors import InputError
from simulator.flow.timeline import Ramp
from simulator.flow_sizes.published import published_flow_sizes
from tests.experiments.executions import execution_in

pytestmark = pytest.mark.slow

SETTINGS = Settings("flow", 1000.0, "os-ken", 64, 1, quick=True, seed=1)


@pytest.mark.parametrize("name", ["data-mining", "web-search", "cqrd"])
def test_flows_are_as_those_above_1_mb_of_the_distribution(name: str) -> None:
    sizes = published_flow_sizes(name)
    large = larger(sizes, name)
    drawn = sizes.quantile(np.linspace(0, 1, 200_001))
    assert large.mean == pytest.approx(drawn[drawn > SMALLEST].mean(), rel=5e-3)
    assert large.quantile(0.0) >= SMALLEST


def test_a_distribution_of_small_flows_is_refused() -> None:
    with pytest.raises(InputError, match="web-server: no flow is larger than 1 MB"):
        larger(published_flow_sizes("web-server"), "web-server")


def test_arrivals_ask_for_the_load() -> None:
    tree = FatTree(16)
    workload = arriving(tree, larger(published_flow_sizes("data-mining"), ""), 0.4, 60, seed=1)
    asked = workload.size.sum() * 8e-6 / 60
    assert asked == pytest.approx(0.4 * tree.hosts * tree.nic_rate, rel=0.15)
    assert (np.diff(workload.start) >= 0).all()
    assert (workload.source != workload.target).all()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            ["--ports", "7"],
            "argument --ports: '7', expected an even number from 4 to 64",
        ),
        (
            ["--arriving-load", "1.5"],
            "argument --arriving-load: '1.5', expected a number above 0, at most 1",
        ),
        (
            ["--ramp", "0"],
            "argument --ramp: '0', expected a finite number greater than zero",
        ),
        (["--flow-sizes", "nowhere.cdf"], "error: nowhere.cdf: there is no such file, expected a file of flow sizes"),
        (["--flow-sizes", "web-server"], "error: web-server: no flow is larger than 1 MB, expected some"),
    ],
)
def test_bad_options_are_told_in_one_line(
    option: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = main(["run", "hedera-8192", *option, "-o", str(tmp_path)])
    except SystemExit as left:  # as argparse does
        status = left.code
    assert status == InputError.exit_status
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_tables_and_picture_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "ITERATIONS", 200)
    monkeypatch.setattr(large, "FLOW_ITERATIONS", 200)
    run = execution_in(tmp_path, "hedera-8192", SETTINGS)
    outcome = run_large(run, LargeOptions(4, 0.4, "data-mining"))
    data = json.loads((tmp_path / "hedera-8192.json").read_text())
    assert (data["hosts"], len(data["patterns"])) == (16, 9)
    assert "bijection" in outcome.text
    assert "bijection" in (tmp_path / "hedera-8192.svg").read_text()


def test_ramps_make_small_flows_slower_and_hardly_change_what_endless_ones_get() -> None:
    tree = FatTree(4)
    matrix = stride(tree.hosts, 8)
    workload = arriving(tree, larger(published_flow_sizes("data-mining"), ""), 0.3, 10, seed=1)
    at_once, ramped = (FluidSetting(end=10, ramp=ramp) for ramp in (None, Ramp(0.004)))
    found = [
        large.figures_of(workload, FluidSimulation(tree, EcmpPlacement(), workload, each).run())
        for each in (at_once, ramped)
    ]
    of_small = [each["mean seconds"]["1 to 10 MB"] for each in found]
    assert of_small[1] > of_small[0] + 0.004
    endless = [large.of_pattern(tree, matrix, replace(each, end=60.0))["ecmp"] for each in (at_once, ramped)]
    assert endless[1] == pytest.approx(endless[0], rel=0.01)


def test_larger_networks_are_annealed_for_longer() -> None:
    found = [large.annealing(hosts, seed=1).iterations for hosts in (16, 8192, 65536)]
    assert found == [1_000_000, 1_000_000, 8_000_000]


def test_what_is_missed_is_told() -> None:
    counts = {"elephants per round": 3.0, "finished": 7, "mean seconds": {"1 to 10 MB": 0.01}}
    placed = {"goodput": 100.0, "moves per round": 10.0, **counts}
    data: dict[str, Any] = {
        "backend": "flow",
        "hosts": 16,
        "load": 0.4,
        "flow_sizes": "data-mining",
        "ramp": None,
        "patterns": {
            "stride1": {"non-blocking": 16e3, "ecmp": 0.9, "global-first-fit": 0.8, "simulated-annealing": 1.0}
        },
        "arrivals": {"simulated-annealing": placed, "annealing with a fee": placed | {"goodput": 90.0}},
    }
    assert [words for exhibit in exhibits(data) for words in exhibit.missed()] == [
        "hedera-8192-parts (flow): order: global-first-fit less ecmp on stride1, points is -10, expected at least -0.1",
        "hedera-8192-arrivals (flow): limit: moves a round with a fee is 10, expected at most 5",
        "hedera-8192-arrivals (flow): limit: goodput with a fee, of that without is 0.9, expected at least 0.98",
    ]


def test_it_runs_in_both_models_and_not_on_switches() -> None:
    assert find_entry("hedera-8192").backends == ("flow", "packet")
