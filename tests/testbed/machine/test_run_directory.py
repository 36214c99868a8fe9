from __future__ import annotations

import errno
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from unittest.mock import patch

import pytest

from kuijia_base.errors import TestbedError
from testbed.machine.processes import own_identity
from testbed.machine.run_directory import LAB_VARIABLE, MachineObject, RunDirectory, labs, owner_of
from testbed.network.leftovers import remove_leftovers

BRIDGE = MachineObject("bridge", "s1")
INTERFACE = MachineObject("interface", "s1-eth1")


def orphan(run: RunDirectory) -> None:
    """Make the directory look as if its owner had died and its process id belonged to another one now."""
    somebody_else = replace(own_identity(), start_time=own_identity().start_time - 1)
    (run.path / "owner.json").write_text(json.dumps(asdict(somebody_else)))


def reports_of_removal(root: Path) -> list[str]:
    reports: list[str] = []
    remove_leftovers(reports.append, root)
    return reports


def test_a_lab_is_owned_by_its_process_and_marks_those_it_starts(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path) as run:
        assert owner_of(run.path) == own_identity()
        assert os.environ[LAB_VARIABLE] == run.lab_id
        assert labs(tmp_path) == [run.path]
    assert LAB_VARIABLE not in os.environ
    assert labs(tmp_path) == []


def test_a_lab_inside_another_one_gives_the_mark_back(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path) as outer:
        with RunDirectory.create(tmp_path) as inner:
            assert os.environ[LAB_VARIABLE] == inner.lab_id
        assert os.environ[LAB_VARIABLE] == outer.lab_id


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TestbedError, match=f"^{tmp_path}/file cannot be written: "):
        RunDirectory.create(tmp_path / "file")


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_place_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run").chmod(mode)
    with pytest.raises(
        TestbedError, match=f"^{tmp_path}/run can be written by others than its owner, expected a folder"
    ):
        RunDirectory.create(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == []


def test_a_link_in_the_place_of_run_directories_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "run").symlink_to("elsewhere")
    with pytest.raises(TestbedError, match=f"^{tmp_path}/run is not a folder, expected"):
        RunDirectory.create(tmp_path / "run")
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_place_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    os.chown(tmp_path / "run", 65534, -1)
    with pytest.raises(TestbedError, match=f"^{tmp_path}/run belongs to user 65534, expected"):
        RunDirectory.create(tmp_path / "run")


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to("made")
    with pytest.raises(TestbedError, match=f"^{tmp_path} cannot be written: "):
        RunDirectory.create(tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"[" * 100_000, b'{"pid": "1"}', b"\xff"])
def test_a_folder_with_a_record_of_nobody_is_no_lab(tmp_path: Path, record: bytes) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "owner.json").write_bytes(record)
    assert owner_of(tmp_path / "notes") is None
    assert reports_of_removal(tmp_path) == []
    assert (tmp_path / "notes").is_dir()


def test_the_journal_keeps_what_was_noted_in_order(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path) as run:
        assert run.noted() == []
        run.note([INTERFACE])
        run.note([BRIDGE])
        assert run.noted() == [INTERFACE, BRIDGE]


def test_a_journal_line_cut_short_is_nothing(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path) as run:
        run.note([INTERFACE])
        with (run.path / "journal").open("a") as journal:
            journal.write('{"kind": "bri')
        assert run.noted() == [INTERFACE]


def test_labs_of_live_owners_are_left_alone(tmp_path: Path) -> None:
    with RunDirectory.create(tmp_path) as run:
        assert reports_of_removal(tmp_path) == []
        assert labs(tmp_path) == [run.path]


def test_a_lab_whose_process_id_was_used_again_is_removed(tmp_path: Path) -> None:
    live = RunDirectory.create(tmp_path)
    with patch.dict(os.environ):
        dead = RunDirectory.create(tmp_path)
    orphan(dead)
    (report,) = reports_of_removal(tmp_path)
    assert f"killed lab {dead.lab_id} (process {os.getpid()})" in report
    assert "0 processes" in report
    assert labs(tmp_path) == [live.path]
    live.remove()


def test_a_directory_that_was_never_finished_is_removed_in_silence(tmp_path: Path) -> None:
    (tmp_path / ".unfinished-1-abc").mkdir()
    assert reports_of_removal(tmp_path) == []
    assert not (tmp_path / ".unfinished-1-abc").exists()


def test_looking_for_leftovers_on_a_fresh_machine_finds_none(tmp_path: Path) -> None:
    assert reports_of_removal(tmp_path / "run") == []


def test_a_folder_without_room_is_named_and_nothing_half_made_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "touch", full)
    with pytest.raises(TestbedError, match=f"^{tmp_path} cannot be written: No space left on device$"):
        RunDirectory.create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_folder_that_is_no_lab_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert reports_of_removal(tmp_path) == []
    assert (tmp_path / "notes").is_dir()
