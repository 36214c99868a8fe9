"""Runs on a box: the programs started there for the remote side, by number."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from testbed.machine.processes import SocketKind
from testbed.machine.programs import LocalProgram


class BoxPrograms:
    """Programs that were started and not stopped; `stop_all` ends them."""

    def __init__(self) -> None:
        self._last = 0
        self._running: dict[int, LocalProgram] = {}

    def launch(self, argv: Sequence[str]) -> int:
        # In its own session: a signal to ours would lose the programs' last output.
        program = LocalProgram(argv, subprocess.Popen, start_new_session=True)
        self._last += 1
        self._running[self._last] = program
        return self._last

    def launch_python(self, prefix: Sequence[str], source: str, arguments: Sequence[str]) -> int:
        """Launch a program given as source text; `prefix` is a command that runs the command after it."""
        return self.launch([*prefix, sys.executable, "-I", "-c", source, *arguments])

    def status(self, program: int) -> int | None:
        return self._running[program].status()

    def output(self, program: int) -> str:
        return self._running[program].output()

    def owns_socket(self, program: int, kind: SocketKind, local_port: int, remote_port: int) -> bool:
        return self._running[program].owns_socket(kind, local_port, remote_port)

    def bytes_read(self, program: int) -> int:
        return self._running[program].bytes_read()

    def terminate(self, program: int) -> None:
        self._running[program].terminate()

    def stop(self, program: int) -> None:
        self._running.pop(program).stop()

    def stop_all(self) -> None:
        while self._running:
            self._running.popitem()[1].stop()
