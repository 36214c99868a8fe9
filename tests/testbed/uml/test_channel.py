"""A guest's folder is its owner's: what others lay beside it is neither followed nor removed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from testbed.machine.processes import own_identity
from testbed.uml import boot
from testbed.uml.boot import channel_folder

PREFIX = "kuijia-uml-"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(boot, "PARENT", tmp_path)
    return tmp_path


def leave(folder: Path) -> Path:
    """Make a folder as a dead owner leaves it."""
    folder.mkdir(mode=0o700)
    somebody = replace(own_identity(), start_time=own_identity().start_time - 1)
    (folder / "owner.json").write_text(json.dumps(asdict(somebody)))
    return folder


def test_the_folder_of_a_dead_owner_is_removed(temporary: Path) -> None:
    left = leave(temporary / f"{PREFIX}left")
    with channel_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not left.exists()


def test_a_link_to_a_folder_is_not_followed(temporary: Path) -> None:
    target = leave(temporary / "target")
    (temporary / f"{PREFIX}link").symlink_to(target)
    with channel_folder():
        pass
    assert (target / "owner.json").exists()
    assert (temporary / f"{PREFIX}link").is_symlink()


def test_a_folder_that_others_can_write_to_is_none_of_ours(temporary: Path) -> None:
    open_folder = leave(temporary / f"{PREFIX}open")
    open_folder.chmod(0o777)
    with channel_folder():
        pass
    assert open_folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_none_of_ours(temporary: Path) -> None:
    others = leave(temporary / f"{PREFIX}others")
    os.chown(others, 65534, -1)
    with channel_folder():
        pass
    assert others.exists()


@pytest.mark.parametrize("record", [b"", b"{", b"[]", b"[" * 100_000, b'{"pid": "1"}'])
def test_a_folder_with_a_record_of_nobody_stays(temporary: Path, record: bytes) -> None:
    folder = leave(temporary / f"{PREFIX}begun")
    (folder / "owner.json").write_bytes(record)
    with channel_folder():
        pass
    assert folder.exists()


def test_a_record_that_is_a_link_or_a_pipe_is_not_waited_for(temporary: Path) -> None:
    linked = leave(temporary / f"{PREFIX}linked")
    (linked / "owner.json").rename(temporary / "record")
    (linked / "owner.json").symlink_to(temporary / "record")
    piped = leave(temporary / f"{PREFIX}piped")
    (piped / "owner.json").unlink()
    os.mkfifo(piped / "owner.json")
    (temporary / f"{PREFIX}file").touch()
    with channel_folder():
        pass
    assert linked.exists()
    assert piped.exists()
