"""Serves the requests of clients over a running lab, side by side.

The calling thread, which is the lab's, talks to the clients and takes the lab down; it waits for nothing else. Requests
that only read are carried out in two threads, changes in one, so one after the other.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from queue import Empty, SimpleQueue
from typing import Any

from kuijia_base.errors import InputError, KuijiaError, TestbedError, quoted
from kuijia_base.log_lines import part_logger
from te_solver.formats.plan_file import plan_to_json, topology_to_json
from testbed.lab.changes import MakePlan, prepared
from testbed.lab.clients import MOST_WATCHERS, Client, LabClients
from testbed.lab.journal import LabEvent, LabJournal
from testbed.lab.lab import Lab
from testbed.lab.lab_plans import plan_for
from testbed.lab.lab_requests import (
    VERSION,
    Change,
    Down,
    Enter,
    FollowEvents,
    Query,
    ReadEvents,
    ReplacePlan,
    Request,
    Update,
    Withdraw,
    parse_request,
)
from testbed.lab.workers import LabWorkers

LONGEST_LOG = 1 << 20
MOST_CHANGES = 16
"""Changes that may wait at a time; other clients' places are for those that only read."""

_LONGEST_MESSAGE = 2000
_SHOWN_BYTES = 200
_ABANDON_SECONDS = 5.0
_COMES_DOWN = "the lab is being taken down"


class BrokenLabError(TestbedError):
    """A change has left the lab in an unknown state; it has been taken down."""


