"""The plan file is read when that is asked for, and holds what the switches carry."""

from __future__ import annotations

import gc
import os
import re
from pathlib import Path
from typing import Any

import pytest

from kuijia_app.control import plan_files
from kuijia_app.control.plan_checks import Missing
from kuijia_app.control.plan_files import file_name_of_update
from kuijia_app.control.plan_source import PlanSource
from kuijia_app.control.rollout import Rollout
from kuijia_app.tables.pipeline import build_tables
from kuijia_base.errors import InputError
from te_solver.formats.plan_file import load_plan, save_plan
from te_solver.model.plan import Plan
from tests.kuijia_app.control.plan_file import NEW, OLD, SQUARE, asked, beside, with_old
from tests.kuijia_app.plans import motivation_plan, plan_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return with_old(tmp_path)


def test_the_file_is_read_only_when_that_is_asked_for_and_path_ids_are_chosen_anew(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    assert source.read_if_asked(rollout) is None
    source.ask()
    reading = source.read_if_asked(rollout)
    assert reading is not None
    assert reading.name == file_name_of_update(path)
    assert [tunnel.path_id for tunnel in reading.version().plan.tunnels] == [18, 17]
    assert source.read_if_asked(rollout) is None


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "huge"])
def test_what_cannot_be_read_to_an_end_is_refused_at_once_and_left_as_it_is(path: Path, kind: str) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    else:
        with path.open("wb") as file:
            file.truncate(1 << 40)
    before = path.lstat()
    source.ask()
    reading = source.read_if_asked(rollout)
    assert reading is not None
    with pytest.raises(ValueError, match=r"plan\.json") as refused:
        reading.version()
    assert len(str(refused.value).splitlines()) == 1
    source.refused(reading.name, rollout.in_force.plan)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


TOO_MUCH = NEW.with_rates_times(1000)
NAMED = r"the plan sends 5 Gbit/s over link .->. of 1 Gbit/s, 4 Gbit/s too much; 2 other links too"


def test_a_plan_that_overloads_links_is_refused_at_the_start_and_later(path: Path) -> None:
    source = PlanSource(path, build_tables, Missing.REFUSE)
    rollout = Rollout(source.first())
    save_plan(TOO_MUCH, path)
    reading = asked(source, rollout)
    with pytest.raises(InputError, match=rf"plan\.json: {NAMED}, expected links with room .*, or --missing warn$"):
        reading.version()
    source.refused(reading.name, rollout.in_force.plan)
    assert (load_plan(path), load_plan(beside(path, "refused"))) == (OLD, TOO_MUCH)
    save_plan(TOO_MUCH, path)
    with pytest.raises(InputError, match=NAMED):
        PlanSource(path, build_tables, Missing.REFUSE).first()


@pytest.mark.parametrize("overload", [Missing.WARN, Missing.IGNORE])
def test_a_plan_that_overloads_links_is_used_where_the_user_says_so(path: Path, overload: Missing) -> None:
    save_plan(TOO_MUCH, path)
    source = PlanSource(path, build_tables, overload)
    assert source.first().plan == TOO_MUCH
    assert bool(source.problems) == (overload is Missing.WARN)
    assert all(re.search(NAMED, each) for each in source.problems)


@pytest.mark.parametrize("text", ["", "{", None])
def test_a_file_that_is_no_plan_is_told_by_what_is_wrong_with_it(path: Path, text: str | None) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    source.ask()
    reading = source.read_if_asked(rollout)
    assert reading is not None
    with pytest.raises(ValueError, match=str(path)):
        reading.version()


