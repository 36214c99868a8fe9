"""Boots Debian's user-mode Linux on this machine's files and runs one command there: the only module that starts it.

The guest sees the machine's root folder, read-only; `/tmp` and `/run` are its own and empty, and folders that are named
can be written to. What it does to interfaces, modules and processes stays in it. A folder that it shares with this
machine names its owner, so that leftovers of killed owners can be removed.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from kuijia_base.commands import MODULES, find_program, search_path
from kuijia_base.errors import InputError, TestbedError
from testbed.machine.processes import ProcessIdentity, kill_processes_with_argument, own_identity
from testbed.machine.trusted_folders import fault_of_folder, read_record

KERNEL = "linux.uml"
PARENT = Path("/tmp")  # noqa: S108  # the guest has another /tmp; a socket in the folder must have a short name

_PREFIX = "kuijia-uml-"
_OWNER_FILE = "owner.json"
_END_SECONDS = 10.0

PACKAGE = "user-mode-linux"
KERNEL_MODULES = Path("/usr/lib/uml/modules")
DEFAULT_MEMORY_MB = 1500

_INIT = Path(__file__).parent / "guest-init.sh"
_EMPTY_IN_GUEST = (Path("/tmp"), Path("/run"), Path("/dev/shm"))  # noqa: S108  # these are named, not written to
_KERNELS_IN_GUEST = (Path("/dev"), Path("/proc"), Path("/sys"))
_OWN_IN_GUEST = (Path("/"), *_KERNELS_IN_GUEST, *_EMPTY_IN_GUEST)
_CHUNK = 65536
_GUEST_HOME = "/tmp/home"  # noqa: S108  # a folder of the guest, which has no other users
_LOG_LINES = 3
_KEPT_VARIABLES = ("LANG", "LC_ALL", "TZ", "TERM", "COLUMNS")
_NULL_CONSOLE = "null"

LEAST_FREE_MB = 64
"""MB that a guest needs to boot."""

GRACE = 10.0
"""Seconds that a command has to end by itself once it is interrupted."""

_HALT_TIMEOUT = 5.0
"""Seconds beyond that for the guest to write out what it has in memory."""

_TRIAL_SECONDS = 30.0

_SUPERVISOR = """\
trap 'rm -r -- "$folder"; kill -KILL -- "-$kernel"; kill -KILL 0' TERM
folder=$1
shift
"$@" &
kernel=$!
wait
"""
"""Ends the kernel, which makes a process group of its own, and then its own group, when its parent has died."""


@contextmanager
def channel_folder() -> Iterator[Path]:
    """Yield a new folder of the calling process, after removing those of its user's dead processes."""
    _remove_leftovers()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=PARENT) as name:
        folder = Path(name)
        (folder / _OWNER_FILE).write_text(json.dumps(asdict(own_identity())))
        yield folder


def end_guest(folder: Path) -> None:
    """End a guest's processes, but no others that may get their numbers; returns when they have ended."""
    kill_processes_with_argument(folder_parameter(folder), _END_SECONDS)


def folder_parameter(folder: Path) -> str:
    """Kernel argument that names the guest's folder and identifies its processes."""
    return f"uml_dir={folder}/"


def _remove_leftovers() -> None:
    for folder in PARENT.glob(f"{_PREFIX}*"):
        # Another one removes it, or its owner is about to write its record.
        with suppress(FileNotFoundError):
            # Anybody may lay something under such a name: a link, or a folder that others can write to.
            if fault_of_folder(folder) is not None or folder.lstat().st_uid != os.geteuid():
                continue
            owner = _owner_of(folder)
            if owner is None or owner.is_alive():
                continue
            end_guest(folder)
            shutil.rmtree(folder)


def _owner_of(folder: Path) -> ProcessIdentity | None:
    try:
        return ProcessIdentity.from_json(read_record(folder / _OWNER_FILE))
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link, which we never make
            return None
        raise


@dataclass(frozen=True)
class Guest:
    """Share of the machine that the guest gets.

    Attributes:
        directory: where the command runs; it can be written to.
        writable: further folders that can be.
        memory_mb: of the guest, in MB; taken from the machine as it is used.
        time_limit: seconds until the guest is switched off; None for no limit.
    """

    directory: Path
    writable: tuple[Path, ...] = ()
    memory_mb: int = DEFAULT_MEMORY_MB
    time_limit: float | None = None


