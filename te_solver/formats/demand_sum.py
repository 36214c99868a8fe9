"""Sums demands from formats in which a pair may occur several times, or a node may have a demand to itself."""

from __future__ import annotations

from pathlib import Path

from kuijia_base.errors import InputError, UnsoundError
from kuijia_base.quantities import counted
from kuijia_base.text import Note
from te_solver.model.demands import Demand
from te_solver.model.topology import Topology


class DemandSum:
    """Demands while their file is being read: those of the same pair are added, traffic within a node is left out."""

    def __init__(self, source: str | Path, topology: Topology) -> None:
        self._source = source
        self._topology = topology
        self._demands: dict[tuple[str, str], Demand] = {}
        self._repeated: set[tuple[str, str]] = set()
        self._zero = 0
        self._within = 0

    def add(self, source: str, target: str, rate: float, place: str | int) -> None:
        """Add a demand in Mbit/s; raises InputError for an unknown node or a rate that is negative or not finite."""
        if source == target:
            self._within += rate != 0
            return
        try:
            demand = Demand(source, target, rate)
            demand.require_nodes_of(self._topology)
            present = self._demands.get(demand.pair)
            if present is not None:
                self._repeated.add(demand.pair)
                demand = Demand(source, target, present.rate + rate)
        except UnsoundError as error:
            raise InputError(self._source, place, error.problem, error.expected) from error
        if rate == 0:
            self._zero += 1
        else:
            self._demands[demand.pair] = demand

    def demands(self, note: Note) -> tuple[Demand, ...]:
        """Return the demands in the order of each pair's first mention; raises InputError if none is above zero."""
        if self._repeated:
            note(f"{counted(len(self._repeated), 'pair')} with several demands: they are added")
        if self._within:
            note(f"{counted(self._within, 'demand')} of a node to itself left out")
        if self._zero:
            note(f"{counted(self._zero, 'demand')} of zero left out")
        if not self._demands:
            raise InputError(self._source, "", "there is no demand above zero", "at least one")
        return tuple(self._demands.values())
