"""Bodies of requests: read within limits of size, time and depth, as JSON."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kuijia_base.errors import InputError
from kuijia_base.json_document import json_data

if TYPE_CHECKING:  # an extra has it, and only the types of it are needed
    from starlette.requests import Request


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


def parsed(body: bytes) -> object:
    """Return the data of JSON text; raises BodyError."""
    if sum(body.count(sign) for sign in b"[{,") > MOST_VALUES:
        raise BodyError(413, f"a body of more than {MOST_VALUES} values")
    try:
        return json_data(body.decode(), "the body", "JSON")
    except UnicodeDecodeError as error:
        raise BodyError(400, "the body is not UTF-8") from error
    except InputError as error:
        raise BodyError(400, str(error)) from error


def plan_body(data: object) -> dict[str, Any]:
    """Return the data of a plan; raises BodyError if it is no object."""
    if not isinstance(data, dict):
        raise BodyError(422, "the body is no plan in JSON")
    return data
