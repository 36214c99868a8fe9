"""A controller as its own process: started under either framework, watched through its event log, which is kept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from io import BufferedWriter
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from kuijia_app.framework import event_log
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.bounded_output import LONGEST_OUTPUT, one_line, require_short
from kuijia_base.commands import MODULES, kuijia_command
from kuijia_base.errors import TestbedError, quoted
from testbed.machine.processes import LISTENING, owns_socket

Event: TypeAlias = dict[str, Any]

RECENT = 20_000
"""Latest events that are all kept."""

_IDENTITY = ("event", "switch", "port", "kind", "detail", "ingress", "egress", "path_id", "update", "controller")
"""Fields that say what an event is about."""

_SUPERSEDED: Event = {"event": "superseded", "time": 0.0, "monotonic": 0.0}


class EventHistory:
    """The events of one application, oldest first; places in the list never change.

    An event counts as superseded once it is older than the latest `RECENT` and a later one is about the same. In its
    place stands one that says so, which takes no memory of its own.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._swept = 0

    def extend(self, events: Iterable[Event]) -> None:
        """Add the next events."""
        self.events.extend(events)
        if len(self.events) - self._swept >= 2 * RECENT:
            self._sweep()

    def _sweep(self) -> None:
        end = len(self.events) - RECENT
        seen: set[tuple[object, ...]] = set()
        for place in reversed(range(end)):
            event = self.events[place]
            if event is _SUPERSEDED:
                continue
            identity = tuple(str(event.get(name)) for name in _IDENTITY)
            if identity in seen:
                self.events[place] = _SUPERSEDED
            seen.add(identity)
        self._swept = end


_LONGEST_EVENT = 1 << 20
"""Bytes."""


class EventFile:
    """The lines of a file, read piece by piece while it is written and renamed.

    The file that is being read stays open: under whatever name, it is read to its end, and then the one after it. What
    the writer has deleted before it could be opened is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._begun = b""

    def clear(self) -> None:
        """Empty the file, delete those that an earlier writer has renamed, and begin again."""
        self._let_go()
        for earlier in self._renamed().values():
            earlier.unlink()
        self._path.write_bytes(b"")
        self._begun = b""

    def new_lines(self) -> list[bytes]:
        """Return the lines since the last call; one still being written is left for the next call."""
        read = b"".join(iter(self._next_piece, b""))
        complete, newline, self._begun = (self._begun + read).rpartition(b"\n")
        require_short(len(self._begun), f"an event in {self._path}", _LONGEST_EVENT)
        return (complete + newline).splitlines()

    def _next_piece(self) -> bytes:
        """Return what can be read now, b"" at the end of the last file."""
        if self._file is None:
            self._file = [*self._renamed().values(), self._path][0].open("rb")
        read = self._file.read(LONGEST_OUTPUT)
        if read:
            return read
        later = self._later_file()
        if later is None:
            return b""
        last = self._file.read(LONGEST_OUTPUT)  # written before the file was renamed
        if last:
            later.close()
            return last
        self._let_go()
        self._file = later
        return self._next_piece()

    def _later_file(self) -> IO[bytes] | None:
        """Open the file that follows the present one; None if there is none, or files are being renamed just now."""
        assert self._file is not None
        present = os.fstat(self._file.fileno())
        try:
            if os.path.samestat(self._path.stat(), present):
                return None
            renamed = self._renamed()
            place = next((n for n, path in renamed.items() if os.path.samestat(path.stat(), present)), None)
            if place is None:
                return None if present.st_nlink else [*renamed.values(), self._path][0].open("rb")
            later = self._named(place - 1).open("rb")
            # The writer renames the earliest first: if that has moved, perhaps another one was opened.
            if os.path.samestat(renamed[place].stat(), present):
                return later
            later.close()
        except FileNotFoundError:
            pass
        return None

    def _renamed(self) -> dict[int, Path]:
        """Return the renamed files by their numbers, the earliest first; it may miss some that are renamed just now."""
        suffixes = (path.suffix[1:] for path in self._path.parent.glob(f"{self._path.name}.*"))
        return {
            number: self._named(number) for number in sorted(map(int, filter(str.isdecimal, suffixes)), reverse=True)
        }

    def _named(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


Framework = Literal["os-ken", "ryu"]

LISTEN_HOST = "127.0.0.1"
LISTEN_PORT = 6653
START_TIMEOUT = 60.0
_STOP_TIMEOUT = 5.0
_POLL_INTERVAL = 0.005
_START_POLL_INTERVAL = 0.03
"""Longer, as the kernel takes milliseconds to list its sockets, and the process needs that time to start."""

_COMPLAINT = re.compile(r"^\S+ (WARNING|ERROR|CRITICAL) ")
_SHOWN_COMPLAINTS = 3

_LAST_WORDS = 1 << 16
"""Bytes of the log, in which they are looked for."""

ENVIRONMENT = {"EVENTLET_NO_GREENDNS": "yes"}
"""What an application has in its environment in addition to ours.

