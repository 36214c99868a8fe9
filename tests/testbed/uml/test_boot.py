"""Commands in a guest: what they see, what they leave, how they are ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from kuijia_base.errors import InputError, TestbedError
from testbed.machine.processes import processes_with_argument, start_time
from testbed.uml import boot
from testbed.uml.boot import Guest, channel_folder, folder_parameter, run_in_guest

pytestmark = pytest.mark.slow

needs_kernel = pytest.mark.skipif(boot.obstacle() is not None, reason=f"user-mode Linux: {boot.obstacle()}")
LIMIT = 120.0
TIME_TO_BOOT = 8.0


def run(script: str, guest: Guest) -> tuple[int, bytes, bytes]:
    output, errors = bytearray(), bytearray()
    status = run_in_guest(["sh", "-c", script], guest, output.extend, errors.extend)
    return status, bytes(output), bytes(errors)


def traces() -> set[Path]:
    """Folders of guests, which are there as long as a guest is."""
    return set(Path("/tmp").glob("kuijia-uml-*"))  # noqa: S108


def kernels() -> set[str]:
    """Processes that guests are made of; those that have ended, but are not waited for, have no command line."""
    names = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if path.read_bytes().startswith(b"linux.uml\0"):
                names.add(path.parent.name)
    return names


@needs_kernel
def test_a_guest_whose_memory_has_no_room_is_not_booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=400_000))
    with pytest.raises(TestbedError, match=f"^{tmp_path} has 0.4 MB free, the guest's memory needs at least 64$"):
        run("true", Guest(tmp_path))


@needs_kernel
def test_a_command_keeps_its_status_its_streams_and_what_it_writes(tmp_path: Path) -> None:
    own, other = tmp_path / "it's own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    before = traces()
    written = f"echo kept > file; echo too > {other}/file"
    script = f"printf 'a\\nb\\0'; echo wrong >&2; {written}; ls /sys/module/openvswitch; exit 7"
    status, output, errors = run(script, Guest(own, (other,), time_limit=LIMIT))
    assert (status, errors) == (7, b"wrong\n")
    assert output.startswith(b"a\nb\0")
    assert b"refcnt" in output
    assert ((own / "file").read_text(), (other / "file").read_text()) == ("kept\n", "too\n")
    assert traces() == before


@needs_kernel
def test_what_is_not_named_cannot_be_written_to(tmp_path: Path) -> None:
    status, _, errors = run("touch /usr/written-by-a-guest", Guest(tmp_path, time_limit=LIMIT))
    assert status != 0
    assert b"Read-only file system" in errors


@needs_kernel
def test_a_guest_that_takes_too_long_is_switched_off(tmp_path: Path) -> None:
    before, running = traces(), kernels()
    with pytest.raises(TestbedError, match=r"^the guest was switched off, as it had not ended within 0.5 s$"):
        run("sleep 1000", Guest(tmp_path, time_limit=0.5))
    assert traces() == before
    assert kernels() == running


@needs_kernel
def test_what_was_written_before_the_time_is_over_is_kept(tmp_path: Path) -> None:
    script = "echo kept > file; trap 'echo interrupted; exit' INT; echo begun; while :; do sleep 0.1; done"
    output = bytearray()
    told = b"begun\ninterrupted\n"
    limits = (limit for limit in (TIME_TO_BOOT, 8 * TIME_TO_BOOT) if not output.endswith(told))
    for limit in limits:  # longer, and once more, only on a machine that is overloaded
        with pytest.raises(TestbedError, match=r"^the guest was switched off"):
            run_in_guest(["sh", "-c", script], Guest(tmp_path, time_limit=limit), output.extend, output.extend)
    assert output.endswith(told)
    assert (tmp_path / "file").read_text() == "kept\n"


@contextmanager
def background_guest(folder: Path, script: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`kuijia uml` with a script that has written its first line, and the guest's folder."""
    before = traces()
    command = [sys.executable, "-m", "kuijia", "uml", "--", "sh", "-c", script]
    root = Path(boot.__file__).parents[2]
    with subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (own,) = traces() - before
        try:
            yield process, own
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@needs_kernel
def test_ctrl_c_interrupts_the_command_and_leaves_nothing(tmp_path: Path) -> None:
    script = "trap 'echo kept > file; exit' INT; echo begun; while :; do sleep 0.1; done"
    with background_guest(tmp_path, script) as (process, folder):
        live = processes_with_argument(folder_parameter(folder))
        assert live
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    assert (tmp_path / "file").read_text() == "kept\n"
    assert not folder.exists()
    assert not [pid for pid in live if start_time(pid)]


@needs_kernel
def test_a_guest_dies_with_the_process_that_booted_it(tmp_path: Path) -> None:
    with background_guest(tmp_path, "echo begun; exec sleep 1000") as (process, folder):
        live = processes_with_argument(folder_parameter(folder))
        process.kill()
        wait_until(lambda: not folder.exists())
        wait_until(lambda: not [pid for pid in live if start_time(pid)])


@needs_kernel
def test_what_is_left_of_a_guest_is_removed_by_the_next(tmp_path: Path) -> None:
    with background_guest(tmp_path, "echo begun; exec sleep 1000") as (process, folder):
        live = processes_with_argument(folder_parameter(folder))
        os.kill(live[0], signal.SIGKILL)  # which would have ended the others
        process.kill()
        process.wait()
        assert folder.exists()
        with channel_folder() as other:
            assert other != folder
            assert not folder.exists()
        wait_until(lambda: not [pid for pid in live if start_time(pid)])


def test_a_machine_without_the_kernel_is_told_where_to_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "find_program", lambda _: None)
    with pytest.raises(InputError) as caught:
        run("true", Guest(tmp_path))
    assert str(caught.value) == (
        "user-mode Linux: linux.uml not found (Debian package user-mode-linux), expected a kernel that can be booted"
    )


@pytest.mark.parametrize("folder", ["/", "/run", *("/tmp", "/dev/shm"), "/dev", "/dev/pts", "/proc/self", "/sys"])  # noqa: S108
def test_a_guest_keeps_its_own_places(folder: str, tmp_path: Path) -> None:
    for guest in (Guest(Path(folder)), Guest(tmp_path, (Path(folder),))):
        with pytest.raises(InputError, match="the guest has its own in this place"):
            run("true", guest)


def test_a_folder_that_is_none_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing: is not a folder"):
        run("true", Guest(tmp_path, (tmp_path / "missing",)))
