"""The controller of a lab as a process of its own: started under either framework, watched through its event log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from kuijia_app import event_log
from kuijia_app.options import OptionWords
from kuijia_app.plan_source import file_name_of_update
from te_solver.plan import Plan
from te_solver.plan_file import load_plan, save_plan
from testbed.commands import MODULES
from testbed.errors import TestbedError
from testbed.processes import LISTENING, owns_socket

Framework = Literal["os-ken", "ryu"]
Event = dict[str, Any]

LISTEN_HOST = "127.0.0.1"
LISTEN_PORT = 6653
START_TIMEOUT = 30.0
_STOP_TIMEOUT = 5.0
_POLL_INTERVAL = 0.005
UPDATE_TIMEOUT = 30.0
_WITHDRAWAL_TIMEOUT = 10.0
_ERRORS = (
    event_log.SWITCH_ERROR,
    event_log.SWITCH_UNFIT,
    event_log.SWITCH_UNKNOWN,
    event_log.ROLE_LOST,
    event_log.PORT_DAMPED,
    event_log.UPDATE_REFUSED,
)
_SWITCH_STATES = (event_log.SWITCH_READY, event_log.SWITCH_GONE)


class ControllerProcess:
    """One controller, from `start` to `stop` or `kill`.

    Its event log is a file in `directory`; times in it are those of the clock `time.time`.
    """

    def __init__(
        self,
        directory: Path,
        plan_file: Path,
        words: OptionWords,
        framework: Framework,
        port: int = LISTEN_PORT,
        *,
        reoptimise: bool = False,
    ) -> None:
        self.framework = framework
        self._directory = directory.absolute()
        self._plan_file = plan_file.absolute()
        self._words = words
        self._port = port
        self._reoptimise = reoptimise
        self._events_file = self._directory / "controller-events.jsonl"
        self._output_file = self._directory / "controller.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._reading = threading.Lock()
        self._events: list[Event] = []
        self._events_read = 0

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Process id while it is alive."""
        return self._process.pid if self._process is not None and self.is_alive else None

    def start(self) -> None:
        """Start it; return when it listens for switches, which are programmed as they connect (`wait_until_ready`).

        Raises:
            TestbedError: it died, or does not listen after `START_TIMEOUT` seconds.
        """
        with self._reading:
            self._events_file.write_bytes(b"")
            self._events, self._events_read = [], 0
        with self._output_file.open("ab") as output:
            self._process = subprocess.Popen(
                self._command(),
                cwd=MODULES,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        pid = self._process.pid
        if not self.wait_for(lambda _: owns_socket(pid, LISTENING, self._port), START_TIMEOUT):
            raise TestbedError(f"the controller does not listen after {START_TIMEOUT:g} s; see {self._output_file}")

    def wait_until_ready(self, switches: Iterable[str], timeout: float = START_TIMEOUT) -> None:
        """Wait until every switch has acknowledged all of its tables.

        Raises:
            TestbedError: the controller died, a switch refused a message, or it takes longer than `timeout` seconds.
        """
        missing = set(switches)

        def all_ready(events: list[Event]) -> bool:
            for event in events:
                if event["event"] == event_log.SWITCH_ERROR:
                    raise TestbedError(
                        f"switch {event['switch']} refused a message of the controller: {event['error']}"
                    )
                if event["event"] == event_log.SWITCH_UNFIT:
                    raise TestbedError(f"switch {event['switch']} {event['problem']}")
            missing.difference_update(event["switch"] for event in events if event["event"] == event_log.SWITCH_READY)
            return not missing

        if not self.wait_for(all_ready, timeout):
            raise TestbedError(
                f"the controller has not programmed {', '.join(sorted(missing))} within {timeout:g} s; see"
                f" {self._output_file}"
            )

    def wait_for(self, condition: Callable[[list[Event]], bool], timeout: float) -> bool:
        """Whether `condition` holds of the events so far within `timeout` seconds.

        Raises:
            TestbedError: the controller died before.
        """
        deadline = time.monotonic() + timeout
        while not condition(self.events()):
            if not self.is_alive:
                raise TestbedError(f"the controller has died: {self._last_words()}")
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_INTERVAL)
        return True

    def events(self) -> list[Event]:
        """All events so far, oldest first; a line still being written is left for the next call."""
        with self._reading, self._events_file.open("rb") as file:
            file.seek(self._events_read)
            complete, newline, _ = file.read().rpartition(b"\n")
            self._events_read += len(complete) + len(newline)
            self._events.extend(json.loads(line) for line in complete.splitlines())
            return list(self._events)

    def programmed_switches(self) -> list[str]:
        """The switches that are connected and have acknowledged their tables; none when it is dead."""
        last = {event["switch"]: event["event"] for event in self.events() if event["event"] in _SWITCH_STATES}
        return sorted(switch for switch, state in last.items() if state == event_log.SWITCH_READY and self.is_alive)

    def unfit_switches(self) -> set[str]:
        """The switches that are not programmed, as they are not the plan's or refused their tables."""
        states = (*_SWITCH_STATES, event_log.SWITCH_UNFIT, event_log.SWITCH_REFUSED)
        last = {event["switch"]: event["event"] for event in self.events() if event["event"] in states}
        return {switch for switch, state in last.items() if state not in _SWITCH_STATES}

    def tunnels_told_dead(self) -> set[int]:
        """Path ids of the tunnels that an ingress avoids, as it was told to."""
        told = {
            (event["ingress"], event["path_id"]): event["alive"]
            for event in self.events()
            if event["event"] == event_log.TUNNEL_LIVENESS
        }
        return {path_id for (_, path_id), alive in told.items() if not alive}

    def update(self, plan: Plan, timeout: float = UPDATE_TIMEOUT) -> Plan:
        """Replace the plan file and have the controller follow it; return when nothing of the old plan is left.

        Returns:
            The plan with the path ids that the switches have now.

        Raises:
            TestbedError: the controller died or gave the plan up, the message says why, or it takes longer than
                `timeout` seconds, when it is withdrawn; the plan before stays in force then.
        """
        if self._process is None or not self.is_alive:
            raise TestbedError("the controller is dead: nobody can update the switches")
        known = len(self.events())
        save_plan(plan, self._plan_file)
        name = file_name_of_update(self._plan_file)
        self._process.send_signal(signal.SIGHUP)
        refused: list[str] = []

        def has_ended(events: list[Event]) -> bool:
            mine = [event for event in events[known:] if event.get("update") == name]
            refused.extend(event["reason"] for event in mine if event["event"] == event_log.UPDATE_REFUSED)
            return bool(refused) or any(event["event"] == event_log.UPDATE_DONE for event in mine)

        if not self.wait_for(has_ended, timeout):
            away = sorted(self._known_switches() - set(self.programmed_switches()))
            because = f"it waited for switch {', '.join(away)}" if away else f"see {self._output_file}"
            self._process.send_signal(signal.SIGUSR1)
            if not self.wait_for(has_ended, _WITHDRAWAL_TIMEOUT):
                raise TestbedError(f"the update is neither done nor withdrawn; see {self._output_file}")
            if refused:
                raise TestbedError(f"the update was not done within {timeout:g} s and is withdrawn: {because}")
        if refused:
            raise TestbedError(f"the update was given up, the plan before stays in force: {refused[0]}")
        return load_plan(self._plan_file)

    def errors(self) -> list[Event]:
        """What went wrong since it was started: refused messages, switches that do not fit, updates given up."""
        return [event for event in self.events() if event["event"] in _ERRORS]

    def _known_switches(self) -> set[str]:
        return {event["switch"] for event in self.events() if event["event"] in _SWITCH_STATES}

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and make it if it does not."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()

    def _command(self) -> list[str]:
        if self.framework == "os-ken":
            return [
                *(sys.executable, "-m", "kuijia_app.cli.main", "controller", str(self._plan_file)),
                *("--host", LISTEN_HOST, "--port", str(self._port)),
                *(f"--{name}={value}" for name, value in asdict(self._words).items()),
                *("--events", str(self._events_file)),
                *(["--reoptimise"] if self._reoptimise else []),
            ]
        manager = Path(sys.executable).with_name("ryu-manager")
        if not manager.exists():
            raise TestbedError(f"{manager} does not exist: c65ryu is not installed beside {sys.executable}")
        configuration = self._directory / "ryu.conf"
        configuration.write_text(
            "[DEFAULT]\n"
            f"ofp_listen_host = {LISTEN_HOST}\n"
            f"ofp_tcp_listen_port = {self._port}\n"
            "[kuijia]\n"
            f"plan = {self._plan_file}\n"
            f"events = {self._events_file}\n"
            f"reoptimise = {self._reoptimise}\n"
            + "".join(f"{name} = {value}\n" for name, value in asdict(self._words).items())
        )
        return [str(manager), "--config-file", str(configuration), "kuijia_app.controller"]

    def _last_words(self) -> str:
        lines = self._output_file.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
