"""The files that docs/inputs.md shows or links are what the readers take."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from te_solver.formats.demands_file import load_demands
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "inputs.md"
EXAMPLES = Path(__file__).parent / "examples"
EXAMPLE = re.compile(r"^`(?P<name>[\w.]+)`[^`]*:\n\n```\w*\n(?P<content>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all the files."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    for example in EXAMPLE.finditer(DOCUMENT.read_text()):
        (tmp_path / example["name"]).write_text(example["content"])
    return tmp_path


@pytest.mark.parametrize(
    ("name", "nodes", "links"),
    [
        ("tiny.yaml", ("Bonn", "Kiel", "Ulm"), 4),
        ("tiny.gml", ("Bonn", "Kiel", "Ulm"), 4),
        ("tiny.graphml", ("Bonn", "Kiel"), 2),
        ("sndlib.txt", ("Bonn", "Kiel"), 2),
        ("sndlib.xml", ("Bonn", "Kiel"), 2),
        ("topology.txt", ("Bonn", "Kiel", "Ulm"), 4),
        ("repetita.graph", ("0_Bonn", "1_Kiel"), 2),
        ("yates.dot", ("s1", "s2"), 2),
        ("flexile.tab", ("0", "1"), 2),
        ("nodelink.json", ("0", "1"), 2),
    ],
)
def test_topologies(folder: Path, name: str, nodes: tuple[str, ...], links: int) -> None:
    topology = load_topology(folder / name)
    assert topology.nodes == nodes
    assert len(topology.links) == links


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("demands.csv", Demand("Bonn", "Kiel", 250), 2),
        ("demand.txt", Demand("Bonn", "Kiel", 1), 5),
        ("sndlib.txt", Demand("Bonn", "Kiel", 12.5), 1),
        ("sndlib.xml", Demand("Bonn", "Kiel", 12.5), 1),
        ("repetita.demands", Demand("Bonn", "Kiel", 12.5), 1),
    ],
)
def test_demands(folder: Path, name: str, first: Demand, count: int) -> None:
    demands = load_demands(folder / name, load_topology(folder / "tiny.yaml"))
    assert (demands[0], len(demands)) == (first, count)
