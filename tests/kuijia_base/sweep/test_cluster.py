"""Sweeps on a real dask scheduler with its own workers."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from kuijia_base.progress import Progress
from kuijia_base.sweep import pools
from kuijia_base.sweep.pools import ClusterError, connected
from kuijia_base.sweep.sweep import Sweep, swept
from kuijia_base.sweep.workers import Workers
from tests.kuijia_base.sweep import held
from tests.kuijia_base.sweep.processes import held_sweep, python, wait_until, wait_until_held, worked

pytestmark = pytest.mark.slow


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    with python("-m", *arguments) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a scheduler without workers."""
    file = str(tmp_path / "scheduler.json")
    arguments = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)
    with running("distributed.cli.dask_scheduler", *arguments) as process:
        yield process


@pytest.fixture
def address(tmp_path: Path, scheduler: subprocess.Popen[str]) -> str:
    file = tmp_path / "scheduler.json"
    wait_until(lambda: scheduler.poll() is not None or (file.exists() and bool(file.read_text())))
    address: str = json.loads(file.read_text())["address"]
    return address


def test_a_cluster_that_loses_a_worker_gives_the_same_bytes_as_this_machine(tmp_path: Path, address: str) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    worker = ("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    with ExitStack() as stack:
        for number in range(2):
            folder = ("--local-directory", str(tmp_path / f"worker-{number}"))
            stack.enter_context(running(*worker, *folder))
        with connected(address) as client:
            client.wait_for_workers(2, timeout=60)
        process = stack.enter_context(held_sweep(there, address))
        wait_until_held(process, there)
        wait_until(lambda: len({each for _, each in worked(there)}) == 2)
        os.kill(worked(there)[-1][1], signal.SIGKILL)
        (there / "go").touch()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert len((there / "prepared").read_text().split()) == 2
    (here / "go").touch()
    held.run(here, Workers(2))
    assert (there / "results" / "held.json").read_bytes() == (here / "results" / "held.json").read_bytes()


def test_a_scheduler_that_does_not_answer_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_CONNECT_SECONDS", 0.2)
    told = io.StringIO()
    with pytest.raises(InputError, match=r"^option:--cluster: tcp://127\.0\.0\.1:1 does not answer, expected the"):
        run(Workers(1, "tcp://127.0.0.1:1"), told)
    assert told.getvalue() == ""


def test_a_scheduler_without_workers_is_told_in_one_line(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_WORKER_SECONDS", 0.2)
    with pytest.raises(ClusterError, match="has no workers, expected at least one"):
        run(Workers(1, address))


def test_a_scheduler_that_is_lost_ends_the_sweep_in_one_line(
    tmp_path: Path, address: str, scheduler: subprocess.Popen[str]
) -> None:
    worker = ("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard")
    with running(*worker, "--local-directory", str(tmp_path / "worker")):
        with connected(address) as client:
            client.wait_for_workers(1, timeout=60)
        with held_sweep(tmp_path, address) as process:
            wait_until_held(process, tmp_path)
            scheduler.kill()
            _, errors = process.communicate(timeout=100)
    assert errors.splitlines()[-1].endswith(f"the scheduler at {address} was lost")
    assert "12 of 30 cases were finished and are kept" in errors
    assert "CommClosedError" not in errors


def run(workers: Workers, told: io.StringIO | None = None) -> None:
    sweep = Sweep("idle", {}, Path(), held.prepare, held.work, range(3))
    with swept(sweep, workers, None, Progress(told or io.StringIO())):
        pass
