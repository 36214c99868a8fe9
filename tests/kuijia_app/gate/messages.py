"""Random messages that a switch may send, made by a framework's own serialisers where these can."""

from __future__ import annotations

import struct
from importlib import import_module
from random import Random
from types import SimpleNamespace
from typing import Any

from tests.kuijia_app.gate.imitated_switch import multipart, port_description

OFPROTO: Any = import_module("os_ken.ofproto.ofproto_v1_3")
PARSER: Any = import_module("os_ken.ofproto.ofproto_v1_3_parser")
DATAPATH = SimpleNamespace(ofproto=OFPROTO, ofproto_parser=PARSER)

_FIELDS: dict[str, tuple[Any, ...]] = {
    "in_port": (3,),
    "metadata": (7, (7, 15)),
    "eth_dst": ("02:00:00:00:00:01", ("02:00:00:00:00:01", "ff:00:00:00:00:00")),
    "eth_type": (0x0800,),
    "vlan_vid": (0x1001,),
    "ip_dscp": (46,),
    "ipv4_dst": ("10.0.1.0", ("10.0.1.0", "255.255.255.0")),
    "tcp_dst": (80,),
    "ipv6_src": ("2001:db8::1",),
    "mpls_label": (17,),
    "mpls_tc": (1,),
    "pbb_isid": (5,),
    "tunnel_id": (9, (9, 255)),
    "tcp_flags": (2, (2, 3)),
    "actset_output": (4,),
}


def matched(random: Random) -> Any:  # noqa: ANN401  # the framework's own type
    names = random.sample(sorted(_FIELDS), random.randrange(5))
    return PARSER.OFPMatch(**{name: random.choice(_FIELDS[name]) for name in names})


def actions(random: Random) -> list[Any]:
    possible = [
        PARSER.OFPActionOutput(random.randrange(1, 100)),
        PARSER.OFPActionGroup(random.getrandbits(20)),
        PARSER.OFPActionSetQueue(2),
        PARSER.OFPActionPushMpls(0x8847),
        PARSER.OFPActionPopMpls(0x0800),
        PARSER.OFPActionPushVlan(0x8100),
        PARSER.OFPActionPopVlan(),
        PARSER.OFPActionSetField(mpls_label=random.getrandbits(20)),
        PARSER.OFPActionSetField(eth_dst="02:00:00:00:00:01"),
        PARSER.OFPActionSetField(ipv6_dst="2001:db8::2"),
        PARSER.OFPActionDecNwTtl(),
        PARSER.OFPActionSetMplsTtl(3),
        PARSER.OFPActionExperimenterUnknown(0x1234, b"whatever"),
        PARSER.NXActionRegMove(src_field="in_port", dst_field="mpls_label", n_bits=20),
    ]
    return random.choices(possible, k=random.randrange(5))


def instructions(random: Random) -> list[Any]:
    possible = [
        PARSER.OFPInstructionActions(OFPROTO.OFPIT_APPLY_ACTIONS, actions(random)),
        PARSER.OFPInstructionActions(OFPROTO.OFPIT_WRITE_ACTIONS, actions(random)),
        PARSER.OFPInstructionActions(OFPROTO.OFPIT_CLEAR_ACTIONS, []),
        PARSER.OFPInstructionGotoTable(1),
        PARSER.OFPInstructionWriteMetadata(1, 3),
        PARSER.OFPInstructionMeter(5),
    ]
    return random.choices(possible, k=random.randrange(4))


def flow_statistics(random: Random, xid: int, flags: int = 0) -> bytes:
    """A reply with flow entries; the frameworks write flow-mods, whose match and instructions are the same."""
    entries = bytearray()
    for _ in range(random.randrange(60)):
        mod = PARSER.OFPFlowMod(DATAPATH, match=matched(random), instructions=instructions(random))
        mod.serialize()
        tail = mod.buf[48:]
        fixed = (48 + len(tail), 0, 1, 2, 3, 0, 0, 0, random.getrandbits(64), 5, 6)
        entries += struct.pack("!HBxIIHHHH4xQQQ", *fixed) + tail
    return multipart(OFPROTO.OFPMP_FLOW, bytes(entries), xid, flags)


def group_descriptions(random: Random, xid: int, flags: int = 0) -> bytes:
    entries = bytearray()
    for _ in range(random.randrange(30)):
        buckets = [
            PARSER.OFPBucket(random.randrange(4), actions=actions(random)) for _ in range(random.choice((0, 1, 5, 64)))
        ]
        mod = PARSER.OFPGroupMod(DATAPATH, 0, random.randrange(4), random.getrandbits(32), buckets)
        mod.serialize()
        tail = mod.buf[16:]
        entries += struct.pack("!HBxI", 8 + len(tail), mod.type, mod.group_id) + tail
        if len(entries) > 60_000:
            break
    return multipart(OFPROTO.OFPMP_GROUP_DESC, bytes(entries[:0] if len(entries) > 65_000 else entries), xid, flags)


def port_descriptions(random: Random, xid: int, flags: int = 0) -> bytes:
    ports = b"".join(port_description(number) for number in range(random.randrange(200)))
    return multipart(OFPROTO.OFPMP_PORT_DESC, ports, xid, flags)


REPLIES = (flow_statistics, group_descriptions, port_descriptions)
