"""Programming of switches: our controller, and `ovs-ofctl --bundle` with the same entries."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

from benchmarks.measure import timed
from benchmarks.registry import BenchmarkSetting, Comparison, benchmark, goal
from kuijia_app.framework import event_log
from kuijia_app.tables.options import OptionWords, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import named_layout
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.table_sizes import TableSize, table_size
from kuijia_base.errors import KuijiaError
from te_solver.formats.plan_file import save_plan
from te_solver.formats.topology_file import load_topology
from te_solver.model.demands import Demand
from te_solver.model.plan import Plan
from te_solver.networks import shipped_network
from te_solver.programs.program import Options
from te_solver.solve import solve
from testbed.controllers.application_process import Listening
from testbed.controllers.controller_process import ControllerProcess
from testbed.crosscheck.dummy_switches import DummyBridges

_NETWORK = "gscale"
_TUNNELS = 3
_CAPACITY = 1000.0
_GOAL = 3.0
"""Largest allowed multiple of the peer's time."""

_ROUNDS = 3
_TIMEOUT = 60.0
_PORT = 16653
"""Port of the controller on the loopback, unused by the rest of the project."""


@benchmark("install")
def install(setting: BenchmarkSetting) -> Iterator[Comparison]:
    plan = all_pairs(_TUNNELS)
    tables = build_tables(plan)
    ours, peers = [], []
    for number in range(1, _ROUNDS + 1):
        setting.progress.show(f"round {number} of {_ROUNDS}: our controller")
        ours.append(_by_controller(plan, tables))
        setting.progress.show(f"round {number} of {_ROUNDS}: ovs-ofctl")
        peers.append(_by_ofctl(plan, tables))
    best, peer = min(ours), min(peers)
    setting.progress.show("counting entries")
    detail = {
        "problem": f"{_NETWORK}, {len(plan.pairs)} pairs, {_TUNNELS} tunnels each, {len(tables)} switches on the dummy "
        "datapath; ours: from their first connection to the controller until all have acknowledged everything",
        "seconds of ours": ", ".join(f"{seconds:.3f}" for seconds in ours),
        "seconds of the peer": ", ".join(f"{seconds:.3f}" for seconds in peers),
        "switches": [{"switch": switch, **table_size(of_switch).as_json()} for switch, of_switch in tables.items()],
        "growth": [_growth(*case) for case in _CASES],
        "goals": [goal(f"at most {_GOAL:g} times the time of ovs-ofctl", met=best <= _GOAL * peer)],
    }
    yield Comparison(best, peer, "ovs-ofctl --bundle", "s", detail)


_CASES = (
    (33, _TUNNELS, "plain"),
    (66, _TUNNELS, "plain"),
    (132, _TUNNELS, "plain"),
    (132, 1, "plain"),
    (132, 2, "plain"),
    (132, _TUNNELS, "four"),
    (132, _TUNNELS, "eight"),
)
"""Pairs, tunnels for each, and queue layout; each pair has all classes of the layout."""


def all_pairs(tunnels: int, pairs: int | None = None, priorities: tuple[int, ...] = (0,)) -> Plan:
    """Return a plan for (the first) pairs of sites, with a small demand of each priority for each."""
    topology = load_topology(shipped_network(_NETWORK)).with_capacity(_CAPACITY)
    ends = list(permutations(topology.nodes, 2))[:pairs]
    demands = [Demand(source, target, 1.0, priority) for source, target in ends for priority in priorities]
    # Spread, so that every tunnel has hash slots.
    return solve(topology, demands, tunnels, options=Options(spread=True))


def _growth(pairs: int, tunnels: int, layout_name: str) -> dict[str, object]:
    """Return the total size of all tables of one such plan."""
    layout = named_layout(layout_name)
    plan = all_pairs(tunnels, pairs, tuple(each.priority for each in layout.classes))
    tables = build_tables(plan, PipelineOptions(layout=layout))
    total = TableSize.sum_of(map(table_size, tables.values()))
    return {"pairs": pairs, "tunnels": tunnels, "priorities": len(layout.classes), **total.as_json()}


def _by_ofctl(plan: Plan, tables: Mapping[str, SwitchTables]) -> float:
    with tempfile.TemporaryDirectory(prefix="kuijia-") as folder, DummyBridges(plan, Path(folder)) as bridges:
        return timed(lambda: bridges.install(tables)).seconds


def _by_controller(plan: Plan, tables: Mapping[str, SwitchTables]) -> float:
    """Return the seconds until the last switch acknowledged its tables; raise KuijiaError if some are missing."""
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="kuijia-")))
        bridges = running.enter_context(DummyBridges(plan, folder))
        save_plan(plan, folder / "plan.json")
        controller = ControllerProcess(folder, folder / "plan.json", OptionWords(), "os-ken", Listening(_PORT))
        running.callback(controller.stop)
        controller.start()
        controllers = [
            word for switch in tables for word in ("--", "set-controller", bridges.bridge(switch), _controller())
        ]
        began = time.time()
        bridges.ovs.vsctl(*controllers)
        controller.wait_until_ready(tables, _TIMEOUT)
        ended = max(event["time"] for event in controller.events() if event["event"] == event_log.SWITCH_READY)
        for switch, wanted in tables.items():
            if len(bridges.flows(switch)) != len(wanted.flows) or len(bridges.groups(switch)) != len(wanted.groups):
                raise KuijiaError(f"switch {switch} lacks some of its tables")
    return float(ended - began)


def _controller() -> str:
    return f"tcp:127.0.0.1:{_PORT}"
