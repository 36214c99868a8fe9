"""Schemes, spans and options of measurements on the authors' testbed; pure data."""

from __future__ import annotations

from dataclasses import dataclass

NON_BLOCKING, ONE_TREE = "non-blocking", "one-tree"
"""Alternatives to the fat-tree: one switch for all hosts, or one core switch with one aggregation switch per pod."""

ECMP, FIRST_FIT, ANNEALING = "ecmp", "global-first-fit", "simulated-annealing"
ARRANGEMENTS = (NON_BLOCKING, ONE_TREE, ECMP, FIRST_FIT, ANNEALING)

DEFAULT_PERIOD, AUTHORS_PERIOD = 1.0, 5.0
"""Seconds between two rounds."""

_MORE_SECONDS = 10
"""64 flows on one tree took more than four seconds to connect, as their handshakes lose packets like other traffic."""


@dataclass(frozen=True)
class Span:
    """Duration of flows and the averaging window, in seconds since the last flow connected.

    The rest at the end allows for late connections: on a crowded path they may take seconds.
    """

    seconds: int
    begin: float
    end: float

    def seconds_of(self, attempt: int) -> int:
        """Return the duration of flows in an attempt, counted from 1; later ones last longer in case time runs out."""
        return self.seconds + (attempt - 1) * _MORE_SECONDS


AUTHORS_SPAN = Span(60, 10.0, 50.0)
SHORT_SPAN = Span(15, 4.0, 11.0)

PACKET_SPAN, PACKET_PERIOD = Span(3, 2.0, 3.0), 0.5
"""The same in the packet model, where links of 1 Gbit/s settle in tenths of a second; flows begin at once."""


@dataclass(frozen=True)
class MatrixOptions:
    """Options of the measurement.

    Attributes:
        patterns: names of the authors' matrices.
        schemes: from `ARRANGEMENTS`, beginning with the one that the others are compared with.
        nic_rate: of every cable, in Mbit/s.
        period: seconds between two rounds of the scheduler.
        quick: True for only two patterns and a wider bar.
    """

    patterns: tuple[str, ...]
    schemes: tuple[str, ...]
    nic_rate: float
    period: float
    span: Span
    quick: bool
