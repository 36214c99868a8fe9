"""Places for labels in a picture so that none covers another one or a node; all lengths in inches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_NEAR, _FAR = 0.06, (0.22, 0.38)
"""Distances from a node to the edge of its label: without a line between them, and with one."""

_DIRECTIONS = tuple(math.radians(degrees) for degrees in (90, 270, 0, 180, 45, 135, 315, 225))
"""Directions in which room is sought, the best first."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Place:
    """The middle of a label; `is_far` if a line should lead from it to its node."""

    x: float
    y: float
    is_far: bool


class TakenArea:
    """The part of a picture that labels and nodes have taken, as rectangles."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float, float]] = []

    def take(self, middle: Point, width: float, height: float) -> None:
        x, y = middle
        self._taken.append((x - width / 2, x + width / 2, y - height / 2, y + height / 2))

    def is_free(self, middle: Point, width: float, height: float) -> bool:
        """Return True if a rectangle meets none of those taken."""
        if not self._taken:
            return True
        x, y = middle
        left, right, low, high = self._edges()
        meets = (left < x + width / 2) & (right > x - width / 2) & (low < y + height / 2) & (high > y - height / 2)
        return not meets.any()

    def first_free(self, middles: Iterable[Point], width: float, height: float) -> Point | None:
        """Take and return the first place at which a rectangle meets none of those taken; None if there is none."""
        for middle in middles:
            if self.is_free(middle, width, height):
                self.take(middle, width, height)
                return middle
        return None

    def _edges(self) -> NDArray[np.float64]:
        edges: NDArray[np.float64] = np.array(self._taken, dtype=np.float64).T
        return edges


def fit_in_place(nodes: Sequence[Point], widths: Sequence[float], height: float) -> bool:
    """Return True if labels in the places of their nodes cover no other one."""
    room = TakenArea()
    return all(room.first_free([node], width, height) for node, width in zip(nodes, widths, strict=True))


def places_beside(
    room: TakenArea,
    nodes: Sequence[Point],
    widths: Sequence[float],
    height: float,
    *,
    order: Sequence[int],
    with_lines: bool,
) -> list[Place | None]:
    """Return a place beside each node for its label, None where there is no room; `room` then has them.

    Args:
        room: the part that is taken; nodes should be in it.
        nodes: points to be labelled.
        widths: width of each label.
        height: height of all labels.
        order: positions of the nodes, those whose labels are placed first at the front.
        with_lines: True to seek room further away too, where a line must lead to the node.
    """
    found: list[Place | None] = [None] * len(nodes)
    distances = (_NEAR, *_FAR) if with_lines else (_NEAR,)
    for number in order:
        for distance in distances:
            spot = room.first_free(_around(nodes[number], widths[number], height, distance), widths[number], height)
            if spot is not None:
                found[number] = Place(*spot, distance != _NEAR)
                break
    return found


def _around(node: Point, width: float, height: float, distance: float) -> Iterator[Point]:
    for angle in _DIRECTIONS:
        east, north = math.cos(angle), math.sin(angle)
        yield node[0] + east * (distance + width / 2), node[1] + north * (distance + height / 2)
