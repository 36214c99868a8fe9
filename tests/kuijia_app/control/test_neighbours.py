"""Hosts that nobody configured: what they are answered, how they are found, and what becomes of those that are gone."""

from __future__ import annotations

import random
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

import pytest

from kuijia_app.control import neighbours as learning
from kuijia_app.control.host_frames import (
    BROADCAST,
    ArpFrame,
    ArpOperation,
    IcmpError,
    Ipv4Frame,
    arp_request,
    framed,
    read_frame,
    tagged,
)
from kuijia_app.control.neighbours import LearnedHosts, NeighbourStep
from kuijia_app.control.probe_frames import internet_checksum
from kuijia_app.tables.neighbours import GATEWAY_MAC, Segment
from kuijia_app.tables.rules import IN_PORT, FlowEntry, Output, SetEthernet

ICMP = 1

GATEWAY = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
EAST = Segment("e", (1,), (IPv4Network("10.0.1.0/24"),), (IPv4Address("10.0.1.254"),))
WEST = Segment(
    "w",
    (4, 5),
    (IPv4Network("10.0.2.0/24"), IPv4Network("172.16.0.0/16")),
    (IPv4Address("10.0.2.254"),),
    IPv4Address("10.0.2.9"),
)
STATIC = IPv4Network("10.0.3.0/24")
NOBODY = str(IPv4Address(0))
A, B, C = (bytes((2, 0, 0, 0, 0, number)) for number in (1, 2, 3))


def gateway(now: float = 0.0, mtu: int | None = None) -> LearnedHosts:
    prefixes = (*EAST.prefixes, *WEST.prefixes, STATIC)
    return LearnedHosts((EAST, WEST), prefixes, now, mtu)


def asks(mac: bytes, sender: str, target: str) -> bytes:
    return arp_request(mac, IPv4Address(sender), IPv4Address(target)).frame(BROADCAST)


def says(mac: bytes, sender: str) -> bytes:
    address = IPv4Address(sender)
    return ArpFrame(ArpOperation.REPLY, mac, address, GATEWAY, IPv4Address("10.0.1.254")).frame(GATEWAY)


def packet(
    source: str,
    target: str,
    *,
    ttl: int = 64,
    protocol: int = 17,
    payload: bytes = b"12345678",
    flags: int = 0x40,  # must not be fragmented
) -> bytes:
    head = bytearray(
        bytes((0x45, 0)) + (20 + len(payload)).to_bytes(2, "big") + bytes((0, 7, flags, 0, ttl, protocol, 0, 0))
    )
    head += IPv4Address(source).packed + IPv4Address(target).packed
    head[10:12] = internet_checksum(bytes(head)).to_bytes(2, "big")
    return framed(GATEWAY, A, bytes(head) + payload)


def echo(source: str, target: str, **fields: int) -> bytes:
    message = bytes((8, 0, 0, 0, 0, 1, 0, 1)) + b"payload"
    checked = message[:2] + internet_checksum(message).to_bytes(2, "big") + message[4:]
    return packet(source, target, protocol=ICMP, payload=checked, **fields)


def only_arp(step: NeighbourStep) -> ArpFrame:
    (sent,) = step.frames
    found = read_frame(sent.frame)
    assert isinstance(found, ArpFrame)
    return found


def icmp_of(step: NeighbourStep) -> tuple[int, Ipv4Frame]:
    """Return type and code of the one message of ICMP that is sent, and its packet."""
    (sent,) = step.frames
    found = read_frame(sent.frame)
    assert isinstance(found, Ipv4Frame)
    assert found.protocol == ICMP
    assert not internet_checksum(found.payload)
    return int.from_bytes(found.payload[:2], "big"), found


def outputs(entries: list[tuple[str, FlowEntry]]) -> set[tuple[str, str, str, int]]:
    """Return switch, destination, Ethernet address and port of entries."""
    found = set()
    for switch, entry in entries:
        (rewrite,) = (each for each in entry.actions if isinstance(each, SetEthernet))
        (out,) = (each for each in entry.actions if isinstance(each, Output))
        assert rewrite.source == GATEWAY_MAC
        found.add((switch, str(entry.match.ipv4_dst), rewrite.destination, out.port))
    return found


