"""Applications as users start them, with a method that raises or hangs on demand."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from hedera.scheduler import HederaScheduler
from kuijia_app.controller import KuijiaController
from kuijia_app.framework import event_log
from kuijia_app.framework.guarded_app import GuardedApp
from kuijia_app.tables.identifiers import COOKIE, LINK_PROBE_COOKIE
from kuijia_app.tables.options import OptionWords
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import save_plan
from testbed.controllers.application_process import ApplicationProcess, Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess, SchedulerProcess
from tests.kuijia_app.dummy_switches import free_port, wait_until
from tests.kuijia_app.imitated_switch import (
    ImitatedSwitch,
)
from tests.kuijia_app.nursery import Fork, nursery
from tests.kuijia_app.plans import motivation_plan

DEADLINE = 15.0
"""Seconds within which a failure has to be noticed, once the process runs."""

APPLICATIONS: Mapping[str, type[GuardedApp]] = {"controller": KuijiaController, "scheduler": HederaScheduler}
FRAMEWORKS: tuple[Framework, ...] = ("os-ken", "ryu")
DATAPATH_ID, PORTS = 2, (1, 2, 3, 4)
"""Of a switch that both networks have, s2 and c1."""


def make(application: str, directory: Path, framework: Framework, port: int) -> ApplicationProcess:
    if application == "scheduler":
        return SchedulerProcess(directory, {}, framework, Listening(port))
    save_plan(motivation_plan(), directory / "plan.json")
    return ControllerProcess(directory, directory / "plan.json", OptionWords(), framework, Listening(port))


class Sabotaged:
    """A process that is running, how to connect to it, and what there is to see of its end."""

    def __init__(self, process: ApplicationProcess, port: int, directory: Path) -> None:
        self.process = process
        self.port = port
        self._log = directory / "controller.log"

    def status(self) -> int | None:
        assert self.process._process is not None
        return self.process._process.poll()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def failures(self) -> list[Event]:
        return [event for event in self.process.events() if event["event"] == event_log.FAILURE]

    def send_signal(self, number: signal.Signals) -> None:
        assert self.process._process is not None
        self.process._process.send_signal(number)


@contextmanager
def running_application(application: str, framework: Framework, directory: Path) -> Iterator[Sabotaged]:
    """The process as users start it."""
    port = free_port()
    process = make(application, directory, framework, port)
    process.start()
    try:
        yield Sabotaged(process, port, directory)
    finally:
        process.stop()


@contextmanager
def sabotaged(
    application: str, method: str, framework: Framework, directory: Path, manner: str = "RAISE", *, at_once: bool = True
) -> Iterator[Sabotaged]:
    port, trigger = free_port(), directory / "trigger"
    if at_once:
        trigger.touch()
    process = make(application, directory, framework, port)
    arguments = [manner, method, str(trigger), *process._command()]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(process, "_launch", lambda output: Fork(nursery(framework), arguments, output))
        try:
            process.start()
        except TestbedError:
            assert process._process is not None  # it may fail before it listens
        try:
            yield Sabotaged(process, port, directory)
        finally:
            process.stop()


def provoke(running: Sabotaged) -> bool:
    """Have a switch say and do everything, once; return True when the controller has ended its connection."""
    try:
        with ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as switch:
            wait_until(lambda: switch.is_answered.is_set() or switch.has_ended.is_set(), "it is asked something")
            switch.send_port_status(1, live=False)
            switch.send_error(1, 1, xid=1)
            switch.send_packet(1, LINK_PROBE_COOKIE)
            switch.send_removal(COOKIE)
            with ImitatedSwitch(running.port, DATAPATH_ID, PORTS) as second:  # which the gate refuses, and reports
                wait_until(lambda: second.has_ended.is_set() or switch.has_ended.is_set(), "it is refused")
            return switch.has_ended.wait(1.0)
    except OSError:
        return False  # nobody listens any more


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
