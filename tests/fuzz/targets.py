"""Fuzz targets: those whose cases run in worker processes, and live ones with a loop of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.fuzz.report import Report


class BrokenContractError(Exception):
    """A case did what the contract forbids; the message says what, in a few words."""


class CaseTarget(ABC):
    """A reader or command that gets one input after the other, each in a folder of its own.

    Attributes:
        name: as it is given to `./run fuzz`.
        suffix: of files that hold a case.
        share: cases of this target for one case of a plain reader.
        seconds: CPU time that a case may take.
        megabytes: peak resident memory that a process with one case may take.
        names_paths: True when a case says itself where to write, as arguments of commands do.
    """

    name: str
    suffix: str
    share: float = 1.0
    seconds: float = 2.0
    megabytes: int = 500
    names_paths: bool = False

    def prepare(self) -> None:  # noqa: B027  # many targets have nothing to prepare
        """Import and make what all cases need; called once, before worker processes are forked."""

    @abstractmethod
    def make(self, random: Random) -> bytes:
        """Return a case; all that is random in it comes from `random`."""

    @abstractmethod
    def lay(self, content: bytes, folder: Path) -> Sequence[str]:
        """Write the files of a case into an empty folder, the current one; return the arguments of `run`."""

    @abstractmethod
    def run(self, arguments: Sequence[str]) -> None:
        """Run a case.

        Raises:
            KuijiaError: the case was refused, as the contract allows.
            Exception: the case broke the contract.
        """


class LiveTarget(ABC):
    """A running process under attack, such as a controller: the target starts, feeds and stops it by itself.

    Attributes:
        name: as it is given to `./run fuzz`.
        suffix: of files that hold a failing case.
    """

    name: str
    suffix: str

    def obstacle(self) -> str | None:
        """Return the reason why this machine cannot run the target, None when it can."""
        return None

    @abstractmethod
    def run(self, deadline: float, seed: int, report: Report) -> None:
        """Attack until `time.monotonic()` passes `deadline` or `report.enough(self.name)`.

        What was started is stopped on every way out, a KeyboardInterrupt among them.
        """

    @abstractmethod
    def repeat(self, content: bytes, report: Report) -> None:
        """Run a failing case again, as `report.failure` stored it."""


Target = CaseTarget | LiveTarget