def test_a_host_that_asks_for_its_gateway_is_answered_and_known() -> None:
    step = gateway().arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    answer = only_arp(step)
    assert (answer.operation, answer.sender_mac, str(answer.sender)) == (ArpOperation.REPLY, GATEWAY, "10.0.1.254")
    assert (answer.target_mac, str(answer.target)) == (A, "10.0.1.1")
    assert (step.frames[0].switch, step.frames[0].port) == ("e", 1)
    assert outputs(step.put) == {("e", "10.0.1.1/32", A.hex(":"), 1)}


@pytest.mark.parametrize("target", ["10.0.2.1", "172.16.3.3", "10.0.3.200"])
def test_a_host_that_asks_for_an_address_of_another_site_gets_the_gateways(target: str) -> None:
    answer = only_arp(gateway().arrived("e", 1, asks(A, "10.0.1.1", target), 0.0))
    assert (answer.sender_mac, str(answer.sender)) == (GATEWAY, target)


@pytest.mark.parametrize("target", ["10.0.1.7", "192.0.2.1", "10.0.1.1"])
def test_nobody_is_answered_for_a_neighbour_an_unknown_network_or_himself(target: str) -> None:
    assert not gateway().arrived("e", 1, asks(A, "10.0.1.1", target), 0.0).frames


def test_an_address_that_is_probed_is_defended_only_if_it_is_the_gateways() -> None:
    assert only_arp(gateway().arrived("e", 1, asks(A, NOBODY, "10.0.1.254"), 0.0)).sender_mac == GATEWAY
    step = gateway().arrived("e", 1, asks(A, NOBODY, "10.0.2.1"), 0.0)
    assert not step.frames
    assert not step.put


@pytest.mark.parametrize(
    ("mac", "sender"),
    [(A, "10.0.1.254"), (A, "10.0.2.1"), (BROADCAST, "10.0.1.1"), (GATEWAY, "10.0.1.1"), (bytes(6), "10.0.1.1")],
)
def test_nobody_becomes_the_gateway_or_a_host_of_another_site(mac: bytes, sender: str) -> None:
    assert not gateway().arrived("e", 1, asks(mac, sender, "10.0.1.9"), 0.0).put


def test_nobody_is_all_hosts_of_a_prefix_and_packets_to_all_are_dropped_without_a_word() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    its.arrived("w", 4, says(B, "10.0.2.1"), 0.0)
    assert its.arrived("e", 1, says(B, "10.0.1.255"), 1.0) == NeighbourStep()
    for number, (switch, port, frame) in enumerate(
        [
            ("e", 1, packet("10.0.1.1", "10.0.1.255")),
            ("e", 3, packet("10.0.2.1", "10.0.1.255", ttl=1)),
            ("w", 4, asks(B, "10.0.2.1", "10.0.2.255")),
            ("e", 1, echo("10.0.2.255", "10.0.1.254")),
        ]
    ):
        assert its.arrived(switch, port, frame, 2.0 + number) == NeighbourStep()
    assert its.look(20.0) == NeighbourStep()


def test_the_last_address_of_a_link_of_two_is_a_host() -> None:
    segment = Segment("e", (1,), (IPv4Network("10.0.1.0/31"),), (IPv4Address("10.0.1.0"),))
    its = LearnedHosts((segment,), segment.prefixes, 0.0)
    assert its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.0"), 0.0).put


def test_arp_out_of_a_tunnel_is_not_believed() -> None:
    assert gateway().arrived("e", 3, asks(A, "10.0.1.1", "10.0.1.254"), 0.0) == NeighbourStep()


def test_a_packet_to_an_unknown_host_waits_for_its_answer() -> None:
    its = gateway()
    step = its.arrived("e", 3, packet("10.0.3.1", "10.0.1.1", ttl=9), 0.0)
    question = only_arp(step)
    assert (str(question.sender), str(question.target)) == ("10.0.1.254", "10.0.1.1")
    step = its.arrived("e", 1, says(B, "10.0.1.1"), 0.1)
    (sent,) = step.frames
    found = read_frame(sent.frame)
    assert isinstance(found, Ipv4Frame)
    assert (found.destination_mac, found.source_mac, found.ttl, sent.port) == (B, GATEWAY, 8, 1)
    assert outputs(step.put) == {("e", "10.0.1.1/32", B.hex(":"), 1)}


