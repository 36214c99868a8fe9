"""The recipe for own switches, as its page has it: its commands run in one shell, with an Open vSwitch of their own."""

from __future__ import annotations

import doctest
import os
import re
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import Datapath, PrivateOvs
from tests.docs.blocks import blocks_of
from tests.docs.commands import FILE, NOT_RUN, ROOT, Command, commands_of

pytestmark = [pytest.mark.emulation, pytest.mark.slow]

PAGE = ROOT / "docs" / "own_switches.md"
PATIENCE = 90.0
"""Seconds for one command."""

MOST_LOST = 2.0
"""Percent of the aboriginal flow's packets: the page says 0, which a busy machine may miss; unprotected it loses 32."""

_CHECKER = doctest.OutputChecker()
_LOST = re.compile(r"\(([\d.e+-]+)%\)  receiver")


class Shell:
    """A shell that carries out one command after the other; what one defines the next ones have."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def run(self, line: str) -> str:
        """Return what a command prints; its background jobs print elsewhere."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        mark = secrets.token_hex(8)
        self._process.stdin.write(f"{line}\necho {mark}\n".encode())
        self._process.stdin.flush()
        printed = _until(self._process.stdout, f"{mark}\n".encode(), line)
        return printed.decode()


@contextmanager
def shell_in(folder: Path) -> Iterator[Shell]:
    """Start a shell in an own network with own switches, which its tools find where they look for them."""
    with private_network():
        ovs = PrivateOvs(folder / "ovs", Datapath.USERSPACE)
        ovs.start()
        process = subprocess.Popen(
            ["unshare", "--mount", "bash"],
            cwd=folder,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            shell = Shell(process)
            shell.run("mount -t tmpfs none /run && mkdir /run/openvswitch /run/netns")
            shell.run(f"mount --bind {ovs.directory} /run/openvswitch")
            yield shell
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # and all that it has started
            process.communicate()
            ovs.stop()


def _until(stream: IO[bytes], mark: bytes, line: str) -> bytes:
    """Read until a mark; fail if it does not come in time."""
    deadline, read = time.monotonic() + PATIENCE, b""
    while not read.endswith(mark):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            raise AssertionError(f"after {PATIENCE:g} s: {line}\n{read.decode()}")
        part = os.read(stream.fileno(), 1 << 16)
        assert part, f"the shell has ended: {line}\n{read.decode()}"
        read += part
    return read.removesuffix(mark)


def as_printed(command: Command, printed: str) -> str:
    """Return what a command has printed, with the losses that a busy machine may cause as the page has them."""
    found = _LOST.search(printed)
    if "(0%)" in command.expected and found is not None and float(found[1]) <= MOST_LOST:
        return printed.replace(found[0], "(0%)  receiver")
    return printed


def test_the_recipe_leads_from_bare_bridges_to_a_protected_flow_as_the_page_says(tmp_path: Path) -> None:
    with shell_in(tmp_path) as shell:
        for block in blocks_of(PAGE.read_text(encoding="utf-8")):
            if block.mark.startswith(FILE):
                (tmp_path / block.mark.removeprefix(FILE)).write_text(block.text, encoding="utf-8")
            if block.language != "console":
                continue
            for command in commands_of(block.text):
                printed = as_printed(command, shell.run(command.line))
                matches = _CHECKER.check_output(command.expected, printed, doctest.ELLIPSIS)
                log = tmp_path / "controller.log"
                said = log.read_text() if log.exists() else ""
                assert matches, f"line {block.line}: $ {command.line}\n{printed}\n{said[-3000:]}"


def test_each_command_on_real_switches_is_run_by_this_test() -> None:
    marks = {block.mark for block in blocks_of(PAGE.read_text(encoding="utf-8")) if block.mark.startswith(NOT_RUN)}
    assert marks == {f"{NOT_RUN}tests/kuijia_app/test_recipe.py does"}
