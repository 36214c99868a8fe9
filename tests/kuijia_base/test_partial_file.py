from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from kuijia_base.partial_file import partial_beside, remove_partial_files, replace_file
from kuijia_base.text import require_writable, write_bytes, write_text


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("former", [0o600, 0o444, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, former: int) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(former)
    write_text(path, "new")
    assert mode(path) == former
    assert path.read_text() == "new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "plan.json", "new")
    finally:
        os.umask(before)
    assert mode(tmp_path / "plan.json") == 0o640


def test_two_partial_files_of_one_process_have_names_that_cannot_be_guessed(tmp_path: Path) -> None:
    names: set[str] = set()
    for _ in range(2):
        replace_file(tmp_path / "a", lambda partial: names.add(partial.name))
    assert len(names) == 2
    assert all(f".{os.getpid()}.partial" in name for name in names)


def test_what_stands_in_the_way_of_a_partial_file_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: "guessed")
    (tmp_path / f".a.guessed.{os.getpid()}.partial").symlink_to(victim)
    with pytest.raises(InputError, match="File exists"):
        write_text(tmp_path / "a", "theirs")
    assert victim.read_text() == "mine"


def test_a_file_with_the_longest_name_there_is_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    write_text(path, "new")
    assert path.read_text() == "new"


def test_partial_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    with partial_beside(tmp_path / "a.json", lambda partial: partial.write_text("half")) as own:
        dead = tmp_path / own.name.replace(f".{os.getpid()}.", ".999999999.")
        dead.write_text("half")
        remove_partial_files(tmp_path)
        assert own.exists()
        assert not dead.exists()


def test_content_and_name_are_on_the_disk_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_text(tmp_path / "plan.json", "new")
    content, folder = synced
    assert Path(content).name.startswith(".plan.json.")
    assert folder == str(tmp_path.resolve())


def loop(folder: Path) -> Path:
    (folder / "one").symlink_to(folder / "two")
    (folder / "two").symlink_to(folder / "one")
    return folder / "one"


def pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def test_a_loop_of_links_is_refused_before_and_at_the_end_of_work(tmp_path: Path) -> None:
    path = loop(tmp_path)
    for write in (require_writable, lambda each: write_bytes(each, b"x")):
        with pytest.raises(InputError, match="Too many levels of symbolic links"):
            write(path)
    assert path.is_symlink()


def test_a_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such device or address"):
        write_bytes(pipe(tmp_path), b"x")


def test_a_full_device_is_named() -> None:
    with pytest.raises(InputError, match="/dev/full: cannot be written"):
        write_bytes(Path("/dev/full"), b"x")


def test_a_path_that_no_system_has_is_refused() -> None:
    for write in (require_writable, lambda each: write_bytes(each, b"x")):
        with pytest.raises(InputError):
            write(Path("a\0b"))


def test_text_that_utf_8_lacks_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot hold the character"):
        write_text(tmp_path / "a", "\ud800")
    assert not list(tmp_path.iterdir())
