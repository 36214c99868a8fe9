"""Runs on a box: sends frames that name their origin out of interfaces, and receives those that arrive."""

from __future__ import annotations

import errno
import json
import select
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing

_ETHERTYPE = 0x88B5
"""EtherType for local experiments (IEEE 802)."""

_ETH_P_ALL = 0x0003
_GROUP = bytes.fromhex("01005e900001")
_HEADER = _GROUP + bytes.fromhex("02fffffffffe") + struct.pack("!H", _ETHERTYPE)
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_MULTICAST = 263, 1, 0
"""Constants of linux/socket.h and linux/if_packet.h that the socket module lacks."""

_INTERVAL = 0.1
_LAST_ROUNDS = 5
"""Rounds that are still sent after every interface has received something."""

_SNAP_LENGTH = 512


def probe_cables(box: str, token: str, interfaces: Sequence[str], seconds: float) -> dict[str, list[tuple[str, str]]]:
    """Send and listen until every interface has received something, or the time is over.

    Args:
        box: name of this box in the frames.
        token: frames with another token are ignored.
        interfaces: to send and receive on; those that are down receive nothing.
        seconds: time limit.

    Returns:
        By interface, the boxes and interfaces whose frames arrived there.
    """
    heard: dict[str, set[tuple[str, str]]] = {interface: set() for interface in interfaces}
    with ExitStack() as stack:
        sockets = {_open(interface, stack): interface for interface in interfaces}
        deadline = time.monotonic() + seconds
        rounds_left = _LAST_ROUNDS
        while time.monotonic() < deadline and rounds_left > 0:
            for each, interface in sockets.items():
                _send(each, _HEADER + json.dumps([token, box, interface]).encode().ljust(_SNAP_LENGTH // 4))
            _listen(sockets, token, heard, time.monotonic() + _INTERVAL)
            if all(heard.values()):
                rounds_left -= 1
    return {interface: sorted(neighbours) for interface, neighbours in heard.items()}


def _listen(
    sockets: dict[socket.socket, str], token: str, heard: dict[str, set[tuple[str, str]]], until: float
) -> None:
    while (left := until - time.monotonic()) > 0:
        for each in select.select(list(sockets), [], [], left)[0]:
            try:
                frame, address = each.recvfrom(_SNAP_LENGTH)
            except OSError as error:
                if error.errno != errno.ENETDOWN:  # reported once when the interface goes down: packet(7)
                    raise
                continue
            if address[2] == socket.PACKET_OUTGOING or frame[12:14] != _HEADER[12:]:
                continue
            try:
                said_token, box, interface = json.loads(frame[14:])
            except ValueError:  # another experiment's
                continue
            if said_token == token:
                heard[sockets[each]].add((str(box), str(interface)))


def _send(each: socket.socket, frame: bytes) -> None:
    try:
        each.send(frame)
    except OSError as error:
        if error.errno not in (errno.ENETDOWN, errno.ENOBUFS):
            raise


def _open(interface: str, stack: ExitStack) -> socket.socket:
    # Without a protocol until it is bound; otherwise it would first receive from other interfaces (packet(7)).
    each = stack.enter_context(closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
    # For all protocols: the kernel's datapath takes frames before receivers of a single one.
    each.bind((interface, _ETH_P_ALL))
    # A network card accepts frames only to groups that have been joined; struct packet_mreq in packet(7).
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PACKET_MR_MULTICAST, len(_GROUP), _GROUP)
    each.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
    return each
