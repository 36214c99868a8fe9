"""The request that a controller hands over to another one, over the connection that peers use."""

from __future__ import annotations

import json
from typing import Final

from kuijia_app.framework.line_connection import Address, LineConnection, connected
from kuijia_app.framework.peer_links import PATIENCE, client_settings
from kuijia_app.framework.tls import TlsFiles
from kuijia_base.errors import KuijiaError, quoted

REQUEST: Final = b'{"do": "handover"}'
ANSWER_SECONDS: Final = 5.0
"""Time that a controller has for the answer; a handover is done or given up after 2 s."""

_LONGEST_ANSWER = 4096


class NoHandoverError(KuijiaError):
    """The controller goes on acting, or does not act at all, or cannot be asked."""


def answer_to_request(reason: str | None) -> bytes:
    """Return the answer: the handover is done, or the reason why not."""
    return json.dumps({"done": reason is None, "reason": reason}).encode()


def request_handover(address: Address, tls: TlsFiles | None) -> None:
    """Ask the controller that has this address for its peers to hand over; return when another one acts.

    Raises:
        InputError: the TLS files are not usable.
        NoHandoverError: there is no handover; the message says why.
    """
    settings = None if tls is None else client_settings(tls)
    place = f"{address[0]}:{address[1]}"
    try:
        with LineConnection(connected(address, PATIENCE)) as connection:
            if settings is not None:
                connection.secure(settings(), PATIENCE, server_side=False)
            connection.send(REQUEST, PATIENCE)
            line = connection.receive(_LONGEST_ANSWER, ANSWER_SECONDS + PATIENCE)
    except (BrokenPipeError, ConnectionResetError):
        line = None
    except OSError as error:
        raise NoHandoverError(f"{place}: {error.strerror or error}") from error
    if not line:
        hint = " (without TLS it hears only its own machine and those of its peers)" if tls is None else ""
        raise NoHandoverError(f"{place}: the controller has ended the connection without an answer{hint}")
    _require_done(line)


def _require_done(line: bytes) -> None:
    try:
        answer = json.loads(line)
        is_done, reason = answer["done"], str(answer["reason"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        shown = quoted(line.decode(errors="replace"))
        raise NoHandoverError(f"the answer {shown} is not that of a controller") from error
    if is_done is not True:
        raise NoHandoverError(reason)
