"""Which of several controllers may program a switch, and whether a switch is one of the plan's; pure."""

from __future__ import annotations

from collections.abc import Iterable

from kuijia_app.wiring import Wiring

DENIALS = frozenset({"OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE", "OFPET_ROLE_REQUEST_FAILED/OFPRRFC_STALE"})
"""Errors by which a switch tells a controller that a newer one is its master (OpenFlow 1.3.5, 6.3.4)."""

_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


def generation(seconds: float) -> int:
    """The generation id of a controller started at this Unix time: of two controllers the later has the greater one.

    A switch keeps the greatest that it has seen and takes no role from a controller with a smaller one.
    """
    return int(seconds * 1000) & _ALL_BITS


def misfit(wiring: Wiring, switch: str, ports: Iterable[int], *, is_ours: bool) -> str | None:
    """In words, why a switch cannot be the plan's switch of this name; None when it can.

    Switches may have more ports than the plan uses. One that carries entries of ours was programmed before: a port
    that it lacks then has failed.

    Args:
        wiring: which ports the plan takes it to have.
        switch: the name that goes with its datapath id.
        ports: the numbers of those that it has.
        is_ours: whether it carries entries of ours.
    """
    missing = sorted(set(range(1, wiring.host_port(switch) + 1)) - set(ports))
    if not missing or is_ours:
        return None
    listed = ", ".join(map(str, missing))
    return (
        f"has no port {listed}: the plan expects ports 1 to {wiring.host_port(switch)}, "
        f"to {', '.join(wiring.topology.neighbours[switch])} and the site's host"
    )
