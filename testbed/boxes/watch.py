"""Watches boxes without changing them: links, queues and BFD sessions, for metrics and for lines about what changes.

A look reads everything from all boxes at the same time, with one order after the other for each box.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from kuijia_app.framework.metrics.tally import Metric, Tally
from kuijia_base.errors import TestbedError
from testbed.boxes.fleet import Fleet
from testbed.boxes.inventory import Box, BoxInventory, SwitchBox
from testbed.network.bfd import parse_bfd_show
from testbed.network.bridges import NetworkOptions
from testbed.network.queue_counters import network_metrics, note_links, note_queues, note_sessions, parse_queue_counters

PREFIX = "kuijia_boxes"

RECONNECT_SECONDS = 10.0
"""Seconds between two attempts to reach boxes that do not answer."""

_ANSWER_SECONDS = 10.0

METRICS = (
    Metric(f"{PREFIX}_boxes", "gauge", "Boxes of the inventory."),
    Metric(f"{PREFIX}_box_up", "gauge", "1 if this box has answered at the latest look.", ("box",)),
    *network_metrics(PREFIX),
    Metric(f"{PREFIX}_look_seconds", "gauge", "Time that the latest look at all boxes took."),
    Metric(f"{PREFIX}_looked_timestamp_seconds", "gauge", "Unix time of the latest look."),
)

Answers = Mapping[str, Any]
"""Box name to its answer."""

Report = Callable[[str, str, bool], None]
"""Takes a kind ("box" or "link"), the name of one, and whether it is up, whenever that has changed."""


class BoxesWatch:
    """Looks at boxes whenever `look` is called; used as a context manager, which closes the connections.

    Args:
        report: takes what has changed since the look before; at first, what is down.
    """

    def __init__(self, inventory: BoxInventory, report: Report, clock: Callable[[], float] = time.monotonic) -> None:
        self.tally = Tally(METRICS)
        self._inventory = inventory
        self._report = report
        self._clock = clock
        self._fleet = Fleet(inventory)
        self._reached_at: float | None = None
        self._all_answer = False
        self._known: dict[tuple[str, str], bool] = {}
        self.tally.set(f"{PREFIX}_boxes", len(inventory.boxes))

    def __enter__(self) -> BoxesWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self._fleet.close()

    def look(self) -> None:
        """Read everything once."""
        began = self._clock()
        self._reach(began)
        names = {box.name for box in self._inventory.boxes}
        clocks, _ = self._fleet.ask_each("clock", lambda _: {}, _ANSWER_SECONDS)
        switches = [self._run(*argv) for argv in (_LINKS, _QUEUES)]
        sessions = self._ask_switches(
            lambda box: ["env", f"OVS_RUNDIR={box.ovs_directory}", "ovs-appctl", "--timeout=5", "bfd/show"]
        )
        self._all_answer = clocks.keys() == names
        for name in sorted(names):
            self.tally.set(f"{PREFIX}_box_up", float(name in clocks), name)
            self._note("box", name, is_up=name in clocks)
        links = link_states(self._inventory, switches[0])
        note_links(self.tally, PREFIX, links)
        for (a, b), is_up in links.items():
            self._note("link", f"{a}-{b}", is_up=is_up)
        note_queues(self.tally, PREFIX, queues_of(self._inventory, switches[1]))
        ends = (end for shown in sessions.values() for end in parse_bfd_show(shown).values())
        note_sessions(self.tally, PREFIX, (end.up for end in ends))
        self.tally.set(f"{PREFIX}_look_seconds", self._clock() - began)
        self.tally.set(f"{PREFIX}_looked_timestamp_seconds", time.time())

    def _reach(self, now: float) -> None:
        """Connect to the boxes, at first and when some have not answered for a while."""
        if self._reached_at is not None and (self._all_answer or now - self._reached_at < RECONNECT_SECONDS):
            return
        self._reached_at = now
        self._fleet.close()
        self._fleet = Fleet(self._inventory)
        self._fleet.connect()

    def _run(self, *argv: str) -> Answers:
        return self._ask_switches(lambda _: list(argv))

    def _ask_switches(self, argv: Callable[[SwitchBox], list[str]]) -> Answers:
        def arguments(box: Box) -> dict[str, object] | None:
            return {"argv": argv(box)} if isinstance(box, SwitchBox) else None

        return self._fleet.ask_each("run", arguments, _ANSWER_SECONDS)[0]

    def _note(self, kind: str, name: str, *, is_up: bool) -> None:
        if self._known.get((kind, name), True) != is_up:
            self._report(kind, name, is_up)
        self._known[kind, name] = is_up


_LINKS = ("ip", "-json", "link", "show")
_QUEUES = ("tc", "-json", "-statistics", "qdisc", "show")


def link_states(inventory: BoxInventory, shown: Answers) -> dict[tuple[str, str], bool]:
    """Return which links are up at both ends, by the output of `ip -json link show` on each switch that answers."""
    running = {
        box.node: {link["ifname"] for link in json.loads(shown[box.name]) if {"UP", "LOWER_UP"} <= set(link["flags"])}
        for box in inventory.switches.values()
        if box.name in shown
    }
    ends = [(box.node, other) for box in inventory.switches.values() for other in box.links]

    def is_up(node: str, other: str) -> bool:
        return node in running and inventory.switches[node].links[other] in running[node]

    return {(a, b): is_up(a, b) and is_up(b, a) for a, b in sorted(ends) if a < b and (b, a) in ends}


def queues_of(inventory: BoxInventory, shown: Answers) -> Iterator[dict[str, Any]]:
    """Yield the counters of all queues by the output of `tc -json qdisc show`; ports without queues have none."""
    layout = NetworkOptions().layout
    for box in inventory.switches.values():
        if box.name not in shown:
            continue
        qdiscs = json.loads(shown[box.name])
        for other, interface in box.links.items():
            its = json.dumps([qdisc for qdisc in qdiscs if qdisc.get("dev") == interface])
            with suppress(TestbedError):  # the boxes are not up
                for counters in parse_queue_counters(interface, its, layout):
                    yield {"switch": box.node, "to": other, **asdict(counters)}
