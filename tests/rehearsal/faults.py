"""Sequences of faults as data, made from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from random import Random

_MOST_FAULTS = 12
_GAPS = (0.001, 0.01, 0.05, 0.3, 1.0, 3.0)
_SPANS = (0.01, 0.1, 0.5, 2.0, 6.0, 14.0)
"""Seconds."""


class FaultKind(Enum):
    """Kind of a fault."""

    LINK = "link goes down or comes up"
    PORT = "one end of a link goes down or comes up"
    FLAP = "port flaps"
    STORM = "all ports of a switch flap"
    PORT_GONE = "port is deleted or comes back"
    SESSION = "BFD session flaps"
    RESTART = "switch restarts empty"
    WARM_RESTART = "switch restarts with its tables"
    SWITCH_FREEZE = "switch freezes"
    FULL = "switch takes no more groups"
    TABLE_FULL = "switch takes no more entries"
    WHIM = "switch refuses a change"
    KILL = "controller is killed"
    FREEZE = "controller freezes"
    LOSS = "connection is lost"
    DELAY = "connection is slow"
    CUT_UP = "connection is cut towards the controller"
    CUT_DOWN = "connection is cut towards the switch"
    CUT = "connection is cut"
    PEERS = "controllers are cut off from each other"
    FOREIGN = "a foreign controller writes into a switch"
    ENTRY_DELETED = "somebody deletes an entry"
    GROUP_DELETED = "somebody deletes a group"
    ALL_DELETED = "somebody deletes all entries and groups"
    FOREIGN_ENTRY = "somebody adds an entry with another cookie"
    USURPER = "a foreign controller claims a switch and writes into it"
    HANDOVER = "controller hands over"
    PLAN = "plan is replaced"
    WITHDRAW = "update is withdrawn"
    DISK = "disk of a controller is full"
    ROLE_LIES = "switch refuses claims and changes as another controller's"
    ID_LIES = "switch tells generation ids of its own invention"
    ERROR_LIES = "switch refuses what it has done"
    WANDERER = "switch connects only to controllers that stand by"


@dataclass(frozen=True)
class RehearsedFault:
    """One fault.

    Attributes:
        gap: seconds after the one before.
        pick, other: choose what it hits, modulo what there is.
        span: seconds after which it ends, for those that end.
    """

    kind: FaultKind
    gap: float
    pick: int
    other: int
    span: float


_MEETING = (
    frozenset(FaultKind),
    frozenset(
        {
            FaultKind.PLAN,
            FaultKind.SWITCH_FREEZE,
            FaultKind.LOSS,
            FaultKind.DELAY,
            FaultKind.CUT,
            FaultKind.RESTART,
            FaultKind.WARM_RESTART,
            FaultKind.LINK,
        }
    ),
    frozenset(
        {
            FaultKind.PLAN,
            FaultKind.WITHDRAW,
            FaultKind.KILL,
            FaultKind.FREEZE,
            FaultKind.HANDOVER,
            FaultKind.PEERS,
            FaultKind.DISK,
        }
    ),
    frozenset(
        {
            FaultKind.LINK,
            FaultKind.PORT,
            FaultKind.PORT_GONE,
            FaultKind.FLAP,
            FaultKind.DELAY,
            FaultKind.LOSS,
            FaultKind.WARM_RESTART,
            FaultKind.FULL,
        }
    ),
    frozenset(
        {
            FaultKind.ENTRY_DELETED,
            FaultKind.GROUP_DELETED,
            FaultKind.ALL_DELETED,
            FaultKind.FOREIGN_ENTRY,
            FaultKind.LINK,
            FaultKind.PLAN,
            FaultKind.HANDOVER,
            FaultKind.LOSS,
        }
    ),
    frozenset(
        {
            FaultKind.ROLE_LIES,
            FaultKind.ID_LIES,
            FaultKind.ERROR_LIES,
            FaultKind.WANDERER,
            FaultKind.LINK,
            FaultKind.KILL,
            FaultKind.HANDOVER,
            FaultKind.WARM_RESTART,
        }
    ),
)
"""Kinds that meet: all, those of an update and switches that are away, of processes, of ports, of tables, and lies."""

_MEETING_WEIGHTS = (3, 1, 1, 1, 1, 1)


def faults_of(seed: int) -> tuple[RehearsedFault, ...]:
    """Return the sequence of a seed."""
    random = Random(seed)
    (meeting,) = random.choices(_MEETING, _MEETING_WEIGHTS)
    kinds = random.sample([kind for kind in FaultKind if kind in meeting], random.randint(1, len(meeting)))
    return tuple(
        RehearsedFault(
            random.choice(kinds),
            random.choice(_GAPS) * random.uniform(0.5, 1.5),
            random.randrange(60),
            random.randrange(60),
            random.choice(_SPANS) * random.uniform(0.5, 1.5),
        )
        for _ in range(random.randint(1, _MOST_FAULTS))
    )
