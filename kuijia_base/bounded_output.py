"""Bounds on the output read from other programs, in bytes and in seconds."""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from typing import IO

from kuijia_base.errors import TestbedError, quoted

LONGEST_OUTPUT = 1 << 26
"""Bytes that a program may write before it counts as broken."""

LONGEST_MESSAGE = 1000
_CHUNK = 1 << 16


class OutputTooLongError(TestbedError):
    """A program or file has more to say than is taken from it."""


def require_short(length: int, name: str, longest: int = LONGEST_OUTPUT) -> None:
    """Raise OutputTooLongError, which names the source, for more than `longest` bytes."""
    if length > longest:
        raise OutputTooLongError(f"{name} wrote more than {longest} bytes")


def one_line(text: str) -> str:
    """Return text from outside as part of a message: on one line, shortened when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def exchange(
    process: subprocess.Popen[bytes], stdin: bytes, timeout: float, longest: int = LONGEST_OUTPUT
) -> tuple[bytes, bytes]:
    """Give a process its input and return its output and errors; kill it when it breaks a bound.

    Args:
        process: its three streams are pipes; they are closed.
        stdin: its whole input.
        timeout: seconds until it has to have ended.
        longest: bytes of output, and of errors.

    Raises:
        OutputTooLongError: it writes more.
        subprocess.TimeoutExpired: it takes longer.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + timeout
    heard: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    left = memoryview(stdin)
    try:
        with selectors.DefaultSelector() as selector:
            for stream in heard:
                selector.register(stream, selectors.EVENT_READ)
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready and time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired(process.args, timeout)
                for key, _ in ready:
                    if key.fileobj is process.stdin:
                        left = left[_written(process.stdin, left) :]
                        is_done = not left
                    else:
                        is_done = not _take(key.fd, heard[key.fileobj], _name(process), longest)  # type: ignore[index]  # those registered are streams
                    if is_done:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]  # likewise
        process.wait(max(0.0, deadline - time.monotonic()))
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        for stream in (process.stdin, *heard):
            stream.close()
    return bytes(heard[process.stdout]), bytes(heard[process.stderr])


class Tail:
    """The last bytes of a stream, read in a thread so that its writer never waits."""

    def __init__(self, stream: IO[bytes], length: int, name: str) -> None:
        self._stream = stream
        self._length = length
        self._kept = bytearray()
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def text(self, patience: float) -> str:
        """Return the bytes as text, once the stream has ended or `patience` seconds are over."""
        self._reader.join(patience)
        return bytes(self._kept).decode(errors="replace")

    def _read(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _CHUNK):
                self._kept += chunk
                del self._kept[: -self._length]


def _written(stream: IO[bytes], data: memoryview) -> int:
    """Write as much as the stream takes; without a reader everything counts as written."""
    try:
        return os.write(stream.fileno(), data[:_CHUNK])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def _take(descriptor: int, heard: bytearray, name: str, longest: int) -> bool:
    """Read once; False at the end."""
    chunk = os.read(descriptor, _CHUNK)
    heard += chunk
    require_short(len(heard), name, longest)
    return bool(chunk)


def _name(process: subprocess.Popen[bytes]) -> str:
    words = process.args
    return quoted(str(words[0]) if isinstance(words, list | tuple) else str(words))
