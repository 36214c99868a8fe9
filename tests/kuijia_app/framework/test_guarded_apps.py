"""Whatever handler or thread of an application raises or hangs, it is logged, and the process never only looks alive.

The handlers and threads are those that the classes have, so that a new one is covered as well.
"""

from __future__ import annotations

import inspect
import signal
import socket
import struct
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hedera.scheduler import _OWN_IDS
from hedera.scheduling.events import ENTRY_REFUSED
from kuijia_app.control.switches import MOST_ERRORS
from kuijia_app.framework import event_log
from kuijia_app.framework.ending import EXIT_STATUS
from kuijia_app.framework.switch_limits import ANSWER_WITHIN
from kuijia_app.tables.identifiers import COOKIE
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import Event, Framework
from tests.kuijia_app.failing_application import OUTCRY
from tests.kuijia_app.framework.sabotage import (
    APPLICATIONS,
    DATAPATH_ID,
    DEADLINE,
    FRAMEWORKS,
    PORTS,
    Sabotaged,
    provoke,
    running_application,
    sabotaged,
    until,
)
from tests.kuijia_app.gate.imitated_switch import (
    ECHO_REPLY,
    ECHO_REQUEST,
    HELLO,
    PORT_DESC,
    features,
    message,
    multipart,
)
from tests.kuijia_app.imitated_switch import (
    BARRIER_REPLY,
    BARRIER_REQUEST,
    FLOWS,
    GROUP_DESCRIPTIONS,
    ImitatedSwitch,
)
from tests.kuijia_app.plans import motivation_plan

pytestmark = pytest.mark.slow

BAD_REQUEST, IS_SLAVE = 1, 10
"""OpenFlow 1.3.5, 7.4.4."""


def methods_with(application: str, mark: str) -> list[str]:
    """The methods of an application that a decorator has marked, as `failing_application` takes them."""
    known = APPLICATIONS[application]
    marked = inspect.getmembers(known, lambda member: inspect.isfunction(member) and hasattr(member, mark))
    return [f"{known.__module__}:{known.__name__}.{name}" for name, _ in marked]


HANDLERS = [(application, each) for application in APPLICATIONS for each in methods_with(application, "callers")]
THREADS = [
    (application, each)
    for application in APPLICATIONS
    for each in (
        *methods_with(application, "is_background"),
        "kuijia_app.framework.seam:BaseApp._event_loop",
        "kuijia_app.framework.watchdog:Watchdog.watch",
    )
]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("application", "method"), HANDLERS)
def test_a_handler_that_raises_is_logged_and_the_connection_or_the_process_is_given_up(
    application: str, method: str, framework: Framework, tmp_path: Path
) -> None:
    with sabotaged(application, method, framework, tmp_path) as running:
        ends = []

        def is_given_up() -> bool:
            if running.status() is None and not running.failures():
                ends.append(provoke(running))
            return running.status() is not None or any(ends)

        assert until(is_given_up)
        (*_, failure) = running.failures()
        assert method.rpartition(".")[2] in failure["part"]
        assert OUTCRY in failure["error"]
        assert "failing_application.py" in failure["error"]
        assert OUTCRY in running.log()
        if failure["given_up"] == "process":
            assert until(lambda: running.status() is not None)
            assert running.status() == EXIT_STATUS
        else:
            assert running.status() is None
            assert any(event["event"] == event_log.SWITCH_DROPPED for event in running.process.events())


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize(("application", "method"), THREADS)
def test_a_thread_that_raises_is_logged_and_ends_the_process(
    application: str, method: str, framework: Framework, tmp_path: Path
) -> None:
    with sabotaged(application, method, framework, tmp_path) as running:
        assert until(lambda: running.status() is not None)
        assert running.status() == EXIT_STATUS
        (failure, *_) = running.failures()
        assert OUTCRY in failure["error"]
        assert failure["given_up"] == "process"
        assert OUTCRY in running.log()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_loop_that_hangs_ends_the_process_after_two_seconds_with_its_stack(
    application: str, framework: Framework, tmp_path: Path
) -> None:
    handler = next(each for each in methods_with(application, "callers") if each.endswith("time_passed"))
    with sabotaged(application, handler, framework, tmp_path, "HANG", at_once=False) as running:
        assert running.status() is None
        began = time.monotonic()
        (tmp_path / "trigger").touch()
        assert until(lambda: running.status() is not None)
        assert time.monotonic() - began >= 1.5  # the loop may have turned last just before
        assert running.status() == EXIT_STATUS
        (failure,) = running.failures()
        assert failure["error"] == "has not turned for 2 s"
        assert "seam.native_time.sleep(600)" in running.log()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_gate_that_hangs_ends_the_process_after_two_seconds_with_its_stack(
    application: str, framework: Framework, tmp_path: Path
) -> None:
    turn = "kuijia_app.gate.loop:Loop.turn"
    with sabotaged(application, turn, framework, tmp_path, "HANG", at_once=False) as running:
        assert provoke(running) is False
        (tmp_path / "trigger").touch()
        assert until(lambda: running.status() is not None)
        assert running.status() == EXIT_STATUS
        (failure,) = running.failures()
        assert failure["error"] == "has not turned for 2 s"
        assert "seam.native_time.sleep(600)" in running.log()


