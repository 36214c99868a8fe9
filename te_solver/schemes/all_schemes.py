"""All failure schemes: whatever the files of this package and installed packages define, in order."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kuijia_base.additions import SCHEMES, Addition, additions, leave_out
from kuijia_base.errors import InputError
from te_solver.schemes import shipped
from te_solver.schemes.failure_scheme import FailureScheme

_added: list[FailureScheme] = []


@cache
def _shipped() -> tuple[FailureScheme, ...]:
    """Return the schemes that files of this package define."""
    names = [each.name for each in iter_modules(shipped.__path__)]
    modules = [import_module(f"{shipped.__name__}.{name}") for name in names]
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
    return tuple(sorted((*_present(), *_installed()), key=lambda each: (each.order, each.name)))


def _present() -> tuple[FailureScheme, ...]:
    return (*_shipped(), *_added)


def _installed() -> list[FailureScheme]:
    """Return the schemes that installed packages add, without broken ones."""
    found = []
    for each in _additions().values():
        try:
            found.append(_loaded(each))
        except InputError as error:
            leave_out(error)
    return found


def _additions() -> dict[str, Addition]:
    return additions(SCHEMES, [each.name for each in _present()])


def _loaded(addition: Addition) -> FailureScheme:
    # The type is abstract: mypy takes it for a class to be instantiated.
    scheme = addition.load(FailureScheme)  # type: ignore[type-abstract]
    addition.require_name(scheme.name)
    return scheme


def switch_schemes() -> tuple[FailureScheme, ...]:
    """Return the schemes that switches can be programmed with in advance."""
    return tuple(each for each in all_schemes() if each.on_switches)


def failure_scheme(name: str) -> FailureScheme:
    """Return the scheme of this name; raises InputError if there is none, or its package is broken."""
    known = {each.name: each for each in _present()}
    if name in known:
        return known[name]
    added = _additions()
    if name not in added:
        raise InputError("scheme", name, "is unknown", f"one of {', '.join(scheme_names())}")
    return _loaded(added[name])


def scheme_names() -> tuple[str, ...]:
    """Return the names of all schemes; those of installed packages come last, as their code is not loaded."""
    ours = sorted(_present(), key=lambda each: (each.order, each.name))
    return (*(each.name for each in ours), *_additions())
