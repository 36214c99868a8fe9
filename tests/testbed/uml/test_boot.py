"""Commands in a guest: what they see, what they leave, how they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from te_solver.errors import InputError
from testbed.errors import TestbedError
from testbed.uml import boot
from testbed.uml.boot import Guest, run_in_guest

needs_kernel = pytest.mark.skipif(boot.obstacle() is not None, reason=f"user-mode Linux: {boot.obstacle()}")
LIMIT = 120.0


def run(script: str, guest: Guest) -> tuple[int, bytes, bytes]:
    output, errors = bytearray(), bytearray()
    status = run_in_guest(["sh", "-c", script], guest, output.extend, errors.extend)
    return status, bytes(output), bytes(errors)


def traces() -> set[Path]:
    """Folders of guests, which are there as long as a guest is."""
    return set(Path("/tmp").glob("kuijia-uml-*"))  # noqa: S108


def processes_about(folder: Path) -> list[str]:
    """Command lines with the folder's name in them; processes that end meanwhile have none."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append((process / "cmdline").read_text(errors="replace"))
    return [line for line in found if str(folder) in line]


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
    before = traces()
    with pytest.raises(TestbedError, match=r"^the guest was switched off, as it had not ended within 0.5 s$"):
        run("sleep 1000", Guest(tmp_path, time_limit=0.5))
    assert traces() == before


@needs_kernel
def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    before = traces()
    command = [sys.executable, "-m", "kuijia_app.cli.main", "uml", "--", "sh", "-c", "echo begun; exec sleep 1000"]
    root = Path(boot.__file__).parents[2]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        (folder,) = traces() - before
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 130
    assert not folder.exists()
    assert not processes_about(folder)


def test_a_machine_without_the_kernel_is_told_where_to_have_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "find_program", lambda _: None)
    with pytest.raises(InputError) as caught:
        run("true", Guest(tmp_path))
    assert str(caught.value) == (
        "user-mode Linux: linux.uml not found (Debian package user-mode-linux), expected a kernel that can be booted"
    )


@needs_kernel
def test_a_folder_that_is_none_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing: this is no folder"):
        run("true", Guest(tmp_path, (tmp_path / "missing",)))
