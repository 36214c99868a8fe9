"""Messages between controllers as JSON: a sign of life, and the plans in use when they have changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from kuijia_app.control.pair import MOST_PEERS, Beat
from kuijia_app.control.plan_update import require_same_network
from kuijia_app.control.rollout import AllTables, Stages, Version
from kuijia_base.errors import quoted, shown
from kuijia_base.json_document import json_data
from te_solver.formats.plan_file import plan_from_json, plan_to_json
from te_solver.model.plan import Plan

Options = Mapping[str, object]
"""Options in which peers must agree, as text or numbers."""

_LAST_INSTANCE = 0xFFFF
_LAST_GENERATION = 0xFFFF_FFFF_FFFF_FFFF
_SMALLEST_PART, _SPARE_PARTS = 16, 1000
"""A message has at most one list or object for so many bytes, and so many more; those of plans have 30 bytes and more.
Mere brackets take 28 times their length in memory, and all threads stand still while they are read."""

_LONGEST_NAME = 64
"""Characters of the name of a process or an update."""

_LONGEST_ADDRESS = 300
"""Characters: names of hosts have up to 253 (RFC 1035, 2.3.4)."""

_Value = TypeVar("_Value")


def encoded(beat: Beat, stages: Stages | None, options: Options) -> bytes:
    """Return a message, in one line without its end."""
    message: dict[str, Any] = {
        "instance": beat.instance,
        "acting": beat.is_acting,
        "generation": beat.generation,
        "reach": sorted(beat.reach),
        "hands_over": beat.hands_over,
        "process": beat.process,
        "hears": None if beat.hears is None else sorted(beat.hears),
        "address": beat.address,
        "options": dict(options),
    }
    if stages is not None:
        message["stages"] = {
            "in_force": _version_to_json(stages.in_force),
            "next": None if stages.next is None else _version_to_json(stages.next),
            "retained": [[_version_to_json(version), successor] for version, successor in stages.retained],
        }
    return json.dumps(message).encode()


def decoded_beat(line: bytes, options: Options, switches: Collection[str]) -> Beat:
    """Return the sign of life in a peer's message; raises ValueError for a message of somebody who is no peer."""
    with _refusing():
        return _beat(_message(line), options, switches)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"not a message of a controller: {type(error).__name__}") from error


def _message(line: bytes) -> dict[str, Any]:
    if line.count(b"[") + line.count(b"{") > len(line) // _SMALLEST_PART + _SPARE_PARTS:
        raise ValueError("not a message of a controller: too many brackets")
    return _of(dict, json_data(line.decode(), "a peer's message", "a message of a controller"), "content")


def _beat(message: dict[str, Any], options: Options, switches: Collection[str]) -> Beat:
    theirs = message["options"]
    for name in sorted({*theirs, *options}):
        if theirs.get(name) != options.get(name):
            found, ours = quoted(str(theirs.get(name))), quoted(str(options.get(name)))
            raise ValueError(f"its option {shown(str(name))} is {found}, ours is {ours}")
    reach = frozenset(_of(str, each, "reach") for each in _of(list, message["reach"], "reach"))
    foreign = reach.difference(switches)
    if foreign:
        raise ValueError(f"its switch {shown(min(foreign))} is not one of ours")
    return Beat(
        _within(_LAST_INSTANCE, message["instance"], "instance"),
        _of(bool, message["acting"], "acting"),
        _within(_LAST_GENERATION, message["generation"], "generation"),
        reach,
        _of(bool, message["hands_over"], "hands_over"),
        _name(message["process"], "process"),
        _heard(message.get("hears")),
        _name(message.get("address", ""), "address", _LONGEST_ADDRESS),
    )


def _heard(value: object) -> frozenset[str] | None:
    """Return the processes that a peer hears; None if it does not say, as those of earlier versions do not."""
    if value is None:
        return None
    names = _of(list, value, "hears")
    if len(names) > MOST_PEERS:
        raise ValueError(f"not a message of a controller: it hears more than {MOST_PEERS} others")
    return frozenset(_name(each, "hears") for each in names)


def _of(kind: type[_Value], value: object, key: str) -> _Value:
    """Return a value if it is of exactly this type: true and false are no numbers."""
    if type(value) is not kind:
        raise ValueError(f"not a message of a controller: its {key} is of another type")
    return value


def _within(last: int, value: object, key: str) -> int:
    number = _of(int, value, key)
    if not 0 <= number <= last:
        raise ValueError(f"not a message of a controller: its {key} is not from 0 to {last}")
    return number


def _name(value: object, key: str, longest: int = _LONGEST_NAME) -> str:
    name = _of(str, value, key)
    if len(name) > longest or not name.isprintable():
        raise ValueError(f"not a message of a controller: its {key} is {quoted(name)}")
    return name


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
            message = _message(line)
            beat, stages = _beat(message, self._options, self._ours.topology.nodes), message.get("stages")
            return beat, None if stages is None else self._stages(stages)

    def _stages(self, stages: dict[str, Any]) -> Stages:
        before, self._known = self._known, {}
        later = stages["next"]
        return Stages(
            self._version(stages["in_force"], before),
            None if later is None else self._version(later, before),
            tuple(
                (self._version(version, before), None if successor is None else _name(successor, "successor"))
                for version, successor in stages["retained"]
            ),
        )

    def _version(self, version: dict[str, Any], before: dict[str, Version]) -> Version:
        key = json.dumps(version)
        found = before.get(key)
        if found is None:
            plan = plan_from_json(version["plan"], "a peer's plan")
            require_same_network(plan, self._ours)
            found = Version(_name(version["name"], "update"), plan, self._build_tables(plan))
            found.index()
        self._known[key] = found
        return found


def _version_to_json(version: Version) -> dict[str, Any]:
    return {"name": version.name, "plan": plan_to_json(version.plan)}
