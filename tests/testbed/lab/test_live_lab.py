"""A lab in the background serves all its clients side by side: real switches, real packets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.lab.lab_client import LabRefusedError, ask, the_running_lab, watch
from testbed.lab.lab_options import SOCKET_NAME
from testbed.web.backend import SetLink, StartFlow, StopFlow
from testbed.web.real_lab import RealLab
from tests.testbed.lab.test_lab import kuijia, no_lab

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

__all__ = ["no_lab"]
SECONDS = 60.0
"""Longest wait for what takes about a second on a machine that is not busy."""


@pytest.fixture
def lab(no_lab: None) -> Iterator[Path]:  # noqa: ARG001  # a fixture of another module
    up = kuijia("lab", "up", "fig1", "fig1", timeout=200)
    assert up.returncode == 0, up.stderr
    yield the_running_lab()
    kuijia("lab", "down")


def until(condition: Callable[[], Any]) -> Any:  # noqa: ANN401  # what the condition returns
    deadline = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


def test_clients_are_served_side_by_side_and_watchers_see_it_all(lab: Path) -> None:
    events: list[dict[str, Any]] = []
    begun = threading.Event()
    watcher = threading.Thread(target=lambda: events.extend(watch(lab, None, begun.set)))
    watcher.start()
    assert begun.wait(SECONDS)

    with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as endless:
        for hostile in (silent, endless):
            hostile.connect(str(lab / SOCKET_NAME))
        endless.sendall(b"[" * 100_000)
        updating = threading.Thread(target=ask, args=(lab, "update"), kwargs={"demands": DEMANDS, "source": "d.csv"})
        updating.start()
        longest = 0.0
        while updating.is_alive():
            asked = time.monotonic()
            assert ask(lab, "status")["faults"] == []
            assert ask(lab, "counters")["faults"] == []
            longest = max(longest, time.monotonic() - asked)
        assert longest < 2.0  # for two requests; an update takes longer

    assert ask(lab, "fail", node="s2")["links"] == [["s2", "s1"], ["s2", "s4"]]
    assert not all(each["alive"] for each in ask(lab, "status")["tunnels"])
    assert until(lambda: [event for event in events if event["kind"] == "group"])
    with pytest.raises(LabRefusedError, match="node s2 is down"):
        ask(lab, "heal", a="s1", b="s2")
    ask(lab, "heal", node="s2")
    assert until(lambda: not ask(lab, "counters")["tunnels_dead"])

    plan = ask(lab, "plan")["plan"]
    ask(lab, "withdraw")
    assert ask(lab, "status")["tunnels"] == []
    ask(lab, "replace", plan=plan, source="plan.json")
    assert len(ask(lab, "status")["tunnels"]) == 3
    ask(lab, "down")
    watcher.join(SECONDS)
    kinds = [event["kind"] for event in events]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {"plan", "node-down", "node-up", "group"} <= set(kinds)
    assert kinds.index("node-down") < kinds.index("node-up")
    assert "fault" not in kinds


DEMANDS = [["s1", "s4", 500.0, 0]]


def test_the_page_shows_a_flow_its_move_and_the_queue_that_it_moves_to(lab: Path) -> None:
    page = RealLab(lab)
    started = page.act(StartFlow("s1", "s4", 4.0, "udp", 300))
    name = started["flow"]

    def flow(role: str) -> Any:  # noqa: ANN401  # the flow, once it is well and has this role
        (view,) = page.state().views
        return next((each for each in view.flows if each.role == role and each.goodput > 3.0 and each.path_ids), None)

    (tunnel,) = until(lambda: flow("untouched")).path_ids
    nodes = next(each.nodes for each in page.describe().tunnels if each.path_id == tunnel)
    assert until(lambda: rate(page, "normal", nodes[0], nodes[1]) > 3.0)
    edge = next(link.id for link in page.describe().links if {link.a, link.b} == set(nodes[:2]))
    page.act(SetLink(edge, up=False))
    (moved,) = until(lambda: flow("victim")).path_ids
    assert moved != tunnel
    after = next(each.nodes for each in page.describe().tunnels if each.path_id == moved)
    assert until(lambda: rate(page, "victim", after[0], after[1]) > 3.0)
    page.act(SetLink(edge, up=True))
    page.act(StopFlow(name))
    assert page.state().views[0].flows == ()
    assert [entry.kind for entry in page.events(0) if entry.kind in ("flow", "cut", "heal")] == [
        "flow",
        "cut",
        "heal",
        "flow",
    ]


def rate(page: RealLab, role: str, a: str, b: str) -> float:
    """Return the Mbit/s from a to b in the queue of a role."""
    queue = next(each.queue for each in page.describe().queues if each.role == role)
    (view,) = page.state().views
    direction = next(each for link in view.links for each in link.directions if (each.from_, each.to) == (a, b))
    return next(load.rate for load in direction.queues if load.queue == queue)
