"""Steps of the tests of all readers: write a small file, read it, keep the notes or the complaint."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from te_solver.formats.topology_file import load_topology
from te_solver.model.topology import Topology


def read(path: Path, content: str | bytes, capacity: float | None = None) -> tuple[Topology, list[str]]:
    """The topology in the file that is made of `content`, and what its reader noted."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    notes: list[str] = []
    return load_topology(path, default_capacity=capacity, note=notes.append), notes


def complaint(path: Path, content: str | bytes) -> str:
    """Return the complaint about a file that cannot be read, without the file's name."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as raised:
        load_topology(path)
    assert raised.value.source == str(path)
    return str(raised.value).removeprefix(str(path))


def capacities(topology: Topology) -> list[tuple[str, str, float]]:
    return [(*link.ends, link.capacity) for link in topology.links]
