"""The background service answers every request that can be answered and outlives every one of its clients."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kuijia_base.errors import InputError
from testbed.lab.clients import LabClients
from testbed.lab.lab import Lab
from testbed.lab.lab_options import Order
from testbed.lab.lab_service import _listener
from testbed.lab.serving import BrokenLabError, LabServer, refused
from tests.kuijia_app.plans import motivation_plan
from tests.testbed.make_believe_lab import MakeBelieveLab


class FakeLab(Lab):
    """Does nothing, and says so."""

    def __init__(self) -> None:
        self.running = True

    @property
    def is_running(self) -> bool:
        return self.running

    def status(self) -> dict[str, Any]:
        return {"lab": "fake", "padding": "x" * 1_000_000}

    def heal(self, a: str, b: str) -> Any:  # noqa: ANN401
        raise InputError("testbed", f"link {a}-{b}", "the link is up already", "one that is down")

    def stop(self) -> None:
        self.running = False


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with _listener(tmp_path / "lab.sock") as listener:
        yield listener


@contextmanager
def received(listener: socket.socket, **limits: Any) -> Iterator[LabClients]:  # noqa: ANN401
    with LabClients(listener, refused, **limits) as reception:
        yield reception


@pytest.fixture
def reception(listener: socket.socket) -> Iterator[LabClients]:
    with received(listener, patience=0.5) as reception:
        yield reception


def answer_one(lab: Lab, reception: LabClients) -> bool:
    """Carry one request out and answer it; return False after the last one."""
    service = LabServer(lab, reception)
    try:
        service.turn()
        while service.is_busy:
            service.turn()
    finally:
        service.close()
    return lab.is_running


def client(listener: socket.socket, said: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    connection.connect(listener.getsockname())
    connection.sendall(said)
    return connection


def answer(lab: Lab, listener: socket.socket, reception: LabClients, said: bytes) -> dict[str, Any]:
    """Return what the service answers to a line."""
    with client(listener, said) as connection:
        assert answer_one(lab, reception)
        answered: dict[str, Any] = json.loads(connection.makefile("rb").readline())
        return answered


KNOWN = (
    "expected status, counters, topology, plan, log, watch, fail, heal, update, replace, withdraw, handover,"
    " start-flow, stop-flow, scheme, enter, down"
)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (
            {"version": 1, "do": "heal", "a": "s1", "b": "s2"},
            {
                "version": 1,
                "error": "testbed:link s1-s2: the link is up already, expected one that is down",
                "exit_status": 2,
            },
        ),
        (
            {"version": 1, "do": "dance"},
            {
                "version": 1,
                "error": f"lab: unknown request 'dance', {KNOWN}",
                "exit_status": 2,
            },
        ),
        (
            [],
            {
                "version": 1,
                "error": "lab: no request, expected an object whose member `do` says what to do",
                "exit_status": 2,
            },
        ),
        (
            {"version": 1, "do": "fail", "a": "s1"},
            {
                "version": 1,
                "error": "lab: there is no b, expected an object with do, a, b",
                "exit_status": 2,
            },
        ),
    ],
)
def test_a_refused_request_is_answered_with_its_exit_status(
    listener: socket.socket, reception: LabClients, request_: object, answer: object
) -> None:
    with client(listener, json.dumps(request_).encode() + b"\n") as connection:
        assert answer_one(FakeLab(), reception)
        assert json.loads(connection.makefile("rb").readline()) == answer


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"{\n", b"\xff\n"])
def test_a_client_that_leaves_or_talks_nonsense_ends_nothing(
    listener: socket.socket, reception: LabClients, said: bytes
) -> None:
    client(listener, said).close()
    assert answer_one(FakeLab(), reception)


def test_a_client_that_does_not_wait_for_its_answer_ends_nothing(
    listener: socket.socket, reception: LabClients
) -> None:
    client(listener, b'{"version":1,"do": "status"}\n').close()
    assert answer_one(FakeLab(), reception)


def test_a_client_that_says_or_reads_nothing_does_not_hold_up_the_others_for_ever(listener: socket.socket) -> None:
    with (
        received(listener, patience=0.05) as reception,
        closing(client(listener, b"")),
        closing(client(listener, b'{"version":1,"do": "status"}\n')),
    ):
        assert answer_one(FakeLab(), reception)
        assert answer_one(FakeLab(), reception)


def test_down_is_answered_when_the_lab_is_down(listener: socket.socket, reception: LabClients) -> None:
    lab = FakeLab()
    with client(listener, b'{"version":1,"do": "down"}\n') as connection:
        assert not answer_one(lab, reception)
        assert json.loads(connection.makefile("rb").readline()) == {"version": 1, "result": None}
    assert not lab.running


def update(*rows: object, source: object = "demands.csv") -> bytes:
    return json.dumps({"version": 1, "do": "update", "demands": rows, "source": source}).encode()


def flow(**changed: object) -> bytes:
    wish = {"source": "s1", "target": "s4", "kind": "udp", "rate": 5, "seconds": 10, "priority": 0, **changed}
    return json.dumps({"version": 1, "do": "start-flow", **wish}).encode()


RATE = "expected a finite number"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            b'{"version":1,"do":"update","demands":[["s1","s9",1,0]]}',
            "lab: there is no source, expected an object with demands, source",
        ),
        (update(["s1", "s9", 1, 0]), "demands.csv:demands[0].target: unknown node 's9', expected a node of fig1"),
        (update(["s1", "s1", 1, 0]), "demands.csv:demands[0].target: a demand from 's1' to itself, expected two"),
        (update(["s1", "s4", 1, 0], ["s1", "s4", 2, 0]), "demands.csv: two demands from s1 to s4 with priority 0"),
        (update(["s1", "s4", 1, 3]), "demands.csv: a demand of priority 3, expected one that the queue layout 'plain'"),
        (update(), "demands.csv: "),
        (update(["s1", "s4", -1, 0]), "lab:demands[0][2]: found -1.0, expected at least 0"),
        (update(["s1", "s4", True, 0]), f"lab:demands[0][2]: found True, {RATE}"),
        (update(["s1", "s4", float("nan"), 0]), "lab: the number 'NaN', expected finite numbers"),
        (update(["s1", "s4", "1", 0]), f"lab:demands[0][2]: found '1', {RATE}"),
        (update(["s1", "s4", 1, 0.5]), "lab:demands[0][3]: found 0.5, expected a whole number"),
        (update(["s1", "s4", 1]), "lab:demands[0]: found a list of 3, expected a list of 4"),
        (update({"source": "s1"}), "lab:demands[0]: found an object of 1, expected a list"),
        (update([None, "s4", 1, 0]), "lab:demands[0][0]: found null, expected a text"),
        (update(["x" * 300, "s4", 1, 0]), "lab:demands[0][0]: its length is 300, expected at most 256"),
        (update(["s1\n", "s4", 1, 0]), "lab:demands[0][0]: found 's1\\n', expected text that can be printed"),
        (update(["s1", "s4", 1, 0], source=7), "lab:source: found 7, expected a text"),
        (
            b'{"version":1,"do": "update", "demands": 7, "source": ""}',
            "lab:demands: found 7, expected a list",
        ),
        (b'{"version":1,"do": "fail", "a": ["s1"], "b": "s2"}', "lab:a: found a list of 1, expected a text"),
        (b'{"version":1,"do": "fail", "a": "s1", "b": "s1"}', "testbed:link s1-s1: there is no such link"),
        (b'{"version":1,"do": "enter", "node": "s9"}', "testbed:s9: there is no such node"),
        (
            b'{"version":1,"do": "enter", "node": "s1", "command": 7}',
            "lab:command: found 7, expected a text",
        ),
        (
            b'{"do": "status"}',
            "lab: a request without a version, expected version 1, which this lab speaks: use the Ku",
        ),
        (b'{"version": 2, "do": "status"}', "lab: a request of version '2', expected version 1, which this lab speaks"),
        (b'{"version": true, "do": "status"}', "lab: a request of version 'True', expected version 1"),
        (b'{"version":1,"do": "log", "after": -1}', "lab:after: found -1, expected at least 0"),
        (b'{"version":1,"do": "watch", "after": "1"}', "lab:after: found '1', expected a whole number"),
        (b'{"version":1,"do": "replace", "plan": [], "source": ""}', "lab:plan: found a list of 0, expected an object"),
        (b'{"version":1,"do": "replace", "plan": {}, "source": "p.json"}', "p.json: "),
        (
            b'{"version":1,"do": "scheme", "scheme": "rescaling"}',
            "lab:scheme: found 'rescaling', but the real lab keep",
        ),
        (b'{"version":1,"do": "stop-flow", "flow": "f9"}', "lab:'f9': no such flow is running"),
        (flow(kind="sctp"), "lab:kind: found 'sctp', expected udp or tcp"),
        (flow(kind="tcp"), "lab:rate: found 5.0, expected Mbit/s of UDP, null of TCP"),
        (flow(rate=0), "lab:rate: found 0.0, expected more than 0"),
        (flow(rate=None), "lab:rate: found None, expected Mbit/s of UDP"),
        (flow(seconds=0.5), "lab:seconds: found 0.5, expected a whole number"),
        (flow(seconds=0), "lab:seconds: found 0, expected at least 1"),
        (flow(seconds=86_401), "lab:seconds: found 86401, expected at most 86400"),
        (flow(rate=100_001), "lab:rate: found 100001.0, expected at most 100000"),
        (flow(priority=256), "lab:priority: found 256, expected at most 255"),
        (flow(target="s1"), "lab:target: a flow from 's1' to itself, expected two different nodes"),
        (flow(target="s9"), "testbed:s9: there is no such node"),
        (flow(priority=3), "lab:priority: found 3, expected one that the queue layout serves: 0"),
        (b'{"version":1,"do": "status", "and": 1}', "lab: unknown member 'and', expected do"),
        (b'{"version":1,"do": "down", "do": ["down"]}', "lab: 'do' is given twice in an object"),
        (
            b'{"version":1,"do": "enter", "node": ' + b"7" * 5000 + b"}",
            "lab: the number '7777",
        ),
        (b"[" * 100_000, "lab: nested too deeply, expected a JSON object on a line"),
        (b"[" * 900 + b"]" * 900, "lab: nested too deeply"),
        (b"[" + b"1," * 100_000 + b"1]", "lab: no request, expected an object"),
        (b"", "lab:1: malformed JSON (Expecting value)"),
        (b"\xff", "lab: cannot be read (UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff"),
        ('{"version":1,"do": "down"}'.encode("utf-16"), "lab: cannot be read (UnicodeDecodeError: "),
    ],
)
def test_a_malformed_request_is_answered_with_one_clear_error_and_changes_nothing(
    listener: socket.socket, reception: LabClients, said: bytes, error: str
) -> None:
    lab = MakeBelieveLab()
    answered = answer(lab, listener, reception, said + b"\n")
    assert answered["error"].startswith(error)
    assert answered["exit_status"] == 2
    assert len(answered["error"]) < 500
    assert "\n" not in answered["error"]
    assert lab.changes == (1 if error.startswith("testbed:link") else 0)
    assert "result" in answer(lab, listener, reception, update(["s1", "s4", 1, 0]) + b"\n")


def test_a_request_without_a_line_end_is_answered_when_its_client_has_said_all(
    listener: socket.socket, reception: LabClients
) -> None:
    with client(listener, b'{"version":1,"do": "enter", "node": "s1"}') as connection:
        connection.shutdown(socket.SHUT_WR)
        assert answer_one(MakeBelieveLab(), reception)
        assert "result" in json.loads(connection.makefile("rb").readline())


def test_half_a_line_and_silence_is_answered_with_an_error(listener: socket.socket) -> None:
    with received(listener, patience=0.05) as reception, client(listener, b'{"version":1,"do": "sta') as connection:
        assert answer_one(FakeLab(), reception)
        assert json.loads(connection.makefile("rb").readline()) == {
            "version": 1,
            "error": "lab: the request has not ended after 0.05 s, expected a line",
            "exit_status": 2,
        }


def test_a_line_without_end_is_answered_with_an_error_once_it_is_too_long(listener: socket.socket) -> None:
    with received(listener, longest_request=1000) as reception, client(listener, b"x" * 100_000) as connection:
        assert answer_one(FakeLab(), reception)
        assert json.loads(connection.makefile("rb").readline()) == {
            "version": 1,
            "error": "lab: a request of more than 1000 bytes, expected a shorter one",
            "exit_status": 2,
        }


def test_a_client_that_speaks_slowly_does_not_delay_one_that_does_not(listener: socket.socket) -> None:
    with (
        received(listener, patience=60) as reception,
        closing(client(listener, b'{"version":1,"do"')),
        client(listener, b'{"version":1,"do": "enter", "node": "s1"}\n') as connection,
    ):
        assert answer_one(MakeBelieveLab(), reception)
        assert "result" in json.loads(connection.makefile("rb").readline())
        reception.close()


def test_more_silent_clients_than_are_let_in_keep_nobody_out(listener: socket.socket) -> None:
    with ExitStack() as stack:
        reception = stack.enter_context(received(listener, patience=0.05, most_clients=3))
        for _ in range(10):
            stack.enter_context(closing(client(listener, b"")))
        connection = stack.enter_context(client(listener, b'{"version":1,"do": "enter", "node": "s1"}\n'))
        for _ in range(11):
            assert answer_one(MakeBelieveLab(), reception)
        assert "result" in json.loads(connection.makefile("rb").readline())


def test_a_failure_of_a_look_is_answered_and_logged_and_ends_nothing(
    listener: socket.socket, reception: LabClients, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(MakeBelieveLab):
        def status(self) -> dict[str, Any]:
            raise KeyError("queue")

    answered = answer(Broken(), listener, reception, b'{"version":1,"do": "status"}' + b" " * 10_000 + b"\n")
    message = "the lab failed at the request with KeyError: \"'queue'\""
    assert answered == {"version": 1, "error": message, "exit_status": 1}
    logged = caplog.text
    assert "Traceback" in logged
    assert 'failed at b\'{"version":1,"do": "status"}' in logged
    assert len(logged) < 3000


def test_a_change_that_fails_for_an_unforeseen_reason_takes_the_lab_down_and_says_so(
    listener: socket.socket, reception: LabClients, caplog: pytest.LogCaptureFixture
) -> None:
    lab = MakeBelieveLab()
    lab.fault = ZeroDivisionError("a bug")
    message = "the lab failed at the request with ZeroDivisionError: 'a bug'; the lab is taken down, as its state"
    with client(listener, b'{"version":1,"do": "fail", "a": "s1", "b": "s2"}\n') as connection:
        with pytest.raises(BrokenLabError, match=message):
            answer_one(lab, reception)
        answered = json.loads(connection.makefile("rb").readline())
    assert answered["error"].startswith(message)
    assert answered["exit_status"] == 1
    assert not lab.running
    assert "ZeroDivisionError" in caplog.text


def test_only_the_owner_can_connect(listener: socket.socket) -> None:
    assert Path(listener.getsockname()).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"colour": 1}, "order:'colour': unknown option, expected one of scheme, "),
        ({"slot_count": "64"}, "order:slot_count: found \"'64'\", expected a value of type int"),
        ({"slot_count": True}, "order:slot_count: found 'True', expected a value of type int"),
    ],
)
def test_an_order_for_no_lab_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(InputError) as refusal:
        Order({}, options).read()
    assert str(refusal.value).startswith(error)


def test_an_order_has_the_coordinates_of_the_topology_which_a_plan_has_not() -> None:
    plan = motivation_plan()
    placed = replace(plan, topology=replace(plan.topology, positions={"s1": (10.5, 50.0), "s4": (14.0, 50.0)}))
    order = Order.of(placed, {"slot_count": 32})
    read, options = Order(**json.loads(order.to_json())).read()
    assert (read, options.slot_count) == (plan, 32)
    assert read.topology.positions == placed.topology.positions
    with pytest.raises(InputError, match=r"positions\.'s1': found"):
        replace(order, positions={"s1": [1, "2"]}).read()
