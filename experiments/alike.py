"""Refuses to make one table or figure of runs that were not measured alike, or of one run twice; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from experiments.result import Result
from te_solver.errors import InputError

StoredResult = tuple[Path, Result]
"""A result with the file it is from."""


def refuse_mixture(stored: Iterable[StoredResult]) -> None:
    """Hold valid runs of one experiment and backend against each other.

    Repetitions may have pairs of their own, and TCP may have been watched for another time than UDP.

    Raises:
        InputError: two differ in what they were measured with, or are the same run; it names both files and what
            differs.
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
    """What must not differ: its key, among which runs, its value."""
    yield "capacity", "", result.capacity
    yield "seed", "", result.seed
    settings = result.manifest.get("settings", {})
    for name in ("quick", "slots", "framework"):
        yield f"manifest.settings.{name}", "", settings.get(name)
    yield "manifest.timing", result.flows[0].protocol, timing_told(result.manifest.get("timing"))
    yield "manifest.sending", "", result.manifest.get("sending")
    for name in ("private_entries", "planned_share"):
        yield f"parameters.{name}", "", result.parameters.get(name)
    yield "parameters.pairs", f"{result.repetition}", result.parameters.get("pairs")


def timing_told(timing: Mapping[str, object] | None) -> dict[str, object] | None:
    """Of a manifest's timing what matters: how long labels are watched changes nothing that is measured."""
    return None if timing is None else {name: value for name, value in timing.items() if name != "observe"}


def _identity(result: Result) -> str:
    varied = [result.parameters.get(name) for name in ("traffic", "demand")]
    return f"{varied} {sorted(result.failure.link)} {result.scheme} {result.repetition}"


def _told(value: object) -> str:
    return "not said" if value is None else f"{value}"
