"""Handles the messages of a connection until its datapath id is known (OpenFlow 1.3.5, 6.3.1); pure."""

from __future__ import annotations

import struct
from typing import Final

from kuijia_app.gate import elements
from kuijia_app.gate.errors import MalformedError, RefusedError
from kuijia_app.gate.frames import HEADER, VERSION, Frame, Kind, message
from kuijia_app.gate.limits import LIMITS, Limits

HELLO: Final = message(Kind.HELLO, 1)
"""Our first message; without a bitmap it offers OpenFlow 1.3 alone."""

_FEATURES_REQUEST: Final = message(Kind.FEATURES_REQUEST, 2)

_HELLO_FAILED: Final = struct.pack("!HH", 0, 0)
"""Type and code of the error that versions are incompatible (OpenFlow 1.3.5, 7.5.4.1)."""

_WITHOUT_VERSION: Final = frozenset({Kind.HELLO, Kind.ERROR})
"""Messages that may carry another version, as they are sent before one is agreed on."""


class Greeting:
    """Takes the messages of one connection until it knows the datapath id.

    Attributes:
        reply: bytes for the switch, also when a message is refused; the sender empties it.
        datapath_id: the id in the switch's features reply, None before it.
    """

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.reply = bytearray(HELLO)
        self.datapath_id: int | None = None
        self._left = limits.greeting_frames
        self._agreed = False

    def take(self, frame: Frame) -> None:
        """Handle one message.

        Raises:
            RefusedError: the switch breaks the protocol, does not speak OpenFlow 1.3 or sends too much.
        """
        if not self._left:
            raise RefusedError("too many messages before its features")
        self._left -= 1
        if frame.version != VERSION and frame.kind not in _WITHOUT_VERSION:
            raise MalformedError("a message of another version than OpenFlow 1.3", frame.data)
        if frame.kind == Kind.ERROR:
            elements.check(frame)
            raise RefusedError("it answered with an error before its features")
        if frame.kind == Kind.HELLO and not self._agreed:
            self._agree(frame)
        elif not self._agreed:
            raise MalformedError("another message in place of a hello", frame.data)
        elif frame.kind == Kind.ECHO_REQUEST:
            self.reply += message(Kind.ECHO_REPLY, frame.xid, frame.data[HEADER.size :])
        elif frame.kind == Kind.FEATURES_REPLY:
            elements.check(frame)
            (self.datapath_id,) = struct.unpack_from("!Q", frame.data, HEADER.size)
        elif frame.kind not in (Kind.ECHO_REPLY, Kind.PORT_STATUS):
            raise MalformedError("an unexpected message before its features", frame.data)

    def _agree(self, frame: Frame) -> None:
        versions = elements.hello_versions(frame)
        if frame.version >= VERSION if versions is None else versions >> VERSION & 1:
            self._agreed = True
            self.reply += _FEATURES_REQUEST
        else:
            self.reply += message(Kind.ERROR, frame.xid, _HELLO_FAILED + b"only OpenFlow 1.3 is spoken here")
            offered = [f"1.{number - 1}" for number in _numbers(frame.version, versions)]
            raise RefusedError("it does not speak OpenFlow 1.3", f"it offers {', '.join(offered) or 'no version'}")


def _numbers(highest: int, bitmap: int | None) -> list[int]:
    """Return the numbers of the versions that a hello offers: all up to its own without a bitmap."""
    return [each for each in range(1, 32) if (each <= highest if bitmap is None else bitmap >> each & 1)]
