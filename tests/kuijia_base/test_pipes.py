"""Named pipes as input files: read if somebody writes to them, refused if nobody does."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads

import pytest

from kuijia_base import text
from kuijia_base.errors import InputError
from kuijia_base.text import read_bytes, read_lines
from te_solver.formats.topology_file import load_topology

if sys.platform == "win32":
    pytest.skip("Windows has no named pipes among its files", allow_module_level=True)


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_bytes(path, "a file"),
        lambda path: list(read_lines(path, "a file")),
        load_topology,
    ],
    ids=["bytes", "lines", "topology"],
)
def test_a_pipe_that_nobody_writes_to_is_refused(
    read: Callable[[Path], object], pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "SECONDS", 0.1)
    before = set(enumerate_threads())
    with pytest.raises(InputError, match=r"pipe\.yaml: cannot be read \(nobody writes to this pipe\), expected a"):
        read(pipe)
    deadline = time.monotonic() + 5
    while set(enumerate_threads()) - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(enumerate_threads()) <= before


def test_a_pipe_is_read_to_its_end_also_if_its_writer_is_slow(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "SECONDS", 30.0)  # a busy machine may be slow to start the writer

    def write() -> None:
        time.sleep(0.1)
        with pipe.open("wb", buffering=0) as file:
            file.write(b"one\n")
            time.sleep(0.1)
            file.write(b"two\n")

    writer = Thread(target=write)
    writer.start()
    assert read_bytes(pipe, "a file") == b"one\ntwo\n"
    writer.join()


def test_a_pipe_without_a_name_is_read_also_when_its_writer_has_ended() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"three\n")
    os.close(writer)
    try:
        assert read_bytes(Path(f"/dev/fd/{reader}"), "a file") == b"three\n"
    finally:
        os.close(reader)
