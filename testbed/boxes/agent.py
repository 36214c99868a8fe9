"""Runs on a box: does what it is told over standard input, line by line, and ends all it has started when that ends.

An order is a JSON object `{"id", "action", "arguments"}` on a line, an answer `{"id", "value"}` or `{"id", "error"}`.
Nothing that comes in is ever read by a shell.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import BinaryIO

from te_solver.errors import KuijiaError
from testbed.boxes.box_actions import BoxActions

GREETING = "kuijia-agent"
"""The first line that is ours: what a box's login scripts may have printed comes before it."""


def serve(orders: BinaryIO) -> None:
    """Answer orders until there are no more."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what programs print must not come between our answers
    for deadly in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(deadly, lambda *_: sys.exit(1))
    print(GREETING, file=answers, flush=True)
    with BoxActions() as actions:
        for line in orders:
            order = json.loads(line)
            try:
                answer = {"value": getattr(actions, order["action"])(**order["arguments"])}
            except (KuijiaError, OSError) as error:
                answer = {"error": str(error)}
            print(json.dumps({"id": order["id"], **answer}), file=answers, flush=True)
