"""Makes the kernel's datapath treat packets of hosts on this machine like those from a network card.

A packet sent by a host of the same kernel carries two things that one from a network card does not:

- A hash of its own. The kernel's datapath uses the hash that a packet carries (`skb_get_hash`). A network card gives
  all packets of a flow the same hash, but a TCP connection that begins on this machine carries a random one, drawn
  again after a retransmission timeout (github.com/openvswitch/ovs/pull/377): the same ports would be on another tunnel
  at every attempt, and a flow would change its tunnel when it loses packets.
- Its socket. As long as the packet is in the kernel, in any queue of the network, it counts as not yet sent (TCP small
  queues; since Linux 4.19 also across network namespaces). A connection would have two or three packets in all queues
  of the network together, and no queue would limit its rate.

A filter with two eBPF calls, placed where a host's packets arrive, replaces the packet by a clone, which has no socket,
and removes the clone's hash; the kernel then computes one from the headers.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
from collections.abc import Iterable

from kuijia_base.commands import run_batch
from kuijia_base.errors import TestbedError

_SYSCALL_NUMBER = {"x86_64": 321, "aarch64": 280}
"""Number of bpf(2), by machine."""

_BPF_PROG_LOAD, _BPF_PROG_TYPE_SCHED_CLS = 5, 3
_CLONE_REDIRECT, _SET_HASH_INVALID = 13, 41
"""Numbers of the helpers that redirect a clone and that invalidate a packet's hash (bpf-helpers(7))."""

_INGRESS = 1
"""Flag of the first: the clone enters through the device."""

_CONTINUE, _STOLEN = -1, 4
"""TC_ACT_UNSPEC: other filters, if any, decide on the packet. TC_ACT_STOLEN: nothing else sees it."""

_MARK, _IFINDEX = 8, 40
"""Offsets in struct __sk_buff (linux/bpf.h)."""

_IS_CLONE = 0x6B75
"""Mark of a clone until the filter sees it again. A packet loses any mark when it leaves its host's namespace."""

_INSTRUCTION = struct.Struct("=BBhi")
_LOAD_WORD, _STORE_WORD, _MOVE, _SET, _JUMP_IF_EQUAL, _CALL, _EXIT = 0x61, 0x63, 0xBF, 0xB7, 0x15, 0x85, 0x95


def _instruction(code: int, target: int = 0, source: int = 0, offset: int = 0, immediate: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, source << 4 | target, offset, immediate)


# Registers: 1-5 are call arguments, lost by the call; 0 is the result; 6 is kept; the packet arrives in register 1.
_CLONED = (
    _instruction(_SET, 0, immediate=0),
    _instruction(_STORE_WORD, 6, 0, _MARK),
    _instruction(_MOVE, 1, 6),
    _instruction(_CALL, immediate=_SET_HASH_INVALID),
    _instruction(_SET, 0, immediate=_CONTINUE),
    _instruction(_EXIT),
)
_ORIGINAL = (
    _instruction(_SET, 0, immediate=_IS_CLONE),
    _instruction(_STORE_WORD, 6, 0, _MARK),
    _instruction(_MOVE, 1, 6),
    _instruction(_LOAD_WORD, 2, 6, _IFINDEX),
    _instruction(_SET, 3, immediate=_INGRESS),
    _instruction(_CALL, immediate=_CLONE_REDIRECT),
    _instruction(_SET, 0, immediate=_STOLEN),
    _instruction(_EXIT),
)
_PROGRAM = b"".join(
    (
        _instruction(_MOVE, 6, 1),
        _instruction(_LOAD_WORD, 0, 6, _MARK),
        _instruction(_JUMP_IF_EQUAL, 0, offset=len(_ORIGINAL), immediate=_IS_CLONE),
        *_ORIGINAL,
        *_CLONED,
    )
)

_LOAD = struct.Struct("=IIQQIIQ")  # the first members of union bpf_attr for BPF_PROG_LOAD, bpf(2)

# Numbers and layouts of rtnetlink(7) and of its part for filters, linux/pkt_cls.h:
_RTM_NEWTFILTER, _NLMSG_ERROR = 44, 2
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_EXCL, _NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
_HEADER = struct.Struct("=IHHII")
_TC_MESSAGE = struct.Struct("=BxxxiIII")
_INGRESS_FILTERS = 0xFFFFFFF2
_ALL_PROTOCOLS = socket.htons(0x0003)
_TCA_KIND, _TCA_OPTIONS = 1, 2
_TCA_BPF_FD, _TCA_BPF_NAME, _TCA_BPF_FLAGS = 6, 7, 8
_DIRECT_ACTION = 1


def forget_origin(interfaces: Iterable[str]) -> None:
    """Remove socket and hash of packets that arrive at devices of the calling thread's namespace, for their lifetime.

    Raises:
        TestbedError: a device has vanished or already has such a filter, or the kernel has no eBPF filters.
    """
    names = list(interfaces)
    run_batch("tc", [["qdisc", "add", "dev", name, "clsact"] for name in names])
    program = _load_program()
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
            for name in names:
                _attach(kernel, name, program)
    finally:
        os.close(program)


def _load_program() -> int:
    """Return the descriptor of the loaded program."""
    number = _SYSCALL_NUMBER.get(platform.machine())
    if number is None:
        raise TestbedError(f"the origin of packets cannot be hidden on {platform.machine()}")
    instructions = ctypes.create_string_buffer(_PROGRAM, len(_PROGRAM))
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    count = len(_PROGRAM) // _INSTRUCTION.size
    attributes = _LOAD.pack(
        _BPF_PROG_TYPE_SCHED_CLS, count, ctypes.addressof(instructions), ctypes.addressof(licence), 0, 0, 0
    )
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(number, _BPF_PROG_LOAD, attributes, len(attributes))
    if descriptor < 0:
        raise TestbedError(f"the kernel takes no eBPF filter: {os.strerror(ctypes.get_errno())}")
    return descriptor


def _attach(kernel: socket.socket, interface: str, program: int) -> None:
    try:
        index = socket.if_nametoindex(interface)
    except OSError as error:
        raise TestbedError(f"interface {interface} has vanished") from error
    options = (
        _attribute(_TCA_BPF_FD, struct.pack("=I", program))
        + _attribute(_TCA_BPF_NAME, b"forget origin\0")
        + _attribute(_TCA_BPF_FLAGS, struct.pack("=I", _DIRECT_ACTION))
    )
    body = _TC_MESSAGE.pack(socket.AF_UNSPEC, index, 0, _INGRESS_FILTERS, 1 << 16 | _ALL_PROTOCOLS)
    body += _attribute(_TCA_KIND, b"bpf\0") + _attribute(_TCA_OPTIONS, options)
    flags = _NLM_F_REQUEST | _NLM_F_ACK | _NLM_F_EXCL | _NLM_F_CREATE
    kernel.send(_HEADER.pack(_HEADER.size + len(body), _RTM_NEWTFILTER, flags, 1, 0) + body)
    answer = kernel.recv(65536)
    (kind,) = struct.unpack_from("=H", answer, 4)
    (status,) = struct.unpack_from("=i", answer, _HEADER.size)
    if kind != _NLMSG_ERROR or status != 0:
        raise TestbedError(f"interface {interface} takes no eBPF filter: {os.strerror(-status)}")


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)