def test_a_packet_may_be_forwarded_on_its_last_hop_but_one() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    (sent,) = its.arrived("e", 3, packet("10.0.3.1", "10.0.1.1", ttl=2), 0.5).frames
    found = read_frame(sent.frame)
    assert isinstance(found, Ipv4Frame)
    assert (found.ttl, sent.port) == (1, 1)


def test_a_host_that_does_not_answer_is_unreachable() -> None:
    its = gateway()
    its.arrived("w", 4, says(A, "10.0.2.1"), 0.0)
    its.arrived("e", 3, packet("10.0.2.1", "10.0.1.1"), 0.0)
    questions = [its.look(float(second)) for second in (1, 2)]
    assert [str(only_arp(step).target) for step in questions] == ["10.0.1.1", "10.0.1.1"]
    step = its.look(3.0)
    kind, sent = icmp_of(step)
    assert kind == IcmpError.HOST_UNREACHABLE
    assert (str(sent.source), str(sent.destination), sent.destination_mac) == ("10.0.2.254", "10.0.2.1", A)
    assert step.frames[0].switch == "w"
    assert its.look(100.0) == NeighbourStep()


def test_packets_for_one_address_and_addresses_that_are_sought_are_bounded() -> None:
    its = gateway()
    for _ in range(50):
        its.arrived("e", 3, packet("10.0.2.1", "10.0.1.1"), 0.0)
    assert len(its.arrived("e", 1, says(B, "10.0.1.1"), 0.1).frames) == learning.MOST_WAITING
    its = gateway()
    asked = sum(
        len(its.arrived("w", 9, packet("10.0.1.1", f"10.0.2.{each % 250}"), each).frames) for each in range(2000)
    )
    assert 250 <= asked <= 2 * 2000
    assert max(len(site.sought) for site in its._all_sites()) <= learning.MOST_SOUGHT


def test_the_gateway_answers_echo_requests_from_near_and_far() -> None:
    its = gateway()
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    for target, switch, port in (("10.0.1.254", "e", 1), ("10.0.2.254", "w", 9)):
        kind, answer = icmp_of(its.arrived(switch, port, echo("10.0.1.1", target, ttl=1), 0.0))
        assert (kind, str(answer.source), str(answer.destination)) == (0, target, "10.0.1.1")
        assert answer.payload.endswith(b"payload")


@pytest.mark.parametrize(
    ("sent", "kind"),
    [(echo("10.0.1.1", "10.0.1.254"), 0), (packet("10.0.1.1", "192.0.2.1"), IcmpError.NET_UNREACHABLE)],
    ids=["echo", "error"],
)
def test_an_answer_waits_for_a_host_that_an_earlier_controller_knew(sent: bytes, kind: int) -> None:
    its = gateway()
    assert str(only_arp(its.arrived("e", 1, sent, 0.0)).target) == "10.0.1.1"
    found, answer = icmp_of(its.arrived("e", 1, says(A, "10.0.1.1"), 0.1))
    assert (found, str(answer.source), answer.destination_mac, answer.ttl) == (kind, "10.0.1.254", A, 64)


def test_an_answer_to_a_host_that_is_gone_is_dropped() -> None:
    its = gateway()
    its.arrived("e", 1, echo("10.0.1.1", "10.0.1.254"), 0.0)
    assert [len(its.look(float(second)).frames) for second in (1, 2, 3, 4)] == [1, 1, 0, 0]


@pytest.mark.parametrize("protocol", [6, 17])
def test_a_gateway_has_no_port_and_says_so_as_who_was_asked(protocol: int) -> None:
    its = gateway()
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    for target, switch, port in (("10.0.1.254", "e", 1), ("10.0.2.254", "w", 9)):
        kind, answer = icmp_of(its.arrived(switch, port, packet("10.0.1.1", target, ttl=1, protocol=protocol), 0.0))
        assert (kind, str(answer.source)) == (IcmpError.PORT_UNREACHABLE, target)
    assert not its.arrived("e", 1, packet("10.0.1.1", "10.0.1.254", protocol=89), 0.0).frames


