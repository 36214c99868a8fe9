"""Collects what is found broken while all else is looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from testbed.errors import TestbedError

_T = TypeVar("_T")


class Faults(list[str]):
    """What was found broken, each told once."""

    def unless_found(self, look: Callable[[], _T], *, otherwise: _T) -> _T:
        """What there is to see; `otherwise` when the look finds something broken."""
        try:
            return look()
        except TestbedError as error:
            if str(error) not in self:
                self.append(str(error))
            return otherwise
