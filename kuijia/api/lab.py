"""The client of a live lab, for Python programs: what `kuijia lab web` shows in a browser."""

from __future__ import annotations

import http.client
import json
import math
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

from kuijia.api.demands import DemandsLike, load_demands
from kuijia.api.names import SchemeName
from kuijia.api.plan import Plan, PlanLike, load_plan
from kuijia.api.topology import Topology
from kuijia_base.errors import InputError, KuijiaError, one_line, quoted
from kuijia_base.option_values import positive_rate
from kuijia_base.options import bad_option, parsed
from kuijia_base.text import name_in_address
from simulator.live.states import LogEntry
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model import topology as core
from testbed.lab.shapes import from_json, to_json
from testbed.web.backend import VERSION, Description, SetClock, SetDemands, SetScheme, StartFlow, State
from testbed.web.requests import Done, Liveness, Switch, Verdict

LONGEST_ANSWER = 1 << 28
"""Bytes of an answer, and of an event."""

SILENCE = 30.0
"""Seconds without a byte after which a stream of events counts as dead: states come several times a second."""

_BAD_INPUT = frozenset({400, 404, 413, 415, 422})
_LONGEST_ERROR = 1000


class LabError(KuijiaError):
    """The server of a lab does not answer, or refuses a request.

    Attributes:
        status: HTTP status; None without an answer.
        findings: broken promises for which a plan was refused, if any.
        exit_status: 2 if the request is at fault, else 1.
    """

    def __init__(self, message: str, status: int | None = None, findings: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.findings = findings
        self.exit_status = InputError.exit_status if status in _BAD_INPUT else KuijiaError.exit_status


@dataclass(frozen=True)
class Server:
    """A server of a live lab, and how to reach it.

    Attributes:
        host, port: where it listens.
        token: its secret.
        seconds: time limit for an answer.
        tls: how it proves who it is; None without TLS.
    """

    host: str
    port: int
    token: str
    seconds: float
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # JSON
        """Return the JSON of an answer; raises LabError."""
        with self._answer(method, path, body, self.seconds) as answer:
            data = self._read(answer, LONGEST_ANSWER + 1)
        return self._data(data)

    def follow(self, path: str) -> Iterator[tuple[str, Any]]:
        """Yield the kind and the JSON of each event of a stream; raises LabError when it ends."""
        with self._answer("GET", path, None, SILENCE) as answer:
            kind = ""
            while line := self._read_line(answer):
                name, _, value = line.rstrip(b"\r\n").partition(b": ")
                if name == b"event":
                    kind = value.decode(errors="replace")
                elif name == b"data":
                    yield kind, self._data(value)
        raise LabError(f"{self} has ended the stream of events")

    @contextmanager
    def _answer(self, method: str, path: str, body: object, seconds: float) -> Iterator[http.client.HTTPResponse]:
        with closing(self._connection(seconds)) as connection:
            headers = {"authorization": f"Bearer {self.token}", "accept": "application/json, text/event-stream"}
            data = None if body is None else json.dumps(body).encode()
            if data is not None:
                headers["content-type"] = "application/json"
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise self._silent(error) from error
            if answer.status != http.HTTPStatus.OK:
                self._refuse(answer)
            yield answer

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if self.tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)

    def _refuse(self, answer: http.client.HTTPResponse) -> NoReturn:
        said = self._read(answer, LONGEST_ANSWER)
        try:
            refusal = json.loads(said)
            reason, found = str(refusal["error"]), refusal.get("findings", ())
            findings = tuple(str(each["text"]) for each in found)
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            reason, findings = f"status {answer.status} without a reason", ()
        raise LabError(f"{self}: {one_line(reason, _LONGEST_ERROR)}", answer.status, findings)

    def _read(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        try:
            return answer.read(most)
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error

    def _read_line(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return answer.readline(LONGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error

    def _data(self, text: bytes) -> Any:  # noqa: ANN401  # JSON
        try:
            return json.loads(text) if len(text) <= LONGEST_ANSWER else self._no_lab()
        except (RecursionError, ValueError):
            self._no_lab()

    def _no_lab(self) -> NoReturn:
        raise LabError(f"{self}: the answer is not that of a lab")

    def _silent(self, error: Exception) -> LabError:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error) or type(error).__name__
        return LabError(f"{self} does not answer: {one_line(reason, _LONGEST_ERROR)}")


def server_at(address: str, token: str | None, seconds: float, ca: str | Path | None) -> Server:
    """Return the server at an address, which may be the printed link with its token.

    Raises:
        InputError: the address is none, there is no token, or the file of authorities cannot be used.
    """
    parts = urlsplit(address)
    token = token or next(iter(parse_qs(parts.fragment).get("token", ())), None)
    try:
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
        host = parts.hostname or ""
    except (KeyError, ValueError):
        host, port = "", 0
    if not host or parts.path.strip("/") or parts.query or parts.username is not None:
        raise bad_option("address", quoted(address), "the link that `kuijia lab web` prints, or its http://HOST:PORT")
    if not token or not (token.isascii() and token.isprintable()):
        raise bad_option("token", "there is none", "the part of the printed link after #token=")
    tls = None
    if parts.scheme == "https":
        try:
            tls = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except OSError as error:
            raise InputError(str(ca), "", f"not usable: {error.strerror or error}", "certificates in PEM") from error
    return Server(host, port, token, seconds, tls)


_LOOK = 0.25
"""Seconds after which a state shows the effect of an action; the server looks five times a second."""

_Shape = TypeVar("_Shape")
_KINDS: dict[str, type[Description | State | LogEntry]] = {"lab": Description, "state": State, "log": LogEntry}


def connect(address: str, token: str | None = None, *, seconds: float = 60.0, ca: str | Path | None = None) -> Lab:
    """Connect to the live lab at an address.

    Args:
        address: the link that `kuijia lab web` prints, or its part without the token.
        token: its token, if the address lacks it.
        seconds: time limit for an answer; actions answer when they are done.
        ca: for https: file with the authority of the server's certificate; by default this machine's authorities.

    Raises:
        InputError: the address cannot be used, or the token is missing.
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
        """Return the current state of links, queues and flows."""
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

    def show_schemes(self, *schemes: SchemeName | str) -> Done:
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
