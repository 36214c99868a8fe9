"""Networks, transports and services of victims that are combined; pure data, quick to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

CAPACITY, QUICK_CAPACITY = 1000.0, 100.0
"""Mbit/s of every link."""

BUFFER_PACKETS, QUICK_BUFFER_PACKETS = 250, 50
"""Default length of a queue: 3 ms."""

LINK_DELAY_SECONDS = 0.002
"""Default delay of a link."""

MARKED_SHARE = 0.25
"""Share of a queue from which on packets are marked."""

FLOWS = 4
"""Flows of each aggregate, which share its rate equally."""

PLACES = {
    "room": "the failed tunnel's traffic has room on the others (Table 2)",
    "full": "the other tunnels are full (Table 3)",
    "gscale": "Gscale at demand 1.2, link 7-9 fails",
}
"""Network and load by name."""

TRANSPORTS = ("newreno", "cubic", "dctcp", "bbr", "expresspass", "flashpass")
"""Transports that are compared unless others are asked for."""


class Service(Enum):
    """Service of victims by a scheme that demotes them; `NORMAL` is that of one that does not.

    `PLAIN` and `MARKED` are those of transports that find the rate by themselves: the victims' queue does not mark
    packets, or does. The others are those of credits: `simulator.planned.credit_classes.VictimCredits`.
    """

    NORMAL = "as all others"
    PLAIN = "no marks"
    MARKED = "marks"
    SAME = "credits mixed"
    OWN = "credits apart"
    SHARED = "credits left"


OF_CREDITS = (Service.SAME, Service.OWN, Service.SHARED)
OF_WINDOWS = (Service.PLAIN, Service.MARKED)


@dataclass(frozen=True)
class Case:
    """One run."""

    place: str
    scheme: str
    transport: str
    service: Service
    repetition: int

    @property
    def line(self) -> str:
        """Label of the line that the case belongs to."""
        return self.scheme if self.service is Service.NORMAL else f"{self.scheme}, {self.service.value}"


@dataclass(frozen=True)
class Conditions:
    """Conditions of all runs.

    Attributes:
        capacity: Mbit/s of every link.
        buffer_packets: length of a queue.
        link_delay: seconds of every link.
        seed: of the first repetition.
        warmup, before, settle, after: seconds of the flows' start, of the two windows, and between cut and the second.
    """

    capacity: float
    buffer_packets: int
    link_delay: float
    seed: int
    warmup: float = 0.75
    before: float = 0.75
    settle: float = 1.5
    after: float = 2.0

    @property
    def cut(self) -> float:
        return self.warmup + self.before


@dataclass(frozen=True)
class Choice:
    """Cases to run: each of these with each service that it can have."""

    places: Sequence[str]
    schemes: Sequence[str]
    transports: Sequence[str]
    repetitions: int


def cases_of(choice: Choice, demoting: Sequence[str], credited: Sequence[str]) -> Iterator[Case]:
    """Yield all cases; `demoting` are the schemes that demote victims, `credited` the transports by credits."""
    for place in choice.places:
        for scheme in choice.schemes:
            for transport in choice.transports:
                services = OF_CREDITS if transport in credited else OF_WINDOWS
                for service in services if scheme in demoting else (Service.NORMAL,):
                    for repetition in range(1, choice.repetitions + 1):
                        yield Case(place, scheme, transport, service, repetition)
