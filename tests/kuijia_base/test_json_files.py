"""Archives of runs are read as if their files lay in the folder; damaged and hostile ones are refused in one line."""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

import pytest

from kuijia_base import json_document as module
from kuijia_base.errors import InputError
from kuijia_base.json_document import ARCHIVE, json_files, packed_files


def tar_of(texts: Mapping[str, str]) -> bytes:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, BytesIO(text.encode()))
    return content.getvalue()


def pack(folder: Path, texts: Mapping[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    archive = folder / ARCHIVE
    archive.write_bytes(lzma.compress(tar_of(texts)))
    return archive


def found_in(folder: Path, *, below: bool) -> list[tuple[str, object]]:
    found = json_files(folder, "a file", "JSON", below=below)
    return [(str(path.relative_to(folder)), data) for path, data in found]


def test_packed_files_stand_among_those_of_the_folder_in_order(tmp_path: Path) -> None:
    pack(tmp_path, {"c.json": "3", "a.json": "1", "notes.txt": "no JSON"})
    pack(tmp_path / "inner", {"d.json": "4"})
    (tmp_path / "b.json").write_text("2")
    assert found_in(tmp_path, below=False) == [("a.json", 1), ("b.json", 2), ("c.json", 3)]
    assert found_in(tmp_path, below=True) == [("a.json", 1), ("b.json", 2), ("c.json", 3), ("inner/d.json", 4)]


def test_a_file_replaces_the_packed_one_of_its_name(tmp_path: Path) -> None:
    pack(tmp_path, {"a.json": "1", "b.json": "2"})
    (tmp_path / "a.json").write_text('"newer"')
    assert found_in(tmp_path, below=True) == [("a.json", "newer"), ("b.json", 2)]


def test_a_fault_in_a_packed_file_names_the_file_and_its_line(tmp_path: Path) -> None:
    pack(tmp_path, {"a.json": "[1,\n,2]"})
    with pytest.raises(InputError, match=r"a\.json:2: malformed JSON"):
        found_in(tmp_path, below=True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive at all",
        lzma.compress(b"no tar" * 200),
        lzma.compress(tar_of({"a.json": "1" * 5000}))[:-40],
        lzma.compress(tar_of({"a.json": "1" * 5000})[:3000]),
        lzma.compress(tar_of({"a.json": "1"}), preset=9, filters=None)[:20],
    ],
    ids=["empty", "text", "no tar", "cut", "cut before it was compressed", "head alone"],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ARCHIVE).write_bytes(content)
    with pytest.raises(InputError, match=ARCHIVE):
        packed_files(tmp_path / ARCHIVE)


def test_text_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    content = tar_of({"a.json": '"zz"'}).replace(b'"zz"', b'"\xff\xfe"')
    (tmp_path / ARCHIVE).write_bytes(lzma.compress(content))
    with pytest.raises(InputError, match="utf-8"):
        packed_files(tmp_path / ARCHIVE)


def test_an_archive_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path, {"a.json": " " * 100_000 + "1"})
    assert archive.stat().st_size < 1000
    monkeypatch.setattr(module, "LARGEST_BYTES", 50_000)
    with pytest.raises(InputError, match="holds too much"):
        packed_files(archive)


def test_an_archive_that_needs_much_memory_is_refused(tmp_path: Path) -> None:
    huge = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]
    content = bytearray(lzma.compress(tar_of({"a.json": "1"}), filters=huge))
    archive = tmp_path / ARCHIVE
    archive.write_bytes(content)
    assert packed_files(archive) == {tmp_path / "a.json": "1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_MEMORY", 2**20)
        with pytest.raises(InputError, match="Memory usage limit"):
            packed_files(archive)


def test_only_plain_members_are_read(tmp_path: Path) -> None:
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            member = tarfile.TarInfo(f"{kind.decode()}.json")
            member.type, member.linkname = kind, "/etc/hostname"
            archive.addfile(member)
    (tmp_path / ARCHIVE).write_bytes(lzma.compress(content.getvalue()))
    assert packed_files(tmp_path / ARCHIVE) == {}
