"""Only constants reach a box's shell, nothing is ever asked, and the agent needs no more than Python."""

from __future__ import annotations

import itertools
import json
import shlex
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kuijia_base.commands import MODULES
from testbed.boxes.agent import GREETING
from testbed.boxes.inventory import Login
from testbed.boxes.ssh import BOOTSTRAP, BoxError, DeadBoxError, SshConnection, bundle, ssh_command

SYSTEM_PYTHON = "/usr/bin/python3"


_WAITS_FOR_EMPTY_LINES = f"""
import sys
lines = sys.stdin.buffer
lines.read(int(lines.readline()))
print({GREETING!r}, flush=True)
empty = 0
while empty < 3:
    empty += lines.readline() == b"\\n"
print('{{"id": 1, "value": 3}}', flush=True)
lines.read()
"""

_ANSWERS_THE_LAST_ORDER_FIRST = f"""
import json, sys
lines = sys.stdin.buffer
lines.read(int(lines.readline()))
print({GREETING!r}, flush=True)
orders = [json.loads(lines.readline()) for _ in range(4)]
for order in reversed(orders):
    print(json.dumps({{"id": order["id"], "value": order["arguments"]["of"]}}), flush=True)
lines.read()
"""


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


def test_paths_are_no_patterns() -> None:
    command = ssh_command(Login("box", key=Path('/keys/100%h "x" \\y')))
    assert options(command)["IdentityFile"] == '"/keys/100%%h \\"x\\" \\\\y"'
    asked = subprocess.run(["ssh", "-G", *command[1 : command.index("--")], "box"], capture_output=True, check=True)
    assert 'identityfile /keys/100%%h "x" \\y' in asked.stdout.decode().splitlines()


def test_the_agent_runs_from_memory_on_the_standard_library_alone() -> None:
    orders = [
        {"id": 1, "action": "clock", "arguments": {}},
        {"id": 2, "action": "run", "arguments": {"argv": ["printf", "%s", "a b; c"]}},
        {"id": 3, "action": "run", "arguments": {"argv": ["false"]}},
        {"id": 4, "action": "launch", "arguments": {"argv": ["cat"]}},
        {"id": 5, "action": "program_status", "arguments": {"program": 7}},
        {"id": 6, "action": "run", "arguments": {"argv": ["true"]}},
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
        {"id": 5, "error": "program_status ends with KeyError: 7"},
        {"id": 6, "value": ""},
    ]


def test_the_agent_ends_when_nobody_is_there_any_more() -> None:
    program = "import sys; from testbed.boxes.agent import serve; serve(open(0, 'rb', buffering=0), 0.2)"
    agent = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=MODULES,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert agent.wait(30) == 0  # although its standard input is still open
    said, complaints = agent.communicate()
    assert (said.decode().strip(), complaints) == (GREETING, b"")


