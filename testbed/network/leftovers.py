"""Finds and removes what killed labs left behind, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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


def remove_leftovers(report: Callable[[str], None], root: Path = ROOT) -> None:
    """Remove every lab whose owner has died; labs of live owners are left alone.

    A lab's processes are found by their environment, its objects in the machine's own namespace by its journal. With
    the last process of a lab its private network namespace disappears, and with that all interfaces in it. Must be
    called in the machine's own namespace.

    Args:
        report: receives a line per removed lab.
        root: folder of the run directories.

    Raises:
        TestbedError: an object in a journal still exists and cannot be removed.
    """
    with lock_labs(root):
        delete_unfinished_labs(root)
        for directory in labs(root):
            owner = owner_of(directory)
            if owner is None or owner.is_alive():
                continue
            lab = directory.name
            ended = end_processes_with_environment(f"{LAB_VARIABLE}={lab}")
            removed = remove_machine_objects(RunDirectory(directory).noted(), lab)
            delete_lab(directory)
            found = [f"{len(ended)} processes", *(f"{item.kind} {item.name}" for item in removed), str(directory)]
            report(f"removed what the killed lab {lab} (process {owner.pid}) left behind: {', '.join(found)}")
