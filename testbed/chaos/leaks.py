"""Counts what a lab may leave behind or pile up: processes, threads, descriptors, memory, interfaces, files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.commands import run_command
from testbed.chaos.sizes import MOST_MORE_DESCRIPTORS, MOST_MORE_THREADS, ProcessSize, size_of
from testbed.machine.processes import PROC, processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE, ROOT

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
