"""Hosts of IPv6 that nobody configured: neighbour discovery, echoes and errors of their gateway."""

from __future__ import annotations

import random
import struct
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

from kuijia_app.control.host_frames import framed
from kuijia_app.control.ipv6_frames import (
    Ipv6Frame,
    NeighbourFrame,
    icmpv6_packet,
    multicast_mac,
    read_ipv6,
    solicitation,
)
from kuijia_app.control.neighbours import SETTLED, TAKEN, LearnedHosts, NeighbourStep
from kuijia_app.control.probe_frames import internet_checksum
from kuijia_app.tables.neighbours import GATEWAY_MAC, LINK_LOCAL_GATEWAY, Segment

ICMPV6 = 58
ERRORS_BURST, MOST_SOUGHT, QUESTIONS = 50.0, 256, 3

GATEWAY = bytes.fromhex(GATEWAY_MAC.replace(":", ""))
SITE = Segment("e", (1,), (IPv6Network("2001:db8:1::/64"),), (IPv6Address("2001:db8:1::1"),))
FAR = IPv6Network("2001:db8:2::/64")
HOST, HOST_MAC = IPv6Address("2001:db8:1::7"), bytes((2, 0, 0, 0, 0, 7))


def gateway(mtu: int | None = None) -> LearnedHosts:
    return LearnedHosts((SITE,), (*SITE.prefixes, FAR), 0.0, mtu)


def asks(target: str, source: IPv6Address = HOST) -> bytes:
    """Return a host's neighbour solicitation, made of the gateway's own with the host's address."""
    message = bytes((135, 0, 0, 0)) + bytes(4) + IPv6Address(target).packed
    message += b"" if source.is_unspecified else bytes((1, 1)) + HOST_MAC
    group = IPv6Address(int(IPv6Address("ff02::1:ff00:0")) | int(IPv6Address(target)) & 0xFF_FFFF)
    return framed(multicast_mac(group), HOST_MAC, icmpv6_packet(source, group, 0, message, 255))


def sends(target: str, payload: bytes, *, hop_limit: int = 64) -> bytes:
    return framed(GATEWAY, HOST_MAC, icmpv6_packet(HOST, IPv6Address(target), 0, payload, hop_limit))


def discovery(kind: int, target: str, rest: bytes, source: str = "fe80::7") -> bytes:
    """Return a frame of neighbour discovery or of its relatives (RFC 4861, section 4)."""
    to = IPv6Address(target)
    packet = icmpv6_packet(IPv6Address(source), to, 0, bytes((kind, 0, 0, 0)) + rest, 255)
    return framed(multicast_mac(to) if to.is_multicast else GATEWAY, HOST_MAC, packet)


def echo(target: str, *, hop_limit: int = 64) -> bytes:
    return sends(target, bytes((128, 0, 0, 0, 0, 1, 0, 1)) + b"payload", hop_limit=hop_limit)


def ipv4_packet(source: str, target: str) -> bytes:
    """Return a frame with an IPv4 packet that has arrived out of a tunnel."""
    head = bytearray(bytes((0x45, 0, 0, 20, 0, 7, 0x40, 0, 64, 17, 0, 0)))
    head += IPv4Address(source).packed + IPv4Address(target).packed
    head[10:12] = internet_checksum(bytes(head)).to_bytes(2, "big")
    return framed(GATEWAY, GATEWAY, bytes(head))


def only(step: NeighbourStep) -> NeighbourFrame | Ipv6Frame:
    (sent,) = step.frames
    found = read_ipv6(sent.frame)
    assert found is not None
    return found


@pytest.mark.parametrize("target", ["2001:db8:1::1", str(LINK_LOCAL_GATEWAY), "2001:db8:2::9"])
def test_a_host_that_asks_for_its_gateway_or_another_site_is_answered_and_known(target: str) -> None:
    step = gateway().arrived("e", 1, asks(target), 0.0)
    assert only(step) == NeighbourFrame(False, IPv6Address(target), GATEWAY, IPv6Address(target))
    assert [str(entry.match.ipv6_dst) for _, entry in step.put] == [f"{HOST}/128"]


