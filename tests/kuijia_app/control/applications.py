"""Makes a controller or a scheduler without connections, whose handlers tests call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from hedera import scheduler
from hedera.scheduler import HederaScheduler
from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.controller import OPTION_GROUP, KuijiaController
from kuijia_app.framework.seam import cfg
from te_solver.formats.plan_file import save_plan
from te_solver.formats.topology_file import save_topology
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology

Application: TypeAlias = KuijiaController | HederaScheduler


@contextmanager
def application_of(plan: Plan, folder: Path, missing: str = "ignore") -> Iterator[KuijiaController]:
    """Make the controller of a plan, which is filed in the folder as `plan.json`, with the events as `events.jsonl`.

    `missing` is its option on what switches may lack.
    """
    save_plan(plan, folder / "plan.json")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("plan", str(folder / "plan.json"), group=OPTION_GROUP)
    cfg.CONF.set_override("events", str(folder / "events.jsonl"), group=OPTION_GROUP)
    cfg.CONF.set_override("missing", missing, group=OPTION_GROUP)
    made = KuijiaController()
    made._runtime.sliced_work = SlicedWork(lambda: 0.0, lambda: None)  # no slice is ever over: nobody sends ticks
    yield made
    cfg.CONF.reset()
    for option in ("plan", "events", "missing"):
        cfg.CONF.clear_override(option, group=OPTION_GROUP)


@contextmanager
def scheduler_of(topology: Topology, folder: Path) -> Iterator[HederaScheduler]:
    """Make the scheduler of a network, whose leaves are hosts, with the events in the folder as `events.jsonl`."""
    save_topology(topology, folder / "topology.yaml")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("topology", str(folder / "topology.yaml"), group=scheduler.OPTION_GROUP)
    cfg.CONF.set_override("events", str(folder / "events.jsonl"), group=scheduler.OPTION_GROUP)
    cfg.CONF.set_override("missing", "ignore", group=scheduler.OPTION_GROUP)
    made = HederaScheduler()
    made._runtime.sliced_work = SlicedWork(lambda: 0.0, lambda: None)
    yield made
    cfg.CONF.reset()
    for option in ("topology", "events", "missing"):
        cfg.CONF.clear_override(option, group=scheduler.OPTION_GROUP)
