"""Counts what a lab may leave behind or pile up: processes, threads, descriptors, memory, interfaces, files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.machine.processes import PROC, processes_with_environment
from testbed.machine.run_directory import LAB_VARIABLE, ROOT

_STATUS_MEMORY = "VmRSS:"

MOST_GROWTH_KB = 32_768
MOST_MORE_DESCRIPTORS = 8
MOST_MORE_THREADS = 4
"""Growth of a process that is still its ordinary coming and going: pools of threads, caches, connections."""


@dataclass(frozen=True)
class ProcessSize:
    """A process: its threads, open descriptors and resident memory in kilobytes."""

    threads: int
    descriptors: int
    memory_kb: int


@dataclass(frozen=True)
class Inventory:
    """The state of this machine: run directories, interfaces of the caller's namespace, and the caller itself."""

    labs: frozenset[str]
    interfaces: frozenset[str]
    own: ProcessSize


def take_inventory() -> Inventory:
    """Return what exists now; call it in the machine's own namespace, before a lab and after it."""
    return Inventory(
        labs=frozenset(path.name for path in ROOT.iterdir() if path.is_dir()) if ROOT.is_dir() else frozenset(),
        interfaces=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
        own=size_of(os.getpid()) or ProcessSize(0, 0, 0),
    )


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


def left_behind(before: Inventory, after: Inventory, lab_id: str, namespaces: Collection[str]) -> tuple[str, ...]:
    """Return in words what a lab has left behind, which is named by its id and had these network namespaces."""
    found = [f"process {pid} holds {name} of the lab" for pid, name in _held().items() if name in namespaces]
    found += [f"process {pid} of the lab still runs" for pid in processes_with_environment(f"{LAB_VARIABLE}={lab_id}")]
    if lab_id in after.labs:
        found.append(f"the run directory {ROOT / lab_id} is still there")
    new = after.interfaces - before.interfaces
    if new:
        found.append(f"interfaces {', '.join(sorted(new))} are still there")
    found += growth("this process", before.own, after.own)
    return tuple(found)


def growth(name: str, before: ProcessSize, after: ProcessSize) -> tuple[str, ...]:
    """Return in words what of a process has grown beyond its ordinary coming and going."""
    rows = (
        ("threads", before.threads, after.threads, MOST_MORE_THREADS),
        ("descriptors", before.descriptors, after.descriptors, MOST_MORE_DESCRIPTORS),
        ("kB of memory", before.memory_kb, after.memory_kb, MOST_GROWTH_KB),
    )
    return tuple(
        f"{name} has {now:,} {what}, {then:,} at the start" for what, then, now, more in rows if now > then + more
    )


def growth_of_all(
    before: Mapping[str, tuple[int, ProcessSize]], after: Mapping[str, tuple[int, ProcessSize]]
) -> tuple[str, ...]:
    """Return the growth of processes by name; one that was started anew in between has nothing to be compared with."""
    return tuple(
        line
        for name, (pid, size) in after.items()
        if name in before and before[name][0] == pid
        for line in growth(name, before[name][1], size)
    )


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
