"""Additions of installed packages by entry points, their code imported on use; packages that only extras install."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import TypeVar

from kuijia_base.errors import InputError, KuijiaError, one_line, quoted

SCHEMES = "kuijia.schemes"
OBJECTIVES = "kuijia.objectives"
PATH_CHOICES = "kuijia.path_choices"
TOPOLOGY_FORMATS = "kuijia.topology_formats"
TRANSPORTS = "kuijia.transports"
EXPERIMENTS = "kuijia.experiments"

_LONGEST_FAULT = 120

_WORDS = {
    SCHEMES: "scheme",
    OBJECTIVES: "objective",
    PATH_CHOICES: "path choice",
    TOPOLOGY_FORMATS: "topology format",
    TRANSPORTS: "transport",
    EXPERIMENTS: "experiment",
}
"""Groups of entry points, and the word for one of them."""

_T = TypeVar("_T")
_log = logging.getLogger("kuijia.additions")


@dataclass(frozen=True)
class Addition:
    """Something that an installed package adds.

    Attributes:
        name: name by which users select it.
        package: name and version of the package.
    """

    group: str
    name: str
    package: str
    _entry: EntryPoint = field(repr=False)

    @property
    def kind(self) -> str:
        """Word for what it is, such as `scheme`."""
        return _WORDS[self.group]

    def load(self, *kinds: type[_T]) -> _T:
        """Return the object that the entry point names, imported when it is first asked for.

        Raises:
            InputError: it cannot be imported, or is of no such kind; the message names the package.
        """
        found = _imported(self)
        if not isinstance(found, kinds):
            expected = " or ".join("module" if kind is ModuleType else kind.__name__ for kind in kinds)
            raise self.fault(f"is a {type(found).__name__} ({self._entry.value})", expected)
        return found

    def require_name(self, own: str) -> None:
        """Raise InputError unless the loaded object has the name of its entry point."""
        if own != self.name:
            raise self.fault(f"calls itself {quoted(own)}", f"the name {quoted(self.name)}")

    def fault(self, problem: str, expected: str) -> InputError:
        """Return an error that names the package."""
        return InputError(f"package {self.package}", "", f"{self.kind} {quoted(self.name)} {problem}", expected)


def all_additions() -> tuple[Addition, ...]:
    """Return what installed packages add, in the order of groups, packages and names."""
    return _installed(tuple(sys.path))


def additions(group: str, taken: Iterable[str] = ()) -> dict[str, Addition]:
    """Return what installed packages add to a group, by name; names that are `taken` already are left out.

    Of two packages that add the same name, the first by the name of the package counts.
    """
    known = set(taken)
    found: dict[str, Addition] = {}
    for each in all_additions():
        if each.group != group:
            continue
        if each.name in known or each.name in found:
            _say_once(each.fault("has a name that is taken", "another name"))
        else:
            found[each.name] = each
    return found


def usable(group: str, kind: type[_T], taken: Iterable[str] = ()) -> dict[str, _T]:
    """Return the loaded additions of a group; one that is broken is left out, and a line in the log says why."""
    found = {}
    for name, each in additions(group, taken).items():
        try:
            found[name] = each.load(kind)
        except InputError as error:
            leave_out(error)
    return found


def leave_out(error: InputError) -> None:
    """Say in one line that an addition is left out, the first time."""
    _say_once(error)


@cache
def _said(message: str) -> None:
    _log.warning("note: %s; left out", message)


def _say_once(error: InputError) -> None:
    _said(str(error))


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> tuple[Addition, ...]:
    """Return all additions of the packages on the path, which is that of imports."""
    del path
    every = entry_points()
    found = [_addition(entry) for group in _WORDS for entry in every.select(group=group)]
    return tuple(sorted(found, key=lambda each: (each.group, each.package, each.name)))


def _addition(entry: EntryPoint) -> Addition:
    package = "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    return Addition(entry.group, entry.name, one_line(package), entry)


@cache
def _imported(addition: Addition) -> object:
    try:
        return addition._entry.load()  # noqa: SLF001  # of the class above
    except (Exception, SystemExit) as error:
        fault = one_line(f"{type(error).__name__}: {error}".removesuffix(": "), _LONGEST_FAULT)
        raise addition.fault(f"cannot be loaded ({fault})", "an object that can be imported") from error


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
