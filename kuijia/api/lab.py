"""The client of a live lab: what `kuijia lab web` shows in a browser, for Python programs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from kuijia.api.demands import DemandsLike, load_demands
from kuijia.api.lab_requests import LabError, Server, server_at
from kuijia.api.plan import Plan, PlanLike, load_plan
from kuijia.api.topology import Topology
from kuijia_base.errors import InputError, one_line, quoted
from kuijia_base.option_values import positive_rate
from kuijia_base.options import parsed
from kuijia_base.text import name_in_address
from simulator.live.states import LogEntry
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model import topology as core
from testbed.web.backend import VERSION, Description, SetClock, SetDemands, SetScheme, StartFlow, State
from testbed.web.requests import Done, Liveness, Switch, Verdict
from testbed.web.shapes import from_json, to_json

_LOOK = 0.25
"""Seconds after which a state shows the effect of an action; the server looks five times a second."""

_Shape = TypeVar("_Shape")
_KINDS: dict[str, type[Description | State | LogEntry]] = {"lab": Description, "state": State, "log": LogEntry}


def connect(address: str, token: str | None = None, *, seconds: float = 60.0, ca: str | Path | None = None) -> Lab:
    """Return the live lab whose server is at an address.

    Args:
        address: the link that `kuijia lab web` prints, or its part without the token.
        token: the secret, if the address does not have it.
        seconds: time limit for an answer; an action answers when it is done.
        ca: file with the authority of the server's certificate, for addresses with https; by default this machine's.

    Raises:
        InputError: the address is none, or there is no token.
        LabError: the server does not answer, or refuses the token.
    """
    lab = Lab(server_at(address, token, seconds, ca))
    lab.describe()
    return lab


class Lab:
    """A live lab. Actions return when they are done. Everything raises LabError if the server refuses or is gone."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._acted_at = -math.inf

    def __repr__(self) -> str:
        return f"Lab('{self._server}')"

    def describe(self) -> Description:
        """Return the nodes, links, queues and tunnels, and what the lab can do."""
        data = self._server.ask("GET", "/api/lab")
        if isinstance(data, dict) and data.get("version") != VERSION:
            found = quoted(str(data.get("version")))
            raise LabError(f"{self._server} speaks version {found} of the lab's messages, expected {VERSION}")
        return self._read(Description, data)

    def state(self) -> State:
        """Return the links, queues and flows of now."""
        self._await_news()
        return self._read(State, self._server.ask("GET", "/api/state"))

    def states(self) -> Iterator[State]:
        """Yield states as they change, several a second, until the server ends."""
        for event in self.events():
            if isinstance(event, State):
                yield event

    def events(self, after: int = 0) -> Iterator[Description | State | LogEntry]:
        """Yield descriptions and states when they change, and log entries with a number above `after`.

        Of the entries that are there already come at most the last 500; `log(after)` returns more.
        """
        for kind, data in self._server.follow(f"/api/events?after={after}"):
            if kind == "trouble":
                raise LabError(f"{self._server}: {one_line(str(data))}")
            if kind in _KINDS:
                yield self._read(_KINDS[kind], data)

    def log(self, after: int = 0) -> tuple[LogEntry, ...]:
        """Return the log entries with a number above `after`, oldest first."""
        data = self._server.ask("GET", f"/api/log?after={after}")
        return tuple(self._read(LogEntry, each) for each in (data if isinstance(data, list) else [data]))

    def plan(self) -> Plan | None:
        """Return the plan in force, None after it was withdrawn."""
        try:
            data = self._server.ask("GET", "/api/plan")
        except LabError as error:
            if error.status == 404:
                return None
            raise
        return Plan.of(plan_from_json(data, str(self._server)))

    def topology(self) -> Topology:
        data = self._server.ask("GET", "/api/topology")
        try:
            links = [(each["source"], each["target"], each["capacity"], each.get("delay", 0)) for each in data["links"]]
            made = tuple(core.Link(str(a), str(b), float(rate), float(delay)) for a, b, rate, delay in links)
            return Topology.of(core.Topology(str(data["name"]), tuple(map(str, data["nodes"])), made))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise LabError(f"{self._server}: the answer is no topology") from error

    def liveness(self) -> Liveness:
        """Return which links, nodes and tunnels work."""
        self._await_news()
        return self._read(Liveness, self._server.ask("GET", "/api/liveness"))

    def verify(self, plan: PlanLike) -> Verdict:
        """Return the promises that a plan would break, without applying it."""
        return self._read(Verdict, self._server.ask("POST", "/api/verify", plan_to_json(load_plan(plan))))

    def apply(self, plan: PlanLike) -> Done:
        """Verify a plan and put it in force; a LabError has the `findings` if it breaks promises."""
        return self._act("PUT", "/api/plan", plan_to_json(load_plan(plan)))

    def withdraw(self) -> Done:
        """Take the plan out of force."""
        return self._act("DELETE", "/api/plan")

    def demand(self, demands: DemandsLike) -> Done:
        """Solve for other demands in any form, see `load_demands`, and put the plan in force."""
        asked = load_demands(demands, self.topology())
        rows = ((each.source, each.target, each.rate, each.priority) for each in asked)
        return self._act("PUT", "/api/demands", to_json(SetDemands(tuple(rows))))

    def cut(self, a: str, b: str) -> Done:
        """Cut the link between two nodes."""
        return self._switch_link(a, b, up=False)

    def heal(self, a: str, b: str) -> Done:
        """Restore the link between two nodes."""
        return self._switch_link(a, b, up=True)

    def stop_node(self, name: str) -> Done:
        """Take a node down."""
        return self._switch_node(name, up=False)

    def start_node(self, name: str) -> Done:
        """Restore a node."""
        return self._switch_node(name, up=True)

    def start_flow(
        self,
        source: str,
        target: str,
        rate: float | str,
        *,
        kind: Literal["udp", "tcp"] = "udp",
        seconds: float = 60.0,
        priority: int = 0,
    ) -> str:
        """Send traffic in addition to the demands, in Mbit/s or as in "1.5G"; return the flow's id."""
        mbits = parsed("rate", rate, positive_rate) if isinstance(rate, str) else rate
        flow = StartFlow(source, target, mbits, kind, seconds, priority)
        return str(self._act("POST", "/api/flows", to_json(flow)).done.get("id", ""))

    def stop_flow(self, flow: str) -> Done:
        """Stop a flow that `start_flow` has started."""
        return self._act("DELETE", f"/api/flows/{quote(flow, safe='')}")

    def show_schemes(self, *schemes: str) -> Done:
        """Choose the failure schemes of a model, which shows several side by side.

        Real labs have the one of `kuijia lab up --scheme`, and recordings theirs; both refuse.
        """
        return self._act("PUT", "/api/scheme", to_json(SetScheme(schemes)))

    def set_clock(self, *, speed: float | None = None, paused: bool | None = None, moment: float | None = None) -> Done:
        """Set the speed of a model's or recording's clock, or hold it; `moment` is for recordings. Real labs refuse."""
        return self._act("PATCH", "/api/clock", to_json(SetClock(speed, paused, moment)))

    def _switch_node(self, name: str, *, up: bool) -> Done:
        part = quote(name_in_address(name), safe="")
        return self._act("PATCH", f"/api/nodes/{part}", to_json(Switch(up=up)))

    def _switch_link(self, a: str, b: str, *, up: bool) -> Done:
        links = self.describe().links
        found = next((link.id for link in links if {link.a, link.b} == {a, b}), None)
        if found is None:
            ends = ", ".join(f"{link.a}-{link.b}" for link in links[:20])
            raise InputError(str(self._server), f"link {a}-{b}", "there is no such link", f"one of {ends}")
        return self._act("PATCH", f"/api/links/{quote(found, safe='')}", to_json(Switch(up=up)))

    def _act(self, method: str, path: str, body: Any = None) -> Done:  # noqa: ANN401  # JSON
        try:
            return self._read(Done, self._server.ask(method, path, body))
        finally:
            self._acted_at = time.monotonic()

    def _await_news(self) -> None:
        """Wait until the server looks at the lab again, so that our own last action shows."""
        time.sleep(max(self._acted_at + _LOOK - time.monotonic(), 0.0))

    def _read(self, shape: type[_Shape], data: object) -> _Shape:
        try:
            return from_json(shape, data, str(self._server))
        except InputError as error:
            raise LabError(f"{self._server}: the answer is not that of a lab ({error.problem})") from error
