"""Runs on a box: executes orders from standard input, line by line, and ends all its programs at the end of input.

An order is a JSON object `{"id", "action", "arguments"}` on a line, an answer `{"id", "value"}` or `{"id", "error"}`.
Empty lines are signs of life: nothing else distinguishes an idle connection from one whose other end has lost its
power or its cable. No input is ever read by a shell.

Orders are carried out one after the other, except those that wait for packets: others go on meanwhile.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from io import FileIO
from typing import Any

from kuijia_base.bounded_output import require_short
from kuijia_base.errors import KuijiaError
from testbed.boxes.box_actions import BoxActions

GREETING = "kuijia-agent"
"""Our first line, which separates our output from that of a box's login scripts."""


SIGN_OF_LIFE_SECONDS = 5.0
"""Longest time between two lines, in seconds."""

SILENCE_SECONDS = 30.0
"""Seconds without a line after which the other end counts as dead."""

_WAITS_FOR_PACKETS = "watch"

_MOST_AT_ONCE = 1 << 16


def serve(orders: FileIO, silence_seconds: float = SILENCE_SECONDS) -> None:
    """Answer orders until there are no more, or no line at all arrives; `orders` is not buffered."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of programs must not mix with our answers
    for deadly in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(deadly, lambda *_: sys.exit(1))
    print(GREETING, file=answers, flush=True)
    answering = threading.Lock()
    with BoxActions() as actions:

        def carry_out(order: dict[str, Any]) -> None:
            try:
                answer = {"value": getattr(actions, order["action"])(**order["arguments"])}
            except (KuijiaError, OSError) as error:
                answer = {"error": str(error)}
            except (LookupError, ValueError) as error:  # a program gives output in an unknown form
                answer = {"error": f"{order['action']} ends with {type(error).__name__}: {error}"}
            with answering:
                print(json.dumps({"id": order["id"], **answer}), file=answers, flush=True)

        for line in _lines(orders, silence_seconds):
            order = json.loads(line)
            if order["action"] == _WAITS_FOR_PACKETS:
                threading.Thread(target=carry_out, args=(order,), daemon=True).start()
            else:
                carry_out(order)


def _lines(orders: FileIO, silence_seconds: float) -> Iterator[bytes]:
    """Yield the lines that are not empty."""
    begun = b""
    while select.select([orders], [], [], silence_seconds)[0] and (part := orders.read(_MOST_AT_ONCE)):
        *whole, begun = (begun + part).split(b"\n")
        require_short(len(begun), "the other end")
        yield from filter(None, whole)
