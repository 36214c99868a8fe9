"""The links of paths, found for many paths together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from te_solver.model.topology import Link, Topology
from te_solver.programs import incidence
from te_solver.programs.incidence import links_of_paths
from tests.te_solver.random_networks import topologies


@given(topologies(directed=True), st.data())
def test_links_of_paths_are_those_of_their_hops(network: Topology, data: st.DataObject) -> None:
    paths = data.draw(st.lists(st.sampled_from([link.ends for link in network.links]), max_size=9))
    row_of = {link.ends: row for row, link in enumerate(network.links)}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(incidence, "_AT_A_TIME", 2)
        starts, links = links_of_paths(network, paths)
    assert links.tolist() == [row_of[hop] for path in paths for hop in pairwise(path)]
    assert starts.tolist() == [sum(len(path) - 1 for path in paths[:number]) for number in range(len(paths) + 1)]


LINE = Topology("line", ("a", "b", "c", "d"), tuple(Link(a, b, 1.0) for a, b in zip("abcd", "bcdc", strict=True)))


def test_links_have_the_order_of_the_path_not_of_the_topology() -> None:
    starts, links = links_of_paths(LINE, ["cd", "abcd", "dc"])
    assert (starts.tolist(), links.tolist()) == ([0, 1, 4, 5], [2, 0, 1, 2, 3])


@pytest.mark.parametrize("path", ["abd", "cba", "ax", "dd"])
def test_a_path_beside_the_links_is_refused(path: str) -> None:
    with pytest.raises(KeyError):
        links_of_paths(LINE, ["abc", path])
