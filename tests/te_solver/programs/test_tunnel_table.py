from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.formats.topology_file import load_topology
from te_solver.model.plan import WEIGHTS, Weight
from te_solver.model.topology import Topology
from te_solver.networks import shipped_network
from te_solver.programs import tunnel_links, tunnel_table
from te_solver.programs.incidence import Incidence
from te_solver.programs.tunnel_links import TunnelLinks
from te_solver.programs.tunnel_table import find_tunnels
from te_solver.tunnels.finder import TunnelFinder
from tests.te_solver.random_networks import topologies


@pytest.fixture(scope="module")
def gscale() -> Topology:
    return load_topology(shipped_network("gscale"))


@given(
    st.booleans().flatmap(lambda directed: topologies(directed=directed)),
    st.sampled_from(WEIGHTS),
    st.booleans(),
    st.integers(1, 4),
    st.data(),
)
def test_every_pair_has_the_tunnels_that_the_finder_finds_for_it(
    topology: Topology,
    weight: Weight,
    node_disjoint: bool,  # noqa: FBT001  # hypothesis gives arguments by position
    count: int,
    data: st.DataObject,
) -> None:
    finder = TunnelFinder(topology, weight, node_disjoint=node_disjoint)
    pairs = data.draw(st.lists(st.sampled_from(list(permutations(topology.nodes, 2))), max_size=12))
    table = find_tunnels(finder, pairs, count, processes=1)
    assert list(table) == [finder.tunnels(*pair, count) for pair in pairs]
    assert len(table) == len(pairs)


def test_the_links_are_those_of_the_incidence(gscale: Topology) -> None:
    table = find_tunnels(TunnelFinder(gscale), list(permutations(gscale.nodes, 2)), 3, processes=1)
    links, expected = table.links(gscale), TunnelLinks.of(Incidence.of(gscale, list(table)))
    assert links.starts.tolist() == expected.starts.tolist()
    assert links.pair_starts.tolist() == expected.pair_starts.tolist()
    for start, end in zip(links.starts[:-1], links.starts[1:], strict=True):
        assert sorted(links.links[start:end].tolist()) == sorted(expected.links[start:end].tolist())


def test_only_disjoint_ones_are_as_many_as_can_be(gscale: Topology) -> None:
    finder, pairs = TunnelFinder(gscale), list(permutations(gscale.nodes, 2))
    table = find_tunnels(finder, pairs, 3, disjoint_only=True, processes=1)
    assert [len(tunnels) for tunnels in table] == [finder.count_disjoint(*pair, 3) for pair in pairs]


def test_neither_processes_nor_tasks_matter(gscale: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    finder, pairs = TunnelFinder(gscale), list(permutations(gscale.nodes, 2))
    alone = find_tunnels(finder, pairs, 3, processes=1)
    monkeypatch.setattr(tunnel_table, "_PAIRS_PER_TASK", 10)
    told: list[tuple[int, int]] = []
    together = find_tunnels(finder, pairs, 3, processes=2, progress=lambda *done: told.append(done))
    assert np.array_equal(together.nodes, alone.nodes)
    assert np.array_equal(together.starts, alone.starts)
    assert told == [(done, 66) for done in (10, 20, 30, 40, 50, 60, 66)]


@pytest.mark.parametrize("at_a_time", [1, 5])
def test_it_does_not_matter_how_many_tunnels_are_copied_at_a_time(
    gscale: Topology, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder, pairs = TunnelFinder(gscale), list(permutations(gscale.nodes, 2))
    monkeypatch.setattr(tunnel_links, "_AT_A_TIME", at_a_time)
    assert list(find_tunnels(finder, pairs, 3, processes=1)) == [finder.tunnels(*pair, 3) for pair in pairs]


def test_a_pair_without_a_path_has_no_tunnel() -> None:
    apart = Topology("apart", ("a", "b"), ())
    assert list(find_tunnels(TunnelFinder(apart), [("a", "b"), ("b", "a")], 2, processes=1)) == [(), ()]


def test_what_cannot_be_asked_for_is_refused(gscale: Topology) -> None:
    finder = TunnelFinder(gscale)
    with pytest.raises(KeyError):
        find_tunnels(finder, [("s1", "nowhere")], 3, processes=1)
    with pytest.raises(ValueError, match="itself"):
        find_tunnels(finder, [(gscale.nodes[0], gscale.nodes[0])], 3, processes=1)
