"""Refuses exhibits from files that no picture or page can be made of: lengths, names of files, spreads; pure."""

from __future__ import annotations

from pathlib import Path

from experiments.results.exhibit import Exhibit, Point
from kuijia_base.errors import InputError, quoted
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
