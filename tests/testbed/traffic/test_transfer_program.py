from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from testbed.traffic import transfer_program
from tests.kuijia_app.dummy_switches import free_port

CONGESTION_CONTROL = "cubic"


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", transfer_program.__file__, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


@pytest.fixture
def listening_port() -> Iterator[int]:
    port = free_port()
    with start("receive", "127.0.0.1", str(port)) as receiver:
        assert said(receiver) == "listening"
        yield port
        receiver.kill()


@pytest.mark.parametrize("size", [1, 65536, 200_000])
def test_all_transfers_are_made_and_no_more_than_asked_for_at_a_time(listening_port: int, size: int) -> None:
    targets = [f"127.0.0.1:{free_port()}" for _ in range(6)]
    with start("send", str(listening_port), str(size), "2", CONGESTION_CONTROL, *targets) as sender:
        assert said(sender) == "ready"
        output, _ = sender.communicate("begin\n", timeout=60)
    done = json.loads(output)
    assert sender.returncode == 0
    assert [address for address, _, _ in done] == ["127.0.0.1"] * 6
    for _, began, _ in done:
        assert sum(other <= began < end for _, other, end in done) <= 2


def test_a_receiver_that_is_not_there_is_named() -> None:
    with start("send", str(free_port()), "1000", "2", CONGESTION_CONTROL, f"127.0.0.1:{free_port()}") as sender:
        assert said(sender) == "ready"
        output, _ = sender.communicate("begin\n", timeout=60)
    assert sender.returncode == 1
    assert output.startswith("127.0.0.1: ")
    assert "refused" in output
