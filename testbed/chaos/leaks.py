"""Finds what a lab leaves behind or piles up: processes, interfaces, files, threads, descriptors and memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kuijia_base.commands import run_command
from testbed.machine.processes import PROC, processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE, ROOT

_STATUS_MEMORY = "VmRSS:"

SAMPLE_SECONDS = 2.0
SETTLED_AFTER = 5
"""Samples of a process that are left out: it starts."""

WINDOW = 15
"""Samples at a time, of which the largest stands for the beginning and the smallest for the end."""

MOST_MORE_DESCRIPTORS = 8
MOST_MORE_THREADS = 4
"""Growth that is still an ordinary coming and going: pools of threads, connections."""

MOST_MORE_KB = 65_536
MOST_MORE_KB_LATER = 16_384
"""Growth of memory in all, and in the second half of a process's life: what fills up once does so early."""

_LEAST_SAMPLES = SETTLED_AFTER + 3 * WINDOW


@dataclass(frozen=True)
class ProcessSize:
    """A process: its threads, open descriptors and resident memory in kilobytes."""

    threads: int
    descriptors: int
    memory_kb: int


def size_of(pid: int) -> ProcessSize | None:
    """Return the size of a process, None if it has ended."""
    folder = PROC / str(pid)
    try:
        status = (folder / "status").read_text()
        memory = next(line for line in status.splitlines() if line.startswith(_STATUS_MEMORY))
        return ProcessSize(
            len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir())), int(memory.split()[1])
        )
    except (OSError, StopIteration):
        return None


@dataclass
class SizeWatch:
    """Samples of processes by name; a process that takes the place of another one, or has other work, begins again."""

    _samples: dict[tuple[str, int, int], list[ProcessSize]] = field(default_factory=dict)
    _looked_at: float = 0.0

    def look(self, processes: Callable[[], Mapping[str, int | None]], now: float, work: int = 0) -> None:
        """Take a sample of each process that runs, if it is time for one.

        Args:
            processes: returns their ids by name.
            now: seconds.
            work: number of things that they keep; samples are compared only with those for as many.
        """
        if now - self._looked_at < SAMPLE_SECONDS:
            return
        self._looked_at = now
        for name, pid in processes().items():
            size = None if pid is None else size_of(pid)
            if pid is not None and size is not None:
                self._samples.setdefault((name, pid, work), []).append(size)

    def growth(self) -> tuple[str, ...]:
        """Return in words what has piled up in a process that lived long enough to judge."""
        return tuple(line for (name, *_), samples in self._samples.items() for line in piled_up(name, samples))

    def largest(self) -> dict[str, tuple[ProcessSize, ProcessSize]]:
        """Return for each name the size at first and the largest of each kind."""
        found: dict[str, list[ProcessSize]] = {}
        for (name, *_), samples in self._samples.items():
            found.setdefault(name, []).extend(samples)
        return {name: (samples[0], _extreme(samples, max)) for name, samples in found.items()}


def piled_up(name: str, samples: Sequence[ProcessSize]) -> tuple[str, ...]:
    """Return in words what has piled up in one process; too few samples show nothing."""
    if len(samples) < _LEAST_SAMPLES:
        return ()
    settled = samples[SETTLED_AFTER:]
    middle = (len(settled) - WINDOW) // 2
    first, half = (_extreme(settled[at : at + WINDOW], max) for at in (0, middle))
    last = _extreme(settled[-WINDOW:], min)
    rows = [
        ("threads", first.threads, last.threads, MOST_MORE_THREADS),
        ("descriptors", first.descriptors, last.descriptors, MOST_MORE_DESCRIPTORS),
        ("kB of memory", first.memory_kb, last.memory_kb, MOST_MORE_KB),
        ("kB of memory", half.memory_kb, last.memory_kb, MOST_MORE_KB_LATER),
    ]
    found = [f"{name} has {now:,} {what}, {then:,} before" for what, then, now, more in rows if now > then + more]
    return tuple(found)


def _extreme(samples: Sequence[ProcessSize], choose: Callable[[Iterable[int]], int]) -> ProcessSize:
    return ProcessSize(
        choose(each.threads for each in samples),
        choose(each.descriptors for each in samples),
        choose(each.memory_kb for each in samples),
    )


_MOUNTS = Path("/proc/thread-self/mountinfo")

_LEFT_BY_KILLED = (".ctl",)
"""Suffixes of files that a program makes for its process and that nobody removes when it is killed."""

_KEPT = (".refused", ".pending")
"""Suffixes of files that a controller keeps (docs/controller.md)."""


@dataclass(frozen=True)
class MachineInventory:
    """The state of this machine: run directories, interfaces of the caller's namespace, and the caller itself."""

    labs: frozenset[str]
    interfaces: frozenset[str]
    own: ProcessSize


