"""The fuzz target `lab-service`: malformed, slow and simultaneous requests to a live lab service.

Every client that waits gets exactly one answer of the declared form; a valid request is served; the service's memory
and descriptors do not grow.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

from tests.fuzz.lab_requests import UPDATE, Said, case_from_bytes, case_to_bytes, random_case
from tests.fuzz.report import Report
from tests.fuzz.targets import BrokenContractError, LiveTarget

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE = 0.2
"""Seconds that the service waits for a client."""

_ANSWER_SECONDS = 20.0
_LONGEST_ANSWER = 1 << 20
_LONGEST_MESSAGE = 2100
_GROWTH_MB = 64.0
"""Memory that lines of 4 MB, held for eight clients at once, may leave in the allocator."""

_MOST_BYTES = 1 << 23
_WATCHES = b'{"version": 1, "result": {"watching": true'
"""Beginning of the answer to a watcher, whose connection the service does not close."""


class LabService(LiveTarget):
    """The service of `kuijia lab` over a lab that does nothing."""

    name = "lab-service"
    suffix = ".json"

    def run(self, deadline: float, seed: int, report: Report) -> None:
        random = Random(seed)
        with _service() as service:
            while time.monotonic() < deadline and not report.enough(self.name):
                case = random_case(random)
                if not self._try(service, case, report):
                    service.restart()
                report.count(self.name)
                service.note_growth()
                report.progress.show(f"{self.name}: {report.cases[self.name]} cases")
            report.figure(self.name, "growth_mb", service.growth_mb)
            report.figure(self.name, "descriptors", float(service.descriptors()))
            if service.growth_mb > _GROWTH_MB:
                report.failure(self.name, "memory grows", b"[]", self.suffix)

    def repeat(self, content: bytes, report: Report) -> None:
        with _service() as service:
            self._try(service, case_from_bytes(content), report)

    def _try(self, service: _Service, case: Sequence[Said], report: Report) -> bool:
        try:
            service.put(case)
        except BrokenContractError as broken:
            report.failure(self.name, str(broken), case_to_bytes(list(case)), self.suffix, str(broken)[:60])
            return False
        return True


class _Service:
    """The service as a process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lab.sock"
        self._errors = folder / "errors"
        self.growth_mb = 0.0
        self.start()

    def start(self) -> None:
        self._path.unlink(missing_ok=True)
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.make_believe_service", str(self._path), f"{_PATIENCE}"],
                cwd=_ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n", self._errors.read_text(errors="replace")[-2000:]
        # The first update loads the optimiser, whose memory is no growth.
        self.put([Said(json.dumps(UPDATE).encode(), "whole", valid=True)])
        self._baseline = self._megabytes()

    def stop(self) -> None:
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def put(self, case: Sequence[Said]) -> None:
        """Let the clients of a case come; raises BrokenContractError when one is not served as it should be."""
        connections: list[tuple[Said, socket.socket]] = []
        try:
            for said in case:
                connections.append((said, self._connect()))
                _say(*connections[-1])
            for said, connection in connections:
                if said.manner not in ("leaves", "deaf"):
                    _require_answer(said, connection)
        finally:
            for _, connection in connections:
                connection.close()
        with self._connect() as connection:
            probe = Said(b'{"version": 1, "do": "enter", "node": "s1"}', "whole", valid=True)
            _say(probe, connection)
            _require_answer(probe, connection)

    def note_growth(self) -> None:
        self.growth_mb = max(self.growth_mb, self._megabytes() - self._baseline)

    def _megabytes(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.split("VmRSS:", 1)[1].split(maxsplit=1)[0]) / 1024

    def descriptors(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self._process.pid}/fd").iterdir())

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_ANSWER_SECONDS)
        try:
            connection.connect(str(self._path))
        except OSError as error:
            connection.close()
            raise BrokenContractError(self._end()) from error
        return connection

    def _end(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(5)
            lines = self._errors.read_text(errors="replace").strip().splitlines()
            return f"the service has ended with status {status}: {lines[-1] if lines else 'without a word'}"
        return "the service lets nobody in"


def _say(said: Said, connection: socket.socket) -> None:
    # A service that has refused a request need not listen to the rest.
    with suppress(BrokenPipeError, ConnectionResetError):
        match said.manner:
            case "half":
                connection.sendall(said.text.replace(b"\n", b" "))
            case "endless":
                line = said.text.replace(b"\n", b" ")
                connection.sendall(line * (_MOST_BYTES // len(line)))
            case "pieces":
                step = len(said.text) // 5 + 1
                for start in range(0, len(said.text), step):
                    connection.sendall(said.text[start : start + step])
                connection.sendall(b"\n")
            case _:
                connection.sendall(said.text + b"\n")


def _require_answer(said: Said, connection: socket.socket) -> None:
    try:
        answer = _heard(connection)
    except OSError as error:
        raise BrokenContractError(f"no answer within {_ANSWER_SECONDS:g} s ({type(error).__name__})") from error
    lines = answer.splitlines(keepends=True)
    if len(lines) != 1 or not answer.endswith(b"\n"):
        raise BrokenContractError(f"{len(lines)} lines instead of one answer")
    match json.loads(answer):
        case {"version": 1, "result": _, **rest} if not rest:
            return
        case {"version": 1, "error": "the lab is being taken down", "exit_status": 1, **rest} if not rest:
            return  # another client of the case has asked for it
        case {"version": 1, "error": str(message), "exit_status": 2, **rest} if not rest:
            if "\n" in message or len(message) > _LONGEST_MESSAGE:
                raise BrokenContractError(f"an error message of {len(message)} characters")
            if said.valid:
                raise BrokenContractError(f"a valid request is refused: {message[:200]}")
        case other:
            raise BrokenContractError(f"the answer is {str(other)[:300]}")


def _heard(connection: socket.socket) -> bytes:
    """Return all that comes until the service closes the connection, or the first line of a watcher, who then goes."""
    heard = bytearray()
    with suppress(ConnectionResetError):  # the end as those see it who have said more than is listened to
        while chunk := connection.recv(1 << 16):
            heard += chunk
            if len(heard) > _LONGEST_ANSWER:
                raise BrokenContractError("an answer without end")
            if heard.startswith(_WATCHES) and b"\n" in heard:
                return bytes(heard[: heard.index(b"\n") + 1])
    return bytes(heard)


@contextmanager
def _service() -> Iterator[_Service]:
    with tempfile.TemporaryDirectory() as folder:
        service = _Service(Path(folder))
        try:
            yield service
        finally:
            service.stop()


TARGETS: Sequence[LiveTarget] = (LabService(),)
