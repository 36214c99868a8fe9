"""The plan files of a controller that stands by follow the one that acts, and no plan is lost by that."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kuijia_app.control.plan_files import file_name_of_update
from kuijia_app.control.plan_source import PlanSource
from kuijia_app.control.plan_update import renumber
from kuijia_app.control.rollout import Rollout, Stages, Version
from kuijia_app.tables.pipeline import build_tables
from te_solver.formats.plan_file import load_plan, save_plan
from te_solver.model.plan import Plan
from tests.kuijia_app.control.plan_file import NEW, OLD, SQUARE, beside, with_old
from tests.kuijia_app.plans import plan_of

SUFFIXES = ("pending", "refused")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return with_old(tmp_path)


def resumed(path: Path) -> tuple[PlanSource, Version]:
    """Return the plan file of a controller that goes on with an update, and the new plan with its path ids."""
    save_plan(renumber(NEW, OLD), beside(path, "pending"))
    source = PlanSource(path, build_tables)
    version = source.unfinished(Rollout(source.first()))
    assert version is not None
    return source, version


def version_of(plan: Plan, name: str = "peer's") -> Version:
    return Version(name, plan, {})


def left(path: Path) -> list[Plan | None]:
    """Return the plans in the plan file, the pending and the refused one."""
    return [load_plan(file) if file.exists() else None for file in (path, *map(partial(beside, path), SUFFIXES))]


def test_an_update_of_our_own_that_a_peer_has_given_up_becomes_the_refused_one(path: Path) -> None:
    source, pending = resumed(path)
    assert source.adopted(Stages(version_of(OLD)), goes_on=True) == ["resumed"]
    assert left(path) == [OLD, None, pending.plan]


def test_an_update_of_our_own_stays_pending_while_a_peer_goes_on_with_it(path: Path) -> None:
    source, pending = resumed(path)
    assert source.adopted(Stages(version_of(OLD), version_of(pending.plan)), goes_on=False) == []
    assert left(path) == [OLD, pending.plan, None]
    again = PlanSource(path, build_tables)
    assert again.unfinished(Rollout(again.first())) is not None


def test_an_update_of_our_own_that_a_peer_has_brought_into_force_is_in_the_plan_file(path: Path) -> None:
    source, pending = resumed(path)
    assert source.adopted(Stages(version_of(pending.plan)), goes_on=False) == []
    assert left(path) == [pending.plan, None, None]


def test_a_plan_in_force_that_a_peer_is_still_preparing_becomes_pending(path: Path) -> None:
    source = PlanSource(path, build_tables)
    source.first()
    assert source.adopted(Stages(version_of(NEW), version_of(OLD)), goes_on=False) == []
    assert left(path) == [NEW, OLD, None]


def test_a_plan_that_the_peer_which_acts_has_never_had_becomes_the_refused_one(path: Path) -> None:
    source = PlanSource(path, build_tables)
    source.first()
    name = file_name_of_update(path)
    assert source.adopted(Stages(version_of(NEW)), goes_on=False) == [name]
    assert left(path) == [NEW, None, OLD]
    assert file_name_of_update(beside(path, "refused")) == name


def test_a_plan_that_the_peer_which_acts_has_replaced_is_not_kept(path: Path) -> None:
    for stages, goes_on in (
        (Stages(version_of(NEW)), True),
        (Stages(version_of(NEW), None, ((version_of(OLD), "peer's"),)), False),
        (Stages(version_of(renumber(OLD, NEW))), False),
    ):
        save_plan(OLD, path)
        source = PlanSource(path, build_tables)
        source.first()
        assert source.adopted(stages, goes_on=goes_on) == []
        assert left(path) == [stages.in_force.plan, None, None]


def test_a_plan_that_the_peer_which_acts_has_given_up_becomes_the_refused_one(path: Path) -> None:
    source = PlanSource(path, build_tables)
    source.first()
    assert source.adopted(Stages(version_of(NEW), None, ((version_of(OLD), None),)), goes_on=True) != []
    assert left(path) == [NEW, None, OLD]


def test_a_plan_that_somebody_has_put_there_since_is_left_to_be_read(path: Path) -> None:
    source = PlanSource(path, build_tables)
    source.first()
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    assert source.adopted(Stages(version_of(NEW)), goes_on=False) == []
    assert left(path) == [third, None, None]


def test_a_plan_file_that_cannot_be_read_is_left_to_its_owner(path: Path) -> None:
    source, pending = resumed(path)
    path.write_text("{")
    assert source.adopted(Stages(version_of(pending.plan)), goes_on=False) == []
    assert path.read_text() == "{"


def test_a_pending_file_that_cannot_be_read_does_not_keep_a_controller_from_following_a_peer(path: Path) -> None:
    source, _ = resumed(path)
    beside(path, "pending").write_text("{")
    assert source.adopted(Stages(version_of(NEW)), goes_on=True) == []
    assert (load_plan(path), beside(path, "pending").read_text()) == (NEW, "{")
