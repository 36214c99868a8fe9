"""A plan file for tests, its neighbours, and two plans of a square."""

from __future__ import annotations

from pathlib import Path

from kuijia_app.control.plan_source import PlanReading, PlanSource
from kuijia_app.control.rollout import Rollout
from te_solver.formats.plan_file import save_plan
from tests.kuijia_app.plans import both_ways, plan_of

SQUARE = both_ways("square", "a b c d", "a-b b-c c-d d-a a-c")
OLD, NEW = plan_of(SQUARE, "a-b-c a-c"), plan_of(SQUARE, "a-d-c a-c")


def with_old(folder: Path) -> Path:
    """Return a new plan file in a folder, which holds `OLD`."""
    path = folder / "plan.json"
    save_plan(OLD, path)
    return path


def beside(path: Path, suffix: str) -> Path:
    """Return the file beside a plan file whose name has a suffix more."""
    return path.with_name(f"{path.name}.{suffix}")


def asked(source: PlanSource, rollout: Rollout) -> PlanReading:
    """Return what a source reads when it is asked."""
    source.ask()
    reading = source.read_if_asked(rollout)
    assert reading is not None
    return reading
