"""Flows on small networks: a matrix, and hypothesis strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hedera.network.fabric import Fabric, Vector
from hedera.network.fat_tree import FatTree
from hedera.network.matrices import Matrix
from hedera.network.multi_rooted import MultiRooted
from hedera.placement.interface import Elephants
from tests.hedera.test_multi_rooted import leaf_spine

FABRICS: dict[str, Fabric] = {
    "fat tree of 2": FatTree(2),
    "fat tree of 4": FatTree(4),
    "fat tree of 6": FatTree(6),
    "leaf and spine": MultiRooted(leaf_spine()),
    "fat tree of 4 as a graph": MultiRooted(FatTree(4).topology),
}


def all_to_all(hosts: int) -> Matrix:
    """Return the matrix in which every host sends to every other one."""
    return Matrix.of("all-to-all", [[to for to in range(hosts) if to != host] for host in range(hosts)])


@st.composite
def elephants(draw: st.DrawFn, fabric: Fabric, *, placed: bool = False, priorities: int = 1) -> Elephants:
    """Up to 20 flows; round demands fill links exactly."""
    host = st.integers(0, fabric.hosts - 1)
    pairs = draw(st.lists(st.tuples(host, host).filter(lambda pair: pair[0] != pair[1]), max_size=20))
    size = len(pairs)

    def of_each(values: st.SearchStrategy[float] | st.SearchStrategy[int]) -> list[float]:
        return draw(st.lists(values, min_size=size, max_size=size))

    source, target = np.array(pairs, np.int32).reshape(-1, 2).T
    parts = of_each(st.sampled_from([1.0, 0.5, 1 / 3, 0.25]) | st.floats(0, 1))
    choice = of_each(st.integers(-1, fabric.labels - 1) if placed else st.just(-1))
    return Elephants(
        np.ascontiguousarray(source),
        np.ascontiguousarray(target),
        np.array(parts) * fabric.nic_rate,
        np.array(choice, np.int32),
        np.array(of_each(st.integers(0, priorities - 1)), np.int32),
    )


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    return FABRICS[draw(st.sampled_from(sorted(FABRICS)))]


@st.composite
def capacities(draw: st.DrawFn, fabric: Fabric) -> Vector:
    """The capacities of the network, with up to three dead links."""
    capacity: Vector = fabric.capacity.copy()
    capacity[draw(st.lists(st.integers(0, fabric.links - 1), max_size=3))] = 0
    return capacity
