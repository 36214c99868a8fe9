"""A disk of a lab's own that can be filled: plan files and the switches' database lie on it, the event log does not."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kuijia_app.tables.wiring import Wiring
from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from testbed.lab.grounds import Emulation
from testbed.machine.run_directory import RunDirectory
from testbed.network.lab_network import LabNetwork
from testbed.network.network_options import NetworkOptions

_MOUNTS = Path("/proc/thread-self/ns/mnt")
_CLONE_NEWNS = 0x00020000  # sched.h; os.unshare and os.setns exist from Python 3.12 on
_SIZE_MB = 128
_ATTEMPTS = 20
_libc = ctypes.CDLL(None, use_errno=True)


class SmallDisk(Emulation):
    """Ground of a lab whose storage is a file system in memory that nobody else sees; it takes only what is written.

    The mount belongs to a namespace of the calling thread, so it vanishes with the lab's processes, however they end.
    """

    def __init__(self) -> None:
        self._path: Path | None = None

    @contextmanager
    def network(
        self, wiring: Wiring, run: RunDirectory, options: NetworkOptions, report: Callable[[str], None]
    ) -> Iterator[LabNetwork]:
        run.storage = self._path = run.path / "disk"
        with _private_mounts(), _mounted(self._path), super().network(wiring, run, options, report) as network:
            yield network

    def fill(self) -> None:
        """Leave no room for anything new: the file system shrinks to what it holds. Raises TestbedError on failure."""
        for attempt in range(_ATTEMPTS):
            held = os.statvfs(self._mounted_path)
            used = (held.f_blocks - held.f_bfree) * held.f_frsize
            try:
                self._resize(used)
            except TestbedError:  # something has been written in between
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return

    def empty(self) -> None:
        """Give back the room that `fill` has taken."""
        self._resize(_SIZE_MB << 20)

    @property
    def _mounted_path(self) -> Path:
        if self._path is None:
            raise TestbedError("the lab has no disk yet")
        return self._path

    def _resize(self, size: int) -> None:
        run_command(["mount", "-o", f"remount,size={size}", str(self._mounted_path)])


@contextmanager
def _mounted(path: Path) -> Iterator[None]:
    path.mkdir(mode=0o700)
    run_command(["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m,mode=700", "kuijia-chaos", str(path)])
    try:
        yield
    finally:
        # A file that is still open keeps it: then it ends with the process that has it open.
        run_command(["umount", "--lazy", str(path)])


@contextmanager
def _private_mounts() -> Iterator[None]:
    """Give the calling thread mounts of its own for a block; others see none of its new ones."""
    own = os.open(_MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
    folder = os.open(".", os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        if _libc.unshare(_CLONE_NEWNS) != 0:
            raise TestbedError(f"mounts of its own cannot be made: {os.strerror(ctypes.get_errno())}")
        try:
            run_command(["mount", "--make-rprivate", "/"])
            yield
        finally:
            if _libc.setns(own, _CLONE_NEWNS) != 0:
                raise TestbedError(f"the former mounts cannot be entered: {os.strerror(ctypes.get_errno())}")
            with suppress(OSError):  # somebody has removed the folder meanwhile
                os.fchdir(folder)
    finally:
        os.close(own)
        os.close(folder)
