"""Fuzzing guided by coverage, with atheris: what it comes upon is then tried as any other case.

`python -m tests.fuzz.guided TARGET FOLDER SECONDS SEED` explores one target and leaves suspected cases in the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from kuijia_base.errors import InputError
from tests.fuzz.contract import ROOT, examine, random_of
from tests.fuzz.guard import Guard
from tests.fuzz.pool import Pool
from tests.fuzz.report import Report
from tests.fuzz.targets import CaseTarget

_SEEDS = 100
_LONGEST = 4_096
_TIMEOUT_SECONDS = 10
_MEMORY_MB = 2_048
_LOOK_SECONDS = 0.2
_OURS = ("kuijia_base", "te_solver", "kuijia_app", "hedera", "simulator", "testbed", "experiments", "kuijia")
_PACKAGES = (*_OURS, "yaml", "json")


def require_atheris() -> None:
    """Raise InputError when atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        raise InputError(
            "fuzz", "--coverage", "atheris is not installed", "the Python package atheris, or no --coverage"
        )


def explore(targets: Sequence[CaseTarget], deadline: float, seed: int, report: Report) -> None:
    """Explore each target for an equal part of the time until `deadline`, one on each core; keep what is confirmed."""
    cores = os.cpu_count() or 1
    seconds = max(1, int((deadline - time.monotonic()) * min(cores, len(targets)) / len(targets)))
    waiting = deque(targets)
    with tempfile.TemporaryDirectory(prefix="kuijia-fuzz-") as home, contextlib.ExitStack() as stack:
        running: dict[str, subprocess.Popen[bytes]] = {}
        while waiting or running:
            while waiting and len(running) < cores:
                target = waiting.popleft()
                Path(home, target.name).mkdir()
                running[target.name] = stack.enter_context(
                    _started(target.name, Path(home, target.name), seconds, seed)
                )
            time.sleep(_LOOK_SECONDS)
            report.progress.show(f"exploring {', '.join(running)}")
            for name in [name for name, process in running.items() if process.poll() is not None]:
                del running[name]
        for target in targets:
            for content in _suspected(Path(home, target.name)):
                Pool([target], seed, report, processes=1).repeat(target, content)
            report.count(target.name, _runs(Path(home, target.name)))


@contextlib.contextmanager
def _started(name: str, folder: Path, seconds: int, seed: int) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [sys.executable, "-m", "tests.fuzz.guided", name, str(folder), str(seconds), str(seed)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, cwd=ROOT, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _suspected(folder: Path) -> list[bytes]:
    found = [path for pattern in ("broken-*", "timeout-*", "crash-*", "oom-*") for path in sorted(folder.glob(pattern))]
    return [path.read_bytes() for path in found]


def _runs(folder: Path) -> int:
    path = folder / "runs"
    return int(path.read_text()) if path.exists() else 0


class _Explored:
    """Run one input; atheris calls this."""

    def __init__(self, target: CaseTarget, folder: Path) -> None:
        self._target = target
        self._folder = folder
        self._guard = Guard()
        self._causes: set[str] = set()
        self._cases = 0

    def __call__(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as place:
            os.chdir(place)
            broken = examine(self._target, content, Path(place), self._guard)
        self._cases += 1
        if self._cases % 100 == 0:
            (self._folder / "runs").write_text(str(self._cases))
        if broken is not None and broken.cause not in self._causes:
            self._causes.add(broken.cause)
            name = hashlib.sha256(content).hexdigest()[:12]
            (self._folder / f"broken-{name}").write_bytes(content)


def main(name: str, folder: str, seconds: str, seed: str) -> None:
    """Explore one target; does not return."""
    import atheris  # noqa: PLC0415  # optional, and to be imported before what it watches

    with atheris.instrument_imports(include=list(_PACKAGES)):
        from tests.fuzz.registry import chosen_targets  # noqa: PLC0415  # imports what is watched

        (target,) = chosen_targets([name])
    assert isinstance(target, CaseTarget), "live targets are not explored"
    target.prepare()
    corpus = Path(folder, "corpus")
    corpus.mkdir()
    for number in range(_SEEDS):
        content = target.make(random_of(int(seed), name, number))
        (corpus / str(number)).write_bytes(content[:_LONGEST])
    limits = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={_LONGEST}", f"-timeout={_TIMEOUT_SECONDS}"]
    limits += [f"-rss_limit_mb={_MEMORY_MB}", f"-artifact_prefix={folder}/"]
    atheris.Setup(["guided", *limits, str(corpus)], _Explored(target, Path(folder)))
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