@pytest.mark.parametrize(
    ("target", "ttl", "kind"),
    [
        ("10.0.2.1", 1, IcmpError.TIME_EXCEEDED),
        ("192.0.2.1", 64, IcmpError.NET_UNREACHABLE),
        ("10.0.3.1", 64, IcmpError.PROHIBITED),
    ],
)
def test_a_host_hears_why_its_packet_was_not_delivered(target: str, ttl: int, kind: IcmpError) -> None:
    its = gateway()
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    frame = packet("10.0.1.1", target, ttl=ttl)
    found, answer = icmp_of(its.arrived("e", 1, frame, 0.0))
    assert (found, str(answer.source)) == (kind, "10.0.1.254")
    assert answer.payload[8:] == frame[14:42]


@pytest.mark.parametrize(
    ("target", "size", "kind", "mtu"),
    [
        ("10.0.3.1", 1497, IcmpError.TOO_LONG, 1496),
        ("10.0.3.1", 1496, IcmpError.PROHIBITED, 0),
        ("192.0.2.1", 1497, IcmpError.NET_UNREACHABLE, 0),
    ],
)
def test_a_host_hears_how_long_a_packet_to_another_site_may_be(
    target: str, size: int, kind: IcmpError, mtu: int
) -> None:
    its = gateway(mtu=1496)
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    frame = packet("10.0.1.1", target, payload=bytes(size - 20))
    found, answer = icmp_of(its.arrived("e", 1, frame, 0.0))
    assert (found, str(answer.source), len(answer.packet)) == (kind, "10.0.1.254", 576)
    assert int.from_bytes(answer.payload[4:8], "big") == mtu
    assert answer.payload[8:] == frame[14 : 14 + 548]


def test_a_packet_that_may_be_fragmented_is_dropped_if_it_is_too_long_and_only_then() -> None:
    its = gateway(mtu=1496)
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    assert not its.arrived("e", 1, packet("10.0.1.1", "10.0.3.1", payload=bytes(1480), flags=0), 0.0).frames
    assert its.arrived("e", 1, packet("10.0.1.1", "10.0.3.1", payload=bytes(1400), flags=0), 0.0).frames


@pytest.mark.parametrize(
    "frame",
    [
        packet("10.0.1.1", "192.0.2.1", protocol=ICMP, payload=bytes((3, 0)) + bytes(30)),
        packet("10.0.1.1", "192.0.2.1", protocol=ICMP, payload=b""),
        packet("224.0.0.1", "192.0.2.1"),
        packet("127.0.0.1", "192.0.2.1"),
        packet(NOBODY, "192.0.2.1"),
        packet("10.0.1.1", "239.1.1.1"),
        packet("10.0.1.1", "255.255.255.255"),
    ],
)
def test_no_error_is_sent_about_errors_groups_and_impossible_sources(frame: bytes) -> None:
    its = gateway()
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    assert not its.arrived("e", 1, frame, 0.0).frames


def test_errors_are_bounded_and_frames_of_a_port_are_too() -> None:
    its = gateway()
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    sent = sum(
        len(its.arrived("e", 1, packet("10.0.1.1", "192.0.2.1"), each / 10_000).frames) for each in range(10_000)
    )
    assert sent <= learning.ERRORS_BURST + learning.ERRORS_RATE + 1
    its.arrived("w", 4, says(B, "10.0.2.1"), 1.0)
    from_west = packet("10.0.2.1", "10.0.1.1", ttl=1)
    assert its.arrived("e", 9, from_west, 1.0).frames, "hosts of another site are told of errors here"
    its = gateway(mtu=600)
    its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    long = packet("10.0.1.1", "10.0.3.1", payload=bytes(1400))
    sent = sum(len(its.arrived("e", 1, long, each / 10_000).frames) for each in range(10_000))
    assert sent <= learning.ERRORS_BURST + learning.ERRORS_RATE + 1
    its = gateway()
    answered = sum(
        len(its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), each / 10_000).frames) for each in range(20_000)
    )
    assert learning.PORT_BURST <= answered <= learning.PORT_BURST + 2 * learning.PORT_RATE + 1
    assert its.arrived("w", 4, asks(B, "10.0.2.1", "10.0.2.254"), 2.0).frames, "another port is as before"


