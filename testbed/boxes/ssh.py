"""The one module that speaks SSH: a connection to a box, over which our agent there receives orders.

It is the OpenSSH client's, so that users' configuration, agents, jump hosts and known host keys hold as everywhere
else. It never asks: without a key that the box accepts, or a host key that is known, there is no connection. One
connection per box is kept, over which orders go as JSON: nothing but a constant is ever read by the shell there. It
sends the agent first, whose modules the box's own Python runs from memory.
"""

from __future__ import annotations

import io
import json
import os
import select
import shlex
import subprocess
import threading
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from kuijia_base.bounded_output import LONGEST_OUTPUT, Tail, one_line
from kuijia_base.commands import MODULES
from kuijia_base.errors import TestbedError
from testbed.boxes.agent import GREETING, SIGN_OF_LIFE_SECONDS
from testbed.boxes.inventory import Login

NEEDED_PYTHON = (3, 10)

AGENT = "testbed.boxes.agent"

MODULES_ON_BOX = (
    "kuijia/__init__.py",
    "kuijia/rooms.py",
    "kuijia_app/__init__.py",
    "kuijia_app/preparation/__init__.py",
    "kuijia_app/preparation/completion.py",
    "kuijia_base/__init__.py",
    "kuijia_base/errors.py",
    "testbed/__init__.py",
    "testbed/boxes/__init__.py",
    "testbed/boxes/agent.py",
    "testbed/boxes/box_actions.py",
    "testbed/boxes/box_switch.py",
    "testbed/boxes/changes.py",
    "testbed/boxes/record.py",
    "testbed/boxes/survey.py",
    "testbed/links/__init__.py",
    "testbed/links/label_observer.py",
    "testbed/links/link_probes.py",
    "testbed/links/port_status.py",
    "testbed/links/load_counters.py",
    "kuijia_app/preparation/send_buffer.py",
    "testbed/machine/__init__.py",
    "kuijia_base/bounded_output.py",
    "kuijia_base/commands.py",
    "testbed/machine/network_namespace.py",
    "testbed/machine/processes.py",
    "testbed/machine/programs.py",
    "testbed/machine/trusted_folders.py",
)
"""Modules that import only each other and the standard library; a test runs them that way."""

BOOTSTRAP = f"""
import sys
if sys.version_info < {NEEDED_PYTHON}:
    sys.exit("Python %d.%d is too old" % sys.version_info[:2])
import os
source = open(0, "rb", buffering=0)
left = int(source.readline() or 0)
held = os.memfd_create("kuijia")
while left:
    part = source.read(left)
    if not part:
        sys.exit("the connection was lost")
    left -= os.write(held, part)
sys.path.insert(0, "/proc/self/fd/%d" % held)
from {AGENT} import serve
serve(source)
""".strip()
"""Reads a length, that many bytes of the bundle, and then orders, all from standard input; leaves no file behind."""


@cache
def bundle() -> bytes:
    """Return the modules as a ZIP file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in MODULES_ON_BOX:
            archive.write(MODULES / name, name)
    return packed.getvalue()


CONNECT_SECONDS = 10
ANSWER_SECONDS = 30.0
_GREETING_SECONDS = 2.0 * CONNECT_SECONDS
_SILENCE_SECONDS = 2
_SILENCES = 3
"""A box that does not answer for so many of these intervals is dead."""

_END_SECONDS = 5.0
_MOST_COMPLAINTS = 1 << 16
_OTHER_HOST_KEY = "REMOTE HOST IDENTIFICATION HAS CHANGED"
_KEY_FAULTS = ("are too open", "Load key")
"""SSH's complaint about a private key that it does not use; it comes well before the line about the refusal."""

_FAILED = 255
"""Exit status of SSH itself, as opposed to that of its command (ssh(1))."""

_MOST_CHATTER = 200
"""Lines that a box's login scripts may print."""

_LONGEST_CHATTER = 4096
"""Bytes of such a line; a longer one counts as several."""

_NOT_STARTED = "does not start the agent"

SEND_SECONDS = 30.0
"""Seconds that a box may take to take an order, or the agent."""

_PATIENCE_SECONDS = 0.5
_LAST_WORDS_SECONDS = 1.0
"""Seconds to wait for the end of an SSH whose box is given up, and again for the thread that reads its output."""

_COMPLAINT_SECONDS = 1.0
"""Seconds to wait for the last output of an SSH that has ended."""

_Answers = SimpleQueue[Mapping[str, Any] | str]
"""The answer to an order, or the reason why there is none."""


