"""Kinds of failures whose interruption is measured, the bars, and the options; pure data."""

from __future__ import annotations

from dataclasses import dataclass

NETWORKS = {"gscale": ("1", "11"), "fig1": ("s1", "s4")}
"""Network to ingress and egress of the flow: among its demands, the pair with the longest tunnels in use."""

TICK_SECONDS, TICK_BYTES = 0.001, 8

DEFAULT_CUTS, QUICK_CUTS = 20, 4


@dataclass(frozen=True)
class Mode:
    """A kind of failure and the party that notices it.

    Attributes:
        liveness: as in `testbed.lab.lab.LabOptions`.
        bfd_interval_ms: time between two packets of a BFD session, None without sessions.
        links: positions of the tunnel's links to cut in turn, the ingress's own being 0; those beyond its end are
            skipped.
        without_controller: True if the controller is killed before the first cut.
        median, maximum: longest interruption that passes, in seconds; None is no bar.
    """

    name: str
    title: str
    liveness: str
    bfd_interval_ms: int | None
    links: tuple[int, ...]
    without_controller: bool
    median: float | None = None
    maximum: float | None = None


MODES = {
    mode.name: mode
    for mode in (
        Mode("local", "first link, its port watched", "bfd", 30, (0,), without_controller=True, median=0.020),
        Mode(
            "bfd-30",
            "second or third link, BFD every 30 ms",
            "bfd",
            30,
            (1, 2),
            without_controller=True,
            median=0.130,
            maximum=0.200,
        ),
        Mode(
            "bfd-10",
            "second or third link, BFD every 10 ms",
            "bfd",
            10,
            (1, 2),
            without_controller=True,
            maximum=0.200,
        ),
        Mode(
            "controller",
            "second or third link, reported by the controller",
            "controller",
            None,
            (1, 2),
            without_controller=False,
        ),
    )
}


@dataclass(frozen=True)
class RecoveryOptions:
    """Modes to measure, number of cuts of each, and the network."""

    modes: tuple[str, ...]
    cuts: int
    network: str

    @property
    def ends(self) -> tuple[str, str]:
        """Ingress and egress of the flow."""
        return NETWORKS[self.network]
