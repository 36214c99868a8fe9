"""Rejects results with unknown flows, measured under different settings, or duplicates of one run; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from experiments.results.result import Result
from experiments.results.stored_files import StoredFile
from kuijia_base.errors import InputError, quoted

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
