"""The watch over boxes, whose answers are the tests' own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.framework.metrics.tally import Distribution, Labels
from testbed.boxes import watch
from testbed.boxes.inventory import Box, BoxInventory, SwitchBox, read_inventory
from testbed.boxes.watch import PREFIX, RECONNECT_SECONDS, BoxesWatch
from tests.testbed.boxes.inventory_files import inventory_file

SESSION = "---- {} ----\n  Forwarding: {}\n  Local Session State: up\n  Local Diagnostic: No Diagnostic\n"


class Boxes:
    """Imitates the fleet: boxes of Fig. 1 with hosts at s1 and s4; `silent` ones do not answer."""

    def __init__(self, inventory: BoxInventory) -> None:
        self.inventory = inventory
        self.silent: set[str] = set()
        self.cut: set[tuple[str, str]] = set()
        self.connected = 0
        self.has_queues = True

    def connect(self) -> None:
        self.connected += 1

    def close(self) -> None:
        pass

    def ask_each(
        self, action: str, arguments: Callable[[Box], dict[str, Any] | None], _seconds: float
    ) -> tuple[dict[str, Any], dict[str, str]]:
        answers = {}
        for box in self.inventory.boxes:
            given = arguments(box)
            if given is not None and box.name not in self.silent:
                answers[box.name] = 0.0 if action == "clock" else self._shown(box, given["argv"])
        return answers, dict.fromkeys(self.silent, "no answer")

    def _shown(self, box: Box, argv: list[str]) -> str:
        assert isinstance(box, SwitchBox)
        if "bfd/show" in argv:
            return SESSION.format("one", "true") + (SESSION.format("two", "false") if box.node == "s1" else "")
        if argv[0] == "ip":
            flags = {other: ["UP"] if (box.node, other) in self.cut else ["UP", "LOWER_UP"] for other in box.links}
            return json.dumps([{"ifname": box.links[other], "flags": flags[other]} for other in box.links])
        leaves = [
            {"dev": device, "parent": f"1:{leaf}", "packets": leaf, "bytes": 100 * leaf, "drops": 0, "qlen": 2}
            for device in box.links.values()
            for leaf in (1, 2, 3)
        ]
        return json.dumps([{"dev": "other", "kind": "noqueue"}, *(leaves if self.has_queues else [])])


@pytest.fixture
def boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boxes:
    made = Boxes(read_inventory(inventory_file(tmp_path, {"address": "127.0.0.1"})))
    monkeypatch.setattr(watch, "Fleet", lambda _: made)
    return made


class Watch:
    """A watch with a clock of its own, and what it has reported."""

    def __init__(self, boxes: Boxes) -> None:
        self.now = 100.0
        self.said: list[tuple[str, str, bool]] = []
        self.watch = BoxesWatch(boxes.inventory, lambda *words: self.said.append(words), lambda: self.now)

    def look(self) -> list[tuple[str, str, bool]]:
        """Look a second later; return what was reported."""
        self.now += 1
        self.said = []
        self.watch.look()
        return self.said

    def values(self, name: str) -> dict[Labels, float | Distribution]:
        return {metric.name: dict(values) for metric, values in self.watch.tally.read()}[f"{PREFIX}_{name}"]


def test_everything_is_read_and_nothing_reported_while_all_is_well(boxes: Boxes) -> None:
    seen = Watch(boxes)
    assert seen.look() == seen.look() == []
    assert boxes.connected == 1
    assert set(seen.values("box_up").values()) == {1}
    assert (seen.values("links"), seen.values("links_down")) == ({(): 5}, {(): 0})
    assert seen.values("queue_sent_bytes_total")["s1", "s2", "normal"] == 200
    assert len(seen.values("queue_dropped_packets_total")) == 2 * 5 * 3
    assert seen.values("bfd_session_ends") == {("up",): 4, ("down",): 1}


def test_a_link_is_down_if_either_end_is_and_each_change_is_reported_once(boxes: Boxes) -> None:
    seen = Watch(boxes)
    boxes.cut.add(("s2", "s1"))
    assert [seen.look(), seen.look()] == [[("link", "s1-s2", False)], []]
    assert seen.values("links_down") == {(): 1}
    assert seen.values("link_up")["s1-s2",] == 0
    boxes.cut.clear()
    assert seen.look() == [("link", "s1-s2", True)]


def test_a_box_that_does_not_answer_is_reported_with_its_links_and_sought_again_later(boxes: Boxes) -> None:
    seen = Watch(boxes)
    seen.look()
    boxes.silent.add("switch s1")
    down = seen.look()
    assert ("box", "switch s1", False) in down
    assert {name for kind, name, _ in down if kind == "link"} == {"s1-s2", "s1-s3", "s1-s4"}
    assert ("s1", "s2", "normal") not in seen.values("queue_sent_bytes_total")
    boxes.silent.clear()
    seen.look()
    assert boxes.connected == 1  # answers again by itself
    boxes.silent.add("host s4")
    seen.look()
    seen.now += RECONNECT_SECONDS
    seen.look()
    assert boxes.connected == 2


def test_boxes_that_are_not_set_up_have_no_queues(boxes: Boxes) -> None:
    boxes.has_queues = False
    seen = Watch(boxes)
    seen.look()
    assert seen.values("queue_sent_bytes_total") == {}