def test_options_of_ip_are_kept_quoted_and_not_in_the_answer_to_an_echo() -> None:
    options = bytes((7, 11, 4)) + bytes(8) + b"\1"  # record route (RFC 791)

    def with_options(frame: bytes) -> bytes:
        length = int.from_bytes(frame[16:18], "big")
        head = bytearray(frame[14:34] + options)
        head[0], head[2:4], head[10:12] = 0x48, (length + 12).to_bytes(2, "big"), b"\0\0"
        head[10:12] = internet_checksum(bytes(head)).to_bytes(2, "big")
        return frame[:14] + bytes(head) + frame[34 : 14 + length]

    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    its.arrived("w", 4, says(B, "10.0.2.1"), 0.0)
    kind, answer = icmp_of(its.arrived("e", 1, with_options(echo("10.0.1.1", "10.0.1.254")), 1.0))
    assert (kind, answer.header_length, answer.payload[8:]) == (0, 20, b"payload")
    kind, answer = icmp_of(its.arrived("w", 3, with_options(packet("10.0.1.1", "10.0.2.1", ttl=1)), 1.0))
    assert (kind, answer.payload[8 + 20 : 8 + 32]) == (IcmpError.TIME_EXCEEDED, options)
    (sent,) = its.arrived("w", 3, with_options(packet("10.0.1.1", "10.0.2.1")), 1.1).frames
    found = read_frame(sent.frame)
    assert isinstance(found, Ipv4Frame)
    assert (found.packet[20:32], found.ttl, sent.port) == (options, 63, 4)


def test_a_site_that_sends_no_tags_has_no_hosts_in_vlans() -> None:
    its = gateway()
    for vlan in (0, 5):
        assert its.arrived("e", 1, tagged(asks(A, "10.0.1.1", "10.0.1.254"), vlan), 0.0) == NeighbourStep()
        assert its.arrived("e", 1, tagged(echo("10.0.1.1", "10.0.1.254"), vlan), 0.0) == NeighbourStep()


def test_a_host_that_moves_to_another_port_is_delivered_to_there() -> None:
    its = gateway()
    its.arrived("w", 4, asks(B, "10.0.2.1", "10.0.2.254"), 0.0)
    step = its.arrived("w", 5, asks(B, "10.0.2.1", "10.0.2.254"), 1.0)
    assert ("w", "10.0.2.1/32", B.hex(":"), 5) in outputs(step.put)
    assert {entry.match.in_port for _, entry in step.deleted} == {4}, "only what no new entry replaces"


def test_what_an_earlier_controller_turned_round_at_another_port_of_a_new_host_is_deleted() -> None:
    its = gateway()
    before = its.arrived("w", 4, says(B, "10.0.2.9"), 0.0).put
    its.forget()
    turned = {entry.match for _, entry in before if entry.match.in_port == 4}
    assert turned == {entry.match for _, entry in its.arrived("w", 5, says(B, "10.0.2.9"), 1.0).deleted}
    assert not its.arrived("w", 5, says(B, "10.0.2.9"), 1.0 + learning.RENEWED).deleted


def test_a_host_with_a_new_card_is_delivered_to_by_that_and_one_with_the_old_card_changes_nothing() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    assert not its.arrived("e", 1, says(A, "10.0.1.1"), 1.0).put
    assert outputs(its.arrived("e", 1, says(B, "10.0.1.1"), 2.0).put) == {("e", "10.0.1.1/32", B.hex(":"), 1)}


