"""Requests to the lab service as a fuzzer makes them: valid ones, changed in their structure, then in their bytes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from te_solver.formats.plan_file import plan_to_json
from tests.kuijia_app.plans import motivation_plan

_FLOW = {"source": "s1", "target": "s4", "kind": "udp", "rate": 5.5, "seconds": 10, "priority": 0}
_LOOKS: tuple[dict[str, Any], ...] = (
    {"do": "status"},
    {"do": "counters"},
    {"do": "topology"},
    {"do": "plan"},
    {"do": "log", "after": 0},
    {"do": "watch"},
    {"do": "watch", "after": 3},
    {"do": "enter", "node": "s1"},
    {"do": "enter", "node": "s1", "command": "ping 10.0.4.1"},
)
_CHANGES: tuple[dict[str, Any], ...] = (
    {"do": "fail", "a": "s1", "b": "s2"},
    {"do": "heal", "a": "s1", "b": "s2"},
    {"do": "fail", "node": "s1"},
    {"do": "heal", "node": "s1"},
    {"do": "update", "demands": [["s1", "s4", 10, 0]], "source": "demands.csv"},
    {"do": "update", "demands": [["s1", "s4", 10.5, 0], ["s4", "s1", 3, 0]], "source": "demands.csv"},
    {"do": "replace", "plan": plan_to_json(motivation_plan()), "source": "plan.json"},
    {"do": "withdraw"},
    {"do": "handover"},
    {"do": "start-flow", **_FLOW},
    {"do": "start-flow", **_FLOW, "kind": "tcp", "rate": None},
    {"do": "stop-flow", "flow": "f1"},
    {"do": "scheme", "scheme": "kuijia"},
    {"do": "down"},
)
LOOKS = tuple({"version": 1, **each} for each in _LOOKS)
VALID = (*LOOKS, *({"version": 1, **each} for each in _CHANGES))
UPDATE = next(each for each in VALID if each["do"] == "update")

_TEXTS = {
    "@deep-list@": "[" * 5000 + "]" * 5000,
    "@deep-half@": "[" * 100_000,
    "@deep-object@": '{"a":' * 3000 + "1" + "}" * 3000,
    "@digits@": "7" * 5000,
    "@fraction@": "0." + "3" * 5000,
    "@exponent@": "1e999999999",
    "@surrogate@": '"\\ud800"',
    "@escape@": '"\\uZZZZ"',
    "@nan@": "NaN",
    "@long@": '"' + "x" * 100_000 + '"',
    "@many@": "[" + "0," * 100_000 + "0]",
}
"""Words in a request, and the text that takes their place in its JSON."""

_VALUES: tuple[Any, ...] = (
    *_TEXTS,
    *(None, True, False, -1, 0, 1, 7, 255, 256, 1 << 63, -0.0, 1e308, 5e-324, "", "s1", "s4", "s9", "down", "1"),
    *("s1\n", "\0", "é" * 300, "../../x", [], {}, [[]], ["s1"], {"do": "status"}, ["s1", "s4", 1, 0]),
)
_MEMBERS = (
    *("version", "do", "a", "b", "node", "demands", "plan", "flow", "scheme", "after", "kind", "rate", "seconds"),
    *("priority", "source", "target", "x" * 500, ""),
)
_BYTES = (b"\0", b"\n", b"\r\n", b"\xff", b"\xc0\x80", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\xef\xbb\xbf")

Manner = Literal["whole", "pieces", "half", "leaves", "deaf", "endless"]
_MANNERS: tuple[Manner, ...] = ("whole",) * 150 + ("pieces",) * 30 + ("leaves",) * 15 + ("endless", "half", "deaf")


@dataclass(frozen=True)
class Said:
    """One client: its bytes, and how it says them.

    Attributes:
        manner: "half" falls silent before the end of the line, "leaves" closes without waiting for the answer, "deaf"
            does not read it, "endless" repeats the bytes as one line until it is refused.
        valid: the request has to be served.
    """

    text: bytes
    manner: Manner
    valid: bool = False


def random_case(random: Random) -> list[Said]:
    """Return clients that come at the same time."""
    return [_client(random) for _ in range(random.choice((1, 1, 1, 2, 4, 8)))]


def case_to_bytes(case: list[Said]) -> bytes:
    clients = [{**vars(each), "text": base64.b64encode(each.text).decode()} for each in case]
    return json.dumps(clients, indent=1).encode()


def case_from_bytes(content: bytes) -> list[Said]:
    return [Said(**{**each, "text": base64.b64decode(each["text"])}) for each in json.loads(content)]


def _client(random: Random) -> Said:
    manner = random.choice(_MANNERS)
    if random.random() < 0.1:
        # Looks alone: cutting a link twice is rightly refused.
        return Said(json.dumps(random.choice(LOOKS)).encode(), "whole", valid=True)
    request: Any = json.loads(json.dumps(random.choice(VALID)))
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        request = _changed(random, request)
    text = json.dumps(request)
    for word, meant in _TEXTS.items():
        text = text.replace(f'"{word}"', meant)
    said = text.encode()
    if random.random() < 0.3:
        said = _damaged(random, said)
    return Said(said or b" ", manner)


def _changed(random: Random, value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a JSON value with one thing changed somewhere within."""
    children = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if children and random.random() < 0.8:
        at = random.choice(children)
        match random.randrange(6):
            case 0:
                del value[at]
            case 1 if isinstance(value, dict):
                value[random.choice(_MEMBERS)] = _value(random)
            case 1 if isinstance(value, list):
                value.insert(at, _value(random))
            case 2 if isinstance(value, list):
                value.extend(value * random.choice((1, 10)))
            case _:
                value[at] = _changed(random, value[at])
        return value
    return random.choice((_value(random), [value], {"do": value}))


def _value(random: Random) -> Any:  # noqa: ANN401  # JSON
    return json.loads(json.dumps(random.choice(_VALUES)))


def _damaged(random: Random, text: bytes) -> bytes:
    """Return text with bytes changed, cut off, or in another encoding."""
    at = random.randrange(len(text) + 1)
    match random.randrange(6):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + random.choice(_BYTES) + text[at:]
        case 2:
            return text[:at] + random.randbytes(random.choice((1, 2, 8, 100))) + text[at + 1 :]
        case 3:
            return text.decode().encode(random.choice(("utf-16", "utf-32", "utf-8-sig")))
        case 4:
            return random.randbytes(random.randrange(1, 2000))
        case _:
            return text * random.choice((2, 50))
