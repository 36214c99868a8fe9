"""Acts of a peer on one connection."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Send:
    """Write `data`, which holds so many messages."""

    data: bytes
    messages: int = 1


@dataclass(frozen=True)
class Handshake:
    """Say hello, answer questions for features and ports as this switch would."""

    datapath_id: int
    ports: tuple[int, ...] = (1, 2, 3)


@dataclass(frozen=True)
class Drip:
    """Write a byte at a time, with pauses in seconds."""

    data: bytes
    pause: float


@dataclass(frozen=True)
class Stay:
    """Keep the connection for seconds; with `reading`, take what comes; with `answering`, answer echoes, too."""

    seconds: float
    reading: bool = True
    answering: bool = False


@dataclass(frozen=True)
class Serve:
    """Answer for seconds as a switch without tables does; each multipart reply comes with so many that say MORE."""

    seconds: float
    more: int = 0


class Lie(Enum):
    """How a switch of the plan lies about roles, always with the transaction id of what it was sent."""

    SLAVE = "it refuses all changes, as another controller is its master"
    STALE = "it refuses claims, as another controller has a later generation id"
    LATER_IDS = "it tells later generation ids"
    ANY_IDS = "it tells any generation ids"
    ANY_ERRORS = "it refuses anything for any reason"


@dataclass(frozen=True)
class Deny:
    """Answer for seconds as a switch without tables does, but lie; chance comes from the seed."""

    seconds: float
    lie: Lie
    seed: int


@dataclass(frozen=True)
class Secure:
    """Shake hands by TLS without a certificate, for so many flights; write plain bytes from then on."""

    flights: int


@dataclass(frozen=True)
class Refuse:
    """Refuse messages that came on this connection, by their own ids: so many errors of a type, with codes in turn."""

    errors: int
    kind: int


@dataclass(frozen=True)
class Shut:
    """Close the own half of the connection."""


@dataclass(frozen=True)
class Reset:
    """End the connection by a reset."""


Act = Send | Handshake | Drip | Stay | Serve | Deny | Secure | Refuse | Shut | Reset
Script = list[Act]
