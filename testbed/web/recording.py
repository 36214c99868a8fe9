"""Recordings of the live lab: a folder with one file of JSON lines, written while it is shown and played back later."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kuijia_base.errors import InputError
from kuijia_base.reading import reading
from simulator.live.states import LogEntry
from testbed.lab.shapes import from_json, to_json
from testbed.web.backend import Description, State

FILE_NAME = "web-recording.jsonl"

_EXPECTED = "a recording of the live lab"
_KINDS = frozenset({"lab", "state", "again", "log"})


class Recorder:
    """Writes what the server shows, each line an object with one member.

    The members are `lab`, a description; `log`, an entry; `state`; and `again`, a state whose views are those of the
    state before.

    Raises:
        InputError: the folder cannot be made or written to, or has a recording.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / FILE_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("xb")
        except FileExistsError as error:
            raise InputError(folder, "", "it has a recording", "a folder without one") from error
        except (OSError, ValueError) as error:
            raise InputError(folder, "", f"cannot be written to ({error})", "a folder to record in") from error
        self._views = b""

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def lab(self, encoded: bytes) -> None:
        self._write(b"lab", encoded)

    def state(self, without_views: bytes, views: bytes) -> None:
        """Record a state: its JSON with an empty list of views, and the JSON of the views."""
        if views == self._views:
            self._write(b"again", without_views)
        else:
            self._views = views
            self._write(b"state", with_views(without_views, views))

    def log(self, entries: Sequence[LogEntry]) -> None:
        for entry in entries:
            self._write(b"log", json.dumps(to_json(entry), separators=(",", ":")).encode())

    def _write(self, what: bytes, encoded: bytes) -> None:
        if not self._file.closed:
            self._file.write(b'{"%s":%s}\n' % (what, encoded))


def with_views(without: bytes, views: bytes) -> bytes:
    """Return the JSON of a state, made from that with an empty list of views and that of the views."""
    return without.replace(b'"views":[]', b'"views":' + views, 1)


@dataclass(frozen=True)
class Recorded:
    """A recording: descriptions, states and log entries in the order of their times.

    `moments` are the times of states; `states` makes the state of a position.
    """

    descriptions: Sequence[tuple[int, Description]]
    moments: Sequence[float]
    states: Callable[[int], State]
    log: Sequence[LogEntry]

    def description_at(self, position: int) -> Description:
        """Return the description that held when a state was taken."""
        return next(each for since, each in reversed(self.descriptions) if since <= position)


def read_recording(folder: Path) -> Recorded:
    """Return the recording in a folder; raises InputError, whose place is the line."""
    path = folder / FILE_NAME
    descriptions: list[tuple[int, Description]] = []
    kept: list[tuple[bytes, int]] = []
    moments: list[float] = []
    log: list[LogEntry] = []
    full = -1
    with reading(path, _EXPECTED), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break  # the recording was cut off
            kind, data = _member(line, path, number)
            if kind == "lab":
                descriptions.append((len(kept), from_json(Description, data, f"{path}:{number}")))
            elif kind == "log":
                log.append(from_json(LogEntry, data, f"{path}:{number}"))
            else:
                full = len(kept) if kind == "state" else full
                moments.append(_time(data, path, number))
                kept.append((line, full))
    if not kept or not descriptions or full < 0 or descriptions[0][0] > 0:
        raise InputError(path, "", "it has no description and state", _EXPECTED)

    def state(position: int) -> State:
        line, of_views = kept[position]
        (found,) = json.loads(line).values()
        (full_state,) = json.loads(kept[of_views][0]).values()
        return from_json(State, {**found, "views": full_state["views"]}, str(path))

    return Recorded(descriptions, moments, state, log)


def _member(line: bytes, path: Path, number: int) -> tuple[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(path, number, "the line is not JSON", _EXPECTED) from error
    if not isinstance(data, dict) or len(data) != 1 or not data.keys() <= _KINDS:
        raise InputError(path, number, "the line is not part of a recording", _EXPECTED)
    ((kind, inner),) = data.items()
    return kind, inner


def _time(state: object, path: Path, number: int) -> float:
    time = state.get("time") if isinstance(state, dict) else None
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise InputError(path, number, "the state has no time", _EXPECTED)
    return float(time)