def test_a_card_has_so_many_addresses_and_room_for_one_more_when_it_loses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_OF_CARD", 2)
    its = gateway()
    for number in (1, 2):
        assert its.arrived("e", 1, says(A, f"10.0.1.{number}"), 0.0).put
    assert not its.arrived("e", 1, says(A, "10.0.1.3"), 0.0).put
    assert its.arrived("e", 1, says(B, "10.0.1.1"), 0.0).put, "another card has it now"
    assert its.arrived("e", 1, says(A, "10.0.1.3"), 0.0).put
    assert not its.arrived("e", 1, says(A, "10.0.1.4"), 0.0).put


def announced(step: NeighbourStep) -> list[tuple[int, ArpFrame]]:
    """Return the ports and frames by which neighbours hear that an address is the gateway's from now on."""
    found = [(sent.port, read_frame(sent.frame)) for sent in step.frames if sent.frame[:6] == BROADCAST]
    return [(port, said) for port, said in found if isinstance(said, ArpFrame) and said.sender == said.target]


def test_the_neighbours_that_a_host_leaves_behind_hear_that_it_is_reached_by_the_gateway() -> None:
    its = gateway()
    for port, when in ((4, 0.0), (5, 1.0)):
        its.arrived("w", port, says(B, "10.0.2.1"), when)
    assert not announced(its.look(1.5)), "it may be back in a moment"
    ((port, said),) = announced(its.look(1.0 + learning.SETTLED))
    assert (port, said.sender_mac, str(said.sender)) == (4, GATEWAY, "10.0.2.1")
    assert not announced(its.look(60.0))


def test_nobody_hears_of_a_host_that_is_at_two_ports_or_has_another_card_at_the_same_port() -> None:
    its = gateway()
    for port, when in ((4, 0.0), (5, 1.0), (4, 1.01)):
        its.arrived("w", port, says(B, "10.0.2.1"), when)
    its.arrived("w", 4, says(C, "10.0.2.1"), 5.0)
    assert not announced(its.look(10.0))


def test_what_a_host_sends_to_one_at_its_own_port_by_the_gateway_is_turned_round() -> None:
    both = Segment("e", (1, 2), EAST.prefixes, EAST.gateways)
    its = LearnedHosts((both,), both.prefixes, 0.0)
    turned = [entry for _, entry in its.arrived("e", 2, says(A, "10.0.1.1"), 0.0).put if entry.match.in_port == 2]
    assert [each.actions[-1] for each in turned] == [Output(IN_PORT)]


def test_a_router_is_asked_again_when_its_port_comes_up() -> None:
    its = gateway()
    its.arrived("w", 5, says(B, "10.0.2.9"), 0.0)
    its.arrived("w", 5, says(A, "10.0.2.1"), 0.0)
    its.port_came_up("w", 4, 1.0)
    assert its.look(1.0) == NeighbourStep()
    its.port_came_up("w", 5, 2.0)
    asked = [read_frame(sent.frame) for sent in its.look(2.0).frames]
    assert {str(each.target) for each in asked if isinstance(each, ArpFrame)} == {"10.0.2.9"}
    assert ("w", "172.16.0.0/16", C.hex(":"), 5) in outputs(its.arrived("w", 5, says(C, "10.0.2.9"), 2.1).put)


def test_a_port_of_a_site_with_one_port_and_of_no_site_asks_for_nobody_when_it_goes_down() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    for switch in ("e", "of no site"):
        its.port_went_down(switch, 1, 1.0)
    assert its.look(1.0) == NeighbourStep()


def test_a_host_that_is_heard_again_is_asked_later_but_is_asked() -> None:
    its = gateway()
    for heard in (0.0, 200.0):
        its.arrived("e", 1, says(A, "10.0.1.1"), heard)
    assert its.look(learning.QUIET) == NeighbourStep()
    assert its.look(learning.QUIET + 199) == NeighbourStep()
    assert only_arp(its.look(learning.QUIET + 200)).operation is ArpOperation.REQUEST


def test_hosts_of_a_port_that_went_down_are_asked_for_twice_at_all_ports() -> None:
    its = gateway()
    its.arrived("w", 4, says(B, "10.0.2.1"), 0.0)
    its.arrived("w", 4, says(C, "10.0.2.9"), 0.0)
    its.port_went_down("w", 4, 1.0)
    assert [each.port for each in its.look(1.0).frames] == [4, 5, 4, 5]
    assert its.arrived("w", 5, says(B, "10.0.2.1"), 1.1).put
    assert [each.port for each in its.look(2.0).frames] == [4, 5]
    assert ("w", "10.0.2.9/32", C.hex(":"), 4) in outputs(its.look(3.0).deleted)


