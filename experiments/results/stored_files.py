"""Files that `kuijia run` wrote, found in a folder, and readers that make exhibits of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from experiments.results.exhibit import FORMAT as EXHIBIT_FORMAT
from experiments.results.exhibit import Exhibit, exhibit_from_json, exhibit_to_json
from experiments.results.exhibit_limits import LONGEST_TEXT, refuse_unshowable
from experiments.results.result import FORMAT as RESULT_FORMAT
from experiments.results.result import Result, result_from_json
from kuijia_base.errors import InputError
from kuijia_base.json_files import json_files
from kuijia_base.reading import reading

_EXPECTED = "a file that `kuijia run` wrote"

_MOST_ENTRIES = 20_000
"""Entries of a list. Where a number is expected, `1000 * value` of a longer list or text would fill the memory."""


@dataclass(frozen=True)
class StoredFile:
    """A JSON file of a run.

    Attributes:
        experiment: name that the file gives; empty when it gives none.
        data: the whole content.
        result: the run, where the file is one.
        exhibit: the table or figure, where the file is one.
    """

    path: Path
    experiment: str
    data: Mapping[str, Any]
    result: Result | None = None
    exhibit: Exhibit | None = None


Reader = Callable[[Sequence[StoredFile]], Iterable[Exhibit]]
"""Makes the exhibits of all files of one experiment; raises InputError for a damaged one."""

Make = Callable[[Mapping[str, Any]], Iterable[Exhibit]]
"""Makes the exhibits of the content of a file."""


def files_in(folder: Path) -> Iterator[StoredFile]:
    """Yield all JSON files in a folder and below it, also those in archives of runs, ordered by path.

    Raises:
        InputError: a file cannot be read or is damaged.
    """
    for path, data in json_files(folder, "a result file", _EXPECTED, _refuse_constant, below=True):
        with reading(path, _EXPECTED):
            file = _stored(path, data if isinstance(data, dict) else {})
        yield file


def _stored(path: Path, data: Mapping[str, Any]) -> StoredFile:
    kind, name = data.get("format"), data.get("experiment")
    experiment = name if isinstance(name, str) else ""
    if kind == RESULT_FORMAT:
        return StoredFile(path, experiment, data, result=result_from_json(data, path))
    if kind == EXHIBIT_FORMAT:
        exhibit = exhibit_from_json(data, path)
        refuse_unshowable(exhibit, path)
        return StoredFile(path, experiment, data, exhibit=exhibit)
    return StoredFile(path, experiment, data)


def each_file(make: Make, having: str = "experiment") -> Reader:
    """Return a reader of the files that have a key, each of which makes exhibits of its own."""

    def read(files: Sequence[StoredFile]) -> Iterator[Exhibit]:
        own = [file for file in files if having in file.data]
        yield from told_apart((file.path, made) for file in own for made in made_of(file.path, make, file.data))

    return read


def made_of(path: Path, make: Callable[[Any], Iterable[Exhibit]], data: object) -> tuple[Exhibit, ...]:
    """Return the exhibits of the data of a file.

    Raises:
        InputError: the data lack what `make` needs, have values of other kinds than an exhibit's, or very long ones.
    """
    _refuse_long_values(data, path)
    with reading(path, _EXPECTED):
        try:
            return tuple(_sound(exhibit, path) for exhibit in make(data))
        except (LookupError, TypeError, AttributeError) as error:
            problem = f"lacks numbers of its experiment ({type(error).__name__})"
            raise InputError(path, "", problem, _EXPECTED) from error


def _refuse_long_values(data: object, path: Path) -> None:
    left = [data]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            left.extend(each.values())
        elif isinstance(each, list | tuple):
            if len(each) > _MOST_ENTRIES:
                raise InputError(path, "", f"a list of {len(each):,} entries", f"at most {_MOST_ENTRIES:,}")
            left.extend(each)
        elif isinstance(each, str) and len(each) > LONGEST_TEXT:
            raise InputError(path, "", f"a text of {len(each):,} characters", f"at most {LONGEST_TEXT:,}")


def _sound(exhibit: Exhibit, path: Path) -> Exhibit:
    """Return the exhibit as its file would hold it; raises InputError or ValueError for values of other kinds."""
    written = json.dumps(exhibit_to_json(exhibit), allow_nan=False)
    return exhibit_from_json(json.loads(written), path)


def told_apart(found: Iterable[tuple[Path, Exhibit]]) -> Iterator[Exhibit]:
    """Yield exhibits from several folders: those of a name that is taken get that of their folder as well.

    Raises:
        InputError: an exhibit cannot be shown, or its name with the folder's cannot be that of a file.
    """
    taken: set[tuple[str, str]] = set()
    for path, exhibit in found:
        folder = path.parent.name
        if (exhibit.name, exhibit.backend) in taken:
            named = replace(exhibit, name=f"{exhibit.name}-{folder}", title=f"{exhibit.title} ({folder})")
        else:
            named = exhibit
        refuse_unshowable(named, path)
        taken.add((named.name, named.backend))
        yield named


def _refuse_constant(path: Path, word: str) -> NoReturn:
    raise InputError(path, "", f"{word} is not a number in JSON", _EXPECTED)
