"""Failed cables between switches, from the reports of the switches at their ends, and routes around them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from hedera.network.data_centre import DataCentre
from hedera.scheduling.tables import Cable, Routing
from kuijia_app.tables.rules import SwitchTables
from kuijia_app.tables.wiring import Wiring
from kuijia_base.progress import Progress

MOST_WEIGHED = 64
"""Sets of lossy cables that are weighed one by one if not all can be avoided: the event loop waits for it."""


class Links:
    """State of all cables; one has failed if a port at an end is down or missing, or a switch there is gone.

    One that loses packets counts as failed, too, unless switches with hosts can reach each other over no other.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._with_hosts = frozenset(site.switch for site in wiring.sites)
        self._live: dict[str, dict[int, bool]] = {}
        self._gone: set[str] = set()
        self._told: frozenset[Cable] = frozenset()
        self._lossy: tuple[frozenset[Cable], ...] = ()
        self._is_stale = False

    def ports_described(self, switch: str, live: Mapping[int, bool]) -> None:
        """Record that the switch is connected, with these ports, live or not."""
        self._gone.discard(switch)
        self._live[switch] = dict(live)
        self._is_stale = True

    def port_changed(self, switch: str, port: int, *, live: bool) -> None:
        """Record a change of a port; without effect until the switch has described all its ports."""
        if switch in self._live:
            self._live[switch][port] = live
            self._is_stale = True

    def left(self, switch: str) -> None:
        """Record that the switch is no longer connected."""
        self._gone.add(switch)
        self._live.pop(switch, None)
        self._is_stale = True

    def expect_all(self) -> None:
        """Treat switches that never connected as failed."""
        missing = {switch for switch in self._wiring.topology.nodes if switch not in self._live}
        if not missing <= self._gone:
            self._gone |= missing
            self._is_stale = True

    def avoid(self, lossy: Sequence[frozenset[Cable]]) -> None:
        """Record the cables that lose packets although their ports are up, in place of those before.

        Args:
            lossy: sets of cables, the worst first; those of a set are avoided together, such as all of a switch.
        """
        if tuple(lossy) != self._lossy:
            self._lossy = tuple(lossy)
            self._is_stale = True

    def take_changed(self) -> frozenset[Cable] | None:
        """Return all failed cables if they have changed since the last call, else None."""
        if not self._is_stale:
            return None
        self._is_stale = False
        failed = frozenset(frozenset(ends) for ends in self._wiring.topology.edges if not self._is_up(*ends))
        failed |= self._avoidable(failed)
        if failed == self._told:
            return None
        self._told = failed
        return failed

    def _avoidable(self, failed: frozenset[Cable]) -> frozenset[Cable]:
        """Return the lossy cables without those that join switches with hosts: nothing is lost by using them."""
        if not self._lossy:
            return frozenset()
        suspects = [cables - failed for cables in self._lossy]
        graph: nx.Graph[str] = nx.Graph(self._wiring.topology.edges)
        graph.remove_edges_from(_ends(failed))
        joined = self._joined(graph)
        avoided = frozenset[Cable]().union(*suspects)
        graph.remove_edges_from(_ends(avoided))
        if self._joined(graph) == joined:
            return avoided
        graph.add_edges_from(_ends(avoided))
        avoided = frozenset()
        for cables in suspects[:MOST_WEIGHED]:
            graph.remove_edges_from(_ends(cables))
            if self._joined(graph) == joined:
                avoided |= cables
            else:
                graph.add_edges_from(_ends(cables - avoided))
        return avoided

    def _joined(self, graph: nx.Graph[str]) -> frozenset[frozenset[str]]:
        """Return the sets of switches with hosts that reach each other."""
        parts = (self._with_hosts.intersection(part) for part in nx.connected_components(graph))
        return frozenset(part for part in parts if part)

    def _is_up(self, a: str, b: str) -> bool:
        return self._end_is_up(a, b) and self._end_is_up(b, a)

    def _end_is_up(self, switch: str, other: str) -> bool:
        if switch in self._gone:
            return False
        ports = self._live.get(switch)
        return ports is None or ports.get(self._wiring.port(switch, other), False)


def _ends(cables: Iterable[Cable]) -> Iterator[tuple[str, str]]:
    return ((a, b) for a, b in cables)


@dataclass(frozen=True)
class Routes:
    """A routing around failed cables, its tables, and the seconds that it took to find them."""

    failed: frozenset[Cable]
    routing: Routing
    tables: dict[str, SwitchTables]
    seconds: float


def first_routing(centre: DataCentre) -> Routing:
    """Return the routing of the whole network; if that takes long, show progress on stderr."""
    progress = Progress(sys.stderr)
    show = progress.patiently()
    try:
        return Routing(
            centre, progress=lambda done, total: show(f"routes to {done} of {total} edge switches", done, total)
        )
    finally:
        progress.close()


def routes_around(before: Routing, failed: frozenset[Cable]) -> Routes:
    """Return routes around failed cables; groups that these do not concern keep their numbers."""
    began = time.monotonic()
    routing = Routing(before.centre, failed, before)
    tables = routing.tables()
    return Routes(failed, routing, tables, time.monotonic() - began)
