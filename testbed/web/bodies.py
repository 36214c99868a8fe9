"""Bodies of requests: read within limits of size, time and depth, as JSON with finite numbers only."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # an extra has it, and only the types of it are needed
    from starlette.requests import Request

import asyncio

from kuijia_base.reading import DEEPEST

MOST_VALUES = 1_000_000
"""Most lists, objects and commas of a body: a few bytes of each may take a hundred times as much memory."""

_SECONDS = 20.0
"""Time in which a body must arrive."""


class BodyError(Exception):
    """A body that cannot be used, with the status to answer."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


async def read_body(request: Request, largest: int) -> bytes:
    """Return the body of a request; raises BodyError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise BodyError(415, "the type of the body is not application/json")
    said = request.headers.get("content-length", "0")
    if said.isascii() and said.isdigit() and (len(said) > 15 or int(said) > largest):
        raise BodyError(413, f"a body of {said[:15]} bytes, expected at most {largest}")
    try:
        return await asyncio.wait_for(_received(request, largest), _SECONDS)
    except asyncio.TimeoutError as error:  # another class before Python 3.11
        raise BodyError(408, f"the body did not arrive within {_SECONDS:g} s") from error


async def _received(request: Request, largest: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            raise BodyError(413, f"a body of more than {largest} bytes")
    return bytes(body)


def parsed(body: bytes) -> Any:  # noqa: ANN401  # whatever JSON holds
    """Return the data of JSON text; raises BodyError."""
    if sum(body.count(sign) for sign in b"[{,") > MOST_VALUES:
        raise BodyError(413, f"a body of more than {MOST_VALUES} values")
    try:
        data = json.loads(body.decode(), parse_float=_finite, parse_int=_whole, parse_constant=_finite)
    except UnicodeDecodeError as error:
        raise BodyError(400, "the body is not UTF-8") from error
    except RecursionError as error:
        raise BodyError(400, "the body is nested too deeply") from error
    except ValueError as error:  # malformed, or with a number of too many digits
        raise BodyError(400, "the body is not JSON") from error
    if not _is_sound(data):
        raise BodyError(400, f"the body is nested deeper than {DEEPEST} levels, or has half a character")
    return data


def plan_body(data: object) -> dict[str, Any]:
    """Return the data of a plan; raises BodyError if it is no object."""
    if not isinstance(data, dict):
        raise BodyError(422, "the body is no plan in JSON")
    return data


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise BodyError(400, "the body has a number that is not finite")
    return number


def _whole(digits: str) -> int:
    _finite(digits)
    return int(digits)


def _is_sound(data: object) -> bool:
    """Return True if data are not nested too deeply, and all their text is Unicode; without recursion."""
    level = [data]
    for _ in range(DEEPEST + 1):
        if not level:
            return True
        inner: list[object] = []
        for each in level:
            if isinstance(each, str) and not each.isascii() and not _is_unicode(each):
                return False
            if isinstance(each, list):
                inner += each
            elif isinstance(each, dict):
                inner += each
                inner += each.values()
        level = inner
    return not level


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