def take_inventory() -> MachineInventory:
    """Return what exists now; call it in the machine's own namespace, before a lab and after it."""
    return MachineInventory(
        labs=frozenset(path.name for path in ROOT.iterdir() if path.is_dir()) if ROOT.is_dir() else frozenset(),
        interfaces=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
        own=size_of(os.getpid()) or ProcessSize(0, 0, 0),
    )


def left_behind(
    before: MachineInventory,
    after: MachineInventory,
    lab_id: str,
    namespaces: Collection[str],
    interfaces: Collection[str],
) -> tuple[str, ...]:
    """Return in words what a lab has left behind.

    Args:
        before: the machine before the lab.
        after: the machine now.
        lab_id: names the lab.
        namespaces: network namespaces that it had.
        interfaces: names of its interfaces; others may come and go beside it.
    """
    found = [f"process {pid} holds {name} of the lab" for pid, name in _held().items() if name in namespaces]
    found += [f"process {pid} of the lab still runs" for pid in processes_with_environment(f"{LAB_VARIABLE}={lab_id}")]
    if lab_id in after.labs:
        found.append(f"the run directory {ROOT / lab_id} is still there")
    new = (after.interfaces - before.interfaces).intersection(interfaces)
    if new:
        found.append(f"interfaces {', '.join(sorted(new))} are still there")
    if lab_id in _MOUNTS.read_text():
        found.append("a file system of the lab is still mounted")
    for what, then, now, more in (
        ("threads", before.own.threads, after.own.threads, MOST_MORE_THREADS),
        ("descriptors", before.own.descriptors, after.own.descriptors, MOST_MORE_DESCRIPTORS),
    ):
        if now > then + more:
            found.append(f"this process has {now:,} {what}, {then:,} at the start")
    return tuple(found)


@dataclass(frozen=True)
class LabContents:
    """What a running lab consists of while nothing is broken and nothing but its controllers and switches runs.

    Attributes:
        processes: names of programs, and how often each runs.
        dead: children of this process that have ended and that it has not waited for.
        interfaces: in the lab's network namespace.
        queueing: queueing disciplines and classes in it.
        files: paths in the run directory, without those that a killed program cannot remove.
    """

    processes: Counter[str]
    dead: int
    interfaces: frozenset[str]
    queueing: int
    files: frozenset[str]


def contents_of(directory: Path) -> LabContents:
    """Return what the lab with this run directory consists of; call it in the lab's network namespace."""
    pids = processes_with_environment(f"{LAB_VARIABLE}={directory.name}")
    interfaces = frozenset(_own_interfaces())
    queueing = run_command(["tc", "qdisc", "show"]).count("\nqdisc") + sum(
        run_command(["tc", "class", "show", "dev", name]).count("class ") for name in interfaces
    )
    files = frozenset(
        str(path.relative_to(directory)) for path in directory.rglob("*") if path.suffix not in _LEFT_BY_KILLED
    )
    return LabContents(Counter(map(_name_of, pids)), _dead_children(), interfaces, queueing, files)


def surplus(before: LabContents, after: LabContents) -> tuple[str, ...]:
    """Return in words what a lab has more of than before the faults."""
    found = [f"{count} more processes {name} run" for name, count in (after.processes - before.processes).items()]
    if after.dead > before.dead:
        found.append(f"{after.dead - before.dead} more children have ended and are not waited for")
    if new := after.interfaces - before.interfaces:
        found.append(f"the lab has new interfaces {', '.join(sorted(new))}")
    if after.queueing > before.queueing:
        found.append(f"the lab has {after.queueing} queueing disciplines and classes, {before.queueing} before")
    if new := frozenset(name for name in after.files - before.files if not name.endswith(_KEPT)):
        found.append(f"the run directory has new files {', '.join(sorted(new))}")
    return tuple(found)


def _own_interfaces() -> list[str]:
    """Return the interfaces of the calling thread's namespace."""
    rows = run_command(["ip", "-oneline", "link", "show"]).splitlines()
    return [row.split(": ")[1].partition("@")[0] for row in rows]


def _name_of(pid: int) -> str:
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return "that has ended"


def _dead_children() -> int:
    own, count = os.getpid(), 0
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError, ValueError):
                state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
                count += state == "Z" and int(parent) == own
    return count


def namespaces_of(lab_id: str) -> frozenset[str]:
    """Return the network namespaces of a running lab: its own, which the caller is in, and those of its hosts."""
    held = _held()
    own = held[os.getpid()]
    return frozenset(
        {own, *(held[pid] for pid in processes_with_environment(f"{LAB_VARIABLE}={lab_id}") if pid in held)}
    )


def _held() -> dict[int, str]:
    """Return the network namespace of each process."""
    found = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                found[int(folder.name)] = str((folder / "ns" / "net").readlink())
    return found
