"""Folder shared by this machine and a guest, which names the guest's owner; removes leftovers of killed owners."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from testbed.machine.processes import (
    ProcessIdentity,
    kill_processes_with_argument,
    own_identity,
)
from testbed.machine.trusted_folders import fault_of_folder, read_record

KERNEL = "linux.uml"
PARENT = Path("/tmp")  # noqa: S108  # the guest has another /tmp; a socket in the folder must have a short name

_PREFIX = "kuijia-uml-"
_OWNER_FILE = "owner.json"
_END_SECONDS = 10.0


@contextmanager
def channel_folder() -> Iterator[Path]:
    """Yield a new folder of the calling process, after removing those of its user's dead processes."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=PARENT) as name:
        folder = Path(name)
        (folder / _OWNER_FILE).write_text(json.dumps(asdict(own_identity())))
        yield folder


def end_guest(folder: Path) -> None:
    """End a guest's processes, but no others that may get their numbers; returns when they have ended."""
    kill_processes_with_argument(folder_parameter(folder), _END_SECONDS)


def folder_parameter(folder: Path) -> str:
    """Kernel argument that names the guest's folder and identifies its processes."""
    return f"uml_dir={folder}/"


def _remove_leftovers() -> None:
    for folder in PARENT.glob(f"{_PREFIX}*"):
        # Another one removes it, or its owner is about to write its record.
        with suppress(FileNotFoundError):
            # Anybody may lay something under such a name: a link, or a folder that others can write to.
            if fault_of_folder(folder) is not None or folder.lstat().st_uid != os.geteuid():
                continue
            owner = _owner_of(folder)
            if owner is None or owner.is_alive():
                continue
            end_guest(folder)
            shutil.rmtree(folder)


def _owner_of(folder: Path) -> ProcessIdentity | None:
    try:
        return ProcessIdentity.from_json(read_record(folder / _OWNER_FILE))
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link, which we never make
            return None
        raise
