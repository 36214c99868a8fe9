"""The program of the load sends at its pace, and counts what comes: over this machine's loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time

import pytest

from testbed.traffic import recorder_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="addresses of 127.0.0.0/8 are Linux's")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def started(*arguments: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-I", recorder_program.__file__, *arguments], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline().strip() == "ready"
    return program


def ended(program: subprocess.Popen[str]) -> dict[str, int]:
    program.terminate()
    output, _ = program.communicate(timeout=20)
    counts: dict[str, int] = json.loads(output)
    return counts


def test_each_flow_keeps_its_pace_and_all_its_packets_are_counted() -> None:
    port = free_port()
    receiver = started("receive-load", "127.0.0.1", str(port))
    target = f"127.0.0.1,{port}"
    sender = started("send-load", f"3,127.0.0.1,0,184,{target},0.005", f"4,127.0.0.1,0,0,{target},0.02")
    began = time.monotonic()
    time.sleep(0.5)
    sent = ended(sender)
    longest = time.monotonic() - began
    time.sleep(0.1)
    assert ended(receiver) == {number: count for number, count in sent.items() if count}
    # A busy machine may leave packets out, and it sends at most its backlog too much.
    assert 0 < sent["3"] <= longest / 0.005 + 10
    assert 0 < sent["4"] <= longest / 0.02 + 10
    assert sent["3"] > sent["4"]


def test_the_counts_agree_whenever_the_programs_are_terminated() -> None:
    """At this pace some signals come between the sending of a packet and its count."""
    for _ in range(20):
        port = free_port()
        receiver = started("receive-load", "127.0.0.1", str(port))
        sent = ended(started("send-load", f"1,127.0.0.1,0,0,127.0.0.1,{port},0.00001"))
        assert ended(receiver) == {number: count for number, count in sent.items() if count}


def test_an_address_of_another_machine_is_told() -> None:
    program = subprocess.run(
        [sys.executable, "-I", recorder_program.__file__, "receive-load", "192.0.2.1", "9"],
        stdout=subprocess.PIPE,
        text=True,
        timeout=20,
        check=False,
    )
    assert program.returncode == 1
    assert program.stdout.strip() == "Cannot assign requested address"
