"""The files of a controller's plan: the one in force, one that is pending and one that was refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from kuijia_app.control.shared_file import replace_if
from kuijia_base.errors import InputError
from kuijia_base.reading import reason_of
from kuijia_base.text import read_bytes
from te_solver.formats.plan_file import load_plan, plan_text, save_plan
from te_solver.model.plan import Plan

_EXPECTED = "a plan in JSON"


class PlanFiles(Protocol):
    """Files as `PlanSource` uses them; operations raise KuijiaError, ValueError or OSError."""

    def name(self) -> str | None:
        """Return the name of an update to the plan in the file; None if there is no file."""

    def stamp(self) -> object:
        """Return what changes whenever the file is replaced, also by an equal one; None if there is no file."""

    def load(self) -> Plan:
        """Return the plan in the file."""

    def holds(self, plan: Plan) -> bool:
        """Return True if the file holds this plan."""

    def replace(self, names: Collection[str | None], plan: Plan, *, keeps_old: bool) -> str | None:
        """Write a plan if the file is missing or has one of these names; return the new name, None if not written.

        The old content moves to the file of the refused plan if `keeps_old`.
        """

    def put_pending(self, plan: Plan) -> None:
        """Write the plan of an update that has begun."""

    def renew_pending(self) -> None:
        """Make the plan of an update no older than the plan file."""

    def load_pending(self) -> Plan | None:
        """Return the plan of an update that has not ended, None without one."""

    def is_pending_outdated(self) -> bool:
        """Return True if the plan file has been replaced since that plan was written."""

    def drop_pending(self) -> None:
        """Remove the plan of an update, which is in force."""

    def refuse_pending(self) -> None:
        """Make the plan of an update the refused one."""


class PlanPath:
    """Plan files on a disk, `path` and those beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def name(self) -> str | None:
        return file_name_of_update(self._path) if self._path.exists() else None

    def stamp(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def load(self) -> Plan:
        require_regular(self._path)
        return load_plan(self._path)

    def holds(self, plan: Plan) -> bool:
        return self._path.is_file() and load_plan(self._path) == plan

    def replace(self, names: Collection[str | None], plan: Plan, *, keeps_old: bool) -> str | None:
        content = plan_text(plan).encode()
        kept = self._beside("refused") if keeps_old else None
        is_written = replace_if(self._path, content, lambda found: _name_of(found) in names, kept)
        return _name_of(content) if is_written else None

    def put_pending(self, plan: Plan) -> None:
        save_plan(plan, self._beside("pending"))

    def renew_pending(self) -> None:
        os.utime(self._beside("pending"))

    def load_pending(self) -> Plan | None:
        pending = self._beside("pending")
        return load_plan(pending) if pending.is_file() else None

    def is_pending_outdated(self) -> bool:
        return self._path.stat().st_mtime_ns > self._beside("pending").stat().st_mtime_ns

    def drop_pending(self) -> None:
        self._beside("pending").unlink(missing_ok=True)

    def refuse_pending(self) -> None:
        self._beside("pending").replace(self._beside("refused"))

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(f"{self._path.name}.{suffix}")


def require_regular(path: Path) -> None:
    """Raise InputError if something other than a file is there: a plan file will be read again and replaced."""
    try:
        is_other = path.exists() and not path.is_file()
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        raise InputError(path, "", f"cannot be read ({reason_of(error)})", _EXPECTED) from error
    if is_other:
        raise InputError(path, "", "is not a regular file", _EXPECTED)


def file_name_of_update(path: Path) -> str:
    """Return the name, in events, of an update to the plan in this file.

    Raises:
        InputError: it cannot be read, is not a regular file or is too large.
    """
    require_regular(path)
    return _name_of(read_bytes(path, _EXPECTED))


def _name_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