Under Ryu, leaves out what resolves names: controllers resolve none, and start a fifth of a second sooner.
"""

SWITCH_STATES = (event_log.SWITCH_READY, event_log.SWITCH_GONE)


@dataclass(frozen=True)
class Listening:
    """Address where a controller waits for switches, and its TLS files if they connect by TLS."""

    port: int = LISTEN_PORT
    host: str = LISTEN_HOST
    tls: TlsFiles | None = None

    @property
    def protocol(self) -> Literal["tcp", "ssl"]:
        """Name of the protocol in Open vSwitch."""
        return "tcp" if self.tls is None else "ssl"


HERE = Listening()
"""Default address."""


class ApplicationProcess(ABC):
    """One application that programs switches, from `start` to `stop` or `kill`.

    Its event log is a file in `directory`; times in it are those of the clock `time.time`.

    Attributes:
        wrap: returns the command to be started in place of the application's own.
    """

    def __init__(
        self,
        directory: Path,
        framework: Framework,
        listening: Listening = HERE,
    ) -> None:
        self.framework = framework
        self.wrap: Callable[[list[str]], list[str]] = lambda command: command
        self._directory = directory.absolute()
        self._listening = listening
        self._events_file = self._directory / "controller-events.jsonl"
        self._output_file = self._directory / "controller.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._own_ends: list[int] = []
        self._has_noted_end = False
        self._reading = threading.Lock()
        self._event_lines = EventFile(self._events_file)
        self._history = EventHistory()

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Process id while it is alive."""
        return self._process.pid if self._process is not None and self.is_alive else None

    @property
    def own_ends(self) -> tuple[int, ...]:
        """Exit statuses of its processes that have ended without `kill` or `stop`, in order."""
        status = None if self._process is None else self._process.poll()
        if status is not None and not self._has_noted_end:
            self._own_ends.append(status)
            self._has_noted_end = True
        return tuple(self._own_ends)

    def _expect_end(self) -> None:
        """Note that the process ends on purpose, but for one that has ended already."""
        _ = self.own_ends
        self._has_noted_end = True

    def start(self) -> None:
        """Start it; return when it listens for switches, which it programs as they connect (`wait_until_ready`).

        Raises:
            TestbedError: it died, or does not listen after `START_TIMEOUT` seconds.
        """
        with self._reading:
            self._event_lines.clear()
            self._history = EventHistory()
        self._expect_end()
        with self._output_file.open("ab") as output:
            self._process = self._launch(output)
        self._has_noted_end = False
        pid = self._process.pid
        port = self._listening.port
        if not self.wait_for(lambda _: owns_socket(pid, LISTENING, port), START_TIMEOUT, _START_POLL_INTERVAL):
            self.kill()
            raise TestbedError(f"the controller does not listen after {START_TIMEOUT:g} s{self._complaints()}")

    def _launch(self, output: BufferedWriter) -> subprocess.Popen[bytes]:
        """Return the process, which has just begun and logs to `output`."""
        return subprocess.Popen(
            self.wrap(self._command()),
            cwd=MODULES,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

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
                f"the controller has not programmed {', '.join(sorted(missing))} within {timeout:g} s"
                f"{self._complaints()}"
            )

    def wait_for(
        self, condition: Callable[[list[Event]], bool], timeout: float, interval: float = _POLL_INTERVAL
    ) -> bool:
        """Return True if `condition` holds for the events within `timeout` seconds, looking at them every `interval`.

        Raises:
            TestbedError: the controller died first.
        """
        deadline = time.monotonic() + timeout
        while not condition(self.events()):
            if not self.is_alive:
                raise TestbedError(f"the controller has died: {self._last_words()}")
            if time.monotonic() > deadline:
                return False
            time.sleep(interval)
        return True

    def events(self) -> list[Event]:
        """Return the events so far as of `EventHistory`; a line still being written is left for the next call."""
        with self._reading:
            self._history.extend(map(self._event, self._event_lines.new_lines()))
            return list(self._history.events)

    def _event(self, line: bytes) -> Event:
        try:
            event = json.loads(line)
        except (RecursionError, ValueError):
            event = None
        if not isinstance(event, dict) or "event" not in event:
            raise TestbedError(
                f"{self._events_file} has a line that is not an event: {quoted(line.decode(errors='replace'))}"
            )
        return event

    def programmed_switches(self) -> list[str]:
        """Return the switches that are connected and have acknowledged their tables; none when the process is dead."""
        last = {event["switch"]: event["event"] for event in self.events() if event["event"] in SWITCH_STATES}
        return sorted(switch for switch, state in last.items() if state == event_log.SWITCH_READY and self.is_alive)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process is not None:
            self._expect_end()
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Terminate it, by force if necessary."""
        if self._process is None:
            return
        self._expect_end()
        self._process.terminate()
        try:
            self._process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()

    @abstractmethod
    def _command(self) -> list[str]:
        """Return the program and its arguments."""

    def _verb(self, verb: str, *arguments: str) -> list[str]:
        """Return the command for one of our verbs, which runs the application under os-ken."""
        command = kuijia_command(verb, *arguments)
        listening = self._listening
        command += ["--host", listening.host, "--port", str(listening.port), "--events", str(self._events_file)]
        if listening.tls is not None:
            command += [f"--tls-{field.name}={getattr(listening.tls, field.name)}" for field in fields(listening.tls)]
        return command

    def _manager(self, application: str, section: str, options: Mapping[str, object]) -> list[str]:
        """Return the `ryu-manager` command for an application, whose options go into a section of its configuration."""
        manager = Path(sys.executable).with_name("ryu-manager")
        if not manager.exists():
            raise TestbedError(f"{manager} does not exist: c65ryu is not installed beside {sys.executable}")
        configuration = self._directory / "ryu.conf"
        tls = self._listening.tls
        listening: dict[str, object] = {"ofp_listen_host": self._listening.host}
        if tls is None:
            listening |= {"ofp_tcp_listen_port": self._listening.port}
        else:
            listening |= {"ofp_ssl_listen_port": self._listening.port}
            listening |= {"ctl_privkey": tls.key, "ctl_cert": tls.certificate, "ca_certs": tls.ca}
        sections = {"DEFAULT": listening, section: {"events": self._events_file, **options}}
        configuration.write_text(
            "".join(
                f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
                for name, values in sections.items()
            )
        )
        return [str(manager), "--config-file", str(configuration), application]

    def _last_words(self) -> str:
        lines = self._last_lines()
        return one_line(lines[-1]) if lines else "without a message"

    def _complaints(self) -> str:
        """Return the end of a message: the last warnings and errors in the log, which goes with the lab's folder."""
        found = [line for line in self._last_lines() if _COMPLAINT.search(line)][-_SHOWN_COMPLAINTS:]
        return f"; its log: {one_line(' | '.join(found))}" if found else "; its log has no warnings"

    def _last_lines(self) -> list[str]:
        with self._output_file.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_WORDS))
            return file.read(_LAST_WORDS).decode(errors="replace").strip().splitlines()
