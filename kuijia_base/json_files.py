"""JSON files of a folder, those packed into an archive beside them included.

A campaign of hundreds of runs is one `runs.tar.xz`. Its members count as files of the folder that holds it, and a file
there replaces the member of its name. Nothing is unpacked onto the disk.
"""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath

from kuijia_base.errors import InputError
from kuijia_base.json_document import LARGEST_BYTES, json_data, read_json
from kuijia_base.text import read_bytes

ARCHIVE = "runs.tar.xz"

_MOST_MEMORY = 128 * 2**20
"""Bytes that decompression may use; `xz -9` needs half of it."""

_EXPECTED = f"a tar archive compressed by xz, of JSON files with {LARGEST_BYTES / 2**20:g} MiB at most"


def json_files(
    folder: Path,
    what: str,
    expected: str,
    take_constant: Callable[[Path, str], object] | None = None,
    *,
    below: bool = False,
) -> Iterator[tuple[Path, object]]:
    """Yield the path and the data of each JSON file in a folder, ordered by path.

    Args:
        folder: path of the folder.
        what: the expected kind of file, as for `read_json`.
        expected: the expected content, as for `read_json`.
        take_constant: receives the path of a file and NaN or Infinity in it; by default they are refused.
        below: whether to read the folders below this one as well.

    Raises:
        InputError: a file or an archive cannot be read, is damaged or too large.
    """
    find = folder.rglob if below else folder.glob
    packed = {path: content for archive in sorted(find(ARCHIVE)) for path, content in packed_files(archive).items()}
    loose = set(find("*.json"))
    for path in sorted({*packed, *loose}):
        take = None if take_constant is None else partial(take_constant, path)
        if path in loose:
            yield path, read_json(path, what, expected, take)
        else:
            yield path, json_data(packed[path], path, expected, take)


def packed_files(archive: Path) -> dict[Path, str]:
    """Return the text of each JSON file in an archive, by the path that it would have in the archive's folder.

    Raises:
        InputError: the archive cannot be read, is damaged, or holds more than `LARGEST_BYTES`.
    """
    found: dict[Path, str] = {}
    try:
        with tarfile.open(fileobj=BytesIO(_decompressed(archive)), mode="r:") as members:
            for member in members:
                plain = member.isreg() and not member.issparse() and PurePosixPath(member.name).suffix == ".json"
                if plain and (content := members.extractfile(member)) is not None:
                    found[archive.parent / member.name] = content.read().decode()
    except (lzma.LZMAError, tarfile.TarError, ValueError) as error:  # ValueError: no UTF-8, no number in a header
        raise InputError(archive, "", f"cannot be read ({error})", _EXPECTED) from error
    return found


def _decompressed(archive: Path) -> bytes:
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MOST_MEMORY)
    content = decompressor.decompress(read_bytes(archive, _EXPECTED, LARGEST_BYTES), LARGEST_BYTES)
    if not decompressor.eof:
        raise InputError(archive, "", "is cut off or holds too much", _EXPECTED)
    return content
