"""Reads JSON from files, folders and messages within limits: each key once, finite numbers, valid Unicode."""

from __future__ import annotations

import json
import lzma
import math
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath

from kuijia_base.errors import InputError, quoted
from kuijia_base.reading import DEEPEST, reading
from kuijia_base.text import read_bytes, read_text

LARGEST_BYTES = 128 * 2**20
"""Limit of a file; a plan for a network of a thousand nodes has about 100 MB."""

_HALF_OF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
"""Escapes of JSON that stand for no character by themselves (RFC 8259, section 8.2)."""

_NESTED = (list, dict)


def read_json(
    path: Path,
    what: str,
    expected: str,
    take_constant: Callable[[str], object] | None = None,
    most: int | None = None,
) -> object:
    """Return the data of a JSON file.

    Args:
        path: path of the file.
        what: the expected kind of file, such as "a plan file".
        expected: the expected content, such as "a plan in JSON".
        take_constant: receives NaN and Infinity, which are not JSON; by default they are refused.
        most: most bytes of the file; by default `LARGEST_BYTES`.

    Raises:
        InputError: the file cannot be read, has too many bytes, is not JSON (its place is the line), is
            nested deeper than `DEEPEST`, or has a key twice in an object, numbers that are not finite or text that is
            not Unicode.
    """
    return json_data(read_text(path, what, LARGEST_BYTES if most is None else most), path, expected, take_constant)


def json_data(
    text: str, source: str | Path, expected: str, take_constant: Callable[[str], object] | None = None
) -> object:
    """Return the data of a JSON text from `source`; arguments, limits and errors are otherwise those of `read_json`."""

    def number(digits: str) -> float:
        found = float(digits)
        if not math.isfinite(found):
            raise InputError(source, "", f"the number {quoted(digits)}", "finite numbers")
        return found

    def whole(digits: str) -> int:
        number(digits)
        return int(digits)

    def fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
            raise InputError(source, "", f"{quoted(twice)} is given twice in an object", "each key once")
        return found

    with reading(source, expected):
        try:
            data = json.loads(
                text,
                parse_float=number,
                parse_int=whole,
                parse_constant=take_constant or number,
                object_pairs_hook=fields,
            )
        except json.JSONDecodeError as error:
            raise InputError(source, error.lineno, f"malformed JSON ({error.msg})", expected) from error
    if not _is_within(data, DEEPEST):
        raise InputError(source, "", "nested too deeply", expected)
    if _HALF_OF_PAIR.search(text):
        _require_unicode(data, source)
    return data


def _is_within(data: object, most: int) -> bool:
    """Return True if data have at most so many levels of lists and objects; without recursion."""
    level = [data] if isinstance(data, _NESTED) else []
    for _ in range(most):
        level = [
            inside
            for each in level
            for inside in (each.values() if isinstance(each, dict) else each)
            if isinstance(inside, _NESTED)
        ]
        if not level:
            return True
    return False


def _require_unicode(data: object, source: str | Path) -> None:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        found = f"the text has {error.object[error.start]!r}, which is half a character"
        raise InputError(source, "", found, "text in Unicode") from error


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
