"""Checkpoints: whole lines are kept, a torn one is not, and files of other runs or programs are left alone."""

from __future__ import annotations

import os
import re
import sys
from io import FileIO
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from kuijia_base.sweep.checkpoint import Checkpoint

SWEEP = {"sweep": "fig4", "cases": 3, "code": "abc", "seed": 1}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a checkpoint with two finished cases."""
    checkpoint = Checkpoint(tmp_path / "fig4.checkpoint", SWEEP)
    checkpoint.add(2, "[0.1]")
    checkpoint.add(0, '{"a": 1e-17}')
    checkpoint.close()
    return checkpoint.path


def kept(path: Path) -> dict[int, object]:
    checkpoint = Checkpoint(path, SWEEP)
    checkpoint.close()
    return checkpoint.done


def test_what_is_added_is_there_again(path: Path) -> None:
    assert kept(path) == {2: [0.1], 0: {"a": 1e-17}}


@pytest.mark.parametrize("cut", [1, 3, 12])
def test_a_torn_last_line_is_dropped(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    checkpoint = Checkpoint(path, SWEEP)
    assert checkpoint.done == {2: [0.1]}
    checkpoint.add(1, "7")
    checkpoint.close()
    assert kept(path) == {2: [0.1], 1: 7}


@pytest.mark.parametrize("length", [0, 5])
def test_a_torn_first_line_is_written_anew(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    checkpoint = Checkpoint(path, SWEEP)
    checkpoint.add(1, "7")
    checkpoint.close()
    assert kept(path) == {1: 7}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"seed": 2}, "(seed was 1, is 2)"),
        ({"seed": 2, "cases": 4}, "(cases was 3, is 4; seed was 1, is 2)"),
        ({"code": "abd"}, "(another version of the program)"),
    ],
)
def test_another_run_s_is_refused_and_stays(path: Path, change: dict[str, object], complaint: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match=re.escape(complaint)):
        Checkpoint(path, {**SWEEP, **change})
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"my notes", b"my notes\n", b'{"format": "x"}\n', b"\xff\n", b"[1]\n"])
def test_what_is_no_checkpoint_is_refused_and_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "fig4.checkpoint"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a checkpoint of a sweep"):
        Checkpoint(path, SWEEP)
    assert path.read_bytes() == content


@pytest.mark.parametrize("line", [b"\0\0\0", b"7", b"[3, 1]", b"[0]", b'["a", 1]', b"[-1, 1]"])
def test_a_damaged_line_is_named(path: Path, line: bytes) -> None:
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InputError, match=r"fig4.checkpoint:4: is not a finished case"):
        Checkpoint(path, SWEEP)


def test_two_runs_do_not_write_to_one(path: Path) -> None:
    checkpoint = Checkpoint(path, SWEEP)
    with pytest.raises(InputError, match="another run is writing to it"):
        Checkpoint(path, SWEEP)
    checkpoint.close()


def test_one_that_keeps_nothing_leaves_no_file(tmp_path: Path) -> None:
    Checkpoint(tmp_path / "fig4.checkpoint", SWEEP).close()
    assert list(tmp_path.iterdir()) == []


def test_it_can_be_removed(path: Path) -> None:
    Checkpoint(path, SWEEP).remove()
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Checkpoint(tmp_path / "missing" / "fig4.checkpoint", SWEEP)


def test_another_run_s_that_holds_nothing_is_taken_over(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    Checkpoint(path, {**SWEEP, "seed": 2}).close()
    assert not path.exists()


def test_a_full_disk_is_told_and_costs_the_last_case_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(path, SWEEP)
    file = checkpoint._file
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_file", HalfFull(file))
        with pytest.raises(InputError, match="cannot be written"):
            checkpoint.add(1, "7")
    checkpoint.close()
    assert kept(path) == {2: [0.1], 0: {"a": 1e-17}}


class HalfFull:
    def __init__(self, file: FileIO) -> None:
        self._file = file

    def write(self, line: bytes) -> int | None:
        return self._file.write(line[: len(line) // 2])


@pytest.mark.parametrize(
    ("found", "put"), [(b"0.1", b"0.2"), (b"1e-17", b"1e-18"), (b"[2,", b"[1, 3, 4,"), (b", ", b",")]
)
def test_a_result_that_was_damaged_is_named(path: Path, found: bytes, put: bytes) -> None:
    header, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + b"".join(lines).replace(found, put))
    with pytest.raises(InputError, match=r"fig4.checkpoint:[23]: is not a finished case"):
        Checkpoint(path, SWEEP)


@pytest.mark.parametrize("line", [b"[" * 100_000, b"9" * 5000, b'{"a":' * 5000])
def test_a_file_that_parsers_stumble_over_is_refused(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "fig4.checkpoint"
    path.write_bytes(line + b"\n")
    with pytest.raises(InputError, match="is not a checkpoint of a sweep"):
        Checkpoint(path, SWEEP)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes among its files")
def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    pipe = tmp_path / "fig4.checkpoint"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"fig4\.checkpoint: is not a regular file, expected another -o"):
        Checkpoint(pipe, SWEEP)
    assert pipe.is_fifo()
