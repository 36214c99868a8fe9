from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from testbed.machine.processes import (
    LISTENING,
    ProcessIdentity,
    ancestors,
    boot_id,
    end_processes_with_environment,
    give_priority,
    kill_processes_with_argument,
    own_identity,
    owns_socket,
    preferred_session,
    processes_with_argument,
    processes_with_environment,
    start_time,
)

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
OBEDIENT = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Return a /proc with one process, 42, whose name is as awkward as possible."""
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("boot-1\n")
    add_process(tmp_path, 42, parent=7, started=1234, environment=["A=1", "LAB=x"])
    add_process(tmp_path, 7, parent=0, started=1, environment=["LAB=xy"])
    return tmp_path


def add_process(proc: Path, pid: int, parent: int, started: int, environment: list[str], state: str = "S") -> None:
    (proc / str(pid)).mkdir()
    before_start = " ".join(["0"] * 17)
    (proc / str(pid) / "stat").write_text(f"{pid} (a ) b (c) {state} {parent} {before_start} {started} 0 0\n")
    (proc / str(pid) / "environ").write_bytes(b"".join(entry.encode() + b"\0" for entry in environment))


@pytest.fixture
def marker(tmp_path: Path) -> str:
    return f"KUIJIA_TEST={tmp_path}"


@pytest.fixture
def started(marker: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run a deaf and an obedient process that carry the marker, and an innocent one that does not."""
    name, value = marker.split("=", 1)
    marked = {**os.environ, name: value}
    processes = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE)
        for program, environment in ((DEAF, marked), (OBEDIENT, marked), (OBEDIENT, {**os.environ}))
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def test_the_start_time_is_found_behind_a_name_with_brackets_and_blanks(proc: Path) -> None:
    assert start_time(42, proc) == 1234


def test_there_is_no_start_time_of_no_process_nor_of_a_dead_one(proc: Path) -> None:
    add_process(proc, 50, parent=7, started=5, environment=[], state="Z")
    assert start_time(41, proc) is None
    assert start_time(50, proc) is None


def test_a_process_is_alive_only_with_its_own_start_and_boot(proc: Path) -> None:
    assert ProcessIdentity(42, 1234, "boot-1").is_alive(proc)
    assert not ProcessIdentity(42, 1233, "boot-1").is_alive(proc)
    assert not ProcessIdentity(42, 1234, "boot-0").is_alive(proc)
    assert not ProcessIdentity(43, 1234, "boot-1").is_alive(proc)


def test_the_caller_itself_is_alive() -> None:
    me = own_identity()
    assert me.pid == os.getpid()
    assert me.boot_id == boot_id()
    assert me.is_alive()


def test_processes_are_found_by_the_whole_environment_entry(proc: Path) -> None:
    assert processes_with_environment("LAB=x", proc) == [42]
    assert processes_with_environment("LAB=xy", proc) == [7]
    assert processes_with_environment("LAB", proc) == []


def test_ancestors_are_followed_to_the_first_process(proc: Path) -> None:
    assert ancestors(42, proc) == [7]
    assert os.getppid() in ancestors(os.getpid())


def test_exactly_the_marked_processes_are_ended(marker: str, started: list[subprocess.Popen[bytes]]) -> None:
    deaf, obedient, innocent = started
    ended = end_processes_with_environment(marker, grace=0.2)
    assert ended == sorted([deaf.pid, obedient.pid])
    assert deaf.wait(5) == -signal.SIGKILL
    assert obedient.wait(5) == -signal.SIGTERM
    assert innocent.poll() is None
    assert end_processes_with_environment(marker) == []


def test_exactly_the_processes_with_the_argument_are_killed() -> None:
    words = [f"kuijia-test-{os.getpid()}-{suffix}" for suffix in ("meant", "meant-not")]
    meant, innocent = [
        subprocess.Popen([sys.executable, "-c", OBEDIENT, word], stdout=subprocess.PIPE) for word in words
    ]
    try:
        for process in (meant, innocent):
            assert process.stdout is not None
            process.stdout.readline()  # the kernel shows the arguments only some time after the start
        assert processes_with_argument(words[0]) == [meant.pid]
        kill_processes_with_argument(words[0], patience=5.0)
        assert meant.wait(5) == -signal.SIGKILL
        assert innocent.poll() is None
    finally:
        for process in (meant, innocent):
            process.kill()
            process.communicate()


def test_a_socket_is_told_from_those_of_other_ports_states_and_processes(
    started: list[subprocess.Popen[bytes]],
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert not owns_socket(os.getpid(), LISTENING, port)
        listener.listen()
        assert owns_socket(os.getpid(), LISTENING, port)
        assert not owns_socket(os.getpid(), LISTENING, port ^ 1)
        assert not owns_socket(started[0].pid, LISTENING, port)
    assert not owns_socket(os.getpid(), LISTENING, port)


def test_a_file_that_is_closed_while_files_are_listed_hides_no_socket_after_it() -> None:
    with Path(os.devnull).open() as lower, socket.socket() as listener:
        assert lower.fileno() < listener.fileno()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        lower.close()  # the list of this process's files is read from a file of that number, closed when links are read
        assert owns_socket(os.getpid(), LISTENING, listener.getsockname()[1])


def test_priority_is_given_within_and_beyond_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int, int]] = []
    monkeypatch.setattr(os, "setpriority", lambda *arguments: given.append(arguments))
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "autogroup").write_text("/autogroup-5 nice 0\n")
    give_priority(77, -10, tmp_path)
    assert given == [(os.PRIO_PROCESS, 77, -10)]
    assert (tmp_path / "77" / "autogroup").read_text() == "-10"


def test_who_may_not_give_priority_goes_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "setpriority", Mock(side_effect=PermissionError))
    give_priority(77, -10, tmp_path)


def test_a_session_is_preferred_for_the_time_of_a_block(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"
    autogroup.write_text("/autogroup-5 nice 3\n")
    with preferred_session(-10, autogroup):
        assert autogroup.read_text() == "-10"
    assert autogroup.read_text() == "3"
    with preferred_session(-10, tmp_path / "none"):
        assert not (tmp_path / "none").exists()


def test_a_process_without_a_group_of_its_own_has_no_session_to_prefer(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"
    autogroup.write_text("")
    with preferred_session(-10, autogroup):
        assert autogroup.read_text() == ""
    assert autogroup.read_text() == ""
