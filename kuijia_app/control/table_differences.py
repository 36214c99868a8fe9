"""Compares what a poll has found in a switch with what the switch has acknowledged; pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kuijia_app.control.foreign_entries import entry_text
from kuijia_app.control.reconciliation import FlowKey, KnownTables
from kuijia_app.control.sender import Name
from kuijia_app.control.snapshot import Snapshot


@dataclass(frozen=True)
class Differing:
    """Rules of one kind that a switch has otherwise than it should, by what identifies them."""

    missing: tuple[Any, ...] = ()
    changed: tuple[Any, ...] = ()
    added: tuple[Any, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.changed or self.added)


@dataclass(frozen=True)
class TableDifferences:
    """What somebody else has done to the tables of a switch; false if nothing."""

    entries: Differing = Differing()
    groups: Differing = Differing()

    def __bool__(self) -> bool:
        return bool(self.entries or self.groups)

    def __str__(self) -> str:
        """Return such words as "3 flow entries missing, 1 group changed (first: group 0x10000004)"."""
        words, first = [], ""
        for differing, one, many in ((self.entries, "flow entry", "flow entries"), (self.groups, "group", "groups")):
            for names, how in (
                (differing.missing, "missing"),
                (differing.changed, "changed"),
                (differing.added, "added"),
            ):
                if names:
                    words.append(f"{len(names)} {one if len(names) == 1 else many} {how}")
                    first = first or _named(names[0])
        return f"{', '.join(words)} (first: {first})"


def differences(
    owns: Callable[[int], bool],
    present: KnownTables,
    snapshot: Snapshot,
    left_out: Container[Name],
) -> TableDifferences:
    """Return what a switch has otherwise than it has acknowledged.

    Args:
        owns: returns True for the id of a group that only we may use.
        present: what it has acknowledged.
        snapshot: what it has.
        left_out: what was changed while the switch was polled, and entries that no message can name.
    """
    entries = groups = Differing()
    if snapshot.entries != present.flows:
        entries = _differing(present.flows, snapshot.entries, lambda key: key not in left_out)
    if snapshot.groups != present.groups:
        groups = _differing(present.groups, snapshot.groups, lambda each: owns(each) and each not in left_out)
    return TableDifferences(entries, groups)


def _differing(wanted: Mapping[Any, object], found: Mapping[Any, object], counts: Callable[[Any], bool]) -> Differing:
    def of(names: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(filter(counts, names))

    return Differing(
        missing=of(name for name in wanted if name not in found),
        changed=of(name for name, rule in wanted.items() if name in found and found[name] != rule),
        added=of(name for name in found if name not in wanted),
    )


def _named(name: int | FlowKey) -> str:
    return f"group {name:#x}" if isinstance(name, int) else entry_text(name)
