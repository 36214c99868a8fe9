"""A change of a source file, and the list of changes that alter nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Place = tuple[str, str, str]
"""File, line and changed line; the file is followed by "(2 of 3)" where three lines are changed alike."""

EQUIVALENT = Path(__file__).with_name("equivalent.txt")


@dataclass(frozen=True)
class Change:
    """Replaces the bytes from `begin` to `end` of a file by `new`.

    Attributes:
        file: path from the root of the project.
        old, changed: the lines in question before and after, in one line each.
        line: number of the first of them.
    """

    file: str
    begin: int
    end: int
    new: bytes
    line: int
    old: str
    changed: str

    def of(self, source: bytes) -> bytes:
        """Return the changed file."""
        return source[: self.begin] + self.new + source[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n  - {self.old}\n  + {self.changed}"


def make_change(file: str, source: bytes, span: tuple[int, int], new: bytes) -> Change:
    """Return the change of `span`, in bytes, with the lines that it is shown by."""
    begin, end = span
    first = source.rfind(b"\n", 0, begin) + 1
    last = source.find(b"\n", end)
    last = len(source) if last < 0 else last
    old, changed = (
        " ".join(text.decode().split()) for text in (source[first:last], source[first:begin] + new + source[end:last])
    )
    return Change(file, begin, end, new, source.count(b"\n", 0, begin) + 1, old, changed)


def no_change(file: str) -> Change:
    """Return what leaves a file as it is."""
    return Change(file, 0, 0, b"", 0, "", "")


def by_place(changes: Iterable[Change]) -> dict[Place, Change]:
    """Return each change by its place: of equal lines that are changed alike, it says which one is meant."""
    alike: defaultdict[Place, list[Change]] = defaultdict(list)
    for change in changes:
        alike[change.file, change.old, change.changed].append(change)
    return {
        (file if len(equal) == 1 else f"{file} ({number} of {len(equal)})", old, changed): change
        for (file, old, changed), equal in alike.items()
        for number, change in enumerate(equal, 1)
    }


def read_equivalents(text: str) -> set[Place]:
    """Return the place of each block: its first three lines, before a reason and an empty line."""
    return {_block(block.splitlines()) for block in text.split("\n\n") if not block.lstrip().startswith("#")}


def _block(lines: Sequence[str]) -> Place:
    place, old, new, *reason = lines
    if not (old.startswith("- ") and new.startswith("+ ") and reason) or any(line.startswith("- ") for line in reason):
        raise ValueError(f"{place}: expected a line with -, one with + and a reason, then an empty line")
    return place, old[2:], new[2:]
