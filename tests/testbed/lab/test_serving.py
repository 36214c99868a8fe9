"""Requests are served side by side: looks do not wait for changes, and watchers see events until the lab ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import plan_to_json
from te_solver.model.plan import Plan
from testbed.lab.clients import MOST_WATCHERS, LabClients
from testbed.lab.cuts import NoticedLinkEvent
from testbed.lab.journal import LabJournal
from testbed.lab.lab import Lab
from testbed.lab.lab_client import LabRefusedError, ask, watch
from testbed.lab.lab_options import SOCKET_NAME
from testbed.lab.lab_plans import plan_for
from testbed.lab.lab_requests import ReplacePlan, Update
from testbed.lab.lab_service import _listener
from testbed.lab.serving import MOST_CHANGES, LabServer, refused
from tests.kuijia_app.plans import motivation_plan
from tests.testbed.make_believe_lab import MakeBelieveLab

SECONDS = 20.0
"""Longest wait for anything; all of it happens within milliseconds."""


class SlowLab(MakeBelieveLab):
    """Cuts a link only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__(padding=100)
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.abandoned = False

    def fail(self, a: str, b: str) -> NoticedLinkEvent:
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        if self.abandoned:
            raise TestbedError("the controller has died")
        return super().fail(a, b)

    def abandon(self) -> None:
        self.abandoned = True
        self.may_end.set()


class Served:
    """A service in its own thread, and clients of it."""

    def __init__(self, folder: Path, lab: MakeBelieveLab, **options: Any) -> None:  # noqa: ANN401
        self.folder = folder
        self.journal = LabJournal(lambda: 7.0)
        self._limits = {key: options.pop(key) for key in ("longest_backlog", "patience") if key in options}
        self._lab, self._options = lab, options
        self._ready = threading.Event()
        self._end = threading.Event()
        self.reception: LabClients
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        with (
            _listener(self.folder / SOCKET_NAME) as listener,
            LabClients(listener, refused, **self._limits) as self.reception,
            LabServer(self._lab, self.reception, self.journal, **self._options) as service,
        ):
            self._ready.set()
            while self._lab.is_running and not self._end.is_set():
                service.turn()

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._end.set()
        self.reception.ring()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def ask(self, do: str, **details: object) -> Any:  # noqa: ANN401  # JSON
        return ask(self.folder, do, **details)

    @contextmanager
    def asking(self, do: str, **details: object) -> Iterator[Callable[[], Any]]:
        """Ask in another thread; provide a function that waits for the answer, or the error."""
        answers: list[Any] = []

        def run() -> None:
            try:
                answers.append(self.ask(do, **details))
            except Exception as error:  # noqa: BLE001  # the answer
                answers.append(error)

        thread = threading.Thread(target=run)
        thread.start()

        def answer() -> Any:  # noqa: ANN401  # JSON or an exception
            thread.join(SECONDS)
            return answers[0]

        yield answer
        thread.join(SECONDS)

    def watching(self, events: list[dict[str, Any]], after: int | None = None) -> threading.Thread:
        """Return a thread that watches, once it does."""
        begun = threading.Event()

        def run() -> None:
            events.extend(watch(self.folder, after, begun.set))

        thread = threading.Thread(target=run)
        thread.start()
        assert begun.wait(SECONDS)
        return thread


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0)


def has(events: list[dict[str, Any]], number: int) -> bool:
    return len(events) == number


@pytest.fixture
def lab() -> SlowLab:
    return SlowLab()


def test_looks_do_not_wait_for_a_change_and_changes_wait_for_each_other(tmp_path: Path, lab: SlowLab) -> None:
    with Served(tmp_path, lab) as served, served.asking("fail", a="s1", b="s2") as cut:
        assert lab.begun.wait(SECONDS)
        with served.asking("heal", a="s1", b="s2") as healed:
            assert served.ask("status")["down"] == []
            assert served.ask("counters")["last_event"] == 0
            assert served.ask("enter", node="s1")["namespace_pid"] == 1
            assert lab.changes == 0
            lab.may_end.set()
            assert cut()["up"] is False
            assert healed()["up"] is True


