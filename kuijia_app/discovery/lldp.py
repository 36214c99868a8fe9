"""LLDP frames (IEEE 802.1AB) that probe the links between switches, which nobody else can forge, and the OpenFlow
messages that send and catch them.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterator
from typing import Any, Final

from kuijia_app.control.openflow import Messages
from kuijia_app.control.probe_frames import signature

ETH_TYPE: Final = 0x88CC

_DESTINATION: Final = bytes.fromhex("0180c200000e")
"""Nearest bridge: switches that do not take part drop it (IEEE 802.1AB, 7.1)."""

_SOURCE: Final = bytes.fromhex("024b554a4941")
"""A locally administered address, as the frames come from no device."""

_ETHERNET: Final = struct.Struct("!6s6sH")
_ENDS: Final = struct.Struct("!QI")
_END, _CHASSIS, _PORT, _TIME_TO_LIVE, _OWN = 0, 1, 2, 3, 127
_LOCALLY_ASSIGNED: Final = b"\x07"
_SECONDS: Final = 120
_OUR_KIND: Final = bytes.fromhex("024b5501")
"""A locally administered organisation and a subtype of its own (IEEE 802.1AB, 8.6)."""


def probe(key: bytes, datapath_id: int, port: int) -> bytes:
    """Return the frame to send out of a port, signed with a key that only its sender knows."""
    ends = _ENDS.pack(datapath_id, port)
    parts = (
        (_CHASSIS, _LOCALLY_ASSIGNED + f"{datapath_id:016x}".encode()),
        (_PORT, _LOCALLY_ASSIGNED + str(port).encode()),
        (_TIME_TO_LIVE, struct.pack("!H", _SECONDS)),
        (_OWN, _OUR_KIND + ends + signature(key, ends)),
        (_END, b""),
    )
    units = (struct.pack("!H", kind << 9 | len(value)) + value for kind, value in parts)
    return _ETHERNET.pack(_DESTINATION, _SOURCE, ETH_TYPE) + b"".join(units)


def origin(key: bytes, frame: bytes) -> tuple[int, int] | None:
    """Return the datapath id and the port that sent a frame, None unless it is a probe with our signature."""
    if len(frame) < _ETHERNET.size or _ETHERNET.unpack_from(frame)[2] != ETH_TYPE:
        return None
    for kind, value in _units(frame[_ETHERNET.size :]):
        if kind == _OWN and value.startswith(_OUR_KIND):
            ends, signed = value[len(_OUR_KIND) :][: _ENDS.size], value[len(_OUR_KIND) + _ENDS.size :]
            if len(ends) == _ENDS.size and hmac.compare_digest(signed, signature(key, ends)):
                datapath_id, port = _ENDS.unpack(ends)
                return int(datapath_id), int(port)
    return None


def _units(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and value of each unit up to the end, or to one that extends beyond the frame."""
    position = 0
    while position + 2 <= len(data):
        (head,) = struct.unpack_from("!H", data, position)
        kind, length = head >> 9, head & 0x1FF
        value = data[position + 2 : position + 2 + length]
        if kind == _END or len(value) < length:
            return
        yield kind, value
        position += 2 + length


COOKIE = 0x4B55_494A_4C4C_4450
"""Differs from that of the plan's entries, so that no controller of ours repairs or removes this one."""

PRIORITY = 0xFFFF
_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


class DiscoveryMessages(Messages):
    """Builder of messages for one connected switch; `datapath` is the connection object of either framework."""

    def catch_lldp(self, seconds: int) -> Any:
        """Return the entry that sends arriving probes to us; it goes after so many seconds, whatever becomes of us."""
        return self._catch(self._parser.OFPMatch(eth_type=ETH_TYPE), COOKIE, PRIORITY, seconds)

    def release(self) -> Any:
        """Return the message that removes the entry."""
        ofproto = self._ofproto
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=COOKIE,
            cookie_mask=_ALL_BITS,
            command=ofproto.OFPFC_DELETE,
            out_port=ofproto.OFPP_ANY,
            out_group=ofproto.OFPG_ANY,
            match=self._parser.OFPMatch(),
        )
