"""Files that `kuijia run` wrote: readers that make exhibits of them, and checks that runs were measured alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from experiments.results.exhibit import FORMAT as EXHIBIT_FORMAT
from experiments.results.exhibit import Exhibit, Point, exhibit_from_json, exhibit_to_json
from experiments.results.result import FORMAT as RESULT_FORMAT
from experiments.results.result import Result, result_from_json
from kuijia_base.errors import InputError, quoted
from kuijia_base.json_document import json_files
from kuijia_base.reading import reading
from kuijia_base.text import is_file_name

MOST_LINES = 30
MOST_COLUMNS = 100
MOST_CELLS = 600
"""Lines times columns. The largest exhibit of ours has 162; a picture of as many as this takes two seconds."""

MOST_TEXTS = 200
"""Checks, and remarks."""

LONGEST_TEXT = 2000
"""Characters of a remark; of every other text a tenth, as it stands beside a picture or in a table."""

LONGEST_LABEL = 100
"""Characters of the name of a line or column."""

_ROUNDING = 1e-9
"""Relative; a mean of equal numbers may be above them by its rounding."""


def refuse_unshowable(exhibit: Exhibit, source: str | Path) -> None:
    """Raise InputError, with `source` and the key, for an exhibit that is beyond the limits of this module."""
    for key in ("name", "backend"):
        text = getattr(exhibit, key)
        if not is_file_name(text) or text.startswith("."):
            raise InputError(source, key, f"{quoted(text)} cannot be in a file's name", "a name such as fig10")
    _refuse_long_lists(exhibit, source)
    for key in ("name", "backend", "title", "reproduces", "axis", "quantity"):
        _refuse_long(getattr(exhibit, key), source, key, LONGEST_TEXT // 10)
    for key, texts in (("remarks", exhibit.remarks), ("checks", [check.name for check in exhibit.checks])):
        for number, text in enumerate(texts):
            _refuse_long(text, source, f"{key}[{number}]", LONGEST_TEXT)
    _refuse_long(exhibit.published or "", source, "published", LONGEST_TEXT)
    for number, line in enumerate(exhibit.lines):
        _refuse_long(line.label, source, f"lines[{number}].label", LONGEST_LABEL)
        for at, point in enumerate(line.points):
            _refuse_point(point, source, f"lines[{number}].points[{at}]")


def _refuse_point(point: Point, source: str | Path, place: str) -> None:
    _refuse_long(str(point.x), source, f"{place}.x", LONGEST_LABEL)
    if point.value is None:
        return
    if point.spread is not None and point.spread < 0:
        raise InputError(source, f"{place}.spread", f"{point.spread:g} is below zero", "a standard deviation")
    slack = _ROUNDING * abs(point.value)
    if point.low is not None and point.low > point.value + slack:
        raise InputError(source, f"{place}.low", f"{point.low:g} is above the value", f"at most {point.value:g}")
    if point.high is not None and point.high < point.value - slack:
        raise InputError(source, f"{place}.high", f"{point.high:g} is below the value", f"at least {point.value:g}")


def _refuse_long_lists(exhibit: Exhibit, source: str | Path) -> None:
    for key, number, most in (
        ("lines", len(exhibit.lines), MOST_LINES),
        ("lines", max((len(line.points) for line in exhibit.lines), default=0), MOST_COLUMNS),
        ("checks", len(exhibit.checks), MOST_TEXTS),
        ("remarks", len(exhibit.remarks), MOST_TEXTS),
    ):
        if number > most:
            raise InputError(source, key, f"found {number} entries", f"at most {most}")
    if len(exhibit.columns) > MOST_COLUMNS:
        problem = f"points at {len(exhibit.columns)} places"
        raise InputError(source, "lines", problem, f"at most {MOST_COLUMNS}")
    cells = len(exhibit.lines) * len(exhibit.columns)
    if cells > MOST_CELLS:
        problem = f"{len(exhibit.lines)} lines with points at {len(exhibit.columns)} places, {cells} cells of a table"
        raise InputError(source, "lines", problem, f"at most {MOST_CELLS}")


def _refuse_long(text: str, source: str | Path, place: str, most: int) -> None:
    if len(text) > most:
        raise InputError(source, place, f"a text of {len(text)} characters", f"at most {most}")


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


StoredResult = tuple[Path, Result]
"""A result with the file it was read from."""


def stored_results(files: Iterable[StoredFile]) -> list[StoredResult]:
    """Return the results among files."""
    return [(file.path, file.result) for file in files if file.result is not None]


def refuse_mixtures(stored: Iterable[StoredResult]) -> dict[str, list[StoredResult]]:
    """Return the results of one experiment by backend; raises InputError if valid ones of a backend are no mean."""
    by_backend: dict[str, list[StoredResult]] = {}
    for each in stored:
        by_backend.setdefault(each[1].backend, []).append(each)
    for runs in by_backend.values():
        refuse_mixture(each for each in runs if not each[1].invalid)
    return by_backend


def refuse_mixture(stored: Iterable[StoredResult]) -> None:
    """Raise if valid runs of one experiment and backend were measured differently.

    Each repetition may have its own pairs, and the measurement times of TCP and UDP may differ.

    Raises:
        InputError: two runs differ in their settings, or are the same run; the message names both files and the
            difference.
    """
    first: dict[tuple[str, str], tuple[Path, object]] = {}
    runs: dict[str, Path] = {}
    for path, result in stored:
        for key, scope, value in _measured_with(result):
            other, wanted = first.setdefault((key, scope), (path, value))
            if value != wanted:
                raise InputError(
                    path, key, f"is {_told(value)}", f"{_told(wanted)} as in {other}, or a folder for each"
                )
        same = runs.setdefault(_identity(result), path)
        if same != path:
            raise InputError(path, "", f"is the same run as {same}", "each run once")


def _measured_with(result: Result) -> Iterator[tuple[str, str, object]]:
    """Yield the settings that must agree: key, scope (the runs that it must agree among), value."""
    yield "capacity", "", result.capacity
    yield "seed", "", result.seed
    settings = result.manifest.get("settings", {})
    for name in ("quick", "slots", "framework"):
        yield f"manifest.settings.{name}", "", settings.get(name)
    yield "manifest.timing", result.flows[0].protocol, timing_told(result.manifest.get("timing"))
    yield "manifest.sending", "", result.manifest.get("sending")
    for name in ("private_entries", "planned_share", "reading"):
        yield f"parameters.{name}", "", result.parameters.get(name)
    yield "parameters.pairs", f"{result.repetition}", result.parameters.get("pairs")


def timing_told(timing: Mapping[str, object] | None) -> dict[str, object] | None:
    """Return the relevant part of a manifest's timing: the time spent watching labels does not affect results."""
    return None if timing is None else {name: value for name, value in timing.items() if name != "observe"}


def _identity(result: Result) -> str:
    varied = [result.parameters.get(name) for name in ("traffic", "demand")]
    return f"{varied} {sorted(result.failure.link)} {result.scheme} {result.repetition}"


def _told(value: object) -> str:
    return "not said" if value is None else f"{value}"


def refuse_flows(path: Path, result: Result, known: Collection[str]) -> None:
    """Raise InputError if a result has unknown, missing or duplicate flows."""
    missing = set(known)
    for number, flow in enumerate(result.flows):
        if flow.name not in missing:
            problem = f"{quoted(flow.name)} is {'there twice' if flow.name in known else 'unknown'}"
            raise InputError(path, f"flows[{number}].name", problem, f"one of {', '.join(known)}")
        missing.remove(flow.name)
    if missing:
        raise InputError(path, "flows", f"{min(missing)} is missing", f"all of {', '.join(known)}")
