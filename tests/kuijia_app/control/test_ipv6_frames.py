"""Frames of IPv6 byte by byte, written here a second time from the RFCs: no test is asked with what it is to check."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv6Address

import pytest

from kuijia_app.control.host_frames import IcmpError
from kuijia_app.control.ipv6_frames import (
    Ipv6Frame,
    NeighbourFrame,
    echo_reply_ipv6,
    icmpv6_error,
    is_unicast_ipv6,
    multicast_mac,
    read_ipv6,
    solicitation,
)
from kuijia_app.tables.neighbours import LINK_LOCAL_GATEWAY

HOST, ROUTER, GROUP = (IPv6Address(text) for text in ("2001:db8:1::7", "2001:db8:1::1", "ff02::1:ff00:1"))
LINK_LOCAL, ANYBODY, ALL = LINK_LOCAL_GATEWAY, IPv6Address("::"), IPv6Address("ff02::1")
HOST_MAC, OUR_MAC, OTHER_MAC = bytes((2, 0, 0, 0, 0, 7)), bytes((2, 0, 0, 0, 0, 1)), bytes((2, 0, 0, 0, 0, 9))
UDP, ICMPV6 = 17, 58


def packet(
    payload: bytes,
    protocol: int = UDP,
    source: IPv6Address = HOST,
    target: IPv6Address = ROUTER,
    hop_limit: int = 64,
    first: int = 0x60000000,
) -> bytes:
    """Return a packet (RFC 8200, section 3)."""
    header = first.to_bytes(4, "big") + len(payload).to_bytes(2, "big") + bytes((protocol, hop_limit))
    return header + source.packed + target.packed + payload


def summed(message: bytes, source: IPv6Address, target: IPv6Address) -> bytes:
    """Return a message of ICMPv6 with its checksum (RFC 8200, section 8.1), added up word by word."""
    whole = source.packed + target.packed + len(message).to_bytes(4, "big") + bytes((0, 0, 0, ICMPV6)) + message
    total = sum(int.from_bytes(whole[at : at + 2].ljust(2, b"\0"), "big") for at in range(0, len(whole), 2))
    return message[:2] + (0xFFFF - total % 0xFFFF).to_bytes(2, "big") + message[4:]


def icmp(
    message: bytes, source: IPv6Address = HOST, target: IPv6Address = ROUTER, hop_limit: int = 64, first: int = 6 << 28
) -> bytes:
    return packet(summed(message, source, target), ICMPV6, source, target, hop_limit, first)


def frame(inside: bytes, card: bytes = OUR_MAC, eth_type: int = 0x86DD) -> bytes:
    return card + HOST_MAC + eth_type.to_bytes(2, "big") + inside


def read(inside: bytes, card: bytes = OUR_MAC) -> Ipv6Frame:
    found = read_ipv6(frame(inside, card))
    assert isinstance(found, Ipv6Frame)
    return found


ECHO = bytes((128, 0, 0, 0, 0, 5, 0, 6)) + b"payload"


def test_a_frame_is_read_with_all_its_fields_and_without_padding() -> None:
    whole = packet(b"data", hop_limit=3)
    assert read(whole + b"padding") == Ipv6Frame(OUR_MAC, HOST_MAC, HOST, ROUTER, 3, UDP, b"data", whole)
    assert read(packet(b"")).payload == b""


@pytest.mark.parametrize(
    "data",
    [
        frame(packet(b"data"))[:-1],
        frame(packet(b""))[:-1],
        frame(packet(b"data"), eth_type=0x0800),
        frame(packet(b"data", first=0x50000000)),
        frame(packet(b"data", first=0x70000000)),
    ],
    ids=["cut", "cut header", "another EtherType", "version 5", "version 7"],
)
def test_what_is_no_whole_packet_of_ipv6_is_not_read(data: bytes) -> None:
    assert read_ipv6(data) is None


def extended(*headers: int, last: int = UDP, words: int = 1) -> bytes:
    """Return a payload with extension headers of so many words of 8 bytes, whose first protocol is `headers[0]`."""
    following = [*headers[1:], last]
    return b"".join(bytes((each, words - 1)) + bytes(8 * words - 2) for each in following) + b"data"


@pytest.mark.parametrize(
    ("headers", "last", "words", "protocol", "payload"),
    [
        ((0,), UDP, 1, UDP, b"data"),
        ((43,), UDP, 2, UDP, b"data"),
        ((60, 0, 43), UDP, 3, UDP, b"data"),
        ((0,) * 7, UDP, 1, UDP, b"data"),
        ((0,) * 8, UDP, 1, None, b""),
        ((0,), 44, 1, None, b""),
    ],
)
def test_the_protocol_is_found_behind_a_few_extension_headers(
    headers: tuple[int, ...], last: int, words: int, protocol: int | None, payload: bytes
) -> None:
    found = read(packet(extended(*headers, last=last, words=words), headers[0]))
    assert (found.protocol, found.payload) == (protocol, payload)


def test_an_extension_header_that_is_cut_hides_the_protocol() -> None:
    assert read(packet(bytes((UDP, 0)) + bytes(5), 0)).protocol is None
    assert read(packet(bytes((UDP, 0)) + bytes(6), 0)).protocol == UDP


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (IcmpError.NET_UNREACHABLE, (1, 0)),
        (IcmpError.PROHIBITED, (1, 1)),
        (IcmpError.HOST_UNREACHABLE, (1, 3)),
        (IcmpError.TIME_EXCEEDED, (3, 0)),
    ],
)
def test_an_error_quotes_as_much_as_every_link_carries(kind: IcmpError, code: tuple[int, int]) -> None:
    for size in (4, 1192, 1193, 1400):
        about = packet(bytes(size))
        quoted = about[: 1280 - 40 - 8]
        assert icmpv6_error(read(about), kind, LINK_LOCAL) == icmp(bytes((*code, *bytes(6))) + quoted, LINK_LOCAL, HOST)


def test_an_echo_is_answered_in_its_traffic_class() -> None:
    asked = icmp(ECHO, first=0x6AB12345)
    answer = icmp(bytes((129,)) + ECHO[1:], ROUTER, HOST, first=0x6AB00000)
    assert echo_reply_ipv6(read(asked)) == answer
    assert echo_reply_ipv6(read(icmp(ECHO[:8]))) == icmp(bytes((129,)) + ECHO[1:8], ROUTER, HOST)


@pytest.mark.parametrize(
    "asked",
    [
        packet(summed(ECHO, HOST, ROUTER)),
        icmp(ECHO[:7]),
        icmp(bytes((129,)) + ECHO[1:]),
        icmp(bytes((128, 1)) + ECHO[2:]),
        packet(ECHO, ICMPV6),
    ],
    ids=["another protocol", "short", "an answer", "a code", "a wrong checksum"],
)
def test_nothing_else_is_answered_as_an_echo(asked: bytes) -> None:
    assert echo_reply_ipv6(read(asked)) is None


def test_a_packet_is_forwarded_with_a_hop_limit_that_is_one_less() -> None:
    sent = packet(bytes(40), hop_limit=9)
    forwarded = OTHER_MAC + OUR_MAC + bytes((0x86, 0xDD)) + packet(bytes(40), hop_limit=8)
    assert read(sent).forwarded(OUR_MAC, OTHER_MAC) == forwarded


@pytest.mark.parametrize(
    ("inside", "card", "may"),
    [
        (packet(b""), OUR_MAC, True),
        (packet(b""), bytes((0x33, 0x33, 0, 0, 0, 1)), False),
        (packet(b"", target=GROUP), OUR_MAC, False),
        (packet(b"", source=ANYBODY), OUR_MAC, False),
        (packet(b"", source=GROUP), OUR_MAC, False),
        (packet(bytes(8), 44), OUR_MAC, False),
        (packet(b"", ICMPV6), OUR_MAC, False),
        (packet(bytes((127, 0)), ICMPV6), OUR_MAC, False),
        (packet(bytes((128, 0)), ICMPV6), OUR_MAC, True),
    ],
)
def test_no_error_is_sent_about_errors_fragments_groups_and_to_nobody(inside: bytes, card: bytes, *, may: bool) -> None:
    assert read(inside, card).may_be_answered is may


def test_one_interface_can_have_what_is_no_group_not_loopback_and_not_unspecified() -> None:
    addresses = [HOST, LINK_LOCAL, GROUP, ANYBODY, IPv6Address("::1")]
    assert [is_unicast_ipv6(each) for each in addresses] == [True, True, False, False, False]
    assert multicast_mac(GROUP) == bytes((0x33, 0x33, 0xFF, 0, 0, 1))


def neighbour(kind: int, target: IPv6Address, *options: bytes, flags: int = 0, code: int = 0) -> bytes:
    """Return a solicitation or an advertisement (RFC 4861, sections 4.3 and 4.4) without its checksum."""
    return bytes((kind, code, 0, 0)) + flags.to_bytes(4, "big") + target.packed + b"".join(options)


def option(kind: int, mac: bytes) -> bytes:
    return bytes((kind, 1)) + mac


ROUTER_FLAG, SOLICITED_FLAG, OVERRIDE_FLAG = 1 << 31, 1 << 30, 1 << 29
QUESTION = NeighbourFrame(True, HOST, HOST_MAC, ROUTER)
ANSWER = NeighbourFrame(False, HOST, HOST_MAC, HOST)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        (icmp(neighbour(135, ROUTER), hop_limit=255), QUESTION),
        (icmp(neighbour(135, ROUTER, option(1, OTHER_MAC)), hop_limit=255), replace(QUESTION, sender_mac=OTHER_MAC)),
        (icmp(neighbour(135, ROUTER, option(2, OTHER_MAC)), hop_limit=255), QUESTION),
        (
            icmp(neighbour(135, ROUTER, option(1, OTHER_MAC), option(1, OUR_MAC)), hop_limit=255),
            replace(QUESTION, sender_mac=OTHER_MAC),
        ),
        (
            icmp(neighbour(135, ROUTER, bytes((9, 2)) + bytes(14), option(1, OTHER_MAC)), hop_limit=255),
            replace(QUESTION, sender_mac=OTHER_MAC),
        ),
        (icmp(neighbour(135, ROUTER), ANYBODY, GROUP, 255), replace(QUESTION, sender=ANYBODY)),
        (icmp(neighbour(135, ROUTER), ANYBODY, ROUTER, 255), None),
        (icmp(neighbour(135, ROUTER, option(1, OTHER_MAC)), ANYBODY, GROUP, 255), None),
        (icmp(neighbour(135, ROUTER), hop_limit=254), None),
        (icmp(neighbour(135, ROUTER, code=1), hop_limit=255), None),
        (icmp(neighbour(135, GROUP), hop_limit=255), None),
        (icmp(neighbour(135, ROUTER), GROUP, hop_limit=255), None),
        (icmp(neighbour(135, ROUTER)[:-1], hop_limit=255), None),
        (icmp(neighbour(135, ROUTER, bytes(8)), hop_limit=255), None),
        (icmp(neighbour(135, ROUTER, bytes((1,))), hop_limit=255), None),
        (icmp(neighbour(135, ROUTER, bytes((1, 2)) + bytes(13)), hop_limit=255), None),
        (packet(neighbour(135, ROUTER), ICMPV6, hop_limit=255), None),
        (icmp(neighbour(136, HOST), hop_limit=255), ANSWER),
        (icmp(neighbour(136, HOST, option(2, OTHER_MAC)), hop_limit=255), replace(ANSWER, sender_mac=OTHER_MAC)),
        (icmp(neighbour(136, HOST, option(1, OTHER_MAC)), hop_limit=255), ANSWER),
        (icmp(neighbour(136, HOST, flags=SOLICITED_FLAG), hop_limit=255), ANSWER),
        (icmp(neighbour(136, HOST), HOST, ALL, 255), ANSWER),
        (icmp(neighbour(136, HOST, flags=SOLICITED_FLAG), HOST, ALL, 255), None),
        (icmp(neighbour(136, HOST), ANYBODY, ROUTER, 255), None),
    ],
)
def test_neighbour_discovery_is_read_if_it_is_valid(inside: bytes, expected: NeighbourFrame | None) -> None:
    assert read_ipv6(frame(inside)) == expected


def test_neighbour_discovery_behind_an_extension_header_is_not_read() -> None:
    message = summed(neighbour(135, ROUTER), HOST, ROUTER)
    assert read_ipv6(frame(packet(bytes((ICMPV6, 0)) + bytes(6) + message, 0, hop_limit=255))) is None


@pytest.mark.parametrize(
    ("question", "to", "card", "flags"),
    [
        (QUESTION, HOST, HOST_MAC, ROUTER_FLAG | SOLICITED_FLAG),
        (replace(QUESTION, target=LINK_LOCAL), HOST, HOST_MAC, ROUTER_FLAG | SOLICITED_FLAG | OVERRIDE_FLAG),
        (replace(QUESTION, sender=ANYBODY), ALL, bytes((0x33, 0x33, 0, 0, 0, 1)), ROUTER_FLAG),
    ],
)
def test_an_answer_says_that_the_target_is_a_router_and_who_asked_for_it(
    question: NeighbourFrame, to: IPv6Address, card: bytes, flags: int
) -> None:
    message = neighbour(136, question.target, option(2, OUR_MAC), flags=flags)
    assert question.answer(OUR_MAC) == card + OUR_MAC + bytes((0x86, 0xDD)) + icmp(message, LINK_LOCAL, to, 255)


def test_an_address_is_asked_for_at_its_group_or_at_its_card() -> None:
    message = neighbour(135, HOST, option(1, OUR_MAC))
    group = IPv6Address("ff02::1:ff00:7")
    to_all = bytes((0x33, 0x33, 0xFF, 0, 0, 7)) + OUR_MAC + bytes((0x86, 0xDD))
    assert solicitation(OUR_MAC, HOST, None) == to_all + icmp(message, LINK_LOCAL, group, 255)
    to_one = HOST_MAC + OUR_MAC + bytes((0x86, 0xDD))
    assert solicitation(OUR_MAC, HOST, HOST_MAC) == to_one + icmp(message, LINK_LOCAL, HOST, 255)