@pytest.mark.parametrize("target", ["2001:db8:1::9", "2001:db8:9::9"])
def test_nobody_is_answered_for_a_neighbour_or_an_unknown_network(target: str) -> None:
    assert not gateway().arrived("e", 1, asks(target), 0.0).frames


def test_an_address_that_is_probed_is_defended_only_if_it_is_the_gateways() -> None:
    probing = IPv6Address(0)
    (sent,) = gateway().arrived("e", 1, asks("2001:db8:1::1", probing), 0.0).frames
    assert sent.frame[:6] == multicast_mac(IPv6Address("ff02::1"))
    assert not gateway().arrived("e", 1, asks("2001:db8:1::9", probing), 0.0).frames


def test_a_packet_to_an_unknown_host_makes_the_gateway_ask_and_waits_for_the_answer() -> None:
    site = gateway()
    question = only(
        site.arrived("e", 99, framed(GATEWAY, GATEWAY, icmpv6_packet(FAR[9], HOST, 0, b"\x80" + bytes(7))), 0.0)
    )
    assert question == NeighbourFrame(True, LINK_LOCAL_GATEWAY, GATEWAY, HOST)
    advertisement = bytes((136, 0, 0, 0)) + (0x60 << 24).to_bytes(4, "big") + HOST.packed + bytes((2, 1)) + HOST_MAC
    packet = icmpv6_packet(HOST, LINK_LOCAL_GATEWAY, 0, advertisement, 255)
    delivered = only(site.arrived("e", 1, framed(GATEWAY, HOST_MAC, packet), 0.1))
    assert isinstance(delivered, Ipv6Frame)
    assert (delivered.destination, delivered.destination_mac, delivered.ttl) == (HOST, HOST_MAC, 63)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (echo("2001:db8:1::1"), (129, 0)),
        (echo("2001:db8:2::9", hop_limit=1), (3, 0)),
        (echo("2001:db8:2::9"), (1, 1)),
        (echo("2001:db8:9::9"), (1, 0)),
    ],
    ids=["echo", "hop limit", "no pair", "no site"],
)
def test_a_router_answers(frame: bytes, kind: tuple[int, int]) -> None:
    site = gateway()
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    answer = only(site.arrived("e", 1, frame, 0.1))
    assert isinstance(answer, Ipv6Frame)
    assert (answer.protocol, tuple(answer.payload[:2]), answer.destination) == (ICMPV6, kind, HOST)


def fragment(offset: int, payload: bytes, protocol: int = 17) -> bytes:
    """Return a host's frame to another site with a part of a packet (RFC 8200, section 4.5).

    The reserved byte of its fragment header is where other headers have their length.
    """
    header = bytes((protocol, 9)) + (offset | 1).to_bytes(2, "big") + bytes((0, 0, 0, 7))
    packet = bytearray(icmpv6_packet(HOST, FAR[9], 0, header + payload))
    packet[6], packet[42:44] = 44, header[2:4]  # instead of the checksum
    return framed(GATEWAY, HOST_MAC, bytes(packet))


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (sends(str(FAR[9]), bytes((128, 0, 0, 0)) + bytes(1449)), (2, 0, 1492)),
        (sends(str(FAR[9]), bytes((128, 0, 0, 0)) + bytes(1448)), (1, 1, 0)),
        (fragment(0, bytes(1448)), (2, 0, 1492)),
    ],
    ids=["too long", "fits", "first fragment"],
)
def test_a_host_hears_how_long_a_packet_to_another_site_may_be(frame: bytes, error: tuple[int, int, int]) -> None:
    site = gateway(1492)
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    answer = only(site.arrived("e", 1, frame, 0.1))
    assert isinstance(answer, Ipv6Frame)
    kind, code, mtu = struct.unpack_from("!BB2xI", answer.payload)
    assert ((kind, code, mtu), len(answer.packet)) == (error, 1280)
    assert answer.payload[8:] == frame[14 : 14 + 1232]


