"""The targets of `./run fuzz` by name; a new reader or command is one entry in the module of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from kuijia_base.errors import InputError, quoted
from tests.fuzz.targets import Target

_MODULES = (
    *("network_files", "networks", "documents", "controller_peers"),
    *("commands", "solving", "lab_service", "openflow"),
)
"""Modules of this package that offer `TARGETS`, a sequence of targets."""


def all_targets() -> dict[str, Target]:
    """Return every target by its name."""
    found: dict[str, Target] = {}
    for module in _MODULES:
        targets: Sequence[Target] = import_module(f"tests.fuzz.{module}").TARGETS
        for target in targets:
            assert target.name not in found, f"two fuzz targets are called {target.name}"
            found[target.name] = target
    return found


def chosen_targets(names: Sequence[str]) -> list[Target]:
    """Return the targets of these names, all when there are none; a name may be the part before a colon.

    Raises:
        InputError: an unknown name.
    """
    known = all_targets()
    chosen: dict[str, Target] = {}
    for name in names:
        matching = {key: target for key, target in known.items() if name in (key, key.partition(":")[0])}
        if not matching:
            raise InputError("fuzz", "TARGET", f"{quoted(name)} is unknown", f"one of {', '.join(known)}")
        chosen |= matching
    return list((chosen or known).values())
