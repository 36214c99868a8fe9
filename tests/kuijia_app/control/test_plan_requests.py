"""Whoever puts a plan into the file and asks for it gets it, whatever comes in between."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kuijia_app.control.plan_source import PlanReading, PlanSource
from kuijia_app.control.plan_update import is_same_plan
from kuijia_app.control.rollout import Rollout
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import InputError
from te_solver.formats.plan_file import load_plan, save_plan
from tests.kuijia_app.control.plan_file import NEW, OLD, SQUARE, asked, beside, with_old
from tests.kuijia_app.plans import plan_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return with_old(tmp_path)


def with_new_asked(path: Path) -> tuple[PlanSource, Rollout, PlanReading]:
    """Put `NEW` into the file of a source that follows `OLD`; return the source, its rollout, and what it has read."""
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    return source, rollout, asked(source, rollout)


def test_the_plan_in_force_that_is_put_back_during_an_update_is_read(path: Path) -> None:
    source, rollout, reading = with_new_asked(path)
    version = reading.version()
    source.begun(version, OLD)
    source.ask()
    assert source.read_if_asked(rollout) is None  # asked twice for the same update
    save_plan(OLD, path)
    back = asked(source, rollout).version()
    assert back.plan == OLD
    source.refused(version.name, OLD)
    source.begun(back, OLD)
    source.ask()
    assert source.read_if_asked(rollout) is None
    assert (load_plan(path), load_plan(beside(path, "refused"))) == (OLD, version.plan)


def test_a_plan_that_is_asked_for_again_during_its_update_keeps_its_path_ids(path: Path) -> None:
    source, rollout, reading = with_new_asked(path)
    begun = reading.version()
    rollout.propose(begun, 0.0)
    assert not {tunnel.path_id for tunnel in begun.plan.tunnels} & {tunnel.path_id for tunnel in OLD.tunnels[:1]}
    save_plan(OLD, path)
    save_plan(NEW, path)
    again = asked(source, rollout).version()
    assert again.plan == begun.plan
    assert rollout.goes_on_with(again)
    assert not rollout.goes_on_with(replace(again, name="another"))
    save_plan(plan_of(SQUARE, "a-c"), path)
    assert not rollout.goes_on_with(asked(source, rollout).version())


def test_the_plan_in_force_that_is_put_back_before_an_update_has_begun_is_read(path: Path) -> None:
    source, rollout, reading = with_new_asked(path)
    version = reading.version()
    save_plan(OLD, path)
    source.begun(version, OLD)
    assert asked(source, rollout).version().plan == OLD


def test_a_plan_whose_file_was_overwritten_before_it_could_be_proposed_is_made_anew(path: Path) -> None:
    source, rollout, first = with_new_asked(path)
    source.begun(first.version(), OLD)
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    late = asked(source, rollout)
    rollout.propose(first.version(), 0.0)
    assert not late.is_current(rollout)
    save_plan(OLD, path)
    source.ask_again(late)
    again = source.read_if_asked(rollout)
    assert again is not None
    assert again.is_current(rollout)
    assert (again.name, again.request) == (late.name, late.request)
    assert is_same_plan(again.version().plan, third)


def test_a_later_request_goes_before_a_plan_that_is_to_be_made_anew(path: Path) -> None:
    source, rollout, early = with_new_asked(path)
    source.ask_again(early)
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    later = asked(source, rollout)
    assert is_same_plan(later.version().plan, third)
    assert later.overtaken == (early.name,)
    source.ask()
    again = source.read_if_asked(rollout)
    assert again is not None
    assert is_same_plan(again.version().plan, third)


def test_a_plan_is_not_made_anew_once_a_later_one_has_been_read(path: Path) -> None:
    source, rollout, early = with_new_asked(path)
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    later = asked(source, rollout)
    source.ask_again(early)
    again = source.read_if_asked(rollout)
    assert again is not None
    assert again.name == early.name
    with pytest.raises(ValueError, match="another plan came"):
        again.version()
    source.ask_again(replace(early, name=later.name))  # the same plan, asked for twice
    assert source.read_if_asked(rollout) is None


def test_of_two_plans_that_are_to_be_made_anew_the_later_one_is(path: Path) -> None:
    source, rollout, early = with_new_asked(path)
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    for each in (asked(source, rollout), early):
        source.ask_again(each)
    again = source.read_if_asked(rollout)
    assert again is not None
    assert is_same_plan(again.version().plan, third)
    assert again.overtaken == (early.name,)


def test_an_error_in_reading_is_told_also_when_it_is_out_of_date(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    path.write_text("nonsense")
    reading = asked(source, rollout)
    rollout.propose(source.prepared("other", NEW, rollout).version(), 0.0)
    source.ask_again(reading)
    again = source.read_if_asked(rollout)
    assert again is not None
    assert again.is_current(rollout)
    with pytest.raises(InputError):
        again.version()


def test_a_reading_is_out_of_date_once_another_plan_has_been_proposed(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    reading = source.prepared("other", NEW, rollout)
    assert reading.is_current(rollout)
    rollout.propose(reading.version(), 0.0)
    assert not reading.is_current(rollout)


def test_a_withdrawal_concerns_the_plans_that_were_asked_for_before_it(path: Path) -> None:
    source, rollout, reading = with_new_asked(path)
    assert not source.is_withdrawn(reading)
    assert not source.take_withdrawal()
    source.ask_to_withdraw()
    assert source.is_withdrawn(reading)
    with pytest.raises(ValueError, match="withdrawn"):
        source.version_of(reading)
    assert [source.take_withdrawal(), source.take_withdrawal()] == [True, False]
    save_plan(plan_of(SQUARE, "a-c"), path)
    later = asked(source, rollout)
    assert (source.is_withdrawn(reading), source.is_withdrawn(later)) == (True, False)
    assert is_same_plan(source.version_of(later).plan, plan_of(SQUARE, "a-c"))
