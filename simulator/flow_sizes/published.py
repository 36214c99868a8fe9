"""The distributions that come with the package, each a file with its source in `data/`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from kuijia_base.errors import InputError
from kuijia_base.reading import reading
from simulator.flow_sizes.distribution import FlowSizes
from simulator.flow_sizes.reading import parse_flow_sizes, read_flow_sizes

_FOLDER = files(__package__).joinpath("data")


@cache
def published_names() -> tuple[str, ...]:
    """Return the names of the distributions in alphabetical order."""
    return tuple(sorted(Path(each.name).stem for each in _FOLDER.iterdir() if each.name.endswith(".cdf")))


@cache
def published_flow_sizes(name: str) -> FlowSizes:
    """Return the distribution of this name.

    Raises:
        InputError: the name is unknown.
    """
    if name not in published_names():
        raise InputError("flow sizes", name, "unknown", f"one of {', '.join(published_names())}")
    return parse_flow_sizes(_FOLDER.joinpath(f"{name}.cdf").read_text(encoding="utf-8"), name)


def find_flow_sizes(name_or_path: str) -> FlowSizes:
    """Return a published distribution by its name, or the one in a file.

    Raises:
        InputError: there is neither, or the file does not hold a distribution.
    """
    if name_or_path in published_names():
        return published_flow_sizes(name_or_path)
    path = Path(name_or_path)
    expected = f"a file of flow sizes, or one of {', '.join(published_names())}"
    with reading(name_or_path, expected):
        if not path.exists():
            raise InputError(name_or_path, "", "there is no such file", expected)
    return read_flow_sizes(path)
