"""The live lab's server with 100 nodes at five states a second, and browsers that read them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from benchmarks.networks import dense, wide_area
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from simulator.live.flow_model import SCHEMES, LiveFlowModel
from simulator.live.states import LinkState, View
from te_solver.model.demands import Demand
from te_solver.solve import solve
from testbed.web.backend import State
from testbed.web.model_backend import ModelBackend
from testbed.web.server import PageLink, Serving, serve

_NODES, _PAIRS, _RATE = 100, 150, 40.0
_BROWSERS = (1, 10, 50)
_SECONDS = 10.0
_GOAL = 30.0

DENSE_LINKS = 362
"""Links of a network whose nodes have seven neighbours on average."""

_CHILD = "from benchmarks.live_lab import show; show()"


class _Changing(ModelBackend):
    """Shows new values in each state, as a real lab does, so that each state is encoded."""

    def state(self) -> State:
        state = super().state()
        return replace(state, views=tuple(_changed(view, state.time) for view in state.views))


def _changed(view: View, time: float) -> View:
    part = time % 1
    flows = tuple(replace(flow, goodput=flow.goodput + part) for flow in view.flows)
    return replace(view, flows=flows, links=tuple(_other_loads(link, 0.5 + part / 2) for link in view.links))


def _other_loads(link: LinkState, factor: float) -> LinkState:
    directions = (
        replace(each, queues=tuple(replace(load, rate=load.rate * factor) for load in each.queues))
        for each in link.directions
    )
    return replace(link, directions=tuple(directions))


def show(*schemes: str, is_dense: bool = False) -> None:
    """Serve a changing network, by default under two schemes, until a signal; print the link as JSON."""
    topology = dense(_NODES, DENSE_LINKS) if is_dense else wide_area(_NODES)
    random = Random(1)
    pairs = {tuple(random.sample(topology.nodes, 2)): None for _ in range(_PAIRS)}
    demands = [Demand(source, target, _RATE) for source, target in pairs]
    backend = _Changing(
        LiveFlowModel(solve(topology, demands, 3), schemes or SCHEMES), lambda *_: solve(topology, demands, 3)
    )

    def ready(link: PageLink) -> None:
        print(json.dumps({"server": link.server, "token": link.token}), flush=True)  # noqa: T201  # for the parent

    serve(backend, Serving(port=0), ready)


@benchmark("live-lab")
def live_lab(setting: BenchmarkSetting) -> Iterator[Comparison]:
    setting.progress.show("the server starts")
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = json.loads(server.stdout.readline())
            for browsers in _BROWSERS:
                setting.progress.show(f"{browsers} browsers")
                yield _compared(server.pid, said, browsers)
        finally:
            server.terminate()


def _compared(server: int, said: dict[str, str], browsers: int) -> Comparison:
    streamed, states, length = _load(server, lambda: _all(said, browsers, _follow))
    polled, polls, _ = _load(server, lambda: _all(said, browsers, _poll))
    detail = {
        "problem": f"{_NODES} nodes, {_PAIRS} demands, two schemes, {browsers} browsers, {_SECONDS:g} s",
        "states a second and browser": states / _SECONDS / browsers,
        "states a second and browser of the peer": polls / _SECONDS / browsers,
        "kilobytes of a state": length / 1e3,
        "goals": [goal(f"under {_GOAL:g} % of a core with one browser", met=streamed < _GOAL)] if browsers == 1 else [],
    }
    return Comparison(streamed, polled, "the same server, polled by each browser", "% of a core", detail)


_Counts = tuple[int, int]
"""States that a browser has read, and the bytes of the last one."""


def _load(server: int, work: Callable[[], Coroutine[Any, Any, list[_Counts]]]) -> tuple[float, int, int]:
    """Return the processor time of the server in percent, the states that browsers read, and the bytes of one."""
    before, started = processor_seconds(server), time.perf_counter()
    counts = asyncio.run(work())
    used = (processor_seconds(server) - before) / (time.perf_counter() - started)
    return 100 * used, sum(count for count, _ in counts), max(length for _, length in counts)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _all(
    said: dict[str, str], browsers: int, read: Callable[[dict[str, str], float], Coroutine[Any, Any, _Counts]]
) -> list[_Counts]:
    end = time.perf_counter() + _SECONDS
    return list(await asyncio.gather(*(read(said, end) for _ in range(browsers))))


async def _follow(said: dict[str, str], end: float) -> _Counts:
    """Read the stream of events until a time."""
    reader, writer = await _asked(said, "/api/events")
    states, length = 0, 0
    while time.perf_counter() < end:
        line = await reader.readline()
        if line.startswith(b'data: {"time"'):
            states, length = states + 1, len(line)
    writer.close()
    return states, length


async def _poll(said: dict[str, str], end: float) -> _Counts:
    """Ask for the state five times a second until a time, each time by a request of its own."""
    states, length, due = 0, 0, time.perf_counter()
    while due < end:
        await asyncio.sleep(due - time.perf_counter())
        reader, writer = await _asked(said, "/api/state")
        length = len(await reader.read())
        writer.close()
        states, due = states + 1, due + 0.2
    return states, length


async def _asked(said: dict[str, str], path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    server = urlsplit(said["server"])
    reader, writer = await asyncio.open_connection(server.hostname, server.port, limit=2**24)
    head = f"GET {path} HTTP/1.1\r\nHost: {server.netloc}\r\nAuthorization: Bearer {said['token']}\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode())
    await writer.drain()
    return reader, writer
