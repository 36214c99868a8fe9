"""A long history takes little memory, and says the same of what is the case."""

from __future__ import annotations

import random

from testbed.controllers.application_process import RECENT, Event, EventHistory
from testbed.controllers.controller_process import ControllerLog


class Log(ControllerLog):
    """Events of a controller, remembered in full or as a history does."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def events(self) -> list[Event]:
        return self._events


def drawn(number: int, draw: random.Random) -> Event:
    """Return an event of a network that never calms down."""
    switch, kind = f"s{draw.randrange(6)}", draw.randrange(5)
    base: Event = {"time": float(number), "monotonic": float(number), "number": number}
    if kind == 0:
        return {**base, "event": draw.choice(["switch-ready", "switch-gone"]), "switch": switch}
    if kind == 1:
        state = {"ingress": switch, "path_id": draw.randrange(9), "alive": draw.random() < 0.5}
        return {**base, "event": "tunnel-liveness", **state}
    if kind == 2:
        said = {"problem": f"it is so {number}", "what_to_do": ""}
        word = draw.choice(["problem-found", "problem-gone"])
        return {**base, "event": word, "kind": "link-lost", "switch": switch, "port": draw.randrange(4), **said}
    if kind == 3:
        return {**base, "event": "tables-wrong", "switch": switch, "problem": "an entry is missing"}
    path = draw.choice([[], ["s1", "s2"]])
    return {**base, "event": "restoration", "ingress": switch, "egress": f"s{draw.randrange(6)}", "path": path}


def test_events_of_days_leave_what_is_the_case_and_the_latest_in_their_places() -> None:
    draw, history, everything = random.Random(1), EventHistory(), list[Event]()
    while len(everything) < 7 * RECENT:
        piece = [drawn(len(everything) + number, draw) for number in range(997)]
        everything += piece
        history.extend(piece)
    full, short = Log(everything), Log(history.events)
    assert short.problems() == full.problems()
    assert short.tunnels_told_dead() == full.tunnels_told_dead()
    assert short.pairs_carried() == full.pairs_carried()
    assert short.unfit_switches() == full.unfit_switches()
    assert len(history.events) == len(everything)
    assert history.events[-RECENT:] == everything[-RECENT:]
    kept = {id(event) for event in history.events}
    assert len(kept) < 2 * RECENT + 1000
