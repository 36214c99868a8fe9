from __future__ import annotations

import pytest

from kuijia_base.errors import TestbedError
from testbed.crosscheck.dummy_switches import TracedPacket, parse_trace

INGRESS = """Flow: dp_hash=0x1,tcp,in_port=4

bridge("s1")
------------
 0. ip,in_port=4,nw_dst=10.0.4.0/24, priority 100, cookie 0x4b55494a49410000
    group:2
     -> using bucket 1
    bucket 1
            group:1
             -> bucket 0: not live due to port 1
             -> using bucket 1
            bucket 1
                    push_mpls:0x8847
                    set_field:17->mpls_label
                    set_field:1->mpls_tc
                    set_queue:2
                    output:2

Final flow: unchanged
Datapath actions: push_mpls(label=17,tc=1,ttl=64,bos=1,eth_type=0x8847),set(skb_priority(0x2)),s1-eth2
"""


def test_groups_queue_label_and_interface_are_read() -> None:
    assert parse_trace(INGRESS) == TracedPacket(((2, 1), (1, 1)), "s1-eth2", 2, ((17, 1),), popped=(), tos=None)


def test_what_is_written_counts_once_it_is_executed() -> None:
    text = (
        " 0. mpls, priority 300\n    write_actions(pop_mpls:0x0800,output:4)\n     -> action set is: pop_mpls:0x0800\n"
        " 1. mpls,mpls_tc=6\n    write_actions(set_queue:0)\n--. Executing action set:\n    pop_mpls:0x0800\n"
        "    set_queue:0\n    output:4\nDatapath actions: pop_mpls(eth_type=0x800),s1-eth4\n"
    )
    assert parse_trace(text) == TracedPacket((), "s1-eth4", 0, (), popped=(0x800,), tos=None)


def test_the_tos_byte_and_a_dead_group_are_read() -> None:
    text = "    set_queue:1\nDatapath actions: set(ipv4(tos=0xb8)),set(skb_priority(0x1)),s1-eth3\n"
    assert parse_trace(text) == TracedPacket((), "s1-eth3", 1, (), popped=(), tos=0xB8)
    dead = "    group:7\n     -> no live bucket\nDatapath actions: drop\n"
    assert parse_trace(dead) == TracedPacket(((7, None),), None, None, (), popped=(), tos=None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("No bridge", "output of ofproto/trace is not understood"),
        ("    group:7\nDatapath actions: drop\n", "output of ofproto/trace is not understood"),
        ("Datapath actions: hash(sym_l4(0)),recirc(0x1)\n", "actions are not understood"),
        ("Datapath actions: a,b\n", "actions are not understood"),
        ("    set_queue:1\nDatapath actions: a\n", "set_queue:1 came to the datapath as priority 0"),
    ],
)
def test_what_no_entry_of_ours_does_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TestbedError, match=problem):
        parse_trace(text)
