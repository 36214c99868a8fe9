"""Transfers of data between hosts: each host sends to others in its own order, several at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kuijia_base.bounded_output import LONGEST_MESSAGE, LONGEST_OUTPUT, require_short
from kuijia_base.errors import TestbedError
from testbed.network.hosts import Host
from testbed.traffic import transfer_program

_PORT = 5001
_END_TIMEOUT = 5.0
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Errand:
    """Transfers of a host: its receivers in order, each with the TCP source port to use."""

    sender: Host
    receivers: Sequence[tuple[Host, int]]


@dataclass(frozen=True)
class Transfer:
    """A finished transfer; seconds since the first of all began."""

    source: str
    target: str
    began: float
    ended: float


def run_transfers(
    errands: Sequence[Errand],
    size: int,
    at_once: int,
    congestion_control: str,
    timeout: float,
) -> list[Transfer]:
    """Send `size` bytes to every receiver of every errand, `at_once` at a time per errand; return when all are done.

    Raises:
        TestbedError: a program failed, or it takes longer than `timeout` seconds.
    """
    hosts = {host.name: host for errand in errands for host, _ in errand.receivers}
    programs: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, host in hosts.items():
            programs[f"receiver of {name}"] = _start(host, ["receive", str(host.address), str(_PORT)], "listening")
        senders = {errand.sender.name: _sender(errand, size, at_once, congestion_control) for errand in errands}
        programs |= {f"sender of {name}": program for name, program in senders.items()}
        for program in senders.values():
            assert program.stdin is not None
            program.stdin.write(b"begin\n")
            program.stdin.flush()
        deadline = time.monotonic() + timeout
        while any(program.poll() is None for program in senders.values()):
            if time.monotonic() > deadline:
                late = sorted(name for name, program in senders.items() if program.poll() is None)
                raise TestbedError(f"data from {', '.join(late)} has not arrived after {timeout:g} s")
            time.sleep(_POLL_SECONDS)
        names = {str(host.address): name for name, host in hosts.items()}
        return _collected(senders, names)
    finally:
        for program in programs.values():
            program.terminate()
            try:
                program.communicate(timeout=_END_TIMEOUT)
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()


def _sender(errand: Errand, size: int, at_once: int, congestion_control: str) -> subprocess.Popen[bytes]:
    targets = [f"{host.address}:{source_port}" for host, source_port in errand.receivers]
    return _start(errand.sender, ["send", str(_PORT), str(size), str(at_once), congestion_control, *targets], "ready")


def _start(host: Host, arguments: list[str], said: str) -> subprocess.Popen[bytes]:
    # Isolated mode: modules beside the program must not be taken for the standard library's.
    command = [sys.executable, "-I", transfer_program.__file__, *arguments]
    pipe = subprocess.PIPE
    program = host.start(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT)
    assert program.stdout is not None
    line = program.stdout.readline(LONGEST_MESSAGE).decode(errors="replace").strip()
    if line != said:
        raise TestbedError(f"the program that transfers data on {host.name} failed: {line or 'without a message'}")
    return program


def _collected(senders: Mapping[str, subprocess.Popen[bytes]], names: Mapping[str, str]) -> list[Transfer]:
    found = []
    for source, program in senders.items():
        assert program.stdout is not None
        output = program.stdout.read(LONGEST_OUTPUT + 1)
        require_short(len(output), f"sending from {source}")
        said = output.decode(errors="replace").strip()
        if program.returncode != 0:
            raise TestbedError(f"sending from {source} failed: {said or f'exit status {program.returncode}'}")
        found += [Transfer(source, names[address], began, ended) for address, began, ended in json.loads(said)]
    first = min(each.began for each in found)
    return [Transfer(each.source, each.target, each.began - first, each.ended - first) for each in found]
