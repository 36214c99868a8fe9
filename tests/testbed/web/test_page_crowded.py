"""The page with a network of many nodes on a phone: names that are shown can be read, and the controls fit."""

from __future__ import annotations

import shutil
from random import Random

import pytest

for module in ("httpx", "playwright", "starlette", "uvicorn"):
    pytest.importorskip(module, reason=f"no {module}, which ./run test installs")

from playwright.sync_api import ViewportSize  # noqa: E402  # may be missing

from benchmarks.networks import dense  # noqa: E402
from simulator.live.flow_model import LiveFlowModel  # noqa: E402  # needs NumPy only
from te_solver.model.demands import Demand  # noqa: E402
from te_solver.solve import solve  # noqa: E402
from testbed.web.model_backend import ModelBackend  # noqa: E402  # needs starlette
from tests.testbed.web.browsing import browsing, serving, visiting  # noqa: E402  # needs all

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian package chromium)")

NODES, LINKS = 60, 200
PHONE: ViewportSize = {"width": 390, "height": 800}
BOXES = """() => {
    const { cy } = document.querySelector('.drawing')._cyreg;
    const box = ({ x1, x2, y1, y2 }) => [x1, x2, y1, y2];
    cy.nodes().boundingBox();
    const named = cy.nodes().filter(node => node.data('label'));
    return {
        labels: named.map(node => [node.data('name'), ...box(node[0]._private.labelBounds.main)]),
        nodes: cy.nodes().map(node => [node.data('name'), ...box(node.boundingBox({ includeLabels: false }))]),
        wide: cy.width(),
    };
}"""
"""Returns the rectangles of names and of nodes: left, right, top, bottom."""

SLACK = 2.0
"""Pixels that Cytoscape.js adds around a name that it draws."""


def overlap(one: list[float], other: list[float]) -> bool:
    across = min(one[1], other[1]) - max(one[0], other[0])
    along = min(one[3], other[3]) - max(one[2], other[2])
    return across > SLACK and along > SLACK


def test_on_a_phone_names_of_many_nodes_cover_neither_each_other_nor_nodes() -> None:
    assert CHROMIUM is not None
    topology = dense(NODES, LINKS)
    random = Random(1)
    pairs = [random.sample(topology.nodes, 2) for _ in range(5)]
    demands = [Demand(source, target, 40.0) for source, target in pairs]
    model = ModelBackend(
        LiveFlowModel(solve(topology, demands, 1), ("kuijia",)), lambda *_: solve(topology, demands, 1)
    )
    with (
        serving(model) as server,
        browsing(CHROMIUM) as browser,
        visiting(browser, server.url, viewport=PHONE) as visit,
    ):
        assert visit.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        found = visit.page.evaluate(BOXES)
        labels, nodes = ({name: box for name, *box in found[kind]} for kind in ("labels", "nodes"))
        assert len(nodes) == NODES
        assert len(labels) > 0.7 * NODES
        for name, box in labels.items():
            assert box[0] > -SLACK
            assert box[1] < found["wide"] + SLACK
            assert not any(overlap(box, other) for each, other in labels.items() if each != name)
            assert not any(overlap(box, other) for each, other in nodes.items() if each != name)
        assert visit.complaints == []
