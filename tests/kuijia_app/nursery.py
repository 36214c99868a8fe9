"""Starts applications that are made to fail from a process that has imported them already: a start is then a fork.

    python -m tests.kuijia_app.nursery os-ken|ryu

Imports are most of what a start costs, and every handler and thread is made to fail in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import BufferedWriter
from typing import TextIO

from kuijia_base.commands import MODULES
from testbed.controllers.application_process import ENVIRONMENT, Framework
from tests.kuijia_app import failing_application

IMPORTED = {
    "os-ken": ("os_ken.base.app_manager", "kuijia.cli.main", "kuijia.cli.controller", "kuijia.cli.scheduler"),
    "ryu": ("ryu.cmd.manager",),
}
APPLICATIONS = ("kuijia_app.controller", "hedera.scheduler")

_POLL_INTERVAL = 0.01


class Nursery:
    """The process that forks applications under a framework, until this one ends."""

    def __init__(self, framework: Framework) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, framework],
            cwd=MODULES,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: object) -> int | None:
        """Return the answer to a request: the process id of a fork, or the status of one, None while it runs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer: int | None = json.loads(self._process.stdout.readline())
        return answer


class Fork(subprocess.Popen[bytes]):
    """An application that a nursery has forked, used as if this process had started it."""

    def __init__(self, nursery: Nursery, arguments: Sequence[str], output: BufferedWriter) -> None:
        self._nursery = nursery
        self.returncode: int | None = None
        pid = nursery.ask(start=list(arguments), output=os.path.realpath(output.name))
        assert pid is not None
        self.pid = pid

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask(status=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0)
            time.sleep(_POLL_INTERVAL)
        return status


@cache
def nursery(framework: Framework) -> Nursery:
    """Return the one nursery of this process for a framework."""
    return Nursery(framework)


def serve(answers: TextIO) -> list[str]:
    """Answer requests until they end; return in each fork, with the arguments of what it is to run."""
    for line in sys.stdin:
        request = json.loads(line)
        if "status" in request:
            pid, status = os.waitpid(request["status"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        else:
            answer = os.fork()
            if answer == 0:
                become_application(request["output"])
                arguments: list[str] = request["start"]
                return arguments
        print(json.dumps(answer), file=answers, flush=True)
    sys.exit()


def become_application(output: str) -> None:
    """Detach from the nursery as a process of `ApplicationProcess` is from its starter, and log to a file."""
    os.setsid()
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_APPEND),
        (2, output, os.O_WRONLY | os.O_APPEND),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)


if __name__ == "__main__":
    for module in (*IMPORTED[sys.argv[1]], *APPLICATIONS):
        import_module(module)
    sys.exit(failing_application.run(serve(sys.stdout)))
