"""The run directory of a lab: its sockets and logs, who owns it, and what it made outside its own namespace.

Several labs may run at the same time. Each has a directory `/run/kuijia/<lab id>/` with an owner record, and every
process of it carries `KUIJIA_LAB=<lab id>` in its environment. A lab whose owner has died is a leftover; what to do
with it is the business of `testbed.network.leftovers`.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from kuijia_base.errors import InputError, TestbedError
from testbed.machine.processes import ProcessIdentity, end_processes_with_environment, own_identity
from testbed.machine.trusted_folders import read_record, require_trusted

ROOT = Path("/run/kuijia")
LAB_VARIABLE = "KUIJIA_LAB"

_OWNER_FILE = "owner.json"
_JOURNAL_FILE = "journal"
_UNFINISHED = ".unfinished-"
_MAX_PID_LENGTH = 20


@dataclass(frozen=True)
class MachineObject:
    """Something a lab makes in the machine's own network namespace, which does not vanish with its processes."""

    kind: Literal["bridge", "interface"]
    name: str


class RunDirectory:
    """The run directory of the calling process's lab, from `create` to `remove`.

    Attributes:
        storage: folder of what must outlive a restart: plan files and the switches' database; `path` unless changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = self.storage = path
        self._outer_lab: str | None = None

    @property
    def lab_id(self) -> str:
        return self.path.name

    @classmethod
    def create(cls, root: Path = ROOT) -> RunDirectory:
        """Make a directory owned by this process and mark the processes it starts from now on.

        Raises:
            TestbedError: `root` cannot be written.
        """
        lab_id = f"{os.getpid()}-{secrets.token_hex(3)}"
        owner = json.dumps(asdict(own_identity()))
        with lock_labs(root):
            unfinished = root / f"{_UNFINISHED}{lab_id}"
            try:
                unfinished.mkdir(mode=0o700)
                (unfinished / _OWNER_FILE).write_text(owner)
                (unfinished / _JOURNAL_FILE).touch()
                # Renamed when whole, so that no other process ever sees a lab without an owner.
                unfinished.rename(root / lab_id)
            except OSError as error:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise _unwritable(root, error) from error
        run = cls(root / lab_id)
        run._outer_lab = os.environ.get(LAB_VARIABLE)
        os.environ[LAB_VARIABLE] = lab_id
        return run

    def note(self, objects: Iterable[MachineObject]) -> None:
        """Record an object in the machine's own namespace. Call this before it is created."""
        lines = "".join(json.dumps(asdict(item)) + "\n" for item in objects)
        with (self.path / _JOURNAL_FILE).open("a") as journal:
            journal.write(lines)
            journal.flush()
            os.fsync(journal.fileno())

    def noted(self) -> list[MachineObject]:
        """Return the noted objects, oldest first; a line cut short by a crash stands for an object not made."""
        lines = (self.path / _JOURNAL_FILE).read_text().splitlines(keepends=True)
        return [MachineObject(**json.loads(line)) for line in lines if line.endswith("\n")]

    def remove(self) -> None:
        """End the lab's remaining processes and delete the directory; the caller has put everything else back."""
        end_processes_with_environment(f"{LAB_VARIABLE}={self.lab_id}")
        if os.environ.get(LAB_VARIABLE) == self.lab_id:
            if self._outer_lab is None:
                del os.environ[LAB_VARIABLE]
            else:
                os.environ[LAB_VARIABLE] = self._outer_lab
        with lock_labs(self.path.parent):
            delete_lab(self.path)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@contextmanager
def lock_labs(root: Path = ROOT) -> Iterator[None]:
    """Hold the one lock under which labs of this machine are created, cleared away and looked at.

    Raises:
        TestbedError: `root` cannot be made or written.
    """
    with _open_lock(root, ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def become_background_lab(root: Path = ROOT) -> Iterator[None]:
    """Be the one process of this machine that keeps a lab in the background, for the time of a block.

    Raises:
        InputError: another process is.
        TestbedError: `root` cannot be made or written.
    """
    with _open_lock(root, ".background") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(lock, _MAX_PID_LENGTH, 0).decode() or "another"
            raise InputError("lab", "", f"process {holder} keeps one up or is starting it", "one at a time") from error
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield


@contextmanager
def _open_lock(root: Path, name: str) -> Iterator[int]:
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        require_trusted(root)
        lock = os.open(root / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise _unwritable(root, error) from error
    try:
        yield lock
    finally:
        os.close(lock)


def _unwritable(root: Path, error: OSError) -> TestbedError:
    return TestbedError(f"{root} cannot be written: {error.strerror}")


def owner_of(directory: Path) -> ProcessIdentity | None:
    """Return the process that owns a lab, None if the directory is not, or no longer, that of a lab.

    Raises:
        InputError: the directory is not ours to read.
        TestbedError: its record cannot be read.
    """
    try:
        return ProcessIdentity.from_json(read_record(directory / _OWNER_FILE))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise InputError("lab", directory.name, "belongs to another user", "its owner or root") from error
    except OSError as error:  # a link stands there, which no lab makes
        raise TestbedError(f"{directory / _OWNER_FILE} cannot be read: {error.strerror}") from error


def labs(root: Path = ROOT) -> list[Path]:
    """Return the directories of all labs, live or left over."""
    if not root.is_dir():
        return []
    return sorted(
        path for path in root.iterdir() if not path.is_symlink() and path.is_dir() and not path.name.startswith(".")
    )


def delete_lab(directory: Path) -> None:
    """Delete a lab's directory atomically, so that no part of it is ever seen; call this only under `lock_labs`."""
    hidden = directory.with_name(f"{_UNFINISHED}{directory.name}")
    directory.rename(hidden)
    shutil.rmtree(hidden)


def delete_unfinished_labs(root: Path = ROOT) -> None:
    """Delete the remains of labs that died while created or deleted; call this only under `lock_labs`."""
    for directory in root.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(directory)
