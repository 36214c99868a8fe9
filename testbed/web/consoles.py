"""Commands on hosts of a lab: their output as events, within limits; they end with all that they started."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from kuijia_base.errors import InputError, KuijiaError
from testbed.lab.lab_client import on_host
from testbed.machine.processes import end_processes_with_environment

SECONDS = 60.0
"""Time after which a command is ended."""

MOST_BYTES = 256 * 1024
"""Output of a command; with more, it is ended."""

MOST_AT_ONCE = 4

_MARK = "KUIJIA_CONSOLE"
_CHUNK = 16 * 1024
_PATIENCE = 2.0
"""Seconds in which the output of an ended command must end: a child that escapes may keep it open."""


def words_of(line: str) -> list[str]:
    """Return the words of a command line, quoted as in a shell, which does not run; raises InputError."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputError("request", "command", "a quotation without its end", "quotes in pairs") from error
    if not words:
        raise InputError("request", "command", "no command is given", "one, such as `ping 10.0.4.1`")
    return words


class Console:
    """A running command; what it starts has its mark in the environment, by which all of it is ended.

    Args:
        process: the command, a leader of its own session, with a pipe for its output.
        mark: value of the mark.
        seconds: time after which it is ended.
        most: bytes of output after which it is ended.
    """

    def __init__(self, process: asyncio.subprocess.Process, mark: str, seconds: float, most: int) -> None:
        self._process, self._mark = process, mark
        self._deadline, self._seconds, self._most = time.monotonic() + seconds, seconds, most

    @classmethod
    async def start(
        cls, words: Sequence[str], host: Mapping[str, Any], seconds: float = SECONDS, most: int = MOST_BYTES
    ) -> Console:
        """Start a command in a host, by the lab's answer to `enter`; raises KuijiaError if that fails."""
        argv, environment = on_host(host, words)
        mark = secrets.token_hex(16)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**environment, _MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            raise KuijiaError(f"`{argv[0]}` cannot be run: {error.strerror}") from error
        return cls(process, mark, seconds, most)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield events `output` with the text, and `end` with the exit status, or why the command was ended."""
        assert self._process.stdout is not None
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        left, reason = self._most, ""
        try:
            while data := await self._in_time(self._process.stdout.read(_CHUNK)):
                yield _event("output", {"text": decoder.decode(data[:left])})
                left -= len(data)
                if left < 0:
                    reason = f"ended after {self._most} bytes of output"
                    break
            else:
                await self._in_time(self._process.wait())
        except asyncio.TimeoutError:  # another class before Python 3.11
            reason = f"ended after {self._seconds:g} s"
        yield _event("end", {"status": None if reason else self._process.returncode, "reason": reason})

    async def close(self) -> None:
        """End what still runs."""
        if self._process.returncode is None:  # it may have taken its mark away
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.to_thread(end_processes_with_environment, f"{_MARK}={self._mark}", 0.0)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.communicate(), _PATIENCE)

    async def _in_time(self, work: Any) -> Any:  # noqa: ANN401  # any coroutine and its result
        return await asyncio.wait_for(work, max(0.0, self._deadline - time.monotonic()))


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), json.dumps(data).encode())
