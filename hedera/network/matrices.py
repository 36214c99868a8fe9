"""Traffic matrices: those of the authors' testbed, and rules for matrices of any size.

The random ones are copied from their testbed: the input files of their load generator, published as
https://github.com/mininet/mininet-tests (commit d8cb876, hedera/hedera/inputs). Hosts are numbered pod by pod, as in
`hedera.network.fat_tree`; every pair has one endless flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hedera.network.fabric import Fabric, Ints
from kuijia_base.errors import InputError

TESTBED_HOSTS = 16


@dataclass(frozen=True, eq=False)
class Matrix:
    """F flows between hosts; shapes (F,)."""

    name: str
    source: Ints
    target: Ints

    @classmethod
    def of(cls, name: str, targets: Sequence[int | Sequence[int]]) -> Matrix:
        """Return a matrix with one flow or several from each host, in the order of hosts."""
        pairs = [
            (host, each)
            for host, given in enumerate(targets)
            for each in (given if isinstance(given, Sequence) else [given])
        ]
        source, target = np.array(pairs, np.int32).reshape(-1, 2).T
        return cls(name, np.ascontiguousarray(source), np.ascontiguousarray(target))


_TARGETS: dict[str, tuple[int | tuple[int, ...], ...]] = {
    "rand0": (14, 13, 10, 9, 7, 7, 11, 2, 11, 6, 12, 15, 9, 2, 8, 9),
    "rand1": (11, 6, 7, 12, 3, 14, 8, 0, 15, 10, 4, 3, 11, 11, 5, 0),
    "rand2": (12, 7, 14, 0, 11, 3, 4, 5, 13, 10, 9, 1, 1, 3, 0, 10),
    "rand3": (5, 6, 12, 6, 1, 15, 13, 6, 11, 8, 6, 2, 1, 4, 10, 14),
    "rand4": (14, 0, 3, 8, 3, 7, 11, 4, 13, 1, 15, 9, 13, 11, 15, 6),
    "randbij0": (6, 13, 7, 15, 12, 0, 1, 14, 9, 5, 4, 10, 8, 3, 2, 11),
    "randbij1": (13, 8, 12, 6, 0, 3, 9, 2, 15, 7, 11, 1, 14, 4, 5, 10),
    "randbij2": (14, 8, 13, 9, 2, 12, 1, 6, 3, 11, 0, 5, 7, 10, 15, 4),
    "randbij3": (5, 4, 13, 11, 1, 0, 14, 2, 9, 7, 15, 10, 8, 6, 12, 3),
    "randbij4": (7, 8, 5, 4, 9, 11, 10, 0, 14, 2, 3, 15, 6, 1, 12, 13),
    "randx2": (
        *((6, 9), (12, 15), (8, 11), (14, 1), (3, 6), (9, 12), (15, 2), (5, 8)),
        *((11, 14), (1, 4), (7, 9), (12, 15), (2, 5), (8, 11), (4, 7), (10, 13)),
    ),
    "randx3": (
        *((7, 10, 13), (0, 3, 12), (15, 8, 11), (14, 1, 4), (7, 10, 13), (0, 3, 6), (8, 11, 14), (1, 4, 13)),
        *((0, 3, 6), (15, 2, 5), (8, 11, 14), (1, 4, 7), (10, 13, 15), (2, 5, 8), (11, 4, 7), (10, 13, 0)),
    ),
    "randx4": (
        *((3, 6, 9, 12), (15, 2, 4, 7), (10, 13, 0, 3), (6, 9, 12, 15)),
        *((2, 5, 7, 10), (13, 0, 3, 6), (9, 12, 15, 2), (5, 8, 11, 13)),
        *((0, 3, 6, 9), (12, 15, 2, 5), (8, 11, 14, 0), (3, 6, 9, 12)),
        *((15, 2, 5, 8), (11, 14, 1, 3), (6, 9, 12, 15), (2, 5, 8, 11)),
    ),
    "randx5": (
        *((1, 4, 7, 10, 13), (0, 3, 6, 9, 12), (15, 8, 11, 14, 1), (4, 6, 9, 12, 15)),
        *((2, 5, 8, 11, 14), (1, 4, 7, 9, 12), (15, 2, 5, 8, 11), (14, 1, 4, 13, 0)),
        *((3, 6, 9, 12, 14), (1, 4, 7, 10, 13), (0, 3, 6, 9, 12), (15, 2, 4, 7, 10)),
        *((13, 0, 3, 6, 9), (12, 15, 2, 5, 7), (10, 13, 0, 3, 6), (6, 9, 11, 14, 8)),
    ),
    "hotspot": (13, 4, 6, 9, 15, 9, 10, 13, 3, 13, 11, 14, 0, 9, 2, 5),
    "stag0(.2,.3)": (1, 0, 4, 14, 6, 2, 11, 5, 9, 10, 8, 15, 13, 12, 3, 7),
    "stag1(.2,.3)": (6, 3, 7, 2, 15, 1, 9, 4, 11, 8, 13, 0, 14, 12, 5, 10),
    "stag2(.2,.3)": (15, 0, 8, 1, 5, 4, 7, 12, 10, 11, 6, 14, 2, 9, 3, 13),
    "stag3(.2,.3)": (14, 9, 4, 0, 5, 7, 10, 15, 2, 6, 13, 8, 11, 12, 3, 1),
    "stag4(.2,.3)": (13, 2, 3, 15, 5, 4, 7, 10, 9, 11, 8, 1, 14, 12, 6, 0),
    "stag0(.5,.3)": (2, 0, 1, 10, 5, 4, 7, 6, 9, 8, 15, 12, 13, 14, 11, 3),
    "stag1(.5,.3)": (2, 7, 3, 10, 5, 4, 9, 6, 13, 8, 11, 1, 14, 12, 15, 0),
    "stag2(.5,.3)": (1, 3, 10, 2, 7, 4, 14, 15, 9, 8, 11, 6, 13, 12, 0, 5),
    "stag3(.5,.3)": (1, 9, 3, 12, 5, 4, 7, 6, 11, 8, 15, 10, 13, 0, 2, 14),
    "stag4(.5,.3)": (1, 2, 0, 7, 9, 4, 12, 6, 11, 8, 5, 10, 15, 14, 13, 3),
    "stag(1,0)": tuple(host ^ 1 for host in range(TESTBED_HOSTS)),
}
_STRIDES = (1, 2, 4, 8)


def authors_matrices() -> dict[str, Matrix]:
    """Return the matrices of the testbed's figures by name."""
    found = [Matrix.of(name, targets) for name, targets in _TARGETS.items()]
    found += [stride(TESTBED_HOSTS, step) for step in _STRIDES]
    return {matrix.name: matrix for matrix in found}


