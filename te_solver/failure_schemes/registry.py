"""All failure schemes: whatever the files of this package define, in order."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kuijia_base.errors import InputError
from te_solver import failure_schemes
from te_solver.failure_schemes.failure_scheme import FailureScheme

_added: list[FailureScheme] = []


@cache
def _shipped() -> tuple[FailureScheme, ...]:
    """Return the schemes that files of this package define."""
    names = [each.name for each in iter_modules(failure_schemes.__path__) if each.name != "registry"]
    modules = [import_module(f"{failure_schemes.__name__}.{name}") for name in names]
    return tuple({each for module in modules for each in vars(module).values() if isinstance(each, FailureScheme)})


def add_scheme(scheme: FailureScheme) -> None:
    """Add a scheme that is defined elsewhere.

    Raises:
        ValueError: its name is taken.
    """
    if any(scheme.name == each.name for each in all_schemes()):
        raise ValueError(f"two failure schemes are called {scheme.name}")
    _added.append(scheme)


def remove_scheme(scheme: FailureScheme) -> None:
    """Remove a scheme that `add_scheme` added."""
    _added.remove(scheme)


def all_schemes() -> tuple[FailureScheme, ...]:
    """Return every scheme by its order, then by name."""
    return tuple(sorted((*_shipped(), *_added), key=lambda each: (each.order, each.name)))


def switch_schemes() -> tuple[FailureScheme, ...]:
    """Return the schemes that switches can be programmed with beforehand."""
    return tuple(each for each in all_schemes() if each.on_switches)


def failure_scheme(name: str) -> FailureScheme:
    """Return the scheme of this name; raises InputError if there is none."""
    known = {each.name: each for each in all_schemes()}
    if name not in known:
        raise InputError("scheme", name, "is unknown", f"one of {', '.join(known)}")
    return known[name]