@pytest.fixture
def ssh_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program that runs as `ssh`; a test writes it."""
    path = tmp_path / "ssh"
    path.touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def test_chatter_of_login_scripts_is_no_answer(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\nfor last; do :; done\necho Welcome\neval "$last"\n')
    with SshConnection("switch a", Login("box")) as connection:
        assert connection.call("run", argv=["echo", "x"]) == "x\n"
        with pytest.raises(BoxError, match=r"^switch a: `false` failed"):
            connection.call("run", argv=["false"])


def test_answers_come_to_whom_they_are_for(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\nfor last; do :; done\neval "$last"\n')
    with SshConnection("switch a", Login("box")) as connection:
        first, second = (connection.begin("run", argv=["echo", word]) for word in ("one", "two"))
        assert (connection.result(second), connection.result(first)) == ("two\n", "one\n")


def test_a_box_that_is_not_reached_is_dead_with_the_reason(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\necho "Host key verification failed." >&2\nexit 255\n')
    with pytest.raises(DeadBoxError, match=r"^switch a cannot be reached: Host key verification failed\.$"):
        SshConnection("switch a", Login("box"))


def test_why_a_key_was_not_used_is_said(ssh_stand_in: Path) -> None:
    said = [
        "@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @",
        "Permissions 0644 for '/lab/key' are too open.",
        "This private key will be ignored.",
        'Load key "/lab/key": bad permissions',
        "root@192.0.2.11: Permission denied (publickey).",
    ]
    ssh_stand_in.write_text("\n".join(["#!/bin/sh", *(f"echo {shlex.quote(line)} >&2" for line in said), "exit 255"]))
    with pytest.raises(DeadBoxError) as caught:
        SshConnection("switch a", Login("box"))
    assert str(caught.value) == f"switch a cannot be reached: {said[1].rstrip('.')}; {said[3]}; {said[4]}"


def test_a_host_key_that_has_changed_is_told_from_one_that_nobody_knows(ssh_stand_in: Path) -> None:
    banner = "@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed."
    ssh_stand_in.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{banner}\nEND\nexit 255\n")
    with pytest.raises(DeadBoxError, match="its host key differs from the known one: Host key verification"):
        SshConnection("switch a", Login("box"))


@pytest.mark.parametrize("said", ["no JSON", "[1]", '{"id": 1}', '"id"'])
def test_what_is_no_answer_ends_the_connection(ssh_stand_in: Path, said: str) -> None:
    ssh_stand_in.write_text(f"#!/bin/sh\necho {GREETING}\necho {shlex.quote(said)}\ncat >/dev/null\n")
    with SshConnection("switch a", Login("box")) as connection, pytest.raises(DeadBoxError, match="has closed"):
        connection.call("clock")


ANSWERS_FOR_EVER = f"""
import json, sys
sys.stdin.buffer.readline()
print({GREETING!r}, flush=True)
while True:
    print(json.dumps({{"id": %s, "value": "x" * 1000}}))
