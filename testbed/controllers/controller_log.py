"""Conclusions from the event log of a controller, or from those of several."""

from __future__ import annotations

from abc import ABC, abstractmethod

from kuijia_app.framework import event_log
from testbed.controllers.application_process import SWITCH_STATES
from testbed.controllers.event_history import Event

_ERRORS = (
    event_log.SWITCH_ERROR,
    event_log.SWITCH_UNFIT,
    event_log.SWITCH_UNKNOWN,
    event_log.SWITCH_DUPLICATE,
    event_log.SWITCH_UNBOUND,
    event_log.SWITCH_DROPPED,
    event_log.ROLE_LOST,
    event_log.PORT_DAMPED,
    event_log.UPDATE_REFUSED,
    event_log.FAILURE,
)


class ControllerLog(ABC):
    """Something that has events of controllers."""

    @abstractmethod
    def events(self) -> list[Event]:
        """Return all events so far, oldest first."""

    def unfit_switches(self) -> set[str]:
        """Return the switches without their tables: not the plan's, or they refused them, or somebody changed them."""
        states = (*SWITCH_STATES, event_log.SWITCH_UNFIT, event_log.SWITCH_REFUSED, event_log.TABLES_WRONG)
        last = {event["switch"]: event["event"] for event in self.events() if event["event"] in states}
        return {switch for switch, state in last.items() if state not in SWITCH_STATES}

    def tunnels_told_dead(self) -> set[int]:
        """Return the path ids of the tunnels that the controller has reported dead to an ingress."""
        told = {
            (event["ingress"], event["path_id"]): event["alive"]
            for event in self.events()
            if event["event"] == event_log.TUNNEL_LIVENESS
        }
        return {path_id for (_, path_id), alive in told.items() if not alive}

    def problems(self) -> list[str]:
        """Return what the controller that acts finds wrong with switches, ports and links now, one line each."""
        found: dict[tuple[object, ...], str] = {}
        for event in self.events():
            if event["event"] == event_log.ROLE_TAKEN:
                found.clear()  # the one that has taken over looks for itself
            elif event["event"] in SWITCH_STATES:
                found.pop((event_log.TABLES_WRONG, event["switch"]), None)
            elif event["event"] == event_log.TABLES_WRONG:
                text = f"switch {event['switch']}: somebody has changed its tables: {event['problem']}"
                found[event_log.TABLES_WRONG, event["switch"]] = text
            elif event["event"] in (event_log.PROBLEM_FOUND, event_log.PROBLEM_GONE):
                key = tuple(event.get(name) for name in ("kind", "switch", "port", "detail"))
                found.pop(key, None)
                if event["event"] == event_log.PROBLEM_FOUND:
                    parts = (f"switch {event['switch']}", event["problem"], event["what_to_do"])
                    found[key] = ": ".join(filter(None, parts))
        return list(found.values())

    def pairs_carried(self) -> dict[tuple[str, str], list[str]]:
        """Return the path of each pair, as ingress and egress, that is carried without a live tunnel."""
        carried: dict[tuple[str, str], list[str]] = {}
        for event in self.events():
            if event["event"] == event_log.ROLE_TAKEN:
                carried.clear()  # the one that has taken over says again which ones it carries
            elif event["event"] == event_log.RESTORATION:
                ends = event["ingress"], event["egress"]
                carried.pop(ends, None)
                if event["path"]:
                    carried[ends] = event["path"]
        return carried

    def errors(self) -> list[Event]:
        """Return what went wrong since the start: refused messages, switches that do not fit, updates given up."""
        return [event for event in self.events() if event["event"] in _ERRORS]
