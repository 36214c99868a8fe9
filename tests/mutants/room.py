"""A room whose lines are changed, and a copy of the clone in which they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Protocol

from tests.mutants.change import Change

ROOT = Path(__file__).parents[2]


class Verdict(Enum):
    """What the tests say of a change; an impossible one alters nothing, so they are not asked."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    IMPOSSIBLE = "impossible"


class Trials(Protocol):
    """Tries changes of a room in a copy of the clone that is ready for it."""

    def verdict(self, change: Change) -> Verdict: ...


class Room(Protocol):
    """Files, the changes that they allow, and the tests that are asked."""

    @property
    def name(self) -> str: ...

    def changes(self) -> list[Change]: ...

    def prepare(self, copy: Path, limit: float, *, nearest_only: bool) -> Trials:
        """Get ready in a copy of the clone, with a limit for a trial in seconds of a processor."""
        ...


def files_of(patterns: Sequence[str]) -> list[str]:
    """Return the files of the clone that match, by name."""
    return sorted({str(file.relative_to(ROOT)) for pattern in patterns for file in ROOT.glob(pattern)})


def copy_clone(to: Path) -> None:
    """Copy what git knows or would add, and the compiled modules, with their times."""
    listed = ("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    folders = [folder for folder in ROOT.iterdir() if not folder.name.startswith(".")]
    compiled = [str(file.relative_to(ROOT)) for folder in folders for file in folder.glob("**/_core.*.so")]
    for name in filter(None, [*names, *compiled]):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


@contextmanager
def changed(copy: Path, change: Change) -> Iterator[None]:
    """Change a file of a copy, and restore it with its time."""
    file = copy / change.file
    source, state = file.read_bytes(), file.stat()
    try:
        file.write_bytes(change.of(source))
        yield
    finally:
        file.write_bytes(source)
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
