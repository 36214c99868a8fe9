"""Networks that ship with the package: for each a topology, `NAME.yaml`, and demands for it, `NAME.csv`."""

from __future__ import annotations

from pathlib import Path

from te_solver.errors import InputError

_FOLDER = Path(__file__).parent


def shipped_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def shipped_network(name: str) -> Path:
    """The topology file of a shipped network; raises InputError for a name that is none."""
    return _shipped(name, ".yaml")


def shipped_demands(name: str) -> Path:
    """The demand file of a shipped network; raises InputError for a name that is none."""
    return _shipped(name, ".csv")


def _shipped(name: str, suffix: str) -> Path:
    if name not in shipped_names():
        raise InputError(name, "", "no such file or shipped network", f"a file or one of {', '.join(shipped_names())}")
    return _FOLDER / f"{name}{suffix}"