def test_until_an_update_is_live_the_file_holds_the_plan_in_force_and_then_the_new_one(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    version = asked(source, rollout).version()
    source.begun(version, OLD)
    assert load_plan(path) == OLD
    assert load_plan(beside(path, "pending")) == version.plan
    source.ask()
    assert source.read_if_asked(rollout) is None
    source.live(version)
    assert load_plan(path) == version.plan
    assert not beside(path, "pending").exists()
    assert not beside(path, "refused").exists()


class Ended(BaseException):
    """The process ends."""


@pytest.mark.parametrize("place", ["put_pending", "replace", "renew_pending"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_ends_at_any_write_of_a_beginning_update_leaves_the_new_plan(
    path: Path, monkeypatch: pytest.MonkeyPatch, place: str, when: str
) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    version = asked(source, rollout).version()
    write = getattr(plan_files.PlanPath, place)

    def end(*arguments: object, **options: object) -> None:
        if when == "after":
            write(*arguments, **options)
        raise Ended

    with monkeypatch.context() as until:
        until.setattr(plan_files.PlanPath, place, end)
        with pytest.raises(Ended):
            source.begun(version, OLD)
    again = PlanSource(path, build_tables)
    again.unfinished(Rollout(again.first()))
    left = [load_plan(file) for file in (path, beside(path, "pending"), beside(path, "refused")) if file.exists()]
    assert any(plan in left for plan in (NEW, version.plan))


def test_a_disk_that_is_full_for_the_second_file_leaves_the_new_plan_in_the_first(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    reading = asked(source, rollout)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(plan_files.PlanPath, "put_pending", fail)
        source.begun(reading.version(), OLD)
    assert load_plan(path) == NEW
    source.refused(reading.name, OLD)
    assert (load_plan(path), load_plan(beside(path, "refused"))) == (OLD, NEW)


def fails_once(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Let the disk be full for the next write of this kind."""
    write = getattr(plan_files.PlanPath, place)
    failed: list[object] = []

    def fail(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        if failed:
            return write(*arguments, **options)
        failed.append(arguments)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plan_files.PlanPath, place, fail)


def test_a_plan_that_a_full_disk_kept_from_its_place_beside_goes_there_with_the_next_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    reading = asked(source, rollout)
    fails_once(monkeypatch, "replace")
    source.refused(reading.name, OLD)
    assert (load_plan(path), beside(path, "refused").exists()) == (OLD, True)
    assert load_plan(beside(path, "refused")) == NEW


def test_a_plan_of_others_that_was_not_replaced_is_not_kept_when_its_own_update_is_over(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    given_up = asked(source, rollout).name
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    source.refused(given_up, OLD)
    version = asked(source, rollout).version()
    source.begun(version, OLD)
    source.live(version)
    assert load_plan(path) == version.plan
    assert not beside(path, "refused").exists()


def interrupted(path: Path) -> PlanSource:
    """Return the plan file of a controller that was killed in the middle of an update and starts again."""
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    source.begun(asked(source, rollout).version(), OLD)
    return PlanSource(path, build_tables)


def test_an_update_that_a_process_has_left_unfinished_is_resumed_by_the_next(path: Path) -> None:
    source = interrupted(path)
    rollout = Rollout(source.first())
    version = source.unfinished(rollout)
    assert version is not None
    assert (rollout.in_force.plan, version.plan) == (OLD, load_plan(beside(path, "pending")))
    source.live(version)
    assert load_plan(path) == version.plan
    assert not beside(path, "pending").exists()


def test_an_unfinished_update_is_given_up_if_the_plan_file_has_been_replaced_since(path: Path) -> None:
    source = interrupted(path)
    os.utime(path, ns=(0, beside(path, "pending").stat().st_mtime_ns + 1))
    assert source.unfinished(Rollout(source.first())) is None
    assert beside(path, "refused").exists()
    assert not beside(path, "pending").exists()


def test_an_unfinished_update_whose_plan_cannot_be_used_is_not_resumed(path: Path) -> None:
    source = interrupted(path)
    beside(path, "pending").write_text("{}")
    assert source.unfinished(Rollout(source.first())) is None
    assert "not resumed" in source.problems[0]
    assert beside(path, "refused").read_text() == "{}"
    assert not beside(path, "pending").exists()


def test_an_update_that_was_in_force_is_not_resumed(path: Path) -> None:
    source = interrupted(path)
    path.write_text(beside(path, "pending").read_text())
    assert source.unfinished(Rollout(source.first())) is None
    assert not beside(path, "pending").exists()


def test_a_plan_that_comes_before_the_one_read_has_begun_is_not_overwritten(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    version = asked(source, rollout).version()
    third = plan_of(SQUARE, "a-c")
    save_plan(third, path)
    source.begun(version, OLD)
    assert load_plan(path) == third
    assert asked(source, rollout).name == file_name_of_update(path)
    source.live(version)
    source.refused(version.name, OLD)
    assert load_plan(path) == third


def test_a_plan_that_comes_while_the_file_is_written_is_not_overwritten_and_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    version = asked(source, rollout).version()
    third = plan_of(SQUARE, "a-c")

    def compared(file: Path) -> Plan:
        found = load_plan(file)
        save_plan(third, file)
        return found

    with monkeypatch.context() as during:
        during.setattr(plan_files, "load_plan", compared)
        source.begun(version, OLD)
    assert load_plan(path) == third
    assert asked(source, rollout).name == file_name_of_update(path)


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    save_plan(NEW, path)
    later = [plan_of(SQUARE, "a-c")]

    def replaced(file: Path) -> Plan:
        found = load_plan(file)
        while later:
            save_plan(later.pop(), file)
        return found

    monkeypatch.setattr(plan_files, "load_plan", replaced)
    assert asked(source, rollout).name == file_name_of_update(path)


def test_an_update_that_is_given_up_goes_to_a_file_beside(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    version = source.prepared("other", NEW, rollout).version()
    source.begun(version, OLD)
    source.refused("other", OLD)
    assert load_plan(path) == OLD
    assert load_plan(beside(path, "refused")) == version.plan
    assert not beside(path, "pending").exists()


def test_a_file_that_cannot_be_used_goes_beside_the_plan_in_force(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    path.write_text("nonsense")
    source.refused(asked(source, rollout).name, OLD)
    assert load_plan(path) == OLD
    assert beside(path, "refused").read_text() == "nonsense"


def test_a_file_that_is_missing_is_written_again(path: Path) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())
    path.unlink()
    source.refused(asked(source, rollout).name, OLD)
    assert load_plan(path) == OLD


def test_a_file_that_is_none_cannot_be_begun_with(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        PlanSource(tmp_path / "none.json", build_tables).first()


@pytest.mark.parametrize("raised", [RecursionError("too deep"), MemoryError(), KeyError("x"), OSError(5, "broken")])
def test_whatever_reading_a_file_raises_is_a_refusal_in_one_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception
) -> None:
    source = PlanSource(path, build_tables)
    rollout = Rollout(source.first())

    def fail(_: Path) -> Plan:
        raise raised

    monkeypatch.setattr(plan_files, "load_plan", fail)
    reading = asked(source, rollout)
    with pytest.raises(ValueError, match=str(path)) as refusal:
        reading.version()
    assert len(str(refusal.value).splitlines()) == 1
    source.refused(reading.name, OLD)
    assert rollout.in_force.plan == OLD


def test_tables_are_kept_from_searches_for_garbage_which_go_on_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_plan(motivation_plan(), path)
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    version = PlanSource(path, build_tables).first()
    assert gc.get_freeze_count() > frozen
    assert not any(each is version.of("s1") for each in gc.get_objects())
    assert gc.get_threshold() == before
    assert gc.isenabled()
