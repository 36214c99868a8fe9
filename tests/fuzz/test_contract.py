"""The judge of cases notices what it is there for: each of these targets breaks the contract in one way."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from kuijia_base.errors import KuijiaError
from kuijia_base.progress import Progress
from tests.fuzz.pool import Pool
from tests.fuzz.report import Report
from tests.fuzz.targets import CaseTarget

pytestmark = pytest.mark.slow

MEGABYTE = 2**20


class OneCase(CaseTarget):
    """Runs a function of the folder."""

    name = "one"
    suffix = ".case"

    def __init__(self, act: Callable[[Path], object], seconds: float) -> None:
        self._act = act
        self.seconds = seconds
        self.megabytes = resident() + 300  # worker processes begin with all that this one has

    def make(self, random: Random) -> bytes:
        return random.randbytes(3)

    def lay(self, content: bytes, folder: Path) -> Sequence[str]:
        (folder / "input").write_bytes(content)
        return (str(folder),)

    def run(self, arguments: Sequence[str]) -> None:
        self._act(Path(arguments[0]))


def resident() -> int:
    """Return the resident memory of this process in MB (proc(5), statm)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // MEGABYTE


def found(act: Callable[[Path], object], folder: Path, cases: int = 3, seconds: float = 10.0) -> Report:
    """Return the report on some cases that all do the same."""
    report = Report(folder / "found", Progress(io.StringIO()), most_cases=cases)
    Pool([OneCase(act, seconds)], 1, report, processes=1).run(float("inf"))
    return report


def refuse(message: str) -> None:
    raise KuijiaError(message)


def fail(_folder: Path) -> None:
    raise KeyError("missing")


def spin(_folder: Path) -> None:
    while True:
        pass


def leave_half_a_file(folder: Path) -> None:
    (folder / "output.partial").write_text("half")
    refuse("bad")


def swallow_memory(_folder: Path) -> None:
    _ = b"x" * (500 * MEGABYTE)


def test_a_normal_end_and_a_short_refusal_keep_the_contract(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        (folder / "output").write_text("whole")
        if (folder / "input").read_bytes()[0] % 2:
            (folder / "output").unlink()
            refuse("bad")

    report = found(act, tmp_path, cases=20)
    assert (report.cases["one"], report.failures) == (20, [])


def test_the_bytecode_of_a_module_that_a_case_is_the_first_to_import_is_not_its_doing(tmp_path: Path) -> None:
    (tmp_path / "late_module.py").write_text("")

    def act(_folder: Path) -> None:
        sys.path.insert(0, str(tmp_path))
        importlib.import_module("late_module")

    report = found(act, tmp_path / "cases", cases=1)
    assert (report.cases["one"], report.failures) == (1, [])


@pytest.mark.parametrize(
    ("act", "symptom"),
    [
        (fail, "KeyError in tests/fuzz/test_contract.py:fail, line "),
        (lambda _: sys.exit(0), "SystemExit in "),
        (lambda _: refuse("two\nlines"), "message with character '\\n'"),
        (lambda _: refuse("\x1b[31m"), "message with character '\\x1b'"),
        (lambda _: refuse("x" * 600), "message too long: "),
        (leave_half_a_file, "refused, but left behind: 'output.partial'"),
        (lambda folder: (folder / "../outside").write_text(""), "opened for writing outside the folder"),
        (lambda folder: (folder / "input").rename(folder / "../input"), "os.rename outside the folder"),
        (lambda _: subprocess.run(["true"], check=False), "subprocess.Popen 'true'"),
        (lambda _: os._exit(7), "ended the process with status 7"),
        (swallow_memory, " MB of memory"),
    ],
)
def test_what_breaks_the_contract_is_found(act: Callable[[Path], object], symptom: str, tmp_path: Path) -> None:
    report = found(act, tmp_path)
    assert report.cases["one"] == 3
    assert len(report.failures) == 3
    assert all(symptom in failure.symptom for failure in report.failures)


def test_a_case_that_takes_too_much_time_whenever_it_is_tried_is_found(tmp_path: Path) -> None:
    report = found(spin, tmp_path, cases=1, seconds=0.2)
    assert [failure.symptom for failure in report.failures] == ["more than 0.2 s of CPU time"]


def test_a_case_that_waits_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.pool.BLOCKED_SECONDS", 0.2)
    report = found(lambda _: time.sleep(3600), tmp_path, cases=1)
    assert [failure.symptom for failure in report.failures] == ["no end after 0.2 s"]


def test_a_case_that_is_slow_only_once_is_forgiven(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    os.mkfifo(mark)  # opened for reading and writing: no new file, so that the guard lets it pass
    seen = os.open(mark, os.O_RDWR | os.O_NONBLOCK)

    def act(_folder: Path) -> None:
        if not os.write(seen, b"x") or _count(seen) == 1:
            spin(tmp_path)

    report = found(act, tmp_path, cases=1, seconds=1.0)
    os.close(seen)
    assert report.failures == []


def _count(pipe: int) -> int:
    """Return how many bytes a pipe holds, and leave them there."""
    held = os.read(pipe, 100)
    os.write(pipe, held)
    return len(held)


def test_failures_of_one_cause_are_kept_a_few_times_with_the_command_that_repeats_them(tmp_path: Path) -> None:
    report = found(fail, tmp_path, cases=10)
    (times,) = report.causes.values()
    assert times == 10
    assert len(report.failures) == 3
    for failure in report.failures:
        assert failure.file.read_bytes()
        assert failure.command == f"./run fuzz --repeat {failure.file} one"


def test_a_kept_case_can_be_repeated(tmp_path: Path) -> None:
    def act(folder: Path) -> None:
        if (folder / "input").read_bytes() == b"bad":
            raise KeyError("bad")

    report = Report(tmp_path, Progress(io.StringIO()))
    target = OneCase(act, 10.0)
    Pool([target], 1, report, processes=1).repeat(target, b"good")
    assert report.failures == []
    assert report.cases["one"] == 1
    Pool([target], 1, report, processes=1).repeat(target, b"bad")
    assert [failure.traceback.splitlines()[-1] for failure in report.failures] == ["KeyError: 'bad'"]
