"""Messages between controllers as JSON: a sign of life, and the plans in use when they have changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kuijia_app.control.pair import Beat
from kuijia_app.control.plan_update import require_same_network
from kuijia_app.control.rollout import AllTables, Stages, Version
from kuijia_base.errors import quoted, shown
from te_solver.plan import Plan
from te_solver.plan_file import plan_from_json, plan_to_json

Options = Mapping[str, object]
"""Options in which peers must agree, as text or numbers."""


def encoded(beat: Beat, stages: Stages | None, options: Options) -> bytes:
    """Return a message, in one line without its end."""
    message: dict[str, Any] = {
        "instance": beat.instance,
        "acting": beat.is_acting,
        "generation": beat.generation,
        "reach": sorted(beat.reach),
        "hands_over": beat.hands_over,
        "process": beat.process,
        "options": dict(options),
    }
    if stages is not None:
        message["stages"] = {
            "in_force": _version_to_json(stages.in_force),
            "next": None if stages.next is None else _version_to_json(stages.next),
            "retained": [[_version_to_json(version), successor] for version, successor in stages.retained],
        }
    return json.dumps(message).encode()


def decoded_beat(line: bytes, options: Options) -> Beat:
    """Return the sign of life in a peer's message; raises ValueError for a message of somebody who is no peer."""
    with _refusing():
        return _beat(json.loads(line), options)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a message of a controller: {type(error).__name__}") from error


def _beat(message: dict[str, Any], options: Options) -> Beat:
    theirs = message["options"]
    for name in sorted({*theirs, *options}):
        if theirs.get(name) != options.get(name):
            found, ours = quoted(str(theirs.get(name))), quoted(str(options.get(name)))
            raise ValueError(f"its option {shown(str(name))} is {found}, ours is {ours}")
    return Beat(
        int(message["instance"]),
        bool(message["acting"]),
        int(message["generation"]),
        frozenset(map(str, message["reach"])),
        bool(message["hands_over"]),
        str(message["process"]),
    )


class Decoder:
    """Reads messages of peers; versions that were read before are the same objects again."""

    def __init__(self, build_tables: Callable[[Plan], AllTables], ours: Plan, options: Options) -> None:
        """Make a decoder that refuses plans for another network than that of ours, and peers with other options."""
        self._build_tables = build_tables
        self._ours = ours
        self._options = options
        self._known: dict[str, Version] = {}

    def decoded(self, line: bytes) -> tuple[Beat, Stages | None]:
        """Return a peer's message; raises ValueError for one that is none."""
        with _refusing():
            message = json.loads(line)
            beat, stages = _beat(message, self._options), message.get("stages")
            return beat, None if stages is None else self._stages(stages)

    def _stages(self, stages: dict[str, Any]) -> Stages:
        before, self._known = self._known, {}
        later = stages["next"]
        return Stages(
            self._version(stages["in_force"], before),
            None if later is None else self._version(later, before),
            tuple((self._version(version, before), successor) for version, successor in stages["retained"]),
        )

    def _version(self, version: dict[str, Any], before: dict[str, Version]) -> Version:
        key = json.dumps(version)
        found = before.get(key)
        if found is None:
            plan = plan_from_json(version["plan"], "a peer's plan")
            require_same_network(plan, self._ours)
            found = Version(str(version["name"]), plan, self._build_tables(plan))
            found.index()
        self._known[key] = found
        return found


def _version_to_json(version: Version) -> dict[str, Any]:
    return {"name": version.name, "plan": plan_to_json(version.plan)}
