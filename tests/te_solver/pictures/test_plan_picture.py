from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.model.topology import Link, Topology
from te_solver.pictures.plan_picture import plan_figure, plan_picture
from te_solver.solve import solve

pytestmark = pytest.mark.slow

KINDS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def ring(size: int) -> Topology:
    """Nodes n0, n1, ... in a ring of cables of 10 Mbit/s."""
    cables = [(f"n{number}", f"n{(number + 1) % size}") for number in range(size)]
    links = tuple(Link(*ends, 10.0) for a, b in cables for ends in ((a, b), (b, a)))
    return Topology(f"ring of {size}", tuple(f"n{number}" for number in range(size)), links)


def plan_on(topology: Topology) -> Plan:
    return solve(topology, [Demand("n0", "n1", 8)], tunnels_per_pair=1)


def line_collections(plan: Plan) -> list[LineCollection]:
    """Return the lines of links without traffic, and of those with traffic."""
    return [each for each in plan_figure(plan).axes[0].collections if isinstance(each, LineCollection)]


@pytest.mark.parametrize("suffix", list(KINDS))
def test_the_suffix_says_what_is_drawn_and_the_same_plan_makes_the_same_bytes(suffix: str) -> None:
    plan = plan_on(ring(5))
    picture = plan_picture(plan, suffix)
    assert picture.startswith(KINDS[suffix])
    assert plan_picture(plan, suffix) == picture


def test_every_link_is_a_line_and_those_in_use_have_the_colour_of_their_utilisation() -> None:
    unused, used = line_collections(plan_on(ring(5)))
    assert len(unused.get_segments()) == 9
    assert len(used.get_segments()) == 1
    array = used.get_array()
    assert array is not None
    assert array.tolist() == pytest.approx([0.8])
    assert used.get_clim() == (0, 1)


def test_nodes_and_utilisations_are_named() -> None:
    texts = {text.get_text() for text in plan_figure(plan_on(ring(5))).axes[0].texts}
    assert texts == {"n0", "n1", "n2", "n3", "n4", "80%"}


def test_traffic_keeps_to_the_right_of_its_cable() -> None:
    topology = Topology("pair", ("n0", "n1"), (Link("n0", "n1", 10.0), Link("n1", "n0", 10.0)))
    plan = solve(topology, [Demand("n0", "n1", 8)])
    back, there = (each.get_segments()[0] for each in line_collections(plan))
    # For a link from left to right the right-hand side is below.
    assert there[0][0] < there[1][0]
    assert there[0][1] < back[0][1]


def test_an_arrow_points_along_each_link_in_use() -> None:
    topology = Topology("pair", ("n0", "n1"), (Link("n0", "n1", 10.0), Link("n1", "n0", 10.0)))
    plan = solve(topology, [Demand("n0", "n1", 8)])
    line = line_collections(plan)[1].get_segments()[0]
    (arrows,) = [each for each in plan_figure(plan).axes[0].collections if isinstance(each, PolyCollection)]
    (arrow,) = [path.vertices for path in arrows.get_paths()]
    tip, *base = np.asarray(arrow)[:3]
    assert line[0][0] < max(x for x, _ in base) < tip[0] < line[1][0]
    assert tip[1] == pytest.approx(line[0][1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("names", [("Zürich $1$", "b"), ("a" * 50, "$"), ("東京", "大阪")])
def test_names_are_drawn_as_they_are(names: tuple[str, str]) -> None:
    topology = Topology("one link", names, (Link(*names, 10.0),))
    assert plan_picture(solve(topology, [Demand(*names, 8)]), ".png")


@pytest.mark.parametrize("size", [2, 160, 320])
def test_large_networks_and_those_in_parts_are_drawn(size: int) -> None:
    whole = ring(size) if size > 2 else ring(3)
    links = whole.links[:2] if size == 2 else whole.links
    assert plan_picture(plan_on(Topology("net", whole.nodes, links)), ".png")
