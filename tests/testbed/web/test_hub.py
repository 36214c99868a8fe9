"""One look for all readers; readers that are slow see fewer states, and those that do not read are dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from kuijia.api.lab import Lab
from kuijia_base.errors import KuijiaError
from testbed.lab.shapes import to_json
from testbed.web.app import make_app
from testbed.web.backend import Description, SetLink, SetScheme, State, TunnelInfo
from testbed.web.hub import MOST_ENTRIES, MOST_READERS, Hub, Reader
from testbed.web.recording import Recorder, read_recording
from testbed.web.requests import FIRST_ENTRIES, openapi
from tests.testbed.web.memory_backend import MemoryBackend
from tests.testbed.web.serving import PAGE, TOKEN


def run(work: Coroutine[Any, Any, Any]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


def messages(chunk: bytes) -> list[tuple[str, Any]]:
    """Return the events of a part of a stream with their data."""
    found = []
    for message in chunk.decode().split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in message.splitlines())
        found.append((lines["event"], json.loads(lines["data"])))
    return found


async def joined(hub: Hub, after: int = 0) -> Reader:
    reader = await hub.join(after)
    assert reader is not None
    return reader


def test_a_reader_first_gets_description_log_and_state() -> None:
    async def work() -> None:
        backend = MemoryBackend()
        backend.act(SetLink("s1~s2", up=False))
        backend.act(SetLink("s1~s3", up=False))
        reader = await joined(Hub(backend), after=1)
        first = messages(await anext(reader.chunks()))
        assert [event for event, _ in first] == ["lab", "log", "state"]
        assert first[1][1]["seq"] == 2

    run(work())


class ManyTunnels(MemoryBackend):
    """Describes a plan whose tunnels take some megabytes."""

    def describe(self) -> Description:
        every = (TunnelInfo(number, '"tunnels":[]', "b", 0, ("a", "b"), 0.5) for number in range(30_000))
        return replace(super().describe(), tunnels=tuple(every))


def test_a_large_description_is_sent_in_parts_and_none_is_a_copy_of_all() -> None:
    async def work() -> None:
        backend = ManyTunnels()
        reader = await joined(Hub(backend))
        stream, parts = reader.chunks(), [b""]
        while b"event: state" not in parts[-1]:
            parts.append(await anext(stream))
        assert max(map(len, parts)) <= 1 << 20
        (event, lab), *_ = messages(b"".join(parts))
        assert event == "lab"
        assert lab == json.loads(json.dumps(to_json(backend.describe())))

    run(work())


def test_one_look_serves_all_readers_and_each_event_comes_once() -> None:
    async def work() -> None:
        backend = MemoryBackend()
        hub = Hub(backend, interval=0.001)
        readers = [await joined(hub) for _ in range(50)]
        for reader in readers:
            await anext(reader.chunks())
        looks = backend.states
        backend.act(SetLink("s1~s3", up=False))
        await asyncio.sleep(0.002)
        await hub.look()
        assert backend.states == looks + 1
        for reader in readers:
            assert [event for event, _ in messages(await anext(reader.chunks()))] == ["log", "state"]

    run(work())


def test_a_slow_reader_gets_the_newest_state_and_all_entries() -> None:
    async def work() -> None:
        reader = Reader()
        for number in range(10):
            reader.offer([b"entry %d\n" % number], b"state %d\n" % number)
        chunk = await anext(reader.chunks())
        assert chunk.count(b"entry") == 10
        assert chunk.endswith(b"state 9\n")
        assert chunk.count(b"state") == 1

    run(work())


def test_a_reader_with_too_many_unread_entries_is_dropped() -> None:
    async def work() -> None:
        reader = Reader()
        reader.offer([b"entry"] * MOST_ENTRIES, None)
        reader.offer([b"entry"], None)
        assert [chunk async for chunk in reader.chunks()] == []

    run(work())


def test_a_stream_begins_with_as_many_entries_as_its_description_says() -> None:
    async def work() -> list[int]:
        backend = MemoryBackend()
        for number in range(FIRST_ENTRIES + 2):
            backend.act(SetLink("s1~s3", up=number % 2 == 1))
        reader = await joined(Hub(backend))
        return [data["seq"] for event, data in messages(await anext(reader.chunks())) if event == "log"]

    assert asyncio.run(work()) == list(range(3, FIRST_ENTRIES + 3))
    (parameter,) = openapi()["paths"]["/api/events"]["get"]["parameters"]
    assert f"the last {FIRST_ENTRIES} follow" in parameter["description"]
    assert f"the last {FIRST_ENTRIES};" in (Lab.events.__doc__ or "")


def test_there_are_not_too_many_readers() -> None:
    async def work() -> None:
        hub = Hub(MemoryBackend())
        readers = [await hub.join(0) for _ in range(MOST_READERS + 1)]
        assert readers[-1] is None
        assert readers[0] is not None
        hub.leave(readers[0])
        assert await hub.join(0) is not None

    run(work())


def test_there_are_not_too_many_readers_when_many_join_at_once() -> None:
    async def work() -> None:
        hub = Hub(MemoryBackend())
        readers = await asyncio.gather(*(hub.join(0) for _ in range(MOST_READERS + 30)))
        assert sum(reader is not None for reader in readers) == hub.readers == MOST_READERS

    run(work())


def test_nobody_looks_while_nobody_reads() -> None:
    async def work() -> None:
        backend = MemoryBackend()
        hub = Hub(backend, interval=0.001)
        looking = asyncio.create_task(hub.run())
        await asyncio.sleep(0.02)
        assert backend.states == 0
        reader = await joined(hub)
        while backend.states < 5:
            await anext(reader.chunks())
        hub.leave(reader)
        looking.cancel()

    run(work())


def test_readers_learn_that_the_lab_is_gone_and_that_it_is_back() -> None:
    class Failing(MemoryBackend):
        is_gone = False

        def state(self) -> State:
            if self.is_gone:
                raise KuijiaError("the lab is gone")
            return super().state()

    async def work() -> None:
        backend = Failing()
        hub = Hub(backend, interval=0.001)
        reader = await joined(hub)
        await anext(reader.chunks())
        backend.is_gone = True
        looking = asyncio.create_task(hub.run())
        while (last := messages(await anext(reader.chunks()))[-1])[0] == "state":
            pass
        assert last == ("trouble", {"error": "the lab is gone"})
        backend.is_gone = False
        while messages(await anext(reader.chunks()))[-1][0] != "state":
            pass
        looking.cancel()

    run(work())


def test_a_browser_that_stops_reading_is_dropped_and_holds_up_nobody() -> None:
    app: Any = make_app(MemoryBackend(), TOKEN, files=PAGE, stall=0.05)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/events",
        "query_string": b"",
        "headers": [(b"host", b"localhost:8400"), (b"authorization", b"Bearer " + TOKEN.encode())],
        "client": ("127.0.0.1", 1),
    }

    async def work() -> None:
        stuck = asyncio.Event()

        async def never() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body":
                stuck.set()
                await asyncio.Event().wait()

        reading = asyncio.create_task(app(scope, never, send))
        await stuck.wait()
        await reading  # it ends by itself

    run(work())


def test_a_recording_holds_what_was_shown(tmp_path: Path) -> None:
    async def work() -> None:
        backend = MemoryBackend()
        with Recorder(tmp_path) as recorder:
            hub = Hub(backend, recorder=recorder, interval=0.0)
            await hub.look()
            backend.act(SetLink("s1~s3", up=False))
            await hub.look()
            await hub.look()

    run(work())
    recorded = read_recording(tmp_path)
    assert [round(5 * time) for time in recorded.moments] == [1, 2, 3]
    assert [recorded.states(position).views[0].tunnels_dead for position in range(3)] == [(), (16,), (16,)]
    assert [entry.kind for entry in recorded.log] == ["cut"]
    assert recorded.description_at(2).name == "triangle"
    assert recorded.states(2).seq == 3


def test_a_new_description_is_told_and_an_unchanged_one_is_not() -> None:
    async def work() -> None:
        backend = MemoryBackend()
        hub = Hub(backend, interval=0.0)
        reader = await joined(hub)
        await anext(reader.chunks())
        told = []
        for number in range(15):
            if number == 7:
                backend.act(SetScheme(("kuijia", "rescaling")))
            await hub.look()
            told += [data["schemes"] for event, data in messages(await anext(reader.chunks())) if event == "lab"]
        assert told == [["kuijia", "rescaling"]]

    run(work())
