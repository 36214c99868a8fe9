"""Finds the routes of a data centre around failed cables, and the tables for them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from hedera.network.data_centre import DataCentre
from hedera.scheduling.tables import Cable, Routing
from kuijia_app.tables.rules import SwitchTables
from kuijia_base.progress import Progress


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