class BoxError(TestbedError):
    """Raised when a box refuses or fails an order; the message begins with the box's name."""


class DeadBoxError(BoxError):
    """A box cannot be reached, or no longer."""


def ssh_command(login: Login) -> list[str]:
    """Return the command that starts the agent on a box."""
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ConnectTimeout": str(CONNECT_SECONDS),
        "ServerAliveInterval": str(_SILENCE_SECONDS),
        "ServerAliveCountMax": str(_SILENCES),
        "ClearAllForwardings": "yes",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ControlPath": "none",
        "RequestTTY": "no",
        "LogLevel": "ERROR",
    }
    if login.user is not None:
        options["User"] = login.user
    if login.port is not None:
        options["Port"] = str(login.port)
    if login.key is not None:
        options |= {"IdentityFile": _file_option(login.key), "IdentitiesOnly": "yes"}
    if login.known_hosts is not None:
        options |= {"UserKnownHostsFile": _file_option(login.known_hosts), "GlobalKnownHostsFile": "none"}
    agent = ["python3", "-I", "-c", BOOTSTRAP]
    if login.sudo:
        agent = ["sudo", "-n", "--", *agent]
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return ["ssh", *words, "--", login.address, shlex.join(agent)]


class SshConnection:
    """A box that answers, from construction until `close` or its death; several threads may use it.

    Raises:
        DeadBoxError: there is no connection; the message quotes SSH.
    """

    def __init__(self, name: str, login: Login) -> None:
        self.name = name
        self._greeting: _Answers = SimpleQueue()
        self._awaited: dict[int, _Answers] = {}
        self._asked: dict[int, _Answers] = {}
        self._ordering = threading.Lock()
        self._last_order = 0
        self._has_ended = False
        self._is_greeted = False
        self._fault = ""
        try:
            self._ssh = subprocess.Popen(
                ssh_command(login),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C is for us: we have things to restore
            )
        except OSError as error:
            raise DeadBoxError(f"ssh cannot be run: {error.strerror}") from error
        assert self._ssh.stdin is not None
        assert self._ssh.stderr is not None
        os.set_blocking(self._ssh.stdin.fileno(), False)
        self._complaints = Tail(self._ssh.stderr, _MOST_COMPLAINTS, f"hears complaints of {name}")
        self._listener = threading.Thread(target=self._listen, name=f"listens to {name}", daemon=True)
        self._sending = threading.Lock()
        self._is_closing = threading.Event()
        self._beat = threading.Thread(target=self._give_signs_of_life, name=f"is there for {name}", daemon=True)
        try:
            self._send(f"{len(bundle())}\n".encode() + bundle())
            self._listener.start()
            self._take(self._greeting, _GREETING_SECONDS)
            self._is_greeted = True
            self._beat.start()
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._ssh.poll() is None

    def begin(self, action: str, /, **arguments: object) -> int:
        """Send the box an order and return at once; `result` has the answer."""
        answers: _Answers = SimpleQueue()
        with self._ordering:
            self._last_order += 1
            number = self._last_order
            self._asked[number] = answers
            if self._has_ended:
                answers.put(self._fault)
            else:
                self._awaited[number] = answers
        order = {"id": number, "action": action, "arguments": arguments}
        self._send(json.dumps(order).encode() + b"\n")
        return number

    def result(self, order: int, seconds: float = ANSWER_SECONDS) -> Any:  # noqa: ANN401 - JSON
        """Return the answer to an order.

        Raises:
            BoxError: it could not be done.
            DeadBoxError: the box did not answer for `seconds`.
        """
        answer = self._take(self._asked.pop(order), seconds)
        if "error" in answer:
            raise BoxError(f"{self.name}: {one_line(str(answer['error']))}")
        return answer["value"]

    def call(self, action: str, /, seconds: float = ANSWER_SECONDS, **arguments: object) -> Any:  # noqa: ANN401 - JSON
        """Send the box an order and wait for the answer; raises as `result`."""
        return self.result(self.begin(action, **arguments), seconds)

    def close(self) -> None:
        """End the connection and everything that it has started on the box; has no effect if it has ended."""
        assert self._ssh.stdin is not None
        assert self._ssh.stdout is not None
        self._is_closing.set()
        if self._beat.ident is not None:
            self._beat.join()
        with suppress(BrokenPipeError):
            self._ssh.stdin.close()
        try:
            self._ssh.wait(_END_SECONDS if self._listener.ident is not None else 0)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()
        if self._listener.ident is not None:
            self._listener.join()
        self._ssh.stdout.close()
        self._complaints.text(_COMPLAINT_SECONDS)

    def __enter__(self) -> SshConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, data: bytes) -> None:
        assert self._ssh.stdin is not None
        deadline = time.monotonic() + SEND_SECONDS
        left = memoryview(data)
        try:
            with self._sending:
                while left:
                    descriptor = self._ssh.stdin.fileno()
                    _, ready, _ = select.select([], [descriptor], [], _PATIENCE_SECONDS)
                    if ready:
                        left = left[os.write(descriptor, left) :]
                    elif time.monotonic() > deadline or self._is_closing.is_set():
                        raise self._dead(f"has not read its orders for {SEND_SECONDS:g} s")
        except BlockingIOError as error:  # less room than a pipe promises
            raise self._dead("does not read its orders") from error
        except (BrokenPipeError, ValueError) as error:  # it is closed already
            raise self._dead() from error

    def _take(self, answers: _Answers, seconds: float) -> Mapping[str, Any]:
        try:
            answer = answers.get(timeout=seconds)
        except Empty as error:
            raise self._dead(f"does not answer for {seconds:g} s") from error
        if isinstance(answer, str):
            raise self._dead(answer)
        return answer

    def _give_signs_of_life(self) -> None:
        while not self._is_closing.wait(SIGN_OF_LIFE_SECONDS):
            with suppress(DeadBoxError):  # reported to the next caller that asks the box for something
                self._send(b"\n")

    def _listen(self) -> None:
        assert self._ssh.stdout is not None
        fault = self._heard(self._ssh.stdout)
        with self._ordering:
            self._fault, self._has_ended = fault, True
            for answers in (self._greeting, *self._awaited.values()):
                answers.put(fault)
        if fault:  # later output is not read, and SSH must not wait for a reader
            self._ssh.kill()

    def _heard(self, said: IO[bytes]) -> str:
        """Pass the answers on; return why there are no more, or nothing if the connection has ended."""
        for _ in range(_MOST_CHATTER):
            line = said.readline(_LONGEST_CHATTER)
            if not line:
                return ""
            if line.decode(errors="replace").strip() == GREETING:
                break
        else:
            return f"{_NOT_STARTED}, but says {_MOST_CHATTER} other lines"
        self._greeting.put({})
        while line := said.readline(LONGEST_OUTPUT + 1):
            if len(line) > LONGEST_OUTPUT:
                return f"sends a line of more than {LONGEST_OUTPUT} bytes"
            answer = _answer(line)
            if answer is None:
                return "has closed the connection, or sends no valid answer"
            with self._ordering:
                awaited = self._awaited.pop(answer["id"], None)
            if awaited is None:
                return "answers an order that was not sent"
            awaited.put(answer)
        return ""

    def _dead(self, how: str = "") -> DeadBoxError:
        """Return the error to raise, with the complaints of SSH.

        Without `how`, the connection has ended: because of what the listener found, or by itself.
        """
        with suppress(subprocess.TimeoutExpired):
            self._ssh.wait(_LAST_WORDS_SECONDS)
        if not how and self._listener.ident is not None:
            self._listener.join(_LAST_WORDS_SECONDS)  # it may not have read yet what came before the end
        how = how or self._fault or self._end()
        said = self._complaints.text(_COMPLAINT_SECONDS).strip().splitlines()
        if any(_OTHER_HOST_KEY in line for line in said):
            how += ": its host key differs from the known one"
        earlier = [line.strip().rstrip(".") for line in said[:-1] if any(fault in line for fault in _KEY_FAULTS)]
        reasons = [*earlier, *(line.strip() for line in said[-1:])]
        return DeadBoxError(f"{self.name} {how}" + (f": {one_line('; '.join(reasons))}" if reasons else ""))

    def _end(self) -> str:
        if self._is_greeted:
            return "has closed the connection"
        return "cannot be reached" if self._ssh.returncode == _FAILED else _NOT_STARTED


def _answer(line: bytes) -> Mapping[str, Any] | None:
    """Return an agent's message; None for a line that is none."""
    try:
        answer = json.loads(line)
    except (RecursionError, ValueError):
        return None
    match answer:
        case {"id": int(), "value": _} | {"id": int(), "error": str()}:
            return dict(answer)
    return None


def _file_option(file: Path) -> str:
    """Return a path as ssh_config(5) takes it: in quotes, with percent signs escaped, as they begin a token there."""
    escaped = str(file).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