def test_a_command_on_a_host_is_an_event_if_its_node_exists(tmp_path: Path, lab: SlowLab) -> None:
    with Served(tmp_path, lab) as served:
        assert served.ask("enter", node="s1", command="ping -c 1 10.0.4.1")["namespace_pid"] == 1
        with pytest.raises(LabRefusedError, match="there is no such node"):
            served.ask("enter", node="s9", command="true")
        served.ask("enter", node="s1")
        (event,) = served.ask("log", after=0)
        assert (event["kind"], event["text"]) == ("command", "on s1: ping -c 1 10.0.4.1")
        assert event["subject"] == {"node": "s1"}


def test_a_plan_that_is_being_solved_delays_no_look_and_can_be_withdrawn(tmp_path: Path) -> None:
    lab, begun, given_up = MakeBelieveLab(padding=10), threading.Event(), threading.Event()

    def make(_: Lab, __: Update | ReplacePlan) -> Plan:
        begun.set()
        assert given_up.wait(SECONDS)
        raise TestbedError("withdrawn")

    with (
        Served(tmp_path, lab, make_plan=make, give_up=given_up.set) as served,
        served.asking("update", demands=[["s1", "s4", 1, 0]], source="d.csv") as updated,
    ):
        assert begun.wait(SECONDS)
        assert served.ask("status")["lab"] == "make-believe"
        assert served.ask("withdraw") == {"withdrawn": "update"}
        assert str(updated()) == "withdrawn"


def test_a_plan_file_is_verified_before_it_is_put_in_force(tmp_path: Path) -> None:
    lab = MakeBelieveLab(padding=10)
    good = plan_to_json(motivation_plan((0.2, 0.3, 0.5)))
    other = json.loads(json.dumps(good).replace('"s4"', '"s5"'))
    unserved = json.loads(json.dumps(good))
    unserved["pairs"][0]["priority"] = 3
    with Served(tmp_path, lab, make_plan=plan_for) as served:
        with pytest.raises(LabRefusedError, match=r"^p\.json:topology\.nodes: are not those of the plan in force"):
            served.ask("replace", plan=other, source="p.json")
        with pytest.raises(LabRefusedError, match=r"^p\.json:pairs\[0\]\.priority: priority 3, expected"):
            served.ask("replace", plan=unserved, source="p.json")
        assert lab.changes == 0
        served.ask("replace", plan=good, source="p.json")
        assert [tunnel.weight for tunnel in lab.plan.tunnels] == [0.2, 0.3, 0.5]


def test_watchers_see_events_in_order_and_the_end_of_the_lab(tmp_path: Path, lab: SlowLab) -> None:
    lab.may_end.set()
    early: list[dict[str, Any]] = []
    late: list[dict[str, Any]] = []
    with Served(tmp_path, lab) as served:
        first = served.watching(early)
        served.ask("fail", a="s2", b="s1")
        second = served.watching(late, after=0)
        served.ask("start-flow", source="s1", target="s4", kind="udp", rate=2, seconds=5, priority=0)
        log = served.ask("log", after=1)
        served.ask("down")
        first.join(SECONDS)
        second.join(SECONDS)
    assert [event["kind"] for event in early] == ["cut", "flow"]
    assert early[0]["text"] == "link s2-s1 is down: noticed by s2 after 0 ms, s1 after 0 ms"
    assert early[0]["subject"] == {"link": "s1~s2"}
    assert early[1]["text"] == "flow f1 from s1 to s4 by UDP at 2 Mbit/s for 5 s has started"
    assert late == early
    assert log == early[1:]


