"""The live lab's application: what it answers, what it refuses, and that no request brings it down."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from kuijia_base.errors import InputError, KuijiaError, TestbedError
from simulator.live.states import LogEntry
from testbed.lab.shapes import schema_of
from testbed.web import app, hub
from testbed.web.access import RATES, Limiter, Rate
from testbed.web.app import make_app
from testbed.web.backend import Action, Description, Finding, State
from testbed.web.bodies import BodyError, parsed
from testbed.web.requests import ENDPOINTS, LARGE, SMALL, Done, Liveness, Refusal
from testbed.web.server import PageLink, Serving
from tests.testbed.web.memory_backend import PLAN, MemoryBackend
from tests.testbed.web.serving import PAGE, TOKEN, served, while_serving


@pytest.fixture
def client() -> Iterator[TestClient]:
    with served(MemoryBackend()) as client:
        yield client


def require(shape: Any, data: object) -> None:  # noqa: ANN401  # any message
    Draft202012Validator(schema_of(shape)).validate(data)


def test_readings_have_the_declared_shapes(client: TestClient) -> None:
    for path, shape in (("lab", Description), ("state", State), ("liveness", Liveness)):
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 200
        require(shape, answer.json())
    assert client.get("/api/plan").json() == PLAN
    assert client.get("/api/topology").json()["name"] == "triangle"
    assert client.get("/api/log").json() == []


def test_a_cut_is_answered_with_its_log_and_seen_by_all(client: TestClient) -> None:
    answer = client.patch("/api/links/s1~s3", json={"up": False})
    assert answer.status_code == 200
    require(Done, answer.json())
    assert [each["kind"] for each in answer.json()["log"]] == ["cut"]
    assert client.get("/api/log?after=0").json() == answer.json()["log"]
    assert client.get("/api/log?after=1").json() == []
    client.patch("/api/links/s1~s3", json={"up": True})
    assert [each["kind"] for each in client.get("/api/log?after=1").json()] == ["heal"]


def test_a_link_may_be_named_from_its_other_end(client: TestClient) -> None:
    done = client.patch("/api/links/s3~s1", json={"up": False}).json()
    assert [each["subject"] for each in done["log"]] == [{"link": "s1~s3"}]
    assert [each["id"] for each in client.get("/api/liveness").json()["links"] if not each["up"]] == ["s1~s3"]


def test_a_plan_is_verified_replaced_and_withdrawn(client: TestClient) -> None:
    assert client.post("/api/verify", json=PLAN).json() == {"sound": True, "findings": []}
    assert client.put("/api/plan", json=PLAN).status_code == 200
    assert client.delete("/api/plan").status_code == 200
    assert client.get("/api/plan").status_code == 404
    refused = client.put("/api/plan", json={"format": "nothing"})
    assert refused.status_code == 422
    assert refused.json()["error"].startswith("plan:format: ")


def test_a_plan_that_breaks_promises_is_not_put_in_force() -> None:
    class Picky(MemoryBackend):
        def verify(self, plan: dict[str, Any]) -> list[Finding]:  # noqa: ARG002  # the interface
            return [Finding("loop", "a packet comes back"), Finding("queue", "the wrong one")]

    with served(backend := Picky()) as client:
        refused = client.put("/api/plan", json={**PLAN, "solver": "another"})
        assert refused.status_code == 409
        require(Refusal, refused.json())
        assert refused.json()["error"] == "the plan breaks 2 promises: a packet comes back"
        assert backend.plan() == PLAN
        assert client.post("/api/verify", json=PLAN).json()["sound"] is False


def test_flows_start_and_stop(client: TestClient) -> None:
    started = client.post("/api/flows", json={"source": "s1", "target": "s2", "rate": 1}).json()
    assert client.delete(f"/api/flows/{started['done']['id']}").status_code == 200
    assert client.delete("/api/flows/none").status_code == 404


def test_what_a_backend_refuses_is_answered_with_its_reason() -> None:
    class Busy(MemoryBackend):
        def act(self, action: Action) -> dict[str, Any]:
            del action
            raise KuijiaError("the lab is being updated")

        def state(self) -> State:
            raise KuijiaError("the lab is gone")

        def plan(self) -> dict[str, Any]:
            raise ZeroDivisionError

    with served(Busy()) as client:
        refused = client.patch("/api/links/s1~s3", json={"up": False})
        assert (refused.status_code, refused.json()) == (409, {"error": "the lab is being updated"})
        assert client.get("/api/state").status_code == 503
        assert client.get("/api/plan").json() == {"error": "the server has a fault: ZeroDivisionError"}
        assert client.get("/api/lab").status_code == 200


def test_a_lab_that_does_not_answer_is_503_for_every_request() -> None:
    class Dead(MemoryBackend):
        def act(self, action: Action) -> dict[str, Any]:
            raise TestbedError(f"lab 1-lab does not answer {type(action).__name__}")

        def verify(self, plan: dict[str, Any]) -> list[Finding]:
            raise TestbedError(f"lab 1-lab does not answer for {plan['format']}")

        def state(self) -> State:
            raise TestbedError("lab 1-lab does not answer")

    with served(Dead()) as client:
        assert client.patch("/api/links/s1~s3", json={"up": False}).status_code == 503
        assert client.post("/api/verify", json=PLAN).status_code == 503
        assert client.get("/api/state").status_code == 503


def test_a_backend_is_asked_only_for_what_it_can_do() -> None:
    class Watched(MemoryBackend):
        def describe(self) -> Description:
            from dataclasses import replace  # noqa: PLC0415  # only here

            return replace(super().describe(), actions=("links",))

    with served(Watched()) as client:
        assert client.patch("/api/links/s1~s3", json={"up": False}).status_code == 200
        assert client.patch("/api/clock", json={"paused": True}).status_code == 409


def test_a_server_that_only_shows_refuses_every_action_and_says_so() -> None:
    with served(MemoryBackend(), view_only=True) as client:
        for each in ENDPOINTS:
            if each.action is not None:
                assert client.request(each.method, each.path, json={}).status_code == 403
        assert client.get("/api/lab").json()["view_only"] is True


def test_nothing_of_the_api_is_open_without_the_token(client: TestClient) -> None:
    for each in ENDPOINTS:
        for header in ("", "Bearer wrong"):
            answer = client.request(each.method, each.path, headers={"authorization": header}, json={})
            assert answer.status_code in {401, 429}
    assert client.get("/", headers={"authorization": ""}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example:8400"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "[::1]:8400", "origin": "http://[::1]:8400"}, 200),
        ({"host": "[::1]:8400", "origin": "http://127.0.0.1:8400"}, 403),
    ],
)
def test_hostile_pages_are_refused_before_anything_happens(headers: dict[str, str], status: int) -> None:
    with served(backend := MemoryBackend()) as client:
        assert client.patch("/api/links/s1~s3", json={"up": False}, headers=headers).status_code == status
        assert len(backend.events(0)) == (status == 200)


def test_no_get_changes_anything(client: TestClient) -> None:
    for each in ENDPOINTS:
        if each.read != "events":
            client.get(each.path.replace("{id}", "s1~s3"))
            client.head(each.path.replace("{id}", "s1~s3"))
    assert client.get("/api/log").json() == []


def test_every_answer_has_the_strict_headers(client: TestClient) -> None:
    for path in ("/", "/api/lab", "/nothing", "/openapi.json"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert "content-security-policy" in client.get("/api/lab", headers={"host": "evil"}).headers


def test_files_of_the_page_are_read_only_and_known_by_their_hash(client: TestClient) -> None:
    first = client.get("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert client.get("/", headers={"if-none-match": first.headers["etag"]}).status_code == 304
    assert client.head("/").status_code == 200
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
        assert client.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"up": false}', "text/plain", 415),
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[" * 100_000, "application/json", 413),
        (b"[" * 20_000, "application/json", 400),
        (b"[" * 103 + b"]" * 103, "application/json", 400),
        (b'{"up": NaN}', "application/json", 400),
        (b'{"up": 1e999}', "application/json", 400),
        (b"1" * 10_000, "application/json", 400),
        (b'{"up": "\\ud800"}', "application/json", 400),
        (b'{"up": 0}', "application/json", 422),
        (b" " * (SMALL + 1), "application/json", 413),
    ],
)
def test_bodies_that_are_no_requests_are_refused(client: TestClient, body: bytes, kind: str, status: int) -> None:
    answer = client.patch("/api/links/s1~s3", content=body, headers={"content-type": kind})
    assert answer.status_code == status
    assert client.get("/api/log").json() == []


def test_a_body_without_a_length_is_cut_off_at_the_limit(client: TestClient) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(LARGE // 2**20 + 1):
            yield b" " * 2**20

    answer = client.put("/api/plan", content=chunks(), headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_too_many_requests_are_told_when_to_come_again() -> None:
    with served(MemoryBackend(), limiter=Limiter({**RATES, "act": Rate(0.1, 2)})) as client:
        answers = [client.patch("/api/clock", json={"paused": True}) for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert int(answers[2].headers["retry-after"]) == 10


def test_more_readers_of_events_than_there_is_room_for_are_told_when_to_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "MOST_READERS", 0)
    with served(MemoryBackend()) as client:
        refused = client.get("/api/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize("path", ["/api/verify", "/api/plan", "/api/demands"])
def test_actions_and_verifications_are_limited_together_before_large_bodies_are_read(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifying, answered = threading.Event(), threading.Event()

    class Slow(MemoryBackend):
        def verify(self, plan: dict[str, Any]) -> list[Finding]:
            verifying.set()
            assert answered.wait(10)
            return super().verify(plan)

    method = next(each.method for each in ENDPOINTS if each.path == path and each.largest == LARGE)
    monkeypatch.setattr(app, "_WORKS_AT_ONCE", 1)
    with served(Slow()) as client, ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.post, "/api/verify", json=PLAN)
        assert verifying.wait(10)
        large = client.request(method, path, content=b"{", headers={"content-type": "application/json"})
        small = client.patch("/api/links/s1~s3", json={"up": False})
        reading = client.get("/api/lab")
        answered.set()
        assert first.result().json()["sound"] is True
        assert [(each.status_code, each.headers["retry-after"]) for each in (large, small)] == [(429, "1")] * 2
        assert reading.status_code == 200
        assert client.patch("/api/links/s1~s3", json={"up": False}).status_code == 200


def test_states_are_taken_at_most_five_times_a_second() -> None:
    with served(backend := MemoryBackend()) as client:
        for _ in range(20):
            client.get("/api/state")
        assert backend.states <= 2


_PIECES = st.one_of(
    st.sampled_from(["api", "links", "nodes", "flows", "s1~s3", "log", "plan", "..", "%2e%2e", "%00", "openapi.json"]),
    st.text(max_size=5),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["up", "demands", "rate", "source", "plan", "speed", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


_SERVED: Any = make_app(MemoryBackend(), TOKEN, files=PAGE, limiter=Limiter(dict.fromkeys(RATES, Rate(1e9, 1e9))))


@settings(max_examples=80, deadline=None)
@given(
    method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"]),
    path=st.one_of(
        st.lists(_PIECES, max_size=4).map("/".join),
        st.sampled_from([each.path[1:] for each in ENDPOINTS if each.read != "events"]),
    ),
    query=st.binary(max_size=8),
    body=st.one_of(st.binary(max_size=20), _JSON.map(json.dumps).map(str.encode)),
    headers=st.dictionaries(
        st.sampled_from([b"content-type", b"origin", b"if-none-match", b"content-length", b"x", b"host"]),
        st.sampled_from([b"application/json", b"", b"null", b"*", b"-1", b"7", b"\xff"]),
        max_size=2,
    ),
)
def test_no_request_is_the_servers_fault(
    method: str, path: str, query: bytes, body: bytes, headers: dict[bytes, bytes]
) -> None:
    status = asyncio.run(status_of(method, f"/{path}", query, body, headers))
    assert 200 <= status < 500


async def status_of(  # the parts of a request
    method: str,
    path: str,
    query: bytes,
    body: bytes,
    headers: dict[bytes, bytes],
    receiving: Callable[[], Coroutine[Any, Any, dict[str, Any]]] | None = None,
) -> int:
    """Return the status of the answer to a request, as a server hands it to the application."""
    given_headers = {
        b"host": b"127.0.0.1:8400",
        b"authorization": b"Bearer " + TOKEN.encode(),
        b"content-type": b"application/json",
        **headers,
    }
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": quote(b"after=" + query, safe="=&").encode(),
        "root_path": "",
        "headers": list(given_headers.items()),
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8400),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await _SERVED(scope, receiving or receive, send)
    return int(sent[0]["status"])


def test_a_client_that_leaves_within_its_body_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    assert asyncio.run(status_of("PATCH", "/api/links/s1~s3", b"", b"", {}, gone)) == 400
    assert capsys.readouterr().err == ""


def test_others_are_answered_while_a_large_body_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, answered = threading.Event(), threading.Event()

    def slowly(body: bytes) -> object:
        begun.set()
        assert answered.wait(10)
        return json.loads(body)

    async def work() -> int:
        monkeypatch.setattr(app, "parsed", slowly)
        large = asyncio.create_task(status_of("PATCH", "/api/links/s1~s3", b"", b'{"up": true}', {}))
        await asyncio.to_thread(begun.wait, 10)
        assert await status_of("GET", "/api/lab", b"", b"", {}) == 200
        assert not large.done()
        answered.set()
        return await large

    assert asyncio.run(work()) in {200, 409}


def test_entries_and_errors_name_the_request_at_fault(client: TestClient) -> None:
    answer = client.put("/api/demands", json={"demands": [["s1", "s2", "x", 0]]})
    assert answer.json() == {"error": "request:demands[0][2]: found 'x', expected a finite number"}
    assert client.get("/api/log?after=x").status_code == 422
    entry = LogEntry(1, 0.0, None, "fault", "words")
    require(LogEntry, {"seq": entry.seq, "time": 0, "view": None, "kind": "fault", "text": "words", "subject": {}})
    assert issubclass(InputError, KuijiaError)


@pytest.mark.parametrize("digits", [400, 4000, 5000])
@pytest.mark.parametrize(("method", "path"), [("PUT", "/api/plan"), ("POST", "/api/verify"), ("PUT", "/api/demands")])
def test_a_number_of_very_many_digits_is_refused(client: TestClient, method: str, path: str, digits: int) -> None:
    demands = {"demands": [{"source": "s1", "target": "s4", "rate": 10}]}
    data = json.dumps({**PLAN, "objective_value": 77} if path != "/api/demands" else demands)
    body = data.replace("77" if path != "/api/demands" else "10", "9" * digits)
    answer = client.request(method, path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize("piece", [b"[],", b'{"a":0},', b'"ab",', b"1,", b"[[[]]],"])
def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(piece: bytes, client: TestClient) -> None:
    """30 MB of empty lists would be 10 million objects, some 600 MB."""
    body = b"[" + piece * (30_000_000 // len(piece)) + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(BodyError, match="more than 1000000 values"):
            parsed(body)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    few = b"[" + piece * 100_000 + b"0]"
    answer = client.put("/api/plan", content=few, headers={"content-type": "application/json"})
    assert answer.status_code == 422


def asked(link: PageLink, head: str, body: str = "", length: int | None = None) -> socket.socket:
    """Return a connection on which a request has been sent, perhaps with less of its body than announced."""
    connection = socket.create_connection((link.address, link.port), timeout=10)
    fields = f"Authorization: Bearer {link.token}\r\nContent-Type: application/json"
    size = len(body) if length is None else length
    connection.sendall(f"{head}\r\n{fields}\r\nContent-Length: {size}\r\n\r\n{body}".encode())
    return connection


def status(connection: socket.socket) -> int:
    return int(connection.recv(4096).split()[1])


def test_large_bodies_that_come_slowly_keep_no_small_action_waiting() -> None:
    def act(link: PageLink) -> None:
        host = f"Host: 127.0.0.1:{link.port}"
        large = f"PUT /api/plan HTTP/1.1\r\n{host}"
        with ExitStack() as connections:
            slow = [
                connections.enter_context(asked(link, large, "{", length=2)) for _ in range(app._LARGE_BODIES_AT_ONCE)
            ]
            deadline = time.monotonic() + 10
            while status(connections.enter_context(asked(link, large, "{", length=2))) != 429:
                assert time.monotonic() < deadline
            small = asked(link, f"PATCH /api/links/s1~s3 HTTP/1.1\r\n{host}", '{"up": false}')
            assert status(connections.enter_context(small)) == 200
            for connection in slow:
                connection.sendall(b"}")
            assert [status(connection) for connection in slow] == [422] * len(slow)

    while_serving(Serving(port=0), act)


@pytest.mark.parametrize(
    ("scheme", "host", "path", "expected"),
    [
        ("http", "127.0.0.1:8400", "/api/lab", 200),
        ("HTTP", "127.0.0.1:8400", "/api/lab?x=1", 200),
        ("http", "127.0.0.1:8400", "", 200),
        ("http", "rebound.example", "/api/lab", 421),
    ],
)
def test_a_request_in_absolute_form_is_answered_as_one_to_its_host(
    scheme: str, host: str, path: str, expected: int
) -> None:
    """The host of the target counts, whatever the header says: RFC 9112, 3.2.2."""

    def act(link: PageLink) -> None:
        target = f"{scheme}://{host.replace('8400', str(link.port))}{path}"
        with asked(link, f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{link.port}") as connection:
            assert status(connection) == expected

    while_serving(Serving(port=0), act)
