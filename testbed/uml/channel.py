"""The folder between this machine and a guest, which says whose guest it is; removes what killed owners left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from testbed.processes import ProcessIdentity, own_identity, processes_of_group, send_signal

KERNEL = "linux.uml"
PARENT = Path("/tmp")  # noqa: S108  # the guest has another /tmp; a socket in the folder must have a short name

_PREFIX = "kuijia-uml-"
_OWNER_FILE, _GROUP_FILE = "owner.json", "group"


@contextmanager
def channel_folder() -> Iterator[Path]:
    """A new folder of the calling process for the time of a block; those of its user's dead ones are removed first."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=PARENT) as name:
        folder = Path(name)
        (folder / _OWNER_FILE).write_text(json.dumps(asdict(own_identity())))
        yield folder


def note_group(folder: Path, group: int) -> None:
    """Write down the process group of the guest, to be ended when its owner has died."""
    (folder / _GROUP_FILE).write_text(f"{group}")


def _remove_leftovers() -> None:
    for folder in PARENT.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another one removes it, or its owner is about to write these files
            if folder.stat().st_uid != os.geteuid():
                continue
            owner = ProcessIdentity(**json.loads((folder / _OWNER_FILE).read_text()))
            if owner.is_alive():
                continue
            with suppress(FileNotFoundError):
                _end_group(int((folder / _GROUP_FILE).read_text()))
            shutil.rmtree(folder)


def _end_group(group: int) -> None:
    """End a guest's processes, but no others that may have got their numbers since."""
    for pid in processes_of_group(group):
        with suppress(ProcessLookupError, FileNotFoundError):
            handle = os.pidfd_open(pid)
            try:
                if Path(f"/proc/{pid}/exe").readlink().name == KERNEL:
                    send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
