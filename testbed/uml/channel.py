"""The folder between this machine and a guest, which says whose guest it is; removes what killed owners left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from testbed.processes import ProcessIdentity, own_identity, send_signal, wait_for_end

KERNEL = "linux.uml"
PARENT = Path("/tmp")  # noqa: S108  # the guest has another /tmp; a socket in the folder must have a short name

_PREFIX = "kuijia-uml-"
_OWNER_FILE = "owner.json"
_END_SECONDS = 10.0


@contextmanager
def channel_folder() -> Iterator[Path]:
    """A new folder of the calling process for the time of a block; those of its user's dead ones are removed first."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=PARENT) as name:
        folder = Path(name)
        (folder / _OWNER_FILE).write_text(json.dumps(asdict(own_identity())))
        yield folder


def guest_processes(folder: Path) -> list[int]:
    """Those of this machine that the guest is made of; its kernel is in a session of its own."""
    return sorted(int(each.name) for each in Path("/proc").glob("[0-9]*") if _is_of_guest(int(each.name), folder))


def end_guest(folder: Path) -> None:
    """End a guest's processes, but no others that may get their numbers; returns when they have ended."""
    with ExitStack() as stack:
        handles = []
        for pid in guest_processes(folder):
            with suppress(ProcessLookupError):
                handle = os.pidfd_open(pid)
                stack.callback(os.close, handle)
                if _is_of_guest(pid, folder):
                    handles.append(handle)
        for handle in handles:
            send_signal(handle, signal.SIGKILL)
        for handle in handles:
            wait_for_end(handle, _END_SECONDS)


def _is_of_guest(pid: int, folder: Path) -> bool:
    try:
        return f"uml_dir={folder}/".encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _remove_leftovers() -> None:
    for folder in PARENT.glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another one removes it, or its owner is about to write these files
            if folder.stat().st_uid != os.geteuid():
                continue
            owner = ProcessIdentity(**json.loads((folder / _OWNER_FILE).read_text()))
            if owner.is_alive():
                continue
            end_guest(folder)
            shutil.rmtree(folder)