@pytest.mark.parametrize("frame", [fragment(1448, bytes(1448)), fragment(0, b"\1" + b"\xff" * 1447, ICMPV6)])
def test_no_error_is_sent_about_a_later_fragment_or_the_first_one_of_an_error(frame: bytes) -> None:
    site = gateway(1492)
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    assert not site.arrived("e", 1, frame, 0.1).frames


def test_discovery_that_a_router_has_forwarded_or_that_is_malformed_is_ignored() -> None:
    whole = asks("2001:db8:1::1")
    for place, value in ((21, 254), (57, 1), (79, 0)):  # hop limit, checksum, length of the option
        broken = bytearray(whole)
        broken[place] = value
        assert not gateway().arrived("e", 1, bytes(broken), 0.0).frames


@pytest.mark.parametrize(
    "frame",
    [
        discovery(133, "ff02::2", bytes(4) + bytes((1, 1)) + HOST_MAC),
        discovery(134, "ff02::1", bytes(12)),
        discovery(137, str(LINK_LOCAL_GATEWAY), bytes(36)),
        discovery(143, "ff02::16", bytes(4)),
        discovery(136, "ff02::1", (1 << 29).to_bytes(4, "big") + SITE.gateways[0].packed + bytes((2, 1)) + HOST_MAC),
        discovery(135, "ff02::1:ff00:1", bytes(4) + SITE.gateways[0].packed + bytes((1, 1)) + HOST_MAC, "::"),
    ],
    ids=["router asked for", "router", "redirect", "groups joined", "gateway claimed", "free with a card"],
)
def test_what_only_routers_or_liars_say_has_no_answer_and_changes_nothing(frame: bytes) -> None:
    site = gateway()
    assert site.arrived("e", 1, frame, 0.0) == NeighbourStep()
    assert site.known("e") == 0
    assert site.look(10.0) == NeighbourStep()


def test_an_advertisement_that_nobody_asked_for_makes_a_host_known_where_it_says() -> None:
    site = gateway()
    target = (1 << 29).to_bytes(4, "big") + HOST.packed + bytes((2, 1)) + HOST_MAC
    step = site.arrived("e", 1, discovery(136, "ff02::1", target), 0.0)
    assert [str(entry.match.ipv6_dst) for _, entry in step.put] == [f"{HOST}/128"]
    assert not step.frames


def test_whatever_arrives_never_raises() -> None:
    chance = random.Random(52)
    frames = [asks("2001:db8:1::1"), echo("2001:db8:2::9"), solicitation(GATEWAY, HOST, None)]
    site = gateway()
    for number in range(5000):
        frame = bytearray(chance.choice(frames))
        for _ in range(chance.randrange(1, 6)):
            frame[chance.randrange(12, len(frame))] = chance.randrange(256)
        site.arrived("e", chance.choice((1, 99)), bytes(frame[: chance.randrange(len(frame) + 1)]), number * 0.01)
        site.look(number * 0.01)


def test_a_host_that_does_not_answer_three_questions_is_unreachable() -> None:
    site = gateway()
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    site.arrived("e", 1, echo("2001:db8:1::9"), 0.1)
    asked, told = 1, []
    for tenth in range(1, 60):
        for sent in site.look(0.1 + tenth / 10).frames:
            found = read_ipv6(sent.frame)
            if isinstance(found, NeighbourFrame):
                asked += 1
            elif found is not None:
                told.append((found.destination, found.payload[:2]))
    assert (asked, told) == (QUESTIONS, [(HOST, bytes((1, 3)))])


def test_a_router_of_ipv6_has_the_card_of_what_lies_behind_it_in_either_family() -> None:
    router = IPv6Address("2001:db8:1::2")
    behind = Segment("e", (1,), (*SITE.prefixes, IPv4Network("10.0.1.0/24")), SITE.gateways, router)
    site = LearnedHosts((behind,), (*behind.prefixes, FAR), 0.0)
    assert only(site.arrived("e", 99, ipv4_packet("10.0.2.7", "10.0.1.7"), 0.0)) == NeighbourFrame(
        True, LINK_LOCAL_GATEWAY, GATEWAY, router
    )
    step = site.arrived("e", 1, asks("2001:db8:1::1", router), 0.1)
    assert {str(entry.match.destination) for _, entry in step.put} == {f"{router}/128", "10.0.1.0/24"}


