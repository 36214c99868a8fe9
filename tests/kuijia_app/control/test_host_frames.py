"""Frames of ARP and IPv4 byte by byte, written here a second time from the RFCs."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address

import pytest

from kuijia_app.control.host_frames import (
    ArpFrame,
    ArpOperation,
    IcmpError,
    Ipv4Frame,
    arp_request,
    echo_reply,
    framed,
    icmp_error,
    is_unicast,
    is_unicast_mac,
    read_frame,
)

HOST, ROUTER, OTHER = (IPv4Address(text) for text in ("10.0.1.7", "10.0.1.1", "10.0.9.9"))
HOST_MAC, OUR_MAC, OTHER_MAC = bytes((2, 0, 0, 0, 0, 7)), bytes((2, 0, 0, 0, 0, 1)), bytes((2, 0, 0, 0, 0, 9))
UDP, ICMP = 17, 1


def summed(data: bytes, at: int) -> bytes:
    """Return bytes with their checksum (RFC 1071) in this place, added up word by word."""
    total = sum(int.from_bytes(data[start : start + 2].ljust(2, b"\0"), "big") for start in range(0, len(data), 2))
    return data[:at] + (0xFFFF - total % 0xFFFF).to_bytes(2, "big") + data[at + 2 :]


def packet(
    payload: bytes,
    protocol: int = UDP,
    source: IPv4Address = HOST,
    target: IPv4Address = ROUTER,
    *,
    ttl: int = 64,
    tos: int = 0,
    fragment: int = 0,
    options: bytes = b"",
    version: int = 4,
) -> bytes:
    """Return a packet (RFC 791, section 3.1)."""
    words = 5 + len(options) // 4
    length = 4 * words + len(payload)
    head = bytes((version << 4 | words, tos)) + length.to_bytes(2, "big") + bytes(2) + fragment.to_bytes(2, "big")
    return summed(head + bytes((ttl, protocol, 0, 0)) + source.packed + target.packed + options, 10) + payload


def frame(inside: bytes, card: bytes = OUR_MAC, eth_type: int = 0x0800) -> bytes:
    return card + HOST_MAC + eth_type.to_bytes(2, "big") + inside


def read(inside: bytes, card: bytes = OUR_MAC) -> Ipv4Frame:
    found = read_frame(frame(inside, card))
    assert isinstance(found, Ipv4Frame)
    return found


ECHO = bytes((8, 0, 0, 0, 0, 5, 0, 6)) + b"payload"


def test_a_packet_is_read_with_all_its_fields_and_without_padding() -> None:
    whole = packet(b"data", ttl=3, options=bytes(8))
    found = read(whole + b"padding")
    assert found == Ipv4Frame(OUR_MAC, HOST_MAC, HOST, ROUTER, 3, UDP, 28, whole)
    assert (found.payload, found.is_whole) == (b"data", True)
    assert read(packet(b"")).payload == b""


@pytest.mark.parametrize(
    "data",
    [
        frame(packet(b"data"))[:-1],
        frame(packet(b""))[:-1],
        frame(packet(b""))[:13],
        frame(packet(b"data"), eth_type=0x86DD),
        frame(packet(b"data", version=5)),
        frame(summed(bytes((0x44,)) + packet(b"data")[1:10] + bytes(2) + packet(b"data")[12:20], 10) + b"data"),
        frame(summed(packet(bytes(9))[:2] + bytes((0, 19)) + packet(bytes(9))[4:10] + bytes(2) + packet(b"")[12:], 10)),
        frame(packet(b"data")[:10] + bytes(2) + packet(b"data")[12:]),
    ],
    ids=["cut", "cut header", "no header", "another EtherType", "version", "short header", "length", "checksum"],
)
def test_what_is_no_whole_packet_of_ipv4_is_not_read(data: bytes) -> None:
    assert read_frame(data) is None


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (IcmpError.NET_UNREACHABLE, (3, 0)),
        (IcmpError.HOST_UNREACHABLE, (3, 1)),
        (IcmpError.PROHIBITED, (3, 13)),
        (IcmpError.TIME_EXCEEDED, (11, 0)),
    ],
)
def test_an_error_quotes_as_much_as_every_host_takes(kind: IcmpError, code: tuple[int, int]) -> None:
    for size in (4, 528, 529, 900):
        about = packet(bytes(size))
        message = summed(bytes((*code, *bytes(6))) + about[: 576 - 20 - 8], 2)
        assert icmp_error(read(about), kind, OTHER) == packet(message, ICMP, OTHER, HOST, tos=0xC0)


def test_an_echo_is_answered_with_its_type_of_service() -> None:
    answer = packet(summed(bytes(4) + ECHO[4:], 2), ICMP, ROUTER, HOST, tos=0x48)
    assert echo_reply(read(packet(summed(ECHO, 2), ICMP, tos=0x48, ttl=1))) == answer
    short = packet(summed(bytes(4) + ECHO[4:8], 2), ICMP, ROUTER, HOST)
    assert echo_reply(read(packet(summed(ECHO[:8], 2), ICMP))) == short


@pytest.mark.parametrize(
    "asked",
    [
        packet(summed(ECHO, 2)),
        packet(summed(ECHO[:7], 2), ICMP),
        packet(summed(bytes((0, 0)) + ECHO[2:], 2), ICMP),
        packet(summed(bytes((8, 1)) + ECHO[2:], 2), ICMP),
        packet(ECHO, ICMP),
        packet(summed(ECHO, 2), ICMP, fragment=0x2000),
        packet(summed(ECHO, 2), ICMP, fragment=1),
    ],
    ids=["another protocol", "short", "an answer", "a code", "a wrong checksum", "first fragment", "last fragment"],
)
def test_nothing_else_is_answered_as_an_echo(asked: bytes) -> None:
    assert echo_reply(read(asked)) is None


@pytest.mark.parametrize(
    ("inside", "card", "may"),
    [
        (packet(b""), OUR_MAC, True),
        (packet(b"", fragment=0x2000), OUR_MAC, True),
        (packet(b"", fragment=0x2001), OUR_MAC, False),
        (packet(b""), b"\xff" * 6, False),
        (packet(b"", target=IPv4Address("224.0.0.1")), OUR_MAC, False),
        (packet(b"", target=IPv4Address("255.255.255.255")), OUR_MAC, False),
        (packet(b"", source=IPv4Address("0.0.0.0")), OUR_MAC, False),  # noqa: S104
        (packet(b"", source=IPv4Address("224.0.0.1")), OUR_MAC, False),
        (packet(b"", ICMP), OUR_MAC, False),
        (packet(bytes((3, 0)), ICMP), OUR_MAC, False),
        *((packet(bytes((kind, 0)), ICMP), OUR_MAC, True) for kind in (0, 8, 10, 13, 15, 17)),
    ],
)
def test_no_error_is_sent_about_errors_fragments_groups_and_to_nobody(inside: bytes, card: bytes, *, may: bool) -> None:
    assert read(inside, card).may_be_answered is may


@pytest.mark.parametrize(("fragment", "may"), [(0, True), (0x4000, False), (0xBFFF, True), (0x4001, False)])
def test_a_packet_may_be_fragmented_unless_its_one_flag_forbids_it(fragment: int, *, may: bool) -> None:
    assert read(packet(b"12345678", fragment=fragment)).may_be_fragmented is may


def test_a_packet_is_forwarded_with_a_ttl_that_is_one_less() -> None:
    forwarded = OTHER_MAC + OUR_MAC + bytes((8, 0)) + packet(bytes(40), ttl=8, options=bytes(4))
    assert read(packet(bytes(40), ttl=9, options=bytes(4))).forwarded(OUR_MAC, OTHER_MAC) == forwarded


def test_frames_have_the_type_of_their_packet_and_are_sixty_bytes_at_least() -> None:
    assert framed(HOST_MAC, OUR_MAC, packet(b"")) == HOST_MAC + OUR_MAC + bytes((8, 0)) + packet(b"") + bytes(26)
    assert framed(HOST_MAC, OUR_MAC, bytes((0x60,)) + bytes(59))[12:15] == bytes((0x86, 0xDD, 0x60))


ASKED = ArpFrame(ArpOperation.REQUEST, HOST_MAC, HOST, bytes(6), ROUTER)


def arp(operation: int, kind: tuple[int, int, int, int] = (1, 0x0800, 6, 4)) -> bytes:
    """Return a message of ARP (RFC 826) from the host about the router."""
    hardware, protocol, *lengths = kind
    head = hardware.to_bytes(2, "big") + protocol.to_bytes(2, "big") + bytes(lengths) + operation.to_bytes(2, "big")
    return head + HOST_MAC + HOST.packed + bytes(6) + ROUTER.packed


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (frame(arp(1), eth_type=0x0806), ASKED),
        (frame(arp(2), eth_type=0x0806), replace(ASKED, operation=ArpOperation.REPLY)),
        (frame(arp(3), eth_type=0x0806), None),
        (frame(arp(1), eth_type=0x0806)[:-1], None),
        (frame(arp(1, (6, 0x0800, 6, 4)), eth_type=0x0806), None),
        (frame(arp(1, (1, 0x0801, 6, 4)), eth_type=0x0806), None),
        (frame(arp(1, (1, 0x0800, 5, 4)), eth_type=0x0806), None),
        (frame(arp(1, (1, 0x0800, 6, 5)), eth_type=0x0806), None),
    ],
)
def test_arp_is_read_if_it_is_about_ipv4_over_ethernet(data: bytes, expected: ArpFrame | None) -> None:
    assert read_frame(data) == expected


def test_an_answer_says_where_the_target_is() -> None:
    head = bytes((0, 1, 8, 0, 6, 4, 0, 2))
    answer = HOST_MAC + OUR_MAC + bytes((8, 6)) + head + OUR_MAC + ROUTER.packed + HOST_MAC + HOST.packed
    assert ASKED.answer(OUR_MAC) == answer + bytes(18)
    assert [ASKED.is_question, replace(ASKED, operation=ArpOperation.REPLY).is_question] == [True, False]
    assert arp_request(HOST_MAC, HOST, ROUTER) == ASKED


def test_one_host_can_have_what_is_no_group_not_loopback_and_not_reserved() -> None:
    addresses = ["10.0.0.1", "1.0.0.0", "0.255.255.255", "127.0.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"]
    assert [is_unicast(IPv4Address(each)) for each in addresses] == [True, True, *[False] * 5]
    assert [is_unicast_mac(each) for each in (HOST_MAC, bytes(6), bytes((3, 0, 0, 0, 0, 1)))] == [True, False, False]
