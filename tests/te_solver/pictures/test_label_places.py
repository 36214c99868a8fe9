from __future__ import annotations

import itertools
import random

from te_solver.pictures.layout import TakenArea, fit_in_place, places_beside

WIDTH, HEIGHT = 0.6, 0.12


def overlaps(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) < WIDTH - 1e-9 and abs(one[1] - other[1]) < HEIGHT - 1e-9


def test_labels_far_apart_stand_where_their_nodes_are() -> None:
    assert fit_in_place([(0, 0), (1, 0), (0, 0.2)], [WIDTH] * 3, HEIGHT)
    assert not fit_in_place([(0, 0), (0.5, 0.1)], [WIDTH] * 2, HEIGHT)


def test_no_label_covers_another_one_or_a_node() -> None:
    draw = random.Random(1)
    nodes = [(draw.uniform(0, 4), draw.uniform(0, 3)) for _ in range(60)]
    room = TakenArea()
    for node in nodes:
        room.take(node, 0.05, 0.05)
    places = places_beside(room, nodes, [WIDTH] * 60, HEIGHT, order=range(60), with_lines=True)
    found = [(place.x, place.y) for place in places if place is not None]
    assert len(found) > 40
    assert any(place.is_far for place in places if place is not None)
    assert not any(overlaps(one, other) for one, other in itertools.combinations(found, 2))
    for (x, y), node in itertools.product(found, nodes):
        assert abs(x - node[0]) >= (WIDTH + 0.05) / 2 - 1e-9 or abs(y - node[1]) >= (HEIGHT + 0.05) / 2 - 1e-9


def test_labels_without_room_are_left_out_those_of_the_first_nodes_last() -> None:
    nodes = [(0.001 * number, 0.0) for number in range(40)]
    places = places_beside(TakenArea(), nodes, [WIDTH] * 40, HEIGHT, order=range(39, -1, -1), with_lines=False)
    assert places[39] is not None
    assert places[0] is None