def test_hosts_of_a_gateways_prefix_are_on_the_cable_though_the_router_is_of_the_other_family() -> None:
    beyond, router = IPv6Network("2001:db8:7::/48"), IPv4Address("10.0.1.2")
    prefixes = (*SITE.prefixes, beyond, IPv4Network("10.0.1.0/24"))
    segment = Segment("e", (1,), prefixes, (*SITE.gateways, IPv4Address("10.0.1.1")), router)
    assert segment.behind_router == (beyond,)
    site = LearnedHosts((segment,), (*prefixes, FAR), 0.0)
    step = site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    assert [str(entry.match.destination) for _, entry in step.put if entry.match.in_port is None] == [f"{HOST}/128"]


@pytest.mark.parametrize("hosts", [1, MOST_SOUGHT + 9])
def test_questions_and_errors_are_bounded_whoever_is_asked_for(hosts: int) -> None:
    site = gateway()
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    frames = [echo(str(SITE.prefixes[0][1000 + number])) for number in range(hosts)]
    asked = sum(len(site.arrived("e", 1, frame, 1.0).frames) for frame in frames)
    assert asked == min(hosts, MOST_SOUGHT)
    errors = [site.arrived("e", 1, echo("2001:db8:9::9"), 2.0).frames for _ in range(200)]
    assert sum(map(len, errors)) == ERRORS_BURST


@pytest.mark.parametrize("source", [str(HOST), "fe80::7"])
def test_a_gateway_has_no_port_and_says_so_also_to_link_local_addresses(source: str) -> None:
    site = gateway()
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    frame = bytearray(sends(str(LINK_LOCAL_GATEWAY), bytes(8)))
    frame[20], frame[22:38] = 17, IPv6Address(source).packed  # UDP
    answer = only(site.arrived("e", 1, bytes(frame), 0.1))
    assert isinstance(answer, Ipv6Frame)
    assert (tuple(answer.payload[:2]), answer.source) == ((1, 4), LINK_LOCAL_GATEWAY)
    frame[:6] = multicast_mac(IPv6Address("ff02::1"))
    assert not site.arrived("e", 1, bytes(frame), 0.1).frames, "others have got it, too"


def test_the_neighbours_that_a_host_leaves_behind_hear_that_it_is_reached_by_the_gateway() -> None:
    both = Segment("e", (1, 2), SITE.prefixes, SITE.gateways)
    site = LearnedHosts((both,), both.prefixes, 0.0)
    for port in (1, 2):
        site.arrived("e", port, asks("2001:db8:1::1"), float(port))
    step = site.look(2.0 + SETTLED)
    assert only(step) == NeighbourFrame(False, HOST, GATEWAY, HOST)
    assert step.frames[0].port == 1


def test_a_known_host_that_asks_at_another_port_whether_its_address_is_free_is_asked_once_it_answers() -> None:
    both = Segment("e", (1, 2), SITE.prefixes, SITE.gateways)
    site = LearnedHosts((both,), both.prefixes, 0.0)
    site.arrived("e", 1, asks("2001:db8:1::1"), 0.0)
    for port in (1, 2):
        assert not site.arrived("e", port, asks(str(HOST), IPv6Address(0)), 1.0).frames
    assert not site.look(1.1).frames
    assert {sent.port for sent in site.look(1.0 + TAKEN).frames} == {1, 2}
    assert site.arrived("e", 2, asks("2001:db8:1::1"), 3.0).put
    site.look(3.0 + SETTLED)
    site.arrived("e", 2, asks(str(HOST), IPv6Address(0)), 5.0)
    assert site.look(5.0 + TAKEN) == NeighbourStep(), "it is where it was"
