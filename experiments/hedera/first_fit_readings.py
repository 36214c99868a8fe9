"""Readings of global first fit, and the placement under each, flow by flow; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.hedera.goodput import tcp_goodput
from hedera.demand_estimation import estimate_demands
from hedera.fabric import Fabric, Ints, Vector
from hedera.matrices import Matrix
from hedera.placement.ecmp import hashed_labels
from hedera.placement.interface import amounts

Order = Literal["random", "by sender", "by receiver"]
"""In which flows are detected."""

Demand = Literal["as detected", "all known", "whole interfaces", "measured"]
"""That a flow reserves: estimated from the flows detected so far, or from all flows; its sender's interface; or what it
gets at the time, with earlier flows on their paths and later ones where the hash sends them."""

First = Literal["lowest", "columns in turn", "hashed", "random"]
"""Path that a flow tries first: of the lowest label; the same with another aggregation switch next; that of its hash,
and then the following labels; or any, and then the others in random order."""


@dataclass(frozen=True)
class FirstFitReading:
    """A reading of first fit; `fills` is False if a link's load must stay below its capacity."""

    order: Order = "random"
    demand: Demand = "as detected"
    first: First = "lowest"
    fills: bool = True


OURS = "ours"

READINGS: Mapping[str, FirstFitReading] = {
    OURS: FirstFitReading(),
    "order: by sender": FirstFitReading(order="by sender"),
    "order: by receiver": FirstFitReading(order="by receiver"),
    "demand: all known": FirstFitReading(demand="all known"),
    "demand: whole interfaces": FirstFitReading(demand="whole interfaces"),
    "demand: measured": FirstFitReading(demand="measured"),
    "first path: columns in turn": FirstFitReading(first="columns in turn"),
    "first path: the hashed one": FirstFitReading(first="hashed"),
    "first path: any": FirstFitReading(first="random"),
    "load below capacity": FirstFitReading(fills=False),
    "measured, the hashed path first": FirstFitReading(demand="measured", first="hashed"),
    "measured, any path first": FirstFitReading(demand="measured", first="random"),
}
"""By name: each changes one thing in ours, the last two two things; ours is `global-first-fit` of `hedera-matrices`."""


def detected(matrix: Matrix, order: Order, seed: int) -> Matrix:
    """Return the flows in the order in which they are detected."""
    if order == "random":
        places = np.random.default_rng([seed, 1]).permutation(matrix.source.size)
    else:
        places = np.argsort(matrix.source if order == "by sender" else matrix.target, kind="stable")
    return Matrix(matrix.name, matrix.source[places], matrix.target[places])


def first_fit_labels(fabric: Fabric, matrix: Matrix, reading: FirstFitReading, seed: int) -> Ints:
    """Return the labels of flows that are placed one after the other; those that fit nowhere have that of the hash."""
    count = matrix.source.size
    hashed = hashed_labels(fabric, np.arange(count, dtype=np.uint64), seed)
    estimated = None if reading.demand == "measured" else amounts(_demands(fabric, matrix, reading.demand), fabric)
    room = amounts(fabric.capacity, fabric) - (0 if reading.fills else 1)
    random = np.random.default_rng([seed, 13])
    label: Ints = hashed.copy()
    for flow, (source, target) in enumerate(zip(matrix.source.tolist(), matrix.target.tolist(), strict=True)):
        reserved = int((_measured(fabric, matrix, label) if estimated is None else estimated)[flow])
        for tried in _tried(fabric, reading.first, int(hashed[flow]), random):
            links = [link for link in fabric.path(source, target, tried) if fabric.inner[link]]
            if (room[links] >= reserved).all():
                room[links] -= reserved
                label[flow] = tried
                break
    return label


def _measured(fabric: Fabric, matrix: Matrix, label: Ints) -> Ints:
    return amounts(tcp_goodput(fabric.capacity, fabric.flow_paths(matrix.source, matrix.target, label)), fabric)


def _demands(fabric: Fabric, matrix: Matrix, demand: Demand) -> Vector:
    source, target = matrix.source, matrix.target
    if demand == "whole interfaces":
        return np.full(source.size, fabric.nic_rate)
    if demand == "all known":
        return estimate_demands(fabric.hosts, source, target, fabric.nic_rate).demand
    known = range(1, source.size + 1)
    return np.array(
        [estimate_demands(fabric.hosts, source[:size], target[:size], fabric.nic_rate).demand[-1] for size in known]
    )


def _tried(fabric: Fabric, first: First, hashed: int, random: np.random.Generator) -> list[int]:
    labels = list(range(fabric.labels))
    if first == "columns in turn":
        columns = fabric.labels // fabric.blocks
        return [label for column in range(columns) for label in labels[column::columns]]
    if first == "hashed":
        return labels[hashed:] + labels[:hashed]
    return [int(label) for label in random.permutation(labels)] if first == "random" else labels
