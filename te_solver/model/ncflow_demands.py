"""Demand models of NCFlow (Abuzaid et al., NSDI 2021) and POP: the same numbers for the same seed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.text import parse_number
from te_solver.model.connectivity import Reachability
from te_solver.model.demand_generators import MOST_NODES
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology

Matrix = npt.NDArray[Any]
"""Rates between all nodes, in single or double precision, as NCFlow keeps them."""

_LARGEST_MEAN = 1e18
"""Mean of a Poisson distribution; numpy draws no larger numbers."""


@dataclass(frozen=True)
class NcflowModel(ABC):
    """A model of demands between all nodes of a network.

    NCFlow draws from numpy's generator of before version 1.17, the Mersenne Twister, in the order of the matrix. The
    precision of each step is part of the model: published sums and optima depend on it.
    """

    @property
    def name(self) -> str:
        """Name of the model."""
        return next(name for name, model in MODELS.items() if model is type(self))

    def demands(self, topology: Topology, seed: int, scale: float = 1.0) -> tuple[Demand, ...]:
        """Return the demands above zero in Mbit/s, those of the first source first.

        Args:
            topology: the network, all of whose nodes reach each other.
            seed: from 0 to 2^32 - 1.
            scale: multiplies all rates, which is the last step.

        Raises:
            UnsoundError: the network has other parts or too many nodes, or the seed is too large.
        """
        matrix = self.matrix(topology, seed)
        matrix *= scale
        nodes = topology.nodes
        pairs = zip(*(ends.tolist() for ends in matrix.nonzero()), strict=True)
        return tuple(Demand(nodes[a], nodes[b], float(matrix[a, b])) for a, b in pairs)

    def matrix(self, topology: Topology, seed: int) -> Matrix:
        """Return the rates before they are scaled; raises UnsoundError as `demands` does."""
        if len(topology.nodes) > MOST_NODES:
            raise UnsoundError((), f"{topology.name} has {len(topology.nodes)} nodes", f"at most {MOST_NODES}")
        if len(set(Reachability(topology).groups.values())) > 1:
            raise UnsoundError((), f"not all nodes of {topology.name} reach each other", "one part (--largest-part)")
        if not 0 <= seed < 2**32:
            raise UnsoundError(("seed",), f"seed {seed}", "a whole number from 0 to 4294967295")
        matrix = self._drawn(topology, np.random.RandomState(seed))
        np.fill_diagonal(matrix, 0.0)
        return self._finished(matrix)

    @abstractmethod
    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        """Draw a rate for each pair of nodes."""

    def _finished(self, matrix: Matrix) -> Matrix:
        """Return the rates in Mbit/s."""
        return matrix


@dataclass(frozen=True)
class NcflowUniform(NcflowModel):
    """Rates from zero to `most`."""

    most: float

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        size = len(topology.nodes)
        return (random.rand(size, size) * self.most).astype(np.float32)


@dataclass(frozen=True)
class NcflowGravity(NcflowModel):
    """Rates around the share of `total` by the capacities at both ends, with a quarter of it as standard deviation."""

    total: float

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        leaving, entering = self._capacities(topology)
        shares = (leaving / sum(leaving.tolist()))[:, None] * entering
        shares /= (sum(entering.tolist()) - entering)[:, None]
        apart = ~np.eye(len(shares), dtype=bool)
        matrix = np.zeros(shares.shape, dtype=np.float32)
        matrix[apart] = np.maximum(random.normal(shares[apart], shares[apart] / 4), 0.0)
        return matrix

    def _capacities(self, topology: Topology) -> tuple[Matrix, Matrix]:
        """Return the sums of capacities that leave and enter each node."""
        position = {node: number for number, node in enumerate(topology.nodes)}
        leaving, entering = np.zeros(len(position)), np.zeros(len(position))
        for link in topology.links:
            leaving[position[link.source]] += link.capacity
            entering[position[link.target]] += link.capacity
        return leaving, entering

    def _finished(self, matrix: Matrix) -> Matrix:
        matrix *= self.total
        return matrix


@dataclass(frozen=True)
class NcflowBimodal(NcflowModel):
    """A share `large` of rates from `large_from` to `large_to`, all others from `small_from` to `small_to`."""

    large: float
    small_from: float
    small_to: float
    large_from: float
    large_to: float

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        size = len(topology.nodes)
        matrix = np.zeros((size, size))
        small = random.choice(2, (size, size), p=[self.large, 1 - self.large]).astype(bool)
        matrix[small] = random.uniform(self.small_from, self.small_to, np.sum(small))
        matrix[~small] = random.uniform(self.large_from, self.large_to, np.sum(~small))
        return matrix


@dataclass(frozen=True)
class NcflowGaussian(NcflowModel):
    """Normally distributed rates; those below zero are zero."""

    mean: float
    deviation: float

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        size = len(topology.nodes)
        return np.maximum(random.normal(self.mean, self.deviation, (size, size)), 0.0)


@dataclass(frozen=True)
class _ByDistance(NcflowModel):
    """Numbers whose mean falls by the factor `decay` with each link of distance; `unit` is Mbit/s of one."""

    mean: float
    decay: float
    unit: float

    def _means(self, topology: Topology) -> Matrix:
        means = np.array([self.mean * self.decay**hops for hops in range(len(topology.nodes))])
        return means[_distances(topology)]

    def _finished(self, matrix: Matrix) -> Matrix:
        matrix *= self.unit
        return matrix


@dataclass(frozen=True)
class NcflowPoisson(_ByDistance):
    """Poisson numbers."""

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        return random.poisson(self._means(topology)).astype(np.float32)


@dataclass(frozen=True)
class NcflowExponential(_ByDistance):
    """Exponentially distributed numbers."""

    def _drawn(self, topology: Topology, random: np.random.RandomState) -> Matrix:
        return random.exponential(self._means(topology)).astype(np.float32)


MODELS: dict[str, type[NcflowModel]] = {
    "uniform": NcflowUniform,
    "gravity": NcflowGravity,
    "bimodal": NcflowBimodal,
    "gaussian": NcflowGaussian,
    "poisson": NcflowPoisson,
    "exponential": NcflowExponential,
}


def parsed_model(text: str) -> NcflowModel:
    """Return the model of a text such as `poisson,mean=1e3,decay=0.9,unit=4.15e-4`.

    Raises:
        UnsoundError: no such model, or parameters that it does not have; they are finite and not negative.
    """
    name, *given = text.split(",")
    if name not in MODELS:
        raise UnsoundError((), f"model {quoted(name)}", f"one of {', '.join(MODELS)}")
    names = [field.name for field in fields(MODELS[name])]
    example = ",".join([name, *(f"{each}=NUMBER" for each in names)])
    values: dict[str, float] = {}
    for each in given:
        key, _, digits = each.partition("=")
        number = parse_number(digits)
        if key not in names or key in values or number is None or not 0 <= number <= _LARGEST_MEAN:
            raise UnsoundError((), f"parameter {quoted(each)}", example)
        values[key] = number
    if len(values) < len(names):
        raise UnsoundError((), f"model {quoted(text)}", example)
    for key in ("decay", "large"):
        if values.get(key, 0) > 1:
            raise UnsoundError((), f"{key} {values[key]:g}", "at most 1")
    for kind in ("small", "large"):
        if values.get(f"{kind}_from", 0) > values.get(f"{kind}_to", 0):
            raise UnsoundError((), f"{kind}_from {values[f'{kind}_from']:g}", f"at most {kind}_to")
    return MODELS[name](**values)


def _distances(topology: Topology) -> npt.NDArray[np.int64]:
    """Return the links of the shortest path between all nodes."""
    position = {node: number for number, node in enumerate(topology.nodes)}
    heads: list[list[int]] = [[] for _ in position]
    for link in topology.links:
        heads[position[link.source]].append(position[link.target])
    distances = np.zeros((len(position), len(position)), dtype=np.int64)
    for start in range(len(position)):
        found = {start: 0}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for head in heads[node]:
                if head not in found:
                    found[head] = found[node] + 1
                    queue.append(head)
        distances[start, list(found)] = list(found.values())
    return distances
