"""Fuzz targets: topologies as the packet model and the scheduler of data centres use them, beyond reading them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hedera.scheduling.options import SchedulerOptions, build
from simulator.studies.packet.networks import LinkParameters, node_names, of_topology
from te_solver.formats.topology_file import load_topology
from tests.fuzz import examples
from tests.fuzz.file_target import FileTarget, YamlGrammar
from tests.fuzz.targets import CaseTarget

TREE = """name: tree
nodes: [h1, h2, h3, h4, e1, e2, c1, c2]
links:
  - {a: h1, b: e1, capacity: 10}
  - {a: h2, b: e1, capacity: 10}
  - {a: h3, b: e2, capacity: 10}
  - {a: h4, b: e2, capacity: 10}
  - {a: e1, b: c1, capacity: 10}
  - {a: e1, b: c2, capacity: 10}
  - {a: e2, b: c1, capacity: 10}
  - {a: e2, b: c2, capacity: 10}
"""
"""A data centre: two edge switches, two core switches, hosts with one cable."""


def read_packet_network(path: Path) -> None:
    """Read a topology as `kuijia packet` does."""
    topology = load_topology(path)
    node_names(of_topology(topology, str(path), LinkParameters()), topology)


def read_data_centre(path: Path) -> None:
    """Read a topology as `kuijia scheduler` does before it listens."""
    centre, _ = build(SchedulerOptions(topology=str(path)))
    centre.hosts_of  # noqa: B018  # computed when it is asked for


_YAML = YamlGrammar()

TARGETS: Sequence[CaseTarget] = (
    FileTarget("network:packet", "case.yaml", partial(examples.texts, "triangle.yaml"), read_packet_network, _YAML),
    FileTarget("network:data-centre", "case.yaml", lambda: [TREE], read_data_centre, _YAML),
)
