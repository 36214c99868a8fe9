"""Recordings made from the results of an experiment: goodput over time, the cut, and the tunnels of each flow.

Results hold what flows got. The rates of links are the sums of the flows that cross them, and the network is made of
the links of their tunnels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from kuijia_base.errors import InputError
from kuijia_base.json_document import json_files
from kuijia_base.reading import reading
from simulator.live.states import Direction, FlowState, LinkState, LogEntry, QueueInfo, QueueLoad, Role, View
from te_solver.model.topology import Link, Topology
from testbed.web.backend import Description, State, TunnelInfo
from testbed.web.drawing import cables, node_places
from testbed.web.recording import Recorded

FORMAT = "kuijia-result"

_EXPECTED = "results of one experiment with goodput over time, as of table2 with --backend emulation or packet"
_QUEUES = (QueueInfo(1, "normal", 0), QueueInfo(2, "victim", 0))
_ROLES: Mapping[str, Role] = {"victim": "victim", "direct": "direct", "indirect": "indirect"}

Result = Mapping[str, Any]


def read_results(folder: Path) -> Recorded:
    """Return what a folder of results shows, schemes side by side; raises InputError if there is nothing to show."""
    results = [found for _, data in json_files(folder, "a file of results", _EXPECTED) if (found := _result(data))]
    if not results:
        raise InputError(folder, "", "no file has goodput over time", _EXPECTED)
    first = results[0]
    same = [each for each in results if _key(each) == _key(first)]
    schemes = list(dict.fromkeys(each["scheme"] for each in same))
    shown = [next(each for each in same if each["scheme"] == scheme) for scheme in schemes]
    with reading(folder, _EXPECTED):
        return _recorded(shown)


def _result(data: object) -> Result | None:
    """Return the content of a file if it has results with goodput over time."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("flows"), list):
        return None
    flows = data["flows"]
    sound = all(isinstance(flow, dict) and isinstance(flow.get("series"), dict) for flow in flows)
    return data if flows and sound and any(flow["series"].get("goodput") for flow in flows) else None


def _key(result: Result) -> tuple[object, ...]:
    return result.get("experiment"), result.get("backend"), result.get("repetition")


def _recorded(results: Sequence[Result]) -> Recorded:
    topology = _topology(results)
    ids: dict[tuple[str, ...], int] = {}
    for result in results:
        for flow in result["flows"]:
            for path in _paths(flow):
                ids.setdefault(path, len(ids) + 1)
    tunnels = tuple(TunnelInfo(number, path[0], path[-1], 0, path, 1.0) for path, number in ids.items())
    ends = {node for path in ids for node in (path[0], path[-1])}
    names = tuple(each["scheme"] for each in results)
    title = f"{results[0]['experiment']} ({results[0]['backend']})"
    places, links = node_places(topology, ends), cables(topology)
    description = Description("replay", "simulated", title, ("clock",), names, places, links, _QUEUES, tunnels, names)
    moments = results[0]["flows"][0]["series"]["end"]
    states = [
        State(float(time), tuple(_view(each, topology, ids, position) for each in results))
        for position, time in enumerate(moments)
    ]
    log = []
    for result in results:
        a, b = result["failure"]["link"]
        at = float(result["failure"]["at"])
        subject = {"link": next(each.id for each in links if {each.a, each.b} == {a, b})}
        log.append((at, result["scheme"], f"link {a}-{b} is down", subject))
    entries = [
        LogEntry(seq, at, scheme, "cut", text, subject)
        for seq, (at, scheme, text, subject) in enumerate(sorted(log, key=lambda each: each[0]), start=1)
    ]
    return Recorded([(0, description)], [state.time for state in states], states.__getitem__, entries)


def _paths(flow: Result) -> list[tuple[str, ...]]:
    return [tuple(map(str, flow[key])) for key in ("tunnel_before", "tunnel_after") if flow.get(key)]


def _topology(results: Sequence[Result]) -> Topology:
    hops: dict[tuple[str, str], None] = {}
    for result in results:
        a, b = result["failure"]["link"]
        hops[str(a), str(b)] = None
        for flow in result["flows"]:
            hops.update(dict.fromkeys(hop for path in _paths(flow) for hop in pairwise(path)))
    capacity = float(results[0]["capacity"])
    both = dict.fromkeys(ends for hop in hops for ends in (hop, hop[::-1]))
    nodes = tuple(sorted({node for hop in hops for node in hop}))
    return Topology(str(results[0]["experiment"]), nodes, tuple(Link(*ends, capacity) for ends in both))


def _view(result: Result, topology: Topology, ids: Mapping[tuple[str, ...], int], position: int) -> View:
    failed = frozenset(result["failure"]["link"])
    ends = result["flows"][0]["series"]["end"]
    is_cut = float(ends[min(position, len(ends) - 1)]) > float(result["failure"]["at"])
    flows = []
    rates: dict[tuple[str, str, int], float] = {}
    for flow in result["flows"]:
        paths = _paths(flow)
        path = paths[-1] if is_cut else paths[0]
        series = flow["series"]["goodput"]
        got = float(series[position]) if position < len(series) else 0.0
        for source, target in pairwise(path):
            place = source, target, 2 if is_cut and flow.get("low_after") else 1
            rates[place] = rates.get(place, 0.0) + got
        flows.append(
            FlowState(
                str(flow["name"]),
                str(flow["source"]),
                str(flow["target"]),
                int(flow["priority"]),
                float(flow["offered"]),
                got,
                _ROLES.get(flow["role"], "untouched") if is_cut else "untouched",
                (ids[path],),
            )
        )
    links = tuple(
        LinkState(
            cable.id,
            not (is_cut and failed == {cable.a, cable.b}),
            (_direction(cable.a, cable.b, rates), _direction(cable.b, cable.a, rates)),
        )
        for cable in cables(topology)
    )
    dead = tuple(number for path, number in ids.items() if is_cut and any({*hop} == failed for hop in pairwise(path)))
    return View(str(result["scheme"]), links, (), dead, tuple(flows))


def _direction(source: str, target: str, rates: Mapping[tuple[str, str, int], float]) -> Direction:
    queues = (QueueLoad(each.queue, round(rates.get((source, target, each.queue), 0.0), 4), 0.0) for each in _QUEUES)
    return Direction(source, target, tuple(queues))
