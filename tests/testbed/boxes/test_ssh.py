"""Only constants reach a box's shell, nothing is ever asked, and the agent needs no more than Python."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from testbed.boxes.agent import GREETING
from testbed.boxes.bundle import BOOTSTRAP, bundle
from testbed.boxes.inventory import Login
from testbed.boxes.ssh import BoxError, Connection, DeadBoxError, ssh_command

SYSTEM_PYTHON = "/usr/bin/python3"


def options(command: list[str]) -> dict[str, str]:
    words = [word for flag, word in itertools.pairwise(command) if flag == "-o"]
    return dict(word.split("=", 1) for word in words)


def test_host_keys_are_checked_and_nothing_is_asked() -> None:
    command = ssh_command(Login("192.0.2.11"))
    assert options(command)["StrictHostKeyChecking"] == "yes"
    assert options(command)["BatchMode"] == "yes"
    assert command[command.index("--") + 1] == "192.0.2.11"
    assert "User" not in options(command)


def test_what_the_inventory_says_is_used() -> None:
    login = Login("box", "lab", Path("/keys/lab key"), 2222, Path("/keys/known"), sudo=True)
    command = ssh_command(login)
    found = options(command)
    assert (found["User"], found["Port"], found["IdentityFile"]) == ("lab", "2222", '"/keys/lab key"')
    assert (found["UserKnownHostsFile"], found["GlobalKnownHostsFile"]) == ('"/keys/known"', "none")
    assert shlex.split(command[-1]) == ["sudo", "-n", "--", "python3", "-I", "-c", BOOTSTRAP]


def test_the_agent_runs_from_memory_on_the_standard_library_alone() -> None:
    orders = [
        {"id": 1, "action": "clock", "arguments": {}},
        {"id": 2, "action": "run", "arguments": {"argv": ["printf", "%s", "a b; c"]}},
        {"id": 3, "action": "run", "arguments": {"argv": ["false"]}},
        {"id": 4, "action": "launch", "arguments": {"argv": ["cat"]}},
    ]
    lines = "".join(json.dumps(order) + "\n" for order in orders).encode()
    done = subprocess.run(
        [SYSTEM_PYTHON, "-I", "-S", "-c", BOOTSTRAP],
        input=f"{len(bundle())}\n".encode() + bundle() + lines,
        capture_output=True,
        check=True,
        timeout=30,
    )
    greeting, *answers = done.stdout.decode().splitlines()
    assert greeting == GREETING
    first, *others = map(json.loads, answers)
    assert first["value"] > 1.6e9
    assert others == [
        {"id": 2, "value": "a b; c"},
        {"id": 3, "error": "`false` failed: exit status 1"},
        {"id": 4, "value": 1},
    ]


@pytest.fixture
def ssh_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is run for `ssh`; a test writes it."""
    path = tmp_path / "ssh"
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def test_chatter_of_login_scripts_is_no_answer(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\nfor last; do :; done\necho Welcome\neval "$last"\n')
    with Connection("switch a", Login("box")) as connection:
        assert connection.call("run", argv=["echo", "x"]) == "x\n"
        with pytest.raises(BoxError, match=r"^switch a: `false` failed"):
            connection.call("run", argv=["false"])


def test_answers_come_to_whom_they_are_for(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\nfor last; do :; done\neval "$last"\n')
    with Connection("switch a", Login("box")) as connection:
        first, second = (connection.begin("run", argv=["echo", word]) for word in ("one", "two"))
        assert (connection.result(second), connection.result(first)) == ("two\n", "one\n")


def test_a_box_that_is_not_reached_is_dead_with_the_reason(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\necho "Host key verification failed." >&2\nexit 255\n')
    with pytest.raises(DeadBoxError, match=r"^switch a has closed the connection: Host key verification failed\.$"):
        Connection("switch a", Login("box"))


def test_an_old_python_is_named(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\necho "Python 3.7 is too old" >&2\nexit 1\n')
    with pytest.raises(DeadBoxError, match=r"Python 3\.7 is too old"):
        Connection("switch a", Login("box"))
