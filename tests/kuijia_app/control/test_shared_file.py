"""A file that others write as well is replaced without losing what they put there."""

from __future__ import annotations

import ctypes
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kuijia_app.control import shared_file
from kuijia_app.control.shared_file import replace_if


@pytest.fixture(params=["exchange", "renames"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file, on a file system that can exchange two files and on one that cannot."""
    if request.param == "renames":
        monkeypatch.setattr(shared_file, "_libc", WithoutExchange())
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


class WithoutExchange:
    """A C library on a file system without that operation."""

    def renameat2(self, *_arguments: object) -> int:
        ctypes.set_errno(errno.EINVAL)
        return -1


def put(path: Path, content: bytes) -> None:
    """As editors and other programs do."""
    beside = path.with_name("beside")
    beside.write_bytes(content)
    beside.replace(path)


def only(*contents: bytes) -> Callable[[bytes], bool]:
    return lambda content: content in contents


def test_what_is_expected_is_replaced_and_can_be_kept(path: Path) -> None:
    kept = path.with_name("kept")
    assert replace_if(path, b"ours", only(b"old"), kept)
    assert (path.read_bytes(), kept.read_bytes()) == (b"ours", b"old")
    assert replace_if(path, b"again", only(b"ours"))
    assert path.read_bytes() == b"again"
    assert sorted(each.name for each in path.parent.iterdir()) == ["file", "kept"]


def test_anything_else_stays(path: Path) -> None:
    assert not replace_if(path, b"ours", only(b"other"), path.with_name("kept"))
    assert path.read_bytes() == b"old"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_file_that_is_missing_is_written(path: Path) -> None:
    path.unlink()
    assert replace_if(path, b"ours", only())
    assert path.read_bytes() == b"ours"


def test_a_symbolic_link_stays_one(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    assert replace_if(link, b"ours", only(b"old"))
    assert link.is_symlink()
    assert path.read_bytes() == b"ours"


def test_what_somebody_puts_there_after_it_was_looked_at_stays(path: Path) -> None:
    def look(content: bytes) -> bool:
        if content == b"old":
            put(path, b"theirs")
        return content == b"old"

    assert not replace_if(path, b"ours", look)
    assert path.read_bytes() == b"theirs"
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_what_somebody_puts_there_while_it_is_put_back_stays(path: Path) -> None:
    looks = []

    def look(content: bytes) -> bool:
        looks.append(content)
        put(path, b"theirs" if len(looks) == 1 else b"newer")
        return content == b"old"

    assert not replace_if(path, b"ours", look)
    assert looks == [b"old", b"theirs"]
    assert path.read_bytes() == b"newer"


def test_a_file_that_appears_while_a_missing_one_is_written_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    link = os.link

    def late_link(source: Path, target: Path) -> None:
        put(path, b"theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late_link)
    assert not replace_if(path, b"ours", only())
    assert path.read_bytes() == b"theirs"


def test_of_many_writes_at_the_same_time_the_last_one_is_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ours")
    stop = threading.Event()

    def keep_replacing() -> None:
        while not stop.is_set():
            replace_if(path, b"ours", only(b"ours"))

    writer = threading.Thread(target=keep_replacing)
    writer.start()
    try:
        for number in range(200):
            put(path, b"theirs %d" % number)
    finally:
        stop.set()
        writer.join()
    assert path.read_bytes() == b"theirs 199"
