"""Tables 2 and 3 on real switches, shortened and with wider margins than a full run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from experiments.measuring import load
from experiments.results.result import Result, load_result
from kuijia.cli.main import main
from testbed.machine.run_directory import labs, owner_of
from tests.experiments.results.backend_comparison import compare

pytestmark = pytest.mark.emulation

VICTIMS, ABORIGINALS = ("f1", "f2"), ("f3", "f4")
MARGIN = 0.15
LENGTHS = ("--warmup-seconds", "2", "--before-seconds", "3", "--settle-seconds", "4", "--after-seconds", "6")
"""Over any six seconds from the fourth after the cut on, runs of half a minute had every share within 0.05."""


@pytest.fixture(autouse=True)
def one_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine delay a test by one more run, no longer."""
    monkeypatch.setattr(load, "ATTEMPTS", 2)


def run(folder: Path, table: str, *arguments: str) -> dict[str, Result]:
    """Return the results by scheme. Narrowly missed bars, or a machine that is busy again, do not count here."""
    assert main(["run", table, "--quick", *LENGTHS, "-o", str(folder), *arguments]) in (0, 1)
    return {scheme: load_result(path) for path in folder.glob("*-1.json") for scheme in [path.name.split("-")[1]]}


def kept(result: Result, names: tuple[str, ...]) -> float:
    return sum(result.flow(name).after for name in names) / sum(result.flow(name).before for name in names)


def assert_computed_alike(folder: Path, table: str, measured: Mapping[str, Result], *arguments: str) -> None:
    """Assert that the fluid model gives the same, within the errors of TCP and a shortened measurement."""
    assert main(["run", table, "--backend", "flow", "-o", str(folder), *arguments]) == 0
    for scheme, result in measured.items():
        computed = load_result(folder / f"{table}-{scheme}-1.json")
        assert compare(computed, result, MARGIN, [VICTIMS, *((name,) for name in ABORIGINALS)]) == []


def assert_queues(result: Result, low: Mapping[str, bool]) -> None:
    """Assert that flows seen after the cut were in the right queue; starved ones may not have been seen."""
    seen = {flow.name: flow.low_after for flow in result.flows if flow.low_after is not None}
    assert seen.items() <= low.items()
    assert seen.keys() >= set(ABORIGINALS)


def test_table_2_victims_take_what_is_left_under_kuijia_and_more_than_that_under_rescaling(tmp_path: Path) -> None:
    results = run(tmp_path, "table2")
    kuijia, rescaling = results["kuijia"], results["rescaling"]
    assert all(kept(kuijia, (name,)) > 0.95 for name in ABORIGINALS)
    assert kept(kuijia, VICTIMS) == pytest.approx(0.46, abs=0.15)
    assert all(kept(rescaling, (name,)) == pytest.approx(0.77, abs=0.12) for name in ABORIGINALS)
    assert_queues(kuijia, {"f1": True, "f2": True, "f3": False, "f4": False})
    assert_queues(rescaling, dict.fromkeys((*VICTIMS, *ABORIGINALS), False))
    assert_computed_alike(tmp_path / "flow", "table2", results)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"table2-summary.json", "table2.svg", "table2-over-time.svg", "table2.txt"} < written


def test_table_3_victims_get_nothing_under_kuijia_and_half_a_link_under_rescaling(tmp_path: Path) -> None:
    results = run(tmp_path, "table3")
    kuijia, rescaling = results["kuijia"], results["rescaling"]
    assert all(kept(kuijia, (name,)) > 0.95 for name in ABORIGINALS)
    assert kept(kuijia, VICTIMS) < 0.06
    assert all(kept(rescaling, (name,)) == pytest.approx(0.49, abs=0.15) for name in ABORIGINALS)
    assert_computed_alike(tmp_path / "flow", "table3", results)


def test_a_local_failure_needs_no_controller(tmp_path: Path) -> None:
    arguments = ["--schemes", "kuijia", "--cut", "s1-s4", "--kill-controller"]
    result = run(tmp_path, "table2", *arguments)["kuijia"]
    assert result.failure.link == ("s1", "s4")
    assert result.failure.event["reaction_seconds"] is None
    assert all(kept(result, (name,)) > 0.95 for name in ABORIGINALS)
    assert kept(result, VICTIMS) == pytest.approx(0.46, abs=0.15)
    assert_computed_alike(tmp_path / "flow", "table2", {"kuijia": result}, "--schemes", "kuijia", "--cut", "s1-s4")


@pytest.mark.beside
@pytest.mark.slow
def test_an_interrupted_run_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kuijia", "run", "table2", "-o", str(tmp_path / "results")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            while "Mbit/s" not in process.stderr.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert output == ""
    assert errors.splitlines()[-2:] == ["stopped; no run was complete, nothing was written", "interrupted"]
    assert not any(owner.pid == process.pid for owner in map(owner_of, labs()) if owner is not None)
    assert not (tmp_path / "results").exists()
