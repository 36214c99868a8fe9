"""Finds and removes what killed labs left behind, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kuijia_base.errors import TestbedError
from testbed.machine.processes import end_processes_with_environment
from testbed.machine.run_directory import (
    LAB_VARIABLE,
    ROOT,
    RunDirectory,
    delete_lab,
    delete_unfinished_labs,
    labs,
    lock_labs,
    owner_of,
)
from testbed.network.machine_objects import remove_machine_objects

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
