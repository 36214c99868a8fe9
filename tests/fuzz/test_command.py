"""`python -m tests.fuzz`: a short run over all targets finds nothing, and the command says what it did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fuzz.contract import ROOT
from tests.fuzz.registry import all_targets
from tests.fuzz.targets import CaseTarget

pytestmark = pytest.mark.slow

CASES = 4_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz", *arguments],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(*arguments: str) -> tuple[int, str, str]:
    process = command(*arguments)
    output, errors = process.communicate()
    return process.returncode, output, errors


def test_no_reader_and_no_command_fails_in_a_short_run(tmp_path: Path) -> None:
    """Live targets have short runs of their own."""
    targets = [name for name, target in all_targets().items() if isinstance(target, CaseTarget)]
    status, output, errors = ended("--cases", str(CASES), "--seed", "20", "--json", "-o", str(tmp_path), *targets)
    found = json.loads(output)
    assert found["failures"] == [], errors
    assert status == 0
    assert sum(found["cases"].values()) == pytest.approx(CASES, rel=0.02)


def test_the_targets_are_listed() -> None:
    status, output, _ = ended("--list", "demands")
    wanted = [name for name in all_targets() if name.startswith("demands:")]
    assert (status, output.split()) == (0, wanted)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nothing"], "error: fuzz:TARGET: 'nothing' is unknown, expected one of topology:yaml"),
        (["--minutes", "0"], "error: fuzz: argument --minutes: "),
        (["--repeat", "missing", "plan:json"], "error: missing: cannot be read (No such file or directory)"),
        (["--repeat", "missing", "demands"], "error: fuzz:--repeat: 8 targets are given"),
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], complaint: str) -> None:
    status, output, errors = ended(*arguments)
    assert (status, output) == (2, "")
    assert errors.startswith(complaint)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_what_it_did(sent: signal.Signals, tmp_path: Path) -> None:
    process = command("--minutes", "60", "-o", str(tmp_path), "demands:csv")
    assert process.stderr is not None
    process.stderr.readline()  # the first line of progress
    process.send_signal(sent)
    output, errors = process.communicate()
    assert "interrupted" in errors.splitlines()
    assert output.splitlines()[0].startswith("demands:csv: ")
    assert process.returncode == 0


def test_workers_do_not_outlive_the_process_that_uses_them(tmp_path: Path) -> None:
    process = command("--minutes", "60", "-o", str(tmp_path), "demands:csv")
    assert process.stderr is not None
    process.stderr.readline()
    workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert workers
    process.kill()
    process.communicate()  # ends when nobody has the other end any more
    deadline = time.monotonic() + 60
    while any(Path("/proc", worker).exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
