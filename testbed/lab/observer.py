"""Watches a running lab and adds to its journal what happens without a request, or because of one but elsewhere.

That is: what the controller logs, tunnels that die and live again, links that somebody else has cut, flows that end,
and parts that break.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kuijia_app.framework import event_log
from kuijia_app.tables.options import Tagging
from kuijia_base.errors import TestbedError
from kuijia_base.text import link_id
from testbed.controllers.application_process import SWITCH_STATES, Event
from testbed.controllers.controller_set import ControllerSet, LabController
from testbed.lab.journal import Kind, LabJournal
from testbed.lab.state import observed
from testbed.lab.workers import LabWorkers

if TYPE_CHECKING:
    from testbed.lab.lab import Lab

INTERVAL = 0.2
"""Seconds between two looks."""

_END_SECONDS = 5.0
_QUEUES_EVERY, _MARKS_EVERY = 5, 25
"""Looks from one examination of all queues to the next, and from one observation of the flows' packets to the next."""

_MARK_SECONDS = 0.5
_LISTED_TUNNELS = 3
_READY, _GONE = "is connected and programmed", "has lost its connection to the controller"
_TEXTS: Mapping[str, tuple[Kind, str]] = {
    event_log.UPDATE_STARTED: ("plan", "the controller rolls out a new plan"),
    event_log.UPDATE_LIVE: ("plan", "every ingress follows the new plan"),
    event_log.ROLE_TAKEN: ("controller", "controller {controller} acts from now on"),
    event_log.ROLE_YIELDED: ("controller", "controller {controller} stands by from now on: {reason}"),
    event_log.SUCCESSOR_READY: ("controller", "another controller could take over from controller {controller}"),
    event_log.SUCCESSOR_GONE: ("controller", "no other controller could take over from controller {controller}"),
    event_log.HANDOVER_REFUSED: ("controller", "controller {controller} has not handed over: {reason}"),
}
_TOLD_BY_OTHERS = (event_log.UPDATE_DONE, event_log.PORT_STATUS, event_log.SWITCH_NOT_OURS)


@dataclass(frozen=True)
class _Seen:
    """Findings of a look: links up by edge, dead tunnels, faults, and how often links had been switched by then."""

    links_up: Mapping[frozenset[str], bool]
    dead: frozenset[int]
    faults: frozenset[str]
    switched: int


def _restoration_text(event: Event) -> str:
    """Return the state of a pair without a live tunnel."""
    pair, path = f"{event['ingress']} to {event['egress']}", "-".join(event["path"])
    if path:
        return f"{pair} has no live tunnel: carried over {path}"
    return f"{pair} has a live tunnel again" if event["state"] == "ended" else f"{pair} has no live tunnel and no path"


