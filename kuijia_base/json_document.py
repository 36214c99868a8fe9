"""Reads JSON from files and messages within limits of size and depth: each key once, finite numbers, valid Unicode."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.reading import DEEPEST, reading
from kuijia_base.text import read_text

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