def obstacle() -> str | None:
    """Return the reason why no guest can be booted here, None if there is none before trying."""
    if find_program(KERNEL) is None:
        return f"{KERNEL} not found (Debian package {PACKAGE})"
    if not any(KERNEL_MODULES.glob("*/kernel/net/openvswitch/openvswitch.ko")):
        return f"{KERNEL} has no openvswitch module in {KERNEL_MODULES}"
    if _lacks_room_for_registers():
        return f"{KERNEL} has no room for the registers of this processor (amx_tile)"
    return None


@cache
def _lacks_room_for_registers() -> bool:
    """Boot a guest that ends at once, if the processor has the registers for which Linux 6.1 lacks room."""
    if "amx_tile" not in Path("/proc/cpuinfo").read_text().split():
        return False
    with tempfile.TemporaryDirectory() as folder:
        parameters = ("mem=64M", "root=98:0", "rootfstype=hostfs", "rootflags=/", "ro", "init=/bin/true")
        consoles = ("con=null", "con0=null,fd:1", "noreboot", f"uml_dir={folder}/")
        trial = [KERNEL, *parameters, *consoles]
        said = subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRIAL_SECONDS, check=False)
    return b"ptrace set fp regs failed" in said.stdout + said.stderr


def run_in_guest(
    argv: Sequence[str],
    guest: Guest,
    output: Callable[[bytes], object],
    errors: Callable[[bytes], object],
) -> int:
    """Boot, run a command to its end, switch off; return the command's exit status.

    Args:
        argv: the command; programs of this Python's environment are found before others.
        guest: its resources from the machine.
        output: receives the command's standard output as it comes.
        errors: likewise for standard error.

    Raises:
        InputError: there is no such kernel here, or a folder is none or one that the guest has of its own.
        TestbedError: its memory has no room, the kernel did not boot or ended before the command did, or the time
            limit was reached.
        KeyboardInterrupt: the command was interrupted, too.

    Nothing is left of the guest in any case. What the command has written is not lost when it is interrupted, neither
    by Ctrl-C nor by the time limit: it has `GRACE` seconds to end, then the guest is switched off.
    """
    folders = {folder.resolve(): "rw" for folder in (guest.directory, *guest.writable)}
    for folder in folders:
        _require_usable(folder)
    hindrance = obstacle()
    if hindrance is not None:
        raise InputError("user-mode Linux", "", hindrance, "a kernel that can be booted")
    _require_room()
    with ExitStack() as undo:
        channel = undo.enter_context(channel_folder())
        _fill(channel, argv, guest, folders)
        process, streams, interrupt = _start(channel, guest.memory_mb, undo)
        handlers = dict(zip(streams, (output, errors), strict=True))
        in_time = False
        try:
            in_time = _copy(handlers, guest.time_limit)
        finally:
            if not in_time:
                with suppress(BrokenPipeError):  # it has ended
                    os.write(interrupt, b"\n")
                _copy(handlers, GRACE + _HALT_TIMEOUT)
        if not in_time:
            raise TestbedError(f"the guest was switched off, as it had not ended within {guest.time_limit:g} s")
        process.wait()
        return _status(channel)


def _require_usable(folder: Path) -> None:
    """Raise InputError if the guest cannot have a folder of the machine to write to."""
    if not folder.is_dir():
        raise InputError("user-mode Linux", str(folder), "is not a folder", "one the guest may write to")
    # `/` has no parents; of anything else the nearest of the guest's own places decides.
    around = next((own for own in folder.parents if own in _OWN_IN_GUEST), None)
    if folder in _OWN_IN_GUEST or around in _KERNELS_IN_GUEST:
        problem = "the guest has its own in this place"
        raise InputError("user-mode Linux", str(folder), problem, "a folder elsewhere, or one in /tmp or /run")


def _require_room() -> None:
    """Raise TestbedError where the guest's memory has no room: user-mode Linux keeps it in a file.

    The kernel itself picks the folder in this way (`find_tempdir` in its arch/um/os-Linux/mem.c), and dies of a signal
    where the file system is full.
    """
    named = (os.environ.get(name) for name in ("TMPDIR", "TMP", "TEMP"))
    folder = next((path for path in named if path and os.access(path, os.R_OK | os.W_OK | os.X_OK)), "/dev/shm")  # noqa: S108 - the kernel's own choice
    free_mb = shutil.disk_usage(folder).free / 1e6
    if free_mb < LEAST_FREE_MB:
        raise TestbedError(f"{folder} has {free_mb:.1f} MB free, the guest's memory needs at least {LEAST_FREE_MB}")


