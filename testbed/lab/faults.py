"""Collects faults while everything else is examined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from testbed.machine.errors import TestbedError

_T = TypeVar("_T")


class LabFaults(list[str]):
    """Faults found, each listed once."""

    def unless_found(self, look: Callable[[], _T], *, otherwise: _T) -> _T:
        """Return the result of `look`, or `otherwise` if it finds something broken."""
        try:
            return look()
        except TestbedError as error:
            self.add(str(error))
            return otherwise

    def add(self, fault: str) -> None:
        if fault not in self:
            self.append(fault)