def test_a_watcher_that_does_not_read_is_dropped_and_told_so_and_the_others_are_served(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    with Served(tmp_path, MakeBelieveLab(padding=10), longest_backlog=1000) as served:
        reader = served.watching(events)
        with socket.socket(socket.AF_UNIX) as slow:
            slow.connect(str(tmp_path / SOCKET_NAME))
            slow.sendall(b'{"version": 1, "do": "watch"}\n')
            lines = slow.makefile("rb")
            assert json.loads(lines.readline())["result"]["watching"]
            for number in range(1, 101):
                served.journal.add("fault", "x" * 20_000)
                until(partial(has, events, number))
            assert served.ask("log", after=99)[0]["seq"] == 100
            heard = [json.loads(line) for line in lines]
        served.ask("down")
        reader.join(SECONDS)
    assert [event["seq"] for event in events] == list(range(1, 101))
    assert heard[-1]["error"].startswith("lab: this watcher has not read ")
    assert [each["event"]["seq"] for each in heard[:-1]] == list(range(1, len(heard)))


def test_a_watcher_that_talks_or_goes_is_forgotten(tmp_path: Path) -> None:
    with Served(tmp_path, MakeBelieveLab(padding=10)) as served:
        for farewell in (b"more", b""):
            with socket.socket(socket.AF_UNIX) as guest:
                guest.connect(str(tmp_path / SOCKET_NAME))
                guest.sendall(b'{"version": 1, "do": "watch"}\n')
                with guest.makefile("rb") as lines:
                    lines.readline()
                    guest.sendall(farewell)
                    if farewell:
                        assert lines.readline() == b""
        served.journal.add("fault", "nobody hears this")
        until(lambda: served.reception.watchers == 0)
        assert served.ask("status")


def test_so_many_may_watch_and_they_keep_nobody_else_out(tmp_path: Path) -> None:
    with Served(tmp_path, MakeBelieveLab(padding=10)) as served, ExitStack() as open_ones:
        for _ in range(MOST_WATCHERS):
            guest = open_ones.enter_context(socket.socket(socket.AF_UNIX))
            guest.connect(str(tmp_path / SOCKET_NAME))
            guest.sendall(b'{"version": 1, "do": "watch"}\n')
        until(lambda: served.reception.watchers == MOST_WATCHERS)
        with pytest.raises(LabRefusedError, match=f"^lab: {MOST_WATCHERS} clients are watching already"):
            next(watch(tmp_path))
        assert served.ask("status")


def test_so_many_changes_may_wait_and_no_more(tmp_path: Path, lab: SlowLab) -> None:
    with Served(tmp_path, lab) as served:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(MOST_CHANGES)]
        for client in clients:
            client.connect(str(tmp_path / SOCKET_NAME))
            client.sendall(b'{"version": 1, "do": "fail", "a": "s1", "b": "s2"}\n')
        with pytest.raises(LabRefusedError, match=f"^lab: {MOST_CHANGES} changes are waiting already"):
            served.ask("heal", a="s1", b="s2")
        assert served.ask("status")
        lab.may_end.set()
        answers = [json.loads(client.makefile("rb").readline()) for client in clients]
        for client in clients:
            client.close()
    assert ["result" in answer for answer in answers] == [True] + [False] * (MOST_CHANGES - 1)


def test_down_waits_for_the_change_before_it_and_refuses_what_comes_after(tmp_path: Path, lab: SlowLab) -> None:
    with Served(tmp_path, lab) as served, served.asking("fail", a="s1", b="s2") as cut:
        assert lab.begun.wait(SECONDS)
        with served.asking("down") as down:
            refusal: list[str] = []
            while not refusal:
                try:
                    served.ask("status")
                except LabRefusedError as error:
                    refusal.append(str(error))
            assert refusal == ["the lab is being taken down"]
            assert lab.running
            lab.may_end.set()
            assert cut()["up"] is False
            assert down() is None
            assert not lab.running


def test_a_service_that_ends_does_not_wait_for_a_change_that_hangs(tmp_path: Path, lab: SlowLab) -> None:
    served = Served(tmp_path, lab)
    with ExitStack() as ended_first:
        ended_first.enter_context(served)
        cut = ended_first.enter_context(served.asking("fail", a="s1", b="s2"))
        assert lab.begun.wait(SECONDS)
        served.end()
        assert str(cut()) == f"lab {tmp_path.name} died before it answered"
    assert lab.abandoned
