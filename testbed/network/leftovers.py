"""Finds and removes what killed labs left behind, in the machine's own namespace too, and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path

from kuijia_base.commands import run_command
from kuijia_base.errors import InputError, TestbedError
from testbed.machine.ovs import SYSTEM_DIRECTORY, Datapath, Ovs
from testbed.machine.processes import end_processes_with_environment
from testbed.machine.run_directory import (
    LAB_VARIABLE,
    ROOT,
    MachineObject,
    RunDirectory,
    delete_lab,
    delete_unfinished_labs,
    labs,
    lock_labs,
    owner_of,
)
from testbed.network.bridges import LAB_KEY


def interfaces() -> set[str]:
    """Return the names of the network devices in the calling thread's namespace."""
    return {name for _, name in socket.if_nameindex()}


def require_free_names(objects: Iterable[MachineObject], taken: Container[str]) -> None:
    """Raise InputError if one of these names is taken."""
    for item in objects:
        if item.name in taken:
            raise InputError("testbed", item.name, "this name is taken in the network namespace", "a free one")


def claim_machine_objects(run: RunDirectory, ovs: Ovs, objects: Sequence[MachineObject]) -> None:
    """Note the objects in the run directory before their creation; raises InputError if a name is taken."""
    with lock_labs(run.path.parent):
        require_free_names(objects, interfaces() | set(ovs.vsctl("list-br").split()))
        run.note(objects)


def remove_machine_objects(
    objects: Iterable[MachineObject], lab_id: str, ovs: Ovs | None = None
) -> list[MachineObject]:
    """Remove the noted objects that exist; bridges only if they are marked with the lab's id.

    Returns:
        The removed objects.
    """
    noted = list(objects)
    if not noted:
        return []
    ovs = ovs or Ovs(SYSTEM_DIRECTORY, Datapath.USERSPACE)
    ours = set(ovs.vsctl("--bare", "--columns=name", "find", "Bridge", f"external_ids:{LAB_KEY}={lab_id}").split())
    removed = []
    for item in sorted(noted, key=lambda item: item.kind):  # bridges before the interfaces they hold
        if item.kind == "bridge" and item.name in ours:
            ovs.vsctl("del-br", item.name)
            removed.append(item)
        elif item.kind == "interface" and item.name in interfaces():
            _delete_interface(item.name)
            removed.append(item)
    return removed


def _delete_interface(name: str) -> None:
    try:
        run_command(["ip", "link", "delete", name])
    except TestbedError:
        if name in interfaces():  # else its other end has vanished meanwhile with a host's namespace
            raise


BOXES_NOTE = "boxes"
"""File in the run directory of a lab that has changed boxes; it holds the path of their inventory."""

Report = Callable[[str], None]
PutBack = Callable[[Path, Report], None]


def remove_leftovers(report: Report, root: Path = ROOT, put_back: PutBack | None = None) -> None:
    """Remove every lab whose owner has died; labs of live owners are left alone.

    A lab's processes are found by their environment, its objects in the machine's own namespace by its journal. With
    the last process of a lab its private network namespace disappears, and with that all interfaces in it. Must be
    called in the machine's own namespace.

    Args:
        report: receives a line per removed lab.
        root: folder of the run directories.
        put_back: puts back the boxes of a lab by its directory. Without it, directories of labs that have changed
            boxes stay, for others who can.

    Raises:
        TestbedError: an object in a journal still exists and cannot be removed, or boxes are not put back; other labs
            are removed all the same.
    """
    faults: list[str] = []
    with lock_labs(root):
        delete_unfinished_labs(root)
        for directory in labs(root):
            owner = owner_of(directory)
            if owner is None or owner.is_alive():
                continue
            lab = directory.name
            ended = end_processes_with_environment(f"{LAB_VARIABLE}={lab}")
            if (directory / BOXES_NOTE).exists():
                if put_back is None:
                    continue
                try:
                    put_back(directory, report)
                except TestbedError as error:
                    faults.append(str(error))
                    continue
            removed = remove_machine_objects(RunDirectory(directory).noted(), lab)
            delete_lab(directory)
            found = [f"{len(ended)} processes", *(f"{item.kind} {item.name}" for item in removed), str(directory)]
            report(f"removed what the killed lab {lab} (process {owner.pid}) left behind: {', '.join(found)}")
    if faults:
        raise TestbedError("; ".join(faults))
