"""A controller without connections, whose handlers tests call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kuijia_app.control.chores import Chores
from kuijia_app.controller import OPTION_GROUP, KuijiaController
from kuijia_app.framework.seam import cfg
from te_solver.plan_file import save_plan
from tests.kuijia_app.plans import motivation_plan


@pytest.fixture
def application(tmp_path: Path) -> Iterator[KuijiaController]:
    save_plan(motivation_plan(), tmp_path / "plan.json")
    cfg.CONF([], project="kuijia", default_config_files=[])
    cfg.CONF.set_override("plan", str(tmp_path / "plan.json"), group=OPTION_GROUP)
    cfg.CONF.set_override("events", str(tmp_path / "events.jsonl"), group=OPTION_GROUP)
    made = KuijiaController()
    made._chores = Chores(lambda: 0.0, lambda: None)  # no slice is ever over: nobody sends ticks
    yield made
    cfg.CONF.reset()
    for option in ("plan", "events"):
        cfg.CONF.clear_override(option, group=OPTION_GROUP)