def authors_matrix(name: str) -> Matrix:
    """Return the authors' matrix of this name; raises InputError if the name is unknown."""
    known = authors_matrices()
    if name not in known:
        raise InputError("matrix", name, "is unknown", f"one of {', '.join(known)}")
    return known[name]


def stride(hosts: int, step: int) -> Matrix:
    """Return the matrix in which host x sends to host x + step, modulo the number of hosts."""
    return Matrix.of(f"stride{step}", [(host + step) % hosts for host in range(hosts)])


def staggered(fabric: Fabric, edge: float, pod: float, random: np.random.Generator) -> Matrix:
    """Return a matrix with one flow from each host.

    The target is at the same edge switch with probability `edge`, at another switch of the pod with probability `pod`,
    else in another pod.
    """
    hosts = fabric.hosts
    source = np.arange(hosts, dtype=np.int32)
    of_edge, of_pod = (
        np.repeat(np.arange(first.size - 1), np.diff(first)) for first in (fabric.edge_first, fabric.pod_first)
    )
    near = random.random(hosts)
    kind = np.where(near < edge, 0, np.where(near < edge + pod, 1, 2))
    target = np.full(hosts, -1, np.int32)
    while (open_ := np.flatnonzero(target < 0)).size:
        firsts = np.where(kind == 0, fabric.edge_first[of_edge], np.where(kind == 1, fabric.pod_first[of_pod], 0))[
            open_
        ]
        ends = np.where(
            kind == 0, fabric.edge_first[of_edge + 1], np.where(kind == 1, fabric.pod_first[of_pod + 1], hosts)
        )[open_]
        drawn = random.integers(firsts, ends)
        same_edge, same_pod = of_edge[open_] == of_edge[drawn], of_pod[open_] == of_pod[drawn]
        fits = np.select([kind[open_] == 0, kind[open_] == 1], [drawn != open_, ~same_edge], ~same_pod)
        target[open_[fits]] = drawn[fits]
    return Matrix(f"stag({edge:g},{pod:g})", source, target)


def random_targets(hosts: int, random: np.random.Generator) -> Matrix:
    """Return a matrix in which each host sends to a random other one."""
    source = np.arange(hosts, dtype=np.int32)
    target = random.integers(0, hosts - 1, hosts).astype(np.int32)
    return Matrix("random", source, target + (target >= source).astype(np.int32))


def random_bijection(hosts: int, random: np.random.Generator) -> Matrix:
    """Return a matrix in which each host sends to another one and no two to the same, all equally likely."""
    source = np.arange(hosts, dtype=np.int32)
    while True:
        target = random.permutation(source)
        if (target != source).all():
            return Matrix("bijection", source, target)
