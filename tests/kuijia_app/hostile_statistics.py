"""Hypothesis strategies for what a switch may describe: whatever the framework's parser makes an object of."""

from __future__ import annotations

import struct
from importlib import import_module
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from kuijia_app.tables.identifiers import COOKIE

EXPERIMENTER = 0xFFFF
_CLASSES = (0x8000, 0x0000, 0x0001, EXPERIMENTER, 0x1234)
_KNOWN_EXPERIMENTERS = (0x4F4E4600, 0x00002320, 0x005C16C7)
_LEARN, _OUTPUT, _GROUP, _SET_QUEUE, _PUSH_MPLS, _POP_MPLS, _SET_FIELD = 0xFFFF, 0, 22, 21, 19, 20, 25


def ofproto_of(package: str) -> Any:  # noqa: ANN401  # untyped
    return import_module(f"{package}.ofproto.ofproto_v1_3")


def parser_of(package: str) -> Any:  # noqa: ANN401  # untyped
    return import_module(f"{package}.ofproto.ofproto_v1_3_parser")


@st.composite
def _field(draw: st.DrawFn, package: str) -> bytes:
    """One OXM TLV (OpenFlow 1.3.5, 7.2.3.2), mostly of a field that there is, with a value of its size."""
    if draw(st.integers(0, 4)):
        known = draw(st.sampled_from(ofproto_of(package).oxm_types))
        kind = known.num if isinstance(known.num, int) else known.oxm_type
        size = getattr(known.type, "size", 4)
        prefix = b"" if isinstance(known.num, int) else struct.pack("!I", known.num[0])
    else:
        oxm_class = draw(st.sampled_from(_CLASSES))
        kind, size = oxm_class << 7 | draw(st.integers(0, 127)), draw(st.integers(1, 20))
        experimenter = draw(st.sampled_from(_KNOWN_EXPERIMENTERS) | st.integers(0, 2**32 - 1))
        prefix = struct.pack("!I", experimenter) if oxm_class == EXPERIMENTER else b""
    has_mask = draw(st.booleans())
    value = draw(st.binary(min_size=size, max_size=size))
    mask = draw(st.binary(min_size=size, max_size=size) | st.just(b"\xff\x00" * size).map(lambda it: it[:size]))
    payload = prefix + value + (mask if has_mask else b"")
    assume(len(payload) < 256)
    return struct.pack("!I", kind << 9 | has_mask << 8 | len(payload)) + payload


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 8)


_RULES = ("in_port", "eth_type", "ipv4_dst", "mpls_label", "ip_dscp")
_FLOWS = ("ip_proto", "ipv4_src", "ipv4_dst", "tcp_src", "tcp_dst")


@st.composite
def _expected_field(draw: st.DrawFn, package: str, name: str) -> bytes:
    """A field that our rules, or flows that are counted, do match by, now and then under a mask."""
    known = next(each for each in ofproto_of(package).oxm_types if each.name == name)
    size = known.type.size
    value = draw(st.just(b"\x06") if name == "ip_proto" else st.binary(min_size=size, max_size=size))
    mask = draw(st.just(b"") | st.just(b"") | st.binary(min_size=size, max_size=size))
    return struct.pack("!I", known.num << 9 | bool(mask) << 8 | len(value + mask)) + value + mask


@st.composite
def _match(draw: st.DrawFn, package: str) -> bytes:
    names = draw(st.sampled_from([(), (), _FLOWS, _RULES]) | st.lists(st.sampled_from(_RULES), max_size=3))
    fields = b"".join(draw(_expected_field(package, name)) for name in names)
    fields += b"" if names else b"".join(draw(st.lists(_field(package), max_size=6)))
    return _padded(struct.pack("!HH", 1, 4 + len(fields)) + fields)


@st.composite
def _action(draw: st.DrawFn, package: str) -> bytes:
    kind = draw(st.sampled_from((_OUTPUT, _GROUP, _SET_QUEUE, _PUSH_MPLS, _POP_MPLS, _SET_FIELD, 17, 24, 0x77)))
    number = struct.pack("!I", draw(st.integers(0, 2**32 - 1)))
    if kind == _SET_FIELD:
        body = draw(_field(package))
    elif kind in (_PUSH_MPLS, _POP_MPLS):
        body = struct.pack("!H2x", draw(st.sampled_from((0x8847, 0x0800, 0x1234))))
    else:
        body = number + (b"\xff\xff" + bytes(6) if kind == _OUTPUT else b"")
    whole = _padded(struct.pack("!HH", kind, 0) + body)
    return struct.pack("!HH", kind, len(whole)) + whole[4:]


@st.composite
def _instruction(draw: st.DrawFn, package: str) -> bytes:
    kind = draw(st.sampled_from((1, 2, 3, 4, 5, 6)))
    if kind == 1:
        return struct.pack("!HHB3x", kind, 8, draw(st.integers(0, 255)))
    if kind in (2, 6):
        return struct.pack("!HHIQQ", kind, 24, 0, 1, 2) if kind == 2 else struct.pack("!HHI", kind, 8, 1)
    actions = b"".join(draw(st.lists(_action(package), max_size=4)))
    return struct.pack("!HH4x", kind, 8 + len(actions)) + actions


@st.composite
def flow_statistics(draw: st.DrawFn, package: str, cookie: int = COOKIE) -> Any:  # noqa: ANN401
    """An entry of a flow statistics reply (7.3.5.2), parsed."""
    match = draw(_match(package))
    instructions = b"".join(draw(st.lists(_instruction(package), max_size=3)))
    length = 48 + len(match) + len(instructions)
    counters = draw(st.tuples(*[st.integers(0, 2**32 - 1)] * 2, st.integers(0, 2**64 - 1)))
    table, priority = draw(st.integers(0, 255)), draw(st.integers(0, 0xFFFF))
    head = struct.pack("!HBxIIHHHH4xQQQ", length, table, *counters[:2], priority, 0, 0, 0, cookie, 1, counters[2])
    return _parsed(parser_of(package).OFPFlowStats, head + match + instructions)


@st.composite
def group_descriptions(draw: st.DrawFn, package: str) -> Any:  # noqa: ANN401
    """An entry of a group description reply (7.3.5.7), parsed."""
    buckets = b""
    for actions in draw(st.lists(st.lists(_action(package), max_size=3).map(b"".join), max_size=3)):
        weight, port, group = (draw(st.integers(0, 2**bits - 1)) for bits in (16, 32, 32))
        buckets += struct.pack("!HHII4x", 16 + len(actions), weight, port, group) + actions
    group_id = draw(st.integers(0, 2**32 - 1))
    head = struct.pack("!HBxI", 8 + len(buckets), draw(st.integers(0, 255)), group_id)
    return _parsed(parser_of(package).OFPGroupDescStats, head + buckets)


def _parsed(kind: Any, content: bytes) -> Any:  # noqa: ANN401
    try:
        return kind.parser(content, 0)
    except Exception:  # noqa: BLE001  # the parser refuses it, with whatever exception: we are not shown it
        assume(condition=False)
