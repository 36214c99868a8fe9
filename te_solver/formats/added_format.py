"""The object by which an installed package adds a format of topologies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kuijia_base.text import Note
from te_solver.model.topology import Topology


@dataclass(frozen=True)
class TopologyFormat:
    """A format of topology files; its name is that of its entry point.

    Attributes:
        read: reads a file. The second argument is the capacity in Mbit/s of links for which the file has none, None for
            `draft.DEFAULT_CAPACITY`; assumptions go to the third, one sentence each. Raises InputError for a file that
            cannot be used.
        suffixes: suffixes of its files in small letters, with the dot; none of ours.
    """

    read: Callable[[Path, float | None, Note], Topology]
    suffixes: tuple[str, ...] = ()