def test_a_router_that_does_not_answer_when_its_port_comes_up_is_asked_once_more_and_forgotten() -> None:
    its = gateway()
    its.arrived("w", 4, says(C, "10.0.2.9"), 0.0)
    its.port_came_up("w", 4, 1.0)
    assert [len(its.look(now).frames) for now in (1.0, 2.0, 3.0)] == [2, 2, 0]
    assert its.known("w") == 0


def test_addresses_behind_a_router_that_is_not_known_are_answered_to_all_but_the_router() -> None:
    its = gateway()
    asked = asks(A, "10.0.2.1", "172.16.3.3")
    assert str(only_arp(its.arrived("w", 4, asked, 0.0)).sender) == "172.16.3.3"
    its = gateway()
    its.arrived("w", 4, asks(C, "10.0.2.9", "172.16.3.3"), 0.0)
    assert not its.arrived("w", 4, asks(C, "10.0.2.9", "172.16.3.3"), 0.0).frames


def test_questions_beyond_what_is_allowed_are_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "RATE", 100.0)
    monkeypatch.setattr(learning, "BURST", 1.0)
    its = gateway()
    assert its.arrived("w", 1, packet("10.0.1.1", "10.0.2.1"), 0.0).frames == []
    assert its.look(0.09).frames == []
    assert [each.port for each in its.look(0.1).frames] == [4, 5]
    assert its.look(1.09).frames == []
    assert [each.port for each in its.look(1.1).frames] == [4, 5]


def test_a_host_may_have_the_same_card_at_two_sites() -> None:
    its = gateway()
    east = its.arrived("e", 1, asks(A, "10.0.1.1", "10.0.1.254"), 0.0)
    west = its.arrived("w", 4, asks(A, "10.0.2.1", "10.0.2.254"), 0.0)
    assert outputs(east.put) == {("e", "10.0.1.1/32", A.hex(":"), 1)}
    assert ("w", "10.0.2.1/32", A.hex(":"), 4) in outputs(west.put)
    assert {switch for switch, _ in west.deleted} == {"w"}


def test_a_host_at_another_port_of_the_site_is_reached_by_the_gateway() -> None:
    its = gateway()
    asked = its.arrived("w", 4, asks(A, "10.0.2.1", "10.0.2.7"), 0.0)
    assert {each.port for each in asked.frames} == {4, 5}, "it is asked for"
    told = its.arrived("w", 5, says(B, "10.0.2.7"), 0.1)
    assert (only_arp(told).sender_mac, told.frames[0].port) == (GATEWAY, 4), "once it is known"
    assert only_arp(its.arrived("w", 4, asks(A, "10.0.2.1", "10.0.2.7"), 1.0)).sender_mac == GATEWAY
    assert not its.arrived("w", 5, asks(C, "10.0.2.3", "10.0.2.7"), 1.0).frames, "at its own port it answers itself"


def test_addresses_behind_a_router_have_its_card() -> None:
    its = gateway()
    question = its.arrived("w", 9, packet("10.0.1.1", "172.16.5.5"), 0.0)
    assert {str(_arp(each.frame).target) for each in question.frames} == {"10.0.2.9"}
    step = its.arrived("w", 4, says(C, "10.0.2.9"), 0.1)
    assert {each[1:3] for each in outputs(step.put)} >= {("172.16.0.0/16", C.hex(":")), ("10.0.2.9/32", C.hex(":"))}
    assert len(step.frames) == 1


def _arp(frame: bytes) -> ArpFrame:
    found = read_frame(frame)
    assert isinstance(found, ArpFrame)
    return found