def _fill(channel: Path, argv: Sequence[str], guest: Guest, folders: Mapping[Path, str]) -> None:
    """Write the guest's input files into the channel folder."""
    shutil.copy(_INIT, channel / "init")
    seen = dict.fromkeys((MODULES, Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve()), "ro")
    hidden = {folder: mode for folder, mode in seen.items() if any(map(folder.is_relative_to, _EMPTY_IN_GUEST))}
    # What lies within another folder has to come after it.
    mounts = sorted({**hidden, **folders}.items())
    (channel / "folders").write_text("".join(f"{mode}\0{folder}\0" for folder, mode in mounts))
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {
        "PATH": f"{Path(sys.prefix) / 'bin'}:{search_path()}",
        "HOME": _GUEST_HOME,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += [f"mkdir -p {_GUEST_HOME}", f"cd -- {shlex.quote(str(guest.directory.resolve()))} || exit"]
    lines += ["echo $$ >/run/command", f"exec {shlex.join(argv)}", ""]
    (channel / "command").write_text("\n".join(lines))


def _start(channel: Path, memory_mb: int, undo: ExitStack) -> tuple[subprocess.Popen[bytes], list[int], int]:
    """Return the kernel, the ends to read its output and error from, and the end where a line interrupts it."""
    pipes = [os.pipe(), os.pipe(), os.pipe()]
    (output, console_1), (errors, console_2), (console_3, interrupt) = pipes
    for ours in (output, errors, interrupt):
        undo.callback(os.close, ours)
    theirs = (console_1, console_2, console_3)
    consoles = [
        f"con1={_NULL_CONSOLE},fd:{console_1}",
        f"con2={_NULL_CONSOLE},fd:{console_2}",
        f"con3=fd:{console_3},{_NULL_CONSOLE}",
    ]
    log = undo.enter_context((channel / "log").open("wb"))
    supervisor = ["setpriv", "--pdeathsig", "TERM", "--", "bash", "-c", _SUPERVISOR, "supervisor", str(channel)]
    try:
        process = subprocess.Popen(
            [*supervisor, KERNEL, *_parameters(channel, memory_mb), *consoles],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=theirs,
            env={**os.environ, "PATH": search_path()},
            start_new_session=True,
        )
    except OSError as error:
        raise TestbedError(f"{KERNEL} cannot be started: {error.strerror}") from error
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    undo.callback(_kill, process, channel)
    return process, [output, errors], interrupt


def _parameters(channel: Path, memory_mb: int) -> list[str]:
    return [
        *("root=98:0", "rootfstype=hostfs", "rootflags=/", "ro", f"init={channel / 'init'}"),
        *(f"mem={memory_mb}M", "con=null", f"con0={_NULL_CONSOLE},fd:1", "quiet", "noreboot"),
        folder_parameter(channel),
        *(f"KUIJIA_CHANNEL={channel}", f"KUIJIA_MODULES={KERNEL_MODULES}", f"KUIJIA_GRACE={GRACE:g}"),
    ]


def _kill(process: subprocess.Popen[bytes], channel: Path) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    end_guest(channel)


def _copy(handlers: Mapping[int, Callable[[bytes], object]], time_limit: float | None) -> bool:
    """Forward output until all writers have closed; return False if the time is over before."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    with selectors.DefaultSelector() as selector:
        for stream in handlers:
            selector.register(stream, selectors.EVENT_READ)
        while selector.get_map():
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            for key, _ in selector.select(left):
                chunk = os.read(key.fd, _CHUNK)
                if chunk:
                    handlers[key.fd](chunk)
                else:
                    selector.unregister(key.fd)
    return True


def _status(channel: Path) -> int:
    try:
        return int((channel / "status").read_text())
    except (FileNotFoundError, ValueError) as error:
        said = (channel / "log").read_text(errors="replace").splitlines()
        last = "; ".join(line.strip() for line in said[-_LOG_LINES:] if line.strip())
        raise TestbedError(f"the guest ended before its command did: {last or 'without a message'}") from error
