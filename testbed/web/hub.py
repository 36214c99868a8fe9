"""Polls the backend once for all browsers: states and log entries, encoded once, for each reader at its own pace."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

from kuijia_base.errors import KuijiaError
from kuijia_base.log_lines import part_logger
from simulator.live.states import LogEntry
from testbed.lab.shapes import to_json
from testbed.web.backend import Backend, Description, State
from testbed.web.recording import Recorder, with_views
from testbed.web.requests import FIRST_ENTRIES

INTERVAL = 0.2
"""Seconds between two states."""

MOST_READERS = 200
MOST_ENTRIES = 1000
"""Log entries that wait for a reader; one that is further behind is dropped."""

_LOOKS_BETWEEN_DESCRIPTIONS = 5
_PART = 1 << 20
"""Bytes of a chunk: a description can have many times as many, and each copy of it would fill memory."""

_TUNNELS_AT_A_TIME = 1000
_SILENCE = 10.0
"""Seconds without anything to send after which a comment shows that the server is alive."""


class Reader:
    """A browser's place in the stream: the newest state that it has not read, and all log entries since.

    A state that comes before the last one was read takes its place: a slow reader sees fewer of them.
    """

    def __init__(self) -> None:
        self.is_dropped = False
        self._state: bytes | None = None
        self._frames: deque[bytes] = deque()
        self._news = asyncio.Event()

    def offer(self, frames: list[bytes], state: bytes | None) -> None:
        if len(self._frames) + len(frames) > MOST_ENTRIES:
            self.drop()
        else:
            self._frames.extend(frames)
            self._state = state or self._state
        self._news.set()

    def drop(self) -> None:
        """End the reader's stream."""
        self.is_dropped = True
        self._news.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what is new, until the reader is dropped; a comment when there was nothing for a while."""
        while not self.is_dropped:
            try:
                await asyncio.wait_for(self._news.wait(), _SILENCE)
            except asyncio.TimeoutError:  # another class before Python 3.11
                yield b": nothing new\n\n"
                continue
            self._news.clear()
            taken = [*self._frames, self._state or b""]
            self._frames.clear()
            self._state = None
            for part in _parts(taken):
                if part and not self.is_dropped:
                    yield part


class Hub:
    """Looks at the backend while there are readers; all methods run in the server's event loop.

    Args:
        backend: what is shown.
        view_only: True if the server refuses actions, which descriptions then say.
        recorder: records what is shown, and makes the hub look without readers, too.
        interval: seconds between two states.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        view_only: bool = False,
        recorder: Recorder | None = None,
        interval: float = INTERVAL,
    ) -> None:
        self._backend, self._view_only, self._recorder, self._interval = backend, view_only, recorder, interval
        self._readers: set[Reader] = set()
        self._lock = asyncio.Lock()
        self._wanted = asyncio.Event()
        self._looked = -math.inf
        self._looks = 0
        self._is_closed = False
        self._seq = 0
        self._entry = 0
        self._state: State | None = None
        self._state_json = b""
        self._description_json = b""
        self._described_last: tuple[Description | None, bytes] = (None, b"")
        self._views: tuple[object, bytes] = ((), b"[]")
        if recorder is not None:
            self._wanted.set()

    @property
    def readers(self) -> int:
        return len(self._readers)

    async def run(self) -> None:
        """Look again and again while there are readers; never returns."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(max(0.001, self._looked + self._interval - time.monotonic()))
            try:
                await self.look()
            except KuijiaError as error:
                self._complain(str(error))
            except Exception as error:  # noqa: BLE001  # the server goes on, so that its readers learn of it
                part_logger("web").exception("the look at the lab failed")
                self._complain(f"the server has a fault: {type(error).__name__}")

    def refresh(self) -> None:
        """Make the next look due at once, with a description: something has been done."""
        self._looked, self._looks = -math.inf, 0

    def close(self) -> None:
        """End the streams of all readers."""
        self._is_closed = True
        for reader in self._readers:
            reader.drop()

    async def look(self) -> None:
        """Take a state and everything that is new, unless that was done less than an interval ago."""
        async with self._lock:
            started = time.monotonic()
            if started - self._looked < self._interval:
                return
            self._looked = started
            described = self._looks % _LOOKS_BETWEEN_DESCRIPTIONS == 0
            self._looks += 1
            frames, state = await asyncio.to_thread(self._news, described)
            self._offer(frames, state)

    async def state(self) -> bytes:
        """Return the JSON of a state that is no older than about an interval; raises KuijiaError if there is none."""
        await self.look()
        if self._state is None:
            raise KuijiaError("there is no state of the lab")
        return self._state_json

    async def latest(self) -> State:
        """Return a state as `state` does."""
        await self.state()
        assert self._state is not None, "a look gives a state"
        return self._state

    async def description(self) -> bytes:
        """Return the JSON of the description of now."""
        return await asyncio.to_thread(self._described)

    async def join(self, after: int) -> Reader | None:
        """Return a new reader, who first gets description, log and state; None if there are too many.

        Args:
            after: number of the log entry that the reader has read last.
        """
        reader = Reader()
        lab, state = await self.description(), await self.state()
        async with self._lock:  # no entry may come between those of before and those of later looks
            entries = await asyncio.to_thread(self._backend.events, after)
            # Others may have joined meanwhile, and the server may have been told to end.
            if self._is_closed or len(self._readers) >= MOST_READERS:
                return None
            seen = [_entry_frame(each) for each in entries if each.seq <= self._entry]
            reader.offer([*_lab_frames(lab), *seen[-FIRST_ENTRIES:]], _frame("state", state, self._seq))
            self._readers.add(reader)
        self._wanted.set()
        return reader

    def leave(self, reader: Reader) -> None:
        self._readers.discard(reader)
        if not self._readers and self._recorder is None:
            self._wanted.clear()

    def _offer(self, frames: list[bytes], state: bytes | None) -> None:
        for reader in self._readers:
            reader.offer(frames, state)

    def _complain(self, error: str) -> None:
        self._offer([_frame("trouble", _dumped({"error": error}))], None)

    def _news(self, described: bool) -> tuple[list[bytes], bytes]:  # noqa: FBT001  # for a thread, by position
        frames: list[bytes] = []
        if described and (now := self._described()) != self._description_json:
            self._description_json = now
            frames += _lab_frames(now)
            if self._recorder is not None:
                self._recorder.lab(now)
        entries = self._backend.events(self._entry)
        if entries:
            self._entry = entries[-1].seq
            frames += [_entry_frame(each) for each in entries]
        self._seq += 1
        state = replace(self._backend.state(), seq=self._seq)
        if state.views is not self._views[0]:  # the same object as before need not be encoded again
            self._views = state.views, _dumped(to_json(state.views))
        without, views = _dumped(to_json(replace(state, views=()))), self._views[1]
        self._state, self._state_json = state, with_views(without, views)
        if self._recorder is not None:
            self._recorder.log(entries)
            self._recorder.state(without, views)
        return frames, _frame("state", self._state_json, self._seq)

    def _described(self) -> bytes:
        description = replace(self._backend.describe(), view_only=self._view_only)
        if description != self._described_last[0]:
            self._described_last = description, _encoded(description)
        return self._described_last[1]


def _encoded(description: Description) -> bytes:
    """Return the JSON of a description, made part by part: the data of a large plan's tunnels would fill memory."""
    before, after = _dumped(to_json(replace(description, tunnels=()))).split(b'"tunnels":[]', 1)
    tunnels, found = description.tunnels, BytesIO()
    found.write(before + b'"tunnels":[')
    for first in range(0, len(tunnels), _TUNNELS_AT_A_TIME):
        part = _dumped(to_json(tunnels[first : first + _TUNNELS_AT_A_TIME]))
        found.write((b"," if first else b"") + part[1:-1])
    found.write(b"]" + after)
    return found.getvalue()


def _parts(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Yield short frames joined, and long ones in parts."""
    short: list[bytes] = []
    for frame in frames:
        if len(frame) <= _PART:
            short.append(frame)
            continue
        yield b"".join(short)
        short.clear()
        yield from (frame[first : first + _PART] for first in range(0, len(frame), _PART))
    yield b"".join(short)


def _lab_frames(description: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the message of a description, which is not copied."""
    return b"event: lab\ndata: ", description, b"\n\n"


def _dumped(data: Any) -> bytes:  # noqa: ANN401  # JSON has no type
    return json.dumps(data, separators=(",", ":")).encode()


def _entry_frame(entry: LogEntry) -> bytes:
    return _frame("log", _dumped(to_json(entry)))


def _frame(event: str, data: bytes, number: int | None = None) -> bytes:
    """Return a message of an event stream; JSON has no line ends."""
    name = b"" if number is None else b"id: %d\n" % number
    return b"event: %s\n%sdata: %s\n\n" % (event.encode(), name, data)
