"""Decides which of several controllers may program a switch, and whether a switch belongs to the plan; pure."""

from __future__ import annotations

from collections.abc import Iterable

from kuijia_app.tables.wiring import Wiring

DENIALS = frozenset({"OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE", "OFPET_ROLE_REQUEST_FAILED/OFPRRFC_STALE"})
"""Errors by which a switch informs a controller that a newer one is its master (OpenFlow 1.3.5, 7.3.9)."""

_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


def generation(seconds: float) -> int:
    """Return the generation id of a controller started at this Unix time: later controllers have greater ones.

    A switch keeps the greatest id it has seen and accepts no role from a controller with a smaller one.
    """
    return int(seconds * 1000) & _ALL_BITS


def misfit(wiring: Wiring, switch: str, ports: Iterable[int], *, is_ours: bool) -> str | None:
    """Return why a switch cannot be the plan's switch of this name, in words; None if it can.

    Switches may have more ports than the plan uses. A switch with entries of ours was programmed before: a port that it
    lacks has failed since.

    Args:
        wiring: ports that the plan expects.
        switch: the name for its datapath id.
        ports: numbers of its ports.
        is_ours: True if it has entries of ours.
    """
    expected = sorted(wiring.ports(switch))
    missing = sorted(set(expected) - set(ports))
    if not missing or is_ours:
        return None
    listed = ", ".join(map(str, missing))
    is_row = expected == list(range(1, len(expected) + 1)) and len(expected) > 1
    numbers = f"1 to {len(expected)}" if is_row else ", ".join(map(str, expected))
    leads_to = ", ".join(wiring.topology.neighbours[switch])
    host = " and the site's host" if wiring.has_host(switch) else ""
    return f"has no port {listed}: the plan expects ports {numbers}, to {leads_to}{host}"
