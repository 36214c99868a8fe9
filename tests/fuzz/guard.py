"""Notices what a case does outside its folder: files written there, programs, connections, signals."""

from __future__ import annotations

import errno
import os
import sys
from ipaddress import ip_address
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.symlink": (1,),
    "os.link": (0, 1),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
}
"""Audit events that change files, and which of their arguments are the paths that change."""

_ACTS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.kill", "os.killpg"}
    | {"socket.connect", "socket.sendto", "socket.getaddrinfo"}
)
"""Audit events of what no case may do at all."""


class ForbiddenError(BaseException):
    """A case is about to do what no case may do; no handler of errors in the code under test should take it."""


class Guard:
    """An audit hook of this process, which cannot be removed; it stands by until it is given a folder.

    Attributes:
        faults: what the case did outside the folder, in words.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._folder: str | None = None
        self._asked = False
        sys.addaudithook(self._notice)

    def watch(self, folder: Path | None, *, asked: bool = False) -> None:
        """Allow changes in a folder only; None for no watching.

        Changes elsewhere fail: for lack of permission where they may be `asked` for by the case, else as a fault.
        """
        self.faults = []
        sys.dont_write_bytecode = folder is not None  # of a module that the case is the first to import
        self._asked = asked
        self._folder = None if folder is None else f"{os.path.realpath(folder)}/"

    def _notice(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._folder is None:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self._require_inside(path, "opened for writing")
        elif event in _PATHS:
            for position in _PATHS[event]:
                self._require_inside(arguments[position], event)
        elif event in _ACTS and not (event == "socket.getaddrinfo" and _is_address(arguments[0])):
            self._refuse(f"{event} {str(arguments[0])[:60]!r}")

    def _require_inside(self, path: object, what: str) -> None:
        assert self._folder is not None
        if not isinstance(path, (str, bytes)):  # a descriptor: its opening was looked at
            return
        text = os.fsdecode(path)
        if text in {os.devnull, "/dev/stdout", "/dev/stderr"}:
            return
        parent, name = os.path.split(text)
        if f"{os.path.realpath(parent)}/{name}/".startswith(self._folder):
            return
        if self._asked:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), text)
        self._refuse(f"{what} outside the folder: {text[-60:]!r}")

    def _refuse(self, fault: str) -> None:
        self.faults.append(fault)
        raise ForbiddenError(fault)


def _is_address(host: object) -> bool:
    """Return True for an address in digits, which takes no query to be found."""
    try:
        ip_address(str(host))
    except ValueError:
        return False
    return True
