"""Makes a controller without connections, whose handlers tests call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kuijia_app.control.sliced_work import SlicedWork
from kuijia_app.controller import OPTION_GROUP, KuijiaController
from kuijia_app.framework.seam import cfg
from te_solver.plan import Plan
from te_solver.plan_file import save_plan


@contextmanager
def application_of(plan: Plan, folder: Path) -> Iterator[KuijiaController]:
    """Make the controller of a plan, which is filed in the folder as `plan.json`, with the events as `events.jsonl`."""
    save_plan(plan, folder / "plan.json")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("plan", str(folder / "plan.json"), group=OPTION_GROUP)
    cfg.CONF.set_override("events", str(folder / "events.jsonl"), group=OPTION_GROUP)
    made = KuijiaController()
    made._sliced_work = SlicedWork(lambda: 0.0, lambda: None)  # no slice is ever over: nobody sends ticks
    yield made
    cfg.CONF.reset()
    for option in ("plan", "events"):
        cfg.CONF.clear_override(option, group=OPTION_GROUP)
