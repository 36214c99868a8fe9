"""Run as a program: the lab service at a socket, over a lab that does nothing. Arguments: SOCKET PATIENCE_SECONDS."""

from __future__ import annotations

import sys
from pathlib import Path

from testbed.lab.clients import LabClients
from testbed.lab.lab_service import _listener
from testbed.lab.serving import LabServer, refused
from tests.testbed.make_believe_lab import MakeBelieveLab


class _LastingLab(MakeBelieveLab):
    """Is not taken down."""

    def stop(self) -> None:
        pass


def main() -> None:
    path, patience = sys.argv[1:]
    lab = _LastingLab(padding=10_000)
    with (
        _listener(Path(path)) as listener,
        LabClients(listener, refused, patience=float(patience)) as reception,
        LabServer(lab, reception) as service,
    ):
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        service.serve()


if __name__ == "__main__":
    main()