"""


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (
            f"import sys; print({GREETING!r}, flush=True)\nwhile True: sys.stdout.write('x' * 65536)",
            r"^switch a sends a line of more than 1000000 bytes$",
        ),
        (
            "import sys\nwhile True: sys.stdout.write('x' * 65536)",
            r"^switch a does not start the agent, but",
        ),
        ("print('Welcome!', flush=True)\nwhile True: print('Welcome!')", r"^switch a does not start the agent"),
        (ANSWERS_FOR_EVER % 1, r"^switch a answers an order that was not sent$"),
        (ANSWERS_FOR_EVER % 7, r"^switch a answers an order that was not sent$"),
        (
            f"print({GREETING!r}); print('[' * 100000)",
            r"^switch a has closed the connection, or sends no valid answer$",
        ),
        (f'print({GREETING!r}); print(\'{{"id": [], "value": 1}}\')', r"^switch a has closed the connection, or sends"),
        (
            f"print({GREETING!r}); print('{{\"id\": 1, \"value\": ' + '7' * 5000 + '}}')",
            r"^switch a has closed the conn",
        ),
    ],
)
def test_a_box_that_says_too_much_is_one_error_that_names_it(
    ssh_stand_in: Path, monkeypatch: pytest.MonkeyPatch, program: str, error: str
) -> None:
    monkeypatch.setattr("testbed.boxes.ssh.LONGEST_OUTPUT", 1_000_000)
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(program)} 2>/dev/null\n")

    def ask_twice() -> None:
        with SshConnection("switch a", Login("box")) as connection:
            connection.call("clock")
            connection.call("clock")

    with pytest.raises(DeadBoxError, match=error):
        ask_twice()


def test_a_box_that_is_given_up_before_it_is_asked_is_given_the_reason(ssh_stand_in: Path) -> None:
    program = ANSWERS_FOR_EVER % 7
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(program)} 2>/dev/null\n")
    with SshConnection("switch a", Login("box")) as connection:
        deadline = time.monotonic() + 30
        while connection.is_alive and time.monotonic() < deadline:
            time.sleep(0.01)
        with pytest.raises(DeadBoxError, match=r"^switch a answers an order that was not sent$"):
            connection.call("clock")


def test_an_answer_that_is_read_late_is_still_the_reason(ssh_stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"print({GREETING!r}); print('no answer')"
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(program)} 2>/dev/null\n")
    is_waited_for = threading.Event()

    class AwaitedThread(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            is_waited_for.set()
            super().join(timeout)

    def read_late(_line: bytes) -> None:
        is_waited_for.wait(30)

    monkeypatch.setattr("testbed.boxes.ssh.threading.Thread", AwaitedThread)
    monkeypatch.setattr("testbed.boxes.ssh._answer", read_late)
    with SshConnection("switch a", Login("box")) as connection:
        connection._ssh.wait(30)
        with pytest.raises(DeadBoxError, match=r"^switch a has closed the connection, or sends no valid answer$"):
            connection.call("clock")


def test_complaints_without_end_fill_no_disk(ssh_stand_in: Path) -> None:
    program = "import sys\nfor _ in range(2000): sys.stderr.write('x' * 65536)\nsys.exit('\\nthe last word')"
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(program)}\n")
    with pytest.raises(DeadBoxError, match=r"^switch a does not start the agent: the last word$"):
        SshConnection("switch a", Login("box"))


def test_a_box_that_takes_nothing_is_dead(ssh_stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.boxes.ssh.SEND_SECONDS", 0.1)
    monkeypatch.setattr("testbed.boxes.ssh.bundle", lambda: bytes(1 << 20))  # more than pipes hold
    ssh_stand_in.write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(DeadBoxError, match=r"^switch a has not read its orders for 0\.1 s$"):
        SshConnection("switch a", Login("box"))


def test_an_error_of_a_box_is_one_line_that_is_not_long(ssh_stand_in: Path) -> None:
    program = f"import json; print({GREETING!r}); print(json.dumps({{'id': 1, 'error': 'x\\n' * 10_000}}))"
    ssh_stand_in.write_text(f"#!/bin/sh\n{SYSTEM_PYTHON} -c {shlex.quote(program)}\ncat >/dev/null\n")
    with SshConnection("switch a", Login("box")) as connection, pytest.raises(BoxError) as caught:
        connection.call("clock")
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1100


def test_an_idle_connection_gives_signs_of_life(ssh_stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("testbed.boxes.ssh.SIGN_OF_LIFE_SECONDS", 0.05)
    # The stand-in answers when it has read three empty lines.
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(_WAITS_FOR_EMPTY_LINES)}\n")
    with SshConnection("switch a", Login("box")) as connection:
        assert connection.call("clock") == 3


def test_each_thread_gets_the_answer_to_its_own_order(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text(f"#!/bin/sh\nexec {SYSTEM_PYTHON} -c {shlex.quote(_ANSWERS_THE_LAST_ORDER_FIRST)}\n")
    with SshConnection("switch a", Login("box")) as connection, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda of: connection.call("clock", of=of), range(4))) == [0, 1, 2, 3]


def test_an_order_that_waits_for_packets_keeps_no_other_waiting() -> None:
    watching = {"flows": [["tcp", "192.0.2.1", 1, 2, 0]], "seconds": 0.2, "ignored": []}
    orders = [
        {"id": 1, "action": "observe", "arguments": {"interfaces": []}},
        {"id": 2, "action": "watch", "arguments": watching},
        {"id": 3, "action": "run", "arguments": {"argv": ["true"]}},
    ]
    agent = subprocess.Popen(
        [SYSTEM_PYTHON, "-I", "-S", "-c", BOOTSTRAP], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert agent.stdin is not None
    assert agent.stdout is not None
    lines = "".join(json.dumps(order) + "\n" for order in orders).encode()
    agent.stdin.write(f"{len(bundle())}\n".encode() + bundle() + lines)
    agent.stdin.flush()
    _, *answers = [agent.stdout.readline() for _ in range(4)]
    agent.communicate()
    assert [json.loads(line) for line in answers] == [
        {"id": 1, "value": None},
        {"id": 3, "value": ""},
        {"id": 2, "value": []},
    ]


def test_an_old_python_is_named(ssh_stand_in: Path) -> None:
    ssh_stand_in.write_text('#!/bin/sh\necho "Python 3.7 is too old" >&2\nexit 1\n')
    with pytest.raises(DeadBoxError, match=r"^switch a does not start the agent: Python 3\.7 is too old$"):
        SshConnection("switch a", Login("box"))