class LabServer:
    """Serves a lab's clients until the lab is down; used as a context manager, inside the one of the lab.

    Args:
        lab: running; it is stopped by the request "down" and after a change that failed for an unforeseen reason.
        reception: the clients.
        journal: of the lab's events, which watchers get.
        make_plan: makes the plan that a request asks for; changes nothing of the lab.
        give_up: makes `make_plan` end soon with a KuijiaError, when a plan that is being made is withdrawn.
        before_stop: called before the lab is stopped, by a request or by others.
    """

    def __init__(
        self,
        lab: Lab,
        reception: LabClients,
        journal: LabJournal | None = None,
        make_plan: MakePlan = plan_for,
        give_up: Callable[[], None] = lambda: None,
        before_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self._lab = lab
        self._reception = reception
        self._journal = journal or LabJournal()
        self._make_plan = make_plan
        self._give_up = give_up
        self._before_stop = before_stop
        self._done: SimpleQueue[tuple[Client, bytes, BrokenLabError | None]] = SimpleQueue()
        self._looks = LabWorkers("look", 2)
        self._changes = LabWorkers("change", 1)
        self._looking: set[Client] = set()
        self._changing: set[Client] = set()
        self._under_way: Change | None = None
        self._broken = False
        self._down: Client | None = None
        self._told = self._journal.last
        self._journal.on_event = reception.ring

    def __enter__(self) -> LabServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_busy(self) -> bool:
        """True while a request is being carried out, or the lab is to be taken down."""
        return bool(self._looking or self._changing or self._down)

    def serve(self) -> None:
        """Serve until the lab is down.

        Raises:
            BrokenLabError: a change failed for an unforeseen reason; the lab has been taken down.
        """
        while self._lab.is_running:
            self.turn()

    def turn(self) -> None:
        """Wait for a client, an end of a request or an event, and deal with it; raises as `serve`."""
        client = self._reception.next()
        if client is not None:
            self._receive(client)
        self._settle()
        if self._down is not None and not self._looking and not self._changing:
            self._take_down(self._down)

    def close(self) -> None:
        """End a change that is still under way, and tell the watchers of the end."""
        self._broken = True
        self._before_stop()
        if self._changing:
            self._give_up()
            self._lab.abandon()
        self._changes.end(_ABANDON_SECONDS)
        self._looks.end(_ABANDON_SECONDS)
        self._journal.on_event = lambda: None
        self._tell_watchers()
        self._reception.end_watches(_line({"end": "the lab is down"}))

    def _receive(self, client: Client) -> None:
        line = bytes(client.line)
        client.line.clear()
        try:
            self._begin(client, parse_request(line), line)
        except KuijiaError as error:
            self._reception.answer(client, _refusal(error))

    def _begin(self, client: Client, request: Request, line: bytes) -> None:
        if self._down is not None:
            raise TestbedError(_COMES_DOWN)
        match request:
            case Down():
                self._down = client
            case FollowEvents(after):
                self._watch(client, after)
            case ReadEvents(after):
                self._reception.answer(client, _result(list(map(asdict, self._journal.after(after)))))
            case Query() | Enter():
                self._looking.add(client)
                self._looks.do(lambda: self._look(client, request, line))
            case Withdraw() if self._changing and self._withdraw_update():
                self._reception.answer(client, _result({"withdrawn": "update"}))
            case _:
                if len(self._changing) >= MOST_CHANGES:
                    raise InputError("lab", "", f"{MOST_CHANGES} changes are waiting already", "another try later")
                self._changing.add(client)
                self._changes.do(lambda: self._change(client, request, line))

    def _watch(self, client: Client, after: int | None) -> None:
        if self._reception.watchers >= MOST_WATCHERS:
            raise InputError("lab", "", f"{MOST_WATCHERS} clients are watching already", "fewer watchers")
        self._tell_watchers()
        beginning = _result({"watching": True, "last": self._told})
        earlier = [] if after is None else [event for event in self._journal.after(after) if event.seq <= self._told]
        self._reception.watch(client, beginning + _event_lines(earlier))

    def _withdraw_update(self) -> bool:
        """Withdraw a plan that is being made or rolled out; return False if the change under way is something else."""
        if not isinstance(self._under_way, Update | ReplacePlan):
            return False
        self._give_up()
        self._lab.withdraw_update()
        return True

    def _look(self, client: Client, request: Query | Enter, line: bytes) -> None:
        """Carry out a request that changes nothing; runs in a thread."""
        try:
            answer = _result(self._found(request))
        except KuijiaError as error:
            answer = _refusal(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, nothing of the lab has been touched
            _log_failure(line)
            answer = _refusal(_unforeseen(error))
        self._finish(client, answer)

    def _found(self, request: Query | Enter) -> Any:  # noqa: ANN401  # JSON
        match request:
            case Enter(node, command):
                environment = self._lab.environment_of(node)
                if command:
                    self._journal.add("command", f"on {node}: {command}", {"node": node})
                return environment
            case Query("topology"):
                return topology_to_json(self._lab.plan.topology)
            case Query("plan"):
                number, plan = self._lab.plan_number, plan_to_json(self._lab.plan)
                options = self._lab.described_options()
                return {"number": number, "plan": plan, "options": options, "positions": self._lab.positions}
            case Query("counters"):
                return {"last_event": self._journal.last, **self._lab.counters()}
        return self._lab.status()

    def _change(self, client: Client, request: Change, line: bytes) -> None:
        """Carry a change out; runs in the thread of changes."""
        if self._broken:
            self._finish(client, _refusal(TestbedError(_COMES_DOWN)))
            return
        self._under_way = request
        broken: BrokenLabError | None = None
        try:
            change = prepared(self._lab, self._journal, self._make_plan, request)
        except KuijiaError as error:
            answer = _refusal(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, nothing of the lab has been touched
            _log_failure(line)
            answer = _refusal(_unforeseen(error))
        else:
            try:
                answer = _result(change())
            except KuijiaError as error:
                answer = _refusal(error)
            except Exception as error:  # noqa: BLE001  # the lab ends with it
                _log_failure(line)
                self._broken = True
                broken = BrokenLabError(f"{_unforeseen(error)}; the lab is taken down, as its state is not known")
                answer = _refusal(broken)
        self._under_way = None
        self._finish(client, answer, broken)

    def _finish(self, client: Client, answer: bytes, broken: BrokenLabError | None = None) -> None:
        self._done.put((client, answer, broken))
        self._reception.ring()

    def _settle(self) -> None:
        """Tell watchers of new events, then answer the requests that have been carried out."""
        self._tell_watchers()
        while True:
            try:
                client, answer, broken = self._done.get_nowait()
            except Empty:
                return
            self._looking.discard(client)
            self._changing.discard(client)
            if broken is not None:
                try:
                    self._before_stop()
                    self._lab.stop()
                finally:
                    self._reception.answer(client, answer)
                raise broken
            self._reception.answer(client, answer)

    def _take_down(self, client: Client) -> None:
        self._down = None
        try:
            self._before_stop()
            self._lab.stop()
            self._reception.answer(client, _result(None))
        except KuijiaError as error:
            self._reception.answer(client, _refusal(error))
            raise

    def _tell_watchers(self) -> None:
        new = self._journal.after(self._told)
        if new:
            self._told = new[-1].seq
            self._reception.tell_watchers(_event_lines(new))


def refused(problem: str, expected: str) -> bytes:
    """Return the answer for a client that sends too much or too slowly."""
    return _refusal(InputError("lab", "", problem, expected))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps({"version": VERSION, **message}).encode() + b"\n"


def _result(result: object) -> bytes:
    return _line({"result": result})


def _event_lines(events: Sequence[LabEvent]) -> bytes:
    return b"".join(_line({"event": asdict(event)}) for event in events)


def _refusal(error: KuijiaError) -> bytes:
    text = " ".join(str(error).splitlines())
    if len(text) > _LONGEST_MESSAGE:
        text = f"{text[:_LONGEST_MESSAGE]}..."
    return _line({"error": text, "exit_status": error.exit_status})


def _unforeseen(error: Exception) -> TestbedError:
    return TestbedError(f"the lab failed at the request with {type(error).__name__}: {quoted(str(error))}")


def _log_failure(line: bytes) -> None:
    """Write the exception under way to standard error, which is the log, with the beginning of the request."""
    if os.fstat(sys.stderr.fileno()).st_size > LONGEST_LOG:
        return
    part_logger("lab").error("failed at %r", line[:_SHOWN_BYTES], exc_info=True)