def test_a_quiet_host_is_asked_and_one_that_is_gone_is_forgotten() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    assert its.look(learning.QUIET - 1) == NeighbourStep()
    asked = its.look(learning.QUIET)
    assert asked.frames[0].frame[:6] == A, "by itself first"
    its.arrived("e", 1, says(A, "10.0.1.1"), learning.QUIET + 0.5)
    at = 2 * learning.QUIET + 0.5
    steps = [its.look(at + second) for second in range(learning.QUESTIONS + 1)]
    assert [len(step.frames) for step in steps] == [1] * learning.QUESTIONS + [0]
    assert [entry.match.ipv4_dst for _, entry in steps[-1].deleted] == [IPv4Network("10.0.1.1/32")]
    assert its.known("e") == 0


def test_entries_are_renewed_before_switches_give_them_up() -> None:
    its, renewals = gateway(), []
    for minute in range(0, 120, 2):
        step = its.arrived("e", 1, says(A, "10.0.1.1"), 60.0 * minute)
        renewals += [60.0 * minute] if step.put else []
    gaps = [after - before for before, after in pairwise(renewals)]
    assert renewals[0] == 0
    assert max(gaps) < learning.LIFETIME / 2


def test_a_packet_to_a_known_host_mends_the_switch_and_is_delivered() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    step = its.arrived("e", 3, packet("10.0.2.1", "10.0.1.1"), 5.0)
    assert step.put
    assert len(step.frames) == 1


def test_known_hosts_are_bounded_for_a_site_and_for_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "MOST_HOSTS", 100)
    monkeypatch.setattr(learning, "MOST_OF_CARD", 30)
    its = gateway()
    for number in range(1, 200):
        its.arrived("e", 1, says(A, f"10.0.1.{number}"), float(number))
    assert its.known("e") == 30
    for number in range(1, 200):
        its.arrived("e", 1, says(bytes((2, 9, 9, 9, 9, number)), f"10.0.1.{number}"), 200.0 + number)
    assert its.known("e") == 100
    (site,) = (each for each in its._all_sites() if each.segment.switch == "e")
    cards = [A, *(bytes((2, 9, 9, 9, 9, number)) for number in range(1, 200))]
    assert sum(map(site.hosts.of_card, cards)) == 100, "a card that is not learned is not counted"


def test_whatever_arrives_state_and_answers_stay_bounded() -> None:
    chance, its = random.Random(52), gateway()
    seeds = [
        asks(A, "10.0.1.1", "10.0.1.254"),
        says(B, "10.0.1.2"),
        packet("10.0.1.1", "10.0.1.9"),
        echo("10.0.1.1", "10.0.1.254"),
        packet("10.0.2.1", "10.0.1.1", ttl=1),
    ]
    now, sent = 0.0, 0
    for _ in range(20_000):
        frame = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(4)):
            frame[chance.randrange(len(frame))] = chance.randrange(256)
        cut = bytes(frame[: chance.randrange(len(frame) + 1)] if chance.random() < 0.3 else frame)
        now += chance.random() / 1000
        sent += len(its.arrived(chance.choice("ewx"), chance.randrange(6), cut, now).frames) + len(its.look(now).frames)
    assert sum(len(site.hosts) for site in its._all_sites()) < 2000
    assert len(its._due) < 2000
    assert sent < 20_000


def test_a_controller_that_takes_over_knows_nobody() -> None:
    its = gateway()
    its.arrived("e", 1, says(A, "10.0.1.1"), 0.0)
    its.forget()
    assert its.known("e") == 0
    assert its.look(1000.0) == NeighbourStep()


def test_frames_of_arp_are_those_of_rfc_826() -> None:
    head = "ffffffffffff 020000000001 0806"  # to all, from A
    asked = "0001 0800 06 04 0001 020000000001 0a000101 000000000000 0a0001fe"
    frame = bytes.fromhex(head + asked)
    assert asks(A, "10.0.1.1", "10.0.1.254") == frame.ljust(60, b"\0")
    assert only_arp(gateway().arrived("e", 1, frame, 0.0)).operation is ArpOperation.REPLY
    for number in (14, 15, 16, 17, 18, 19):  # another hardware, another protocol, other lengths of addresses
        changed = bytearray(frame)
        changed[number] ^= 1
        assert not isinstance(read_frame(bytes(changed)), ArpFrame)
