"""Contents of an SNDlib network file, uninterpreted, for both of SNDlib's formats."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SndlibLink:
    """A link between two nodes: the installed capacity and those that could be installed, in the file's unit."""

    source: str
    target: str
    installed: float
    modules: tuple[float, ...]
    line: int


@dataclass(frozen=True, slots=True)
class SndlibDemand:
    """A demand in multiples of its routing unit, in the file's unit."""

    source: str
    target: str
    value: float
    routing_unit: float
    line: int


@dataclass
class SndlibNetwork:
    """Contents of a network file, uninterpreted; `unit` is empty if the file does not give it.

    `positions` are the longitude and latitude, or x and y, of nodes that have them.
    """

    nodes: list[tuple[str, int]] = field(default_factory=list)
    positions: dict[str, tuple[str, str]] = field(default_factory=dict)
    links: list[SndlibLink] = field(default_factory=list)
    demands: list[SndlibDemand] = field(default_factory=list)
    unit: str = ""
