"""Notes in a lab's run directory of the boxes that it has changed, by which they are put back if it is killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.errors import KuijiaError, TestbedError
from testbed.boxes.fleet import Fleet
from testbed.boxes.inventory import read_inventory
from testbed.machine.trusted_folders import read_record
from testbed.network.leftovers import BOXES_NOTE


@dataclass(frozen=True)
class BoxesNote:
    """Note in a run directory that its lab changes the boxes of an inventory."""

    run_directory: Path
    inventory: Path

    def write(self) -> None:
        self._file.write_text(str(self.inventory.absolute()))

    def remove(self) -> None:
        """Remove the note, if there is one: the boxes are as they were before the lab."""
        self._file.unlink(missing_ok=True)

    @property
    def _file(self) -> Path:
        return self.run_directory / BOXES_NOTE


def put_back_boxes(run_directory: Path, report: Callable[[str], None]) -> None:
    """Put back the boxes that a killed lab has changed; its programs here have ended.

    Raises:
        TestbedError: some are not put back, and stay noted; the message has the reasons and what to do.
    """
    path = Path(os.fsdecode(read_record(run_directory / BOXES_NOTE)))
    report(f"putting back the boxes of the killed lab {run_directory.name}")
    try:
        with Fleet(read_inventory(path)) as fleet:
            fleet.connect()
            fleet.put_back()
    except KuijiaError as error:
        problem = f"boxes of the killed lab {run_directory.name} are not put back"
        raise TestbedError(f"{problem}: {error}; `kuijia boxes down {path}` does it later") from error
    BoxesNote(run_directory, path).remove()
