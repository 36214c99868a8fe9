"""Networks that ship with the package: a topology, `NAME.yaml`, and its demands, `NAME.csv`, for each."""

from __future__ import annotations

from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.suggestion import meant

_FOLDER = Path(__file__).parent


def shipped_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))


def shipped_network(name: str) -> Path:
    """Return the topology file of a shipped network; raises InputError for an unknown name."""
    return _shipped(name, ".yaml")


def shipped_demands(name: str) -> Path:
    """Return the demand file of a shipped network; raises InputError for an unknown name."""
    return _shipped(name, ".csv")


def _shipped(name: str, suffix: str) -> Path:
    if name not in shipped_names():
        problem = f"no such file or shipped network{meant(name, shipped_names())}"
        raise InputError(name, "", problem, f"a file or one of {', '.join(shipped_names())}")
    return _FOLDER / f"{name}{suffix}"
