"""Facts about processes from /proc, and code that ends exactly the intended processes."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class ProcessIdentity:
    """A process distinguished from later ones with the same process id.

    `start_time` is in clock ticks since boot (proc(5), /proc/PID/stat field 22); `boot_id` names that boot.
    """

    pid: int
    start_time: int
    boot_id: str

    @classmethod
    def from_json(cls, content: bytes) -> ProcessIdentity | None:
        """Return the process that a record names, None when it is no record of one."""
        try:
            record = json.loads(content)
        except (RecursionError, ValueError):
            return None
        match record:
            case {"pid": int(pid), "start_time": int(start), "boot_id": str(boot), **rest} if not rest:
                return cls(pid, start, boot)
        return None

    def is_alive(self, proc: Path = PROC) -> bool:
        return self.boot_id == boot_id(proc) and self.start_time == start_time(self.pid, proc)


def own_identity() -> ProcessIdentity:
    pid = os.getpid()
    started = start_time(pid)
    if started is None:
        raise RuntimeError("/proc is not mounted")
    return ProcessIdentity(pid, started, boot_id())


def boot_id(proc: Path = PROC) -> str:
    return (proc / "sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int, proc: Path = PROC) -> int | None:
    """Return the start of a live process in clock ticks since boot, None if there is none or it is a zombie."""
    fields = _stat_after_name(pid, proc)
    if fields is None or fields[0] in ("Z", "X"):
        return None
    return int(fields[19])


def ancestors(pid: int, proc: Path = PROC) -> list[int]:
    """Return the parent, grandparent and so on of a process."""
    found: list[int] = []
    while (fields := _stat_after_name(pid, proc)) is not None and (parent := int(fields[1])) > 0:
        found.append(parent)
        pid = parent
    return found


@dataclass(frozen=True)
class SocketKind:
    """Kind of a process's socket; `protocol` and `state` as in /proc/PID/net (proc(5))."""

    protocol: str
    state: str


LISTENING = SocketKind("tcp", "0A")


def owns_socket(pid: int, kind: SocketKind, local_port: int, remote_port: int = 0, proc: Path = PROC) -> bool:
    """Return True if this process itself, not another in its network namespace, has such a socket."""
    folder = proc / str(pid)
    try:
        rows = (folder / "net" / kind.protocol).read_text().splitlines()[1:]
        wanted = {
            f"socket:[{row[9]}]"
            for row in map(str.split, rows)
            if (row[3], _port(row[1]), _port(row[2])) == (kind.state, local_port, remote_port)
        }
        return bool(wanted) and any(_target(entry) in wanted for entry in (folder / "fd").iterdir())
    except OSError:  # it has ended
        return False


def processes_with_environment(entry: str, proc: Path = PROC) -> list[int]:
    """Return the ids of all processes started with the environment entry `NAME=value`, in ascending order."""
    return _processes_with("environ", entry, proc)


def processes_with_argument(argument: str, proc: Path = PROC) -> list[int]:
    """Return the ids of all processes with this word in their command line, in ascending order."""
    return _processes_with("cmdline", argument, proc)


def _processes_with(file: str, entry: str, proc: Path) -> list[int]:
    wanted = entry.encode()
    found = []
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            entries = (folder / file).read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if wanted in entries.split(b"\0"):
            found.append(int(folder.name))
    return sorted(found)


def end_processes_with_environment(entry: str, grace: float = 2.0) -> list[int]:
    """End every process started with the environment entry, except the caller and its ancestors.

    They get SIGTERM, and those alive after `grace` seconds SIGKILL. Repeats until none is left, as a process may have
    forked in between.

    Returns:
        The ids of the ended processes.
    """
    spared = {os.getpid(), *ancestors(os.getpid())}
    steps = ((signal.SIGTERM, grace), (signal.SIGKILL, None))
    ended: list[int] = []
    while pids := [pid for pid in processes_with_environment(entry) if pid not in spared]:
        ended += _end(pids, lambda: processes_with_environment(entry), steps)
    return ended


def kill_processes_with_argument(argument: str, patience: float) -> None:
    """Kill every process with this word in its command line, and wait at most `patience` seconds until they end."""
    _end(processes_with_argument(argument), lambda: processes_with_argument(argument), ((signal.SIGKILL, patience),))


def _end(
    pids: Iterable[int], find: Callable[[], list[int]], steps: Iterable[tuple[signal.Signals, float | None]]
) -> list[int]:
    """End processes, sparing others that have reused their ids.

    Args:
        pids: ids of the processes found.
        find: finds them again.
        steps: signals to send in turn to those still alive, and the seconds to wait after each.
    """
    handles: dict[int, int] = {}  # process id to pidfd, which always refers to the same process
    try:
        for pid in pids:
            try:
                handles[pid] = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
        still_meant = set(find())
        live = {pid: handle for pid, handle in handles.items() if pid in still_meant}
        for signal_number, patience in steps:
            for handle in live.values():
                send_signal(handle, signal_number)
            live = _wait_for_ends(live, patience)
        return sorted(handles)
    finally:
        for handle in handles.values():
            os.close(handle)


def give_priority(pid: int, niceness: int, proc: Path = PROC) -> None:
    """Prefer a process to others, also of other sessions (sched(7), autogroup), if the caller may do that."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, pid, niceness)
        with suppress(FileNotFoundError):
            (proc / str(pid) / "autogroup").write_text(f"{niceness}")


@contextmanager
def preferred_session(niceness: int, autogroup: Path = PROC / "self" / "autogroup") -> Iterator[None]:
    """Prefer all programs of the caller's session to those of others during a block, if the caller may do that.

    Where the kernel groups processes by session (sched(7), autogroup), this is the only way: a niceness counts within a
    session only. A process that never left the first session has no group of its own; the kernel shows an empty file.
    """
    try:
        state = autogroup.read_text().split()  # "/autogroup-5 nice 0"
        if state:
            autogroup.write_text(f"{niceness}")
    except (FileNotFoundError, PermissionError):
        state = []
    try:
        yield
    finally:
        if state:
            autogroup.write_text(state[-1])


def send_signal(handle: int, signal_number: signal.Signals) -> None:
    """Signal the process of this pidfd, if it has not ended."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal_number)


def wait_for_end(handle: int, patience: float | None) -> bool:
    """Return True if the process of this pidfd ends within `patience` seconds; None waits forever."""
    return not _wait_for_ends({0: handle}, patience)


def _wait_for_ends(live: dict[int, int], patience: float | None) -> dict[int, int]:
    """Return the processes that have not ended after `patience` seconds; None waits until all have."""
    deadline = None if patience is None else time.monotonic() + patience
    waiting = {handle: pid for pid, handle in live.items()}
    poll = select.poll()
    for handle in waiting:
        poll.register(handle, select.POLLIN)
    while waiting:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        for handle, _ in poll.poll(None if left is None else left * 1000):
            poll.unregister(handle)
            del waiting[handle]
    return {pid: handle for handle, pid in waiting.items()}


def _target(link: Path) -> str | None:
    """Return the target of a link in /proc/PID/fd; None if the file has been closed since the links were listed."""
    try:
        return str(link.readlink())
    except OSError:
        return None


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _stat_after_name(pid: int, proc: Path) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (state); the second, a name in brackets, may hold blanks."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()