class Spotter:
    """A thread that looks every `INTERVAL` seconds, from `start` to `end`; also used as a context manager."""

    def __init__(self, lab: Lab, journal: LabJournal) -> None:
        self._lab = lab
        self._journal = journal
        self._ended = threading.Event()
        self._known_events = len(lab.controller.events())
        self._ready = set(lab.controller.programmed_switches())
        self._acting = _acting(lab.controller)
        self._looks = 0
        self._flows: set[str] = set()
        self._marked = lab.options.tagging != Tagging.DSCP_ECN.value
        self._last = self._look()
        self._thread = threading.Thread(target=self._run, name="spotter", daemon=True)
        self._marker = LabWorkers("marks", 1)

    def __enter__(self) -> Spotter:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop watching; has no effect once it has ended."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join(_END_SECONDS)
            self._marker.end(_END_SECONDS)

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            self.turn()

    def turn(self) -> None:
        """Look once, and add what has changed since the last look."""
        self._looks += 1
        try:
            self._tell_of_controller()
            seen = self._look()
        except TestbedError as error:
            seen = _Seen(self._last.links_up, self._last.dead, frozenset([str(error)]), self._last.switched)
        self._tell_of_links(seen)
        self._tell_of_tunnels(seen)
        for fault in sorted(seen.faults - self._last.faults):
            self._journal.add("fault", fault)
        changed = seen.dead != self._last.dead
        self._last = seen
        self._tell_of_flows(changed=changed)

    def _look(self) -> _Seen:
        switched = self._lab.switched
        with_queues = self._looks % _QUEUES_EVERY == 0
        links_up, dead, found = observed(self._lab, with_queues=with_queues)
        faults = set(found)
        if not with_queues:
            faults |= self._last.faults
        if switched % 2 or switched != self._lab.switched:  # a request is switching links
            return _Seen(self._last.links_up, frozenset(dead), frozenset(faults), -1)
        return _Seen(links_up, frozenset(dead), frozenset(faults), switched)

    def _tell_of_links(self, seen: _Seen) -> None:
        if seen.switched != self._last.switched:  # by requests, which add their own events
            return
        for a, b in self._lab.plan.topology.edges:
            up = seen.links_up[frozenset((a, b))]
            if up != self._last.links_up[frozenset((a, b))]:
                text = f"link {a}-{b} is {'up' if up else 'down'}, which nobody asked the lab for"
                self._journal.add("heal" if up else "cut", text, {"link": link_id(a, b)})

    def _tell_of_tunnels(self, seen: _Seen) -> None:
        nodes_of = {tunnel.path_id: tunnel.nodes for tunnel in self._lab.plan.tunnels}
        for ids, alive in ((seen.dead - self._last.dead, False), (self._last.dead - seen.dead, True)):
            known = sorted(path_id for path_id in ids if path_id in nodes_of)
            if known:
                named = [f"{path_id} ({'-'.join(nodes_of[path_id])})" for path_id in known]
                text = f"{_tunnels(named)} {_state(named, alive=alive)}"
                self._journal.add("group", text, {"tunnels": known}, {"alive": alive})

    def _tell_of_controller(self) -> None:
        events = self._lab.controller.events()
        new, self._known_events = events[self._known_events :], len(events)
        told: dict[tuple[str, bool], list[Event]] = {}
        for event in new:
            if event["event"] == event_log.TUNNEL_LIVENESS:
                told.setdefault((event["ingress"], event["alive"]), []).append(event)
                continue
            found = self._words(event)
            if found is not None:
                kind, text = found
                details = {key: value for key, value in event.items() if key not in ("time", "event")}
                self._journal.add(kind, text, {}, {"event": event["event"], **details}, at=event["time"])
        for (ingress, alive), of_ingress in told.items():
            ids = sorted({event["path_id"] for event in of_ingress})
            text = f"the controller told {ingress} that {_tunnels(ids)} {_state(ids, alive=alive)}"
            details = {"ingress": ingress, "alive": alive}
            self._journal.add("controller", text, {"tunnels": ids}, details, at=of_ingress[-1]["time"])

    def _words(self, event: Event) -> tuple[Kind, str] | None:
        """Return kind and text of an event of the controller, None for one that is reported elsewhere."""
        switch, name = event.get("switch", ""), event["event"]
        if name in SWITCH_STATES:
            # The controller says so again when it has changed a switch's tables.
            ready = name == event_log.SWITCH_READY
            if ready == (switch in self._ready):
                return None
            (self._ready.add if ready else self._ready.discard)(switch)
            return "controller", f"switch {switch} {_READY if ready else _GONE}"
        if name in _TEXTS:
            kind, text = _TEXTS[name]
            return kind, text.format_map(event) + self._taken_over(event)
        if name in (event_log.RESTORATION, event_log.UPDATE_REFUSED):
            given_up = f"the update was given up: {event.get('reason', 'no reason')}"
            is_pair = name == event_log.RESTORATION
            return ("controller", _restoration_text(event)) if is_pair else ("plan", given_up)
        if name in _TOLD_BY_OTHERS:
            return None
        said = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("time", "event"))
        return "fault", f"the controller reports {name}: {said}"

    def _taken_over(self, event: Event) -> str:
        """Return which controller acted before the one that says it acts now; nothing if none did."""
        if event["event"] != event_log.ROLE_TAKEN:
            return ""
        before, self._acting = self._acting, event["controller"]
        return f", after controller {before}" if before not in (None, self._acting) else ""

    def _tell_of_flows(self, *, changed: bool) -> None:
        for end in self._lab.flows.measure():
            text = f"flow {end.flow} has ended" if end.failure is None else f"flow {end.flow} failed: {end.failure}"
            self._journal.add("flow" if end.failure is None else "fault", text, {"flow": end.flow})
        flows = {flow["flow"] for flow in self._lab.flows.describe()}
        if flows and self._marked and (changed or flows != self._flows or self._looks % _MARKS_EVERY == 0):
            self._marked = False
            self._marker.do(self._watch_marks)
        self._flows = flows

    def _watch_marks(self) -> None:
        """Find the tunnels of the flows; what cannot be seen stays unknown."""
        try:
            self._lab.flows.watch_marks(_MARK_SECONDS)
        except TestbedError as error:
            self._journal.add("fault", f"the tunnels of flows cannot be seen: {error}")
        self._marked = True


def _acting(controller: LabController) -> int | None:
    """Return the number of the controller that acts, None if none does or there is one only."""
    members = controller.describe() if isinstance(controller, ControllerSet) else []
    return next((member["number"] for member in members if member["acts"]), None)


def _tunnels(named: Sequence[object]) -> str:
    shown = ", ".join(map(str, named[:_LISTED_TUNNELS]))
    more = f" and {len(named) - _LISTED_TUNNELS} more" if len(named) > _LISTED_TUNNELS else ""
    return f"{'tunnel' if len(named) == 1 else 'tunnels'} {shown}{more}"


def _state(named: Sequence[object], *, alive: bool) -> str:
    return f"{'is' if len(named) == 1 else 'are'} {'alive' if alive else 'dead'}"