def test_while_the_event_loop_is_busy_switches_have_their_echoes_answered(tmp_path: Path) -> None:
    """Under Ryu it is busy in the only thread."""
    handler = next(each for each in methods_with("scheduler", "callers") if each.endswith("time_passed"))
    answered: list[float] = []
    with (
        sabotaged("scheduler", handler, "os-ken", tmp_path, "HANG", at_once=False) as running,
        socket.create_connection(("127.0.0.1", running.port), DEADLINE) as switch,
    ):
        switch.sendall(message(HELLO) + features(DATAPATH_ID) + multipart(PORT_DESC))
        began = time.monotonic()
        (tmp_path / "trigger").touch()
        switch.settimeout(0.05)
        while running.status() is None and time.monotonic() < began + DEADLINE:
            with suppress(OSError):
                switch.sendall(message(ECHO_REQUEST, xid=4711))
                while said := switch.recv(1 << 16):
                    if message(ECHO_REPLY, xid=4711) in said:
                        answered.append(time.monotonic() - began)
    assert max(answered) > 1.5


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_process_that_was_stopped_for_longer_goes_on(framework: Framework, tmp_path: Path) -> None:
    handler = next(each for each in methods_with("controller", "callers") if each.endswith("time_passed"))
    with sabotaged("controller", handler, framework, tmp_path, at_once=False) as running:
        running.send_signal(signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            running.process._process.wait(3.0)  # type: ignore[union-attr]  # it has been started
        running.send_signal(signal.SIGCONT)
        with ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch:
            assert switch.is_answered.wait(DEADLINE)
        assert running.status() is None
        assert running.failures() == []


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize("method", ["kuijia_app.gate.loop:Loop.__call__", "kuijia_app.gate.loop:Loop.turn"])
def test_a_process_that_listens_no_longer_ends(
    method: str, application: str, framework: Framework, tmp_path: Path
) -> None:
    with sabotaged(application, method, framework, tmp_path) as running:
        assert until(lambda: running.status() is not None)
        assert running.status() == EXIT_STATUS
        assert any(
            words in running.log() for words in ("stopped listening", "no longer listens for switches", "has failed")
        )


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_gate_that_fails_is_an_event_like_other_failures(
    application: str, framework: Framework, tmp_path: Path
) -> None:
    with sabotaged(application, "kuijia_app.gate.loop:Loop.turn", framework, tmp_path) as running:
        assert until(lambda: running.status() is not None)
        (failure,) = running.failures()
        assert failure["part"] == "gate"
        assert failure["given_up"] == "process"
        assert OUTCRY in failure["error"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_a_switch_that_never_answers_barriers_is_told_of_and_dropped(
    application: str, framework: Framework, tmp_path: Path
) -> None:
    with running_application(application, framework, tmp_path) as running:
        silent = frozenset({BARRIER_REQUEST})
        with ImitatedSwitch(running.port, DATAPATH_ID, PORTS, silent) as switch:
            assert switch.has_ended.wait(ANSWER_WITHIN + DEADLINE)
        (dropped,) = [event for event in running.process.events() if event["event"] == event_log.SWITCH_DROPPED]
        assert "has owed an answer for 10 s" in dropped["reason"]
        assert "has owed an answer for 10 s" in running.log()
        with ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch:
            ready = {"event": event_log.SWITCH_READY, "switch": dropped["switch"]}
            assert until(lambda: any(ready.items() <= event.items() for event in running.process.events()))
        assert running.status() is None


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("application", APPLICATIONS)
def test_answers_that_nobody_asked_for_change_nothing(application: str, framework: Framework, tmp_path: Path) -> None:
    """The mask 255.0.255.0 in an unasked statistics reply, among others, and then a port-status that is heard."""
    fields = struct.pack("!IH", 0x80000A02, 0x0800)
    fields += struct.pack("!I4s4s", 0x80001908, bytes([10, 0, 0, 0]), bytes([255, 0, 255, 0]))
    match = struct.pack("!HH", 1, 4 + len(fields)) + fields
    match += bytes(-len(match) % 8)
    entry = struct.pack("!HBxIIHHHH4xQQQ", 48 + len(match), 0, 0, 0, 1, 0, 0, 0, COOKIE, 0, 0) + match
    with (
        running_application(application, framework, tmp_path) as running,
        ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch,
    ):
        assert switch.is_answered.wait(DEADLINE)
        assert until(lambda: FLOWS in switch.asked)
        for xid in (0, 1, switch.asked[FLOWS], 2**31, 2**32 - 1):
            switch.send_part(FLOWS, entry, xid)
            switch.send_part(GROUP_DESCRIPTIONS, struct.pack("!HBxI", 8, 1, 5), xid)
            switch.send(BARRIER_REPLY, xid=xid)
        switch.send_port_status(1, live=False)
        heard = {"event": event_log.PORT_STATUS, "port": 1, "live": False}
        assert until(lambda: any(heard.items() <= event.items() for event in running.process.events()))
        assert running.failures() == []
        assert running.status() is None


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("text", ['{"a":' * 980 + "1" + "}" * 980, "[" * 100_000, '{"format": ' + "9" * 5000 + "}"])
def test_a_plan_that_no_reader_can_take_is_refused_and_the_next_one_is_read(
    text: str, framework: Framework, tmp_path: Path
) -> None:
    plan_file = tmp_path / "plan.json"

    def told(running: Sabotaged, kind: str) -> list[Event]:
        return [event for event in running.process.events() if event["event"] == kind]

    with running_application("controller", framework, tmp_path) as running:
        plan_file.write_text(text)
        running.send_signal(signal.SIGHUP)
        assert until(lambda: len(told(running, event_log.UPDATE_REFUSED)) == 1)
        save_plan(motivation_plan((0.2, 0.3, 0.5)), plan_file)
        running.send_signal(signal.SIGHUP)
        assert until(lambda: len(told(running, event_log.UPDATE_STARTED)) == 2)
        assert running.status() is None
        assert running.failures() == []
        (refused,) = told(running, event_log.UPDATE_REFUSED)
        assert len(refused["reason"].splitlines()) == 1


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_scheduler_is_not_silenced_by_refusals_of_what_it_never_sent(framework: Framework, tmp_path: Path) -> None:
    with (
        running_application("scheduler", framework, tmp_path) as running,
        ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch,
    ):
        assert switch.is_answered.wait(DEADLINE)
        for xid in (0, 2**31, 2**32 - 1):
            switch.send_error(BAD_REQUEST, IS_SLAVE, xid)
        switch.send_port_status(1, live=False)
        assert until(lambda: any(event["event"] == event_log.PORT_STATUS for event in running.process.events()))
        assert not any(event["event"] == event_log.ROLE_LOST for event in running.process.events())


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_switch_that_refuses_in_ever_other_words_is_told_of_a_few_times(framework: Framework, tmp_path: Path) -> None:
    def told(running: Sabotaged, kind: str) -> list[Event]:
        return [event for event in running.process.events() if event["event"] == kind]

    with (
        running_application("scheduler", framework, tmp_path) as running,
        ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch,
    ):
        assert until(lambda: bool(told(running, event_log.SWITCH_READY)))
        for code in range(500):
            switch.send_error(BAD_REQUEST, 1000 + code, xid=_OWN_IDS + 1)
        switch.send_port_status(1, live=False)
        assert until(lambda: bool(told(running, event_log.PORT_STATUS)))
        refusals = told(running, ENTRY_REFUSED)
        assert len({event["error"] for event in refusals}) == len(refusals) == MOST_ERRORS + 1
        assert running.log().count("refused a message") == MOST_ERRORS + 1


def test_every_handler_and_thread_is_known() -> None:
    # The lists are made by the marks that decorators leave; this notices when they leave none.
    handlers = {(application, method.rpartition(".")[2]) for application, method in HANDLERS}
    for application in APPLICATIONS:
        assert {(application, name) for name in ("time_passed", "port_status", "barrier_replied")} <= handlers
        assert (application, "switch_connected") in handlers
    assert len(THREADS) >= 2 * len(APPLICATIONS) + 3
