"""Packages that only an extra of kuijia installs, such as `kuijia[plot]`, and the command that installs them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec

from kuijia_base.errors import KuijiaError

EXTRAS: Mapping[str, tuple[str, str]] = {
    "cryptography": ("cryptography", "controller"),
    "distributed": ("distributed", "cluster"),
    "matplotlib": ("matplotlib", "plot"),
    "os_ken": ("os-ken", "controller"),
    "pandas": ("pandas", "notebook"),
    "prometheus_client": ("prometheus-client", "controller"),
    "starlette": ("starlette", "web"),
    "topohub": ("topohub", "networks"),
    "uvicorn": ("uvicorn", "web"),
}
"""Modules that some parts import, with their package and the extra that installs it."""


_OF_UNIX = ("fcntl", "grp", "pwd", "resource", "syslog", "termios")
"""Modules of Python that Windows lacks; only verbs about switches import them."""


class UnfitSystemError(KuijiaError):
    """This system cannot do what a command is for."""

    exit_status = 2


class MissingPackageError(KuijiaError):
    """A package that only an extra installs is missing: the message has the command that installs it."""

    exit_status = 2

    def __init__(self, module: str, needed_for: str = "") -> None:
        package, _ = EXTRAS[module]
        needed = f", needed for {needed_for}," if needed_for else ""
        super().__init__(f"{package}{needed} is not installed: {command_for(module)}")


def is_installed(module: str) -> bool:
    return find_spec(module) is not None


def command_for(module: str) -> str:
    """Return the command that installs a module which an extra has."""
    return f"pip install 'kuijia[{EXTRAS[module][1]}]'"


def require_installed(module: str, needed_for: str) -> None:
    """Raise MissingPackageError unless a module can be imported; call this before long work that needs it."""
    if not is_installed(module):
        raise MissingPackageError(module, needed_for)


def require_linux() -> None:
    """Raise UnfitSystemError on another system; call this in commands that start Open vSwitch."""
    if sys.platform != "linux":
        raise UnfitSystemError(f"this command runs only on Linux, and this is {sys.platform}")


def missing_package(error: ImportError) -> KuijiaError | None:
    """Return the error for users if an import failed for lack of an extra, or on another system, else None."""
    module = (error.name or "").partition(".")[0]
    if module in _OF_UNIX:
        return UnfitSystemError(f"this command runs only on Linux ({module} is missing)")
    if module == "mininet":
        return UnfitSystemError("this command needs Mininet: the Debian package mininet, and a venv that sees it")
    return MissingPackageError(module) if module in EXTRAS and not is_installed(module) else None
