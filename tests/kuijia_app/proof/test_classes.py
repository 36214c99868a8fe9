"""Conversations that tell classifiers apart, and the classes of packets, by hand."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

from kuijia_app.proof.classes import ORDINARY, Conversation, _as_rule, _common, class_of, conversations
from kuijia_app.proof.model.packet import Packet, Transport
from kuijia_app.tables.classifiers import Classifier, PortRange
from kuijia_app.tables.rules import Match
from tests.kuijia_app.tables.test_classifiers import classified

TCP, UDP, GRE = 6, 17, 47
SITE = IPv4Network("10.0.1.0/24")
PACKET = Packet(1, IPv4Address("10.0.1.1"), IPv4Address("10.0.4.1"))


def around(rule: Classifier) -> list[Conversation]:
    ordinary, *others = conversations(classified(rule), ())
    assert ordinary == ORDINARY
    return others


def talk(source: str | None, *transport: int) -> Conversation:
    return Conversation(None if source is None else IPv4Address(source), Transport(*transport))


def test_a_rule_is_tried_at_its_ends_and_just_outside_in_each_field_alone() -> None:
    assert around(Classifier(0, source=SITE, protocol=TCP, destination_port=PortRange(440, 450))) == [
        talk("10.0.1.0", TCP, 1000, 440),
        talk("10.0.1.255", TCP, 1000, 440),
        talk("10.0.0.255", TCP, 1000, 440),
        talk("10.0.2.0", TCP, 1000, 440),
        talk("10.0.1.0", UDP, 1000, 440),
        talk("10.0.1.0", TCP, 1000, 450),
        talk("10.0.1.0", TCP, 1000, 439),
        talk("10.0.1.0", TCP, 1000, 451),
    ]


@pytest.mark.parametrize(("protocol", "other"), [(TCP, UDP), (UDP, TCP), (GRE, GRE + 1), (255, 0)])
def test_another_protocol_stands_outside_and_only_two_have_ports(protocol: int, other: int) -> None:
    sources = PortRange(1, 0xFFFF)
    found = [each.transport for each in around(Classifier(0, protocol=protocol, source_port=sources))]
    if protocol in {TCP, UDP}:
        ends = [(protocol, 1, 2000), (other, 1, 2000), (protocol, 0xFFFF, 2000)]
    else:
        ends = [(protocol, 0, 0), (other, 0, 0)]
    assert found == [Transport(*each) for each in ends]


def test_prefixes_at_the_ends_of_all_addresses_have_one_neighbour() -> None:
    low, high = (IPv4Network(text) for text in ("0.0.0.0/30", "255.255.255.252/30"))
    sources = [[str(each.source) for each in around(Classifier(0, source=net))] for net in (low, high)]
    assert sources[0] == [str(low[0]), str(low[3]), "0.0.0.4"]
    assert sources[1] == ["255.255.255.252", "255.255.255.255", "255.255.255.251"]
    six = around(Classifier(0, source=IPv6Network("2001:db8::/127")))
    assert [int(each.source or 0) - (0x20010DB8 << 96) for each in six] == [0, 1, -1, 2]


PORTS, LATER = PortRange(440, 450), PortRange(450, 460)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Classifier(1, protocol=TCP), Classifier(2, protocol=UDP), None),
        (Classifier(1, protocol=TCP), Classifier(2), Classifier(0, protocol=TCP)),
        (Classifier(1), Classifier(2, protocol=UDP), Classifier(0, protocol=UDP)),
        (Classifier(1, source=SITE), Classifier(2, source=IPv4Network("10.0.2.0/24")), None),
        (Classifier(1, source=SITE), Classifier(2, source=IPv4Network("10.0.0.0/8")), Classifier(0, source=SITE)),
        (Classifier(1, source=SITE), Classifier(2, source=IPv6Network("::/0")), None),
        (Classifier(1), Classifier(2, source=SITE), Classifier(0, source=SITE)),
        (
            Classifier(1, source_port=PORTS, destination_port=LATER),
            Classifier(2, source_port=LATER),
            Classifier(0, source_port=PortRange(450, 450), destination_port=LATER),
        ),
        (Classifier(1, source_port=PORTS), Classifier(2, source_port=PortRange(451, 460)), None),
        (Classifier(1, dscp=3), Classifier(2, dscp=4), Classifier(0)),
    ],
)
def test_two_rules_share_what_both_take(one: Classifier, other: Classifier, expected: Classifier | None) -> None:
    assert (_common(one, other), _common(other, one)) == (expected, expected)


def test_an_entry_is_a_rule_with_the_ports_of_its_protocol() -> None:
    port = PortRange(7, 7), PortRange(9, 9)
    of_tcp = Match(ipv4_src=SITE, ip_proto=TCP, tcp_src=7, tcp_dst=9, udp_src=8, udp_dst=8)
    assert _as_rule(of_tcp) == Classifier(0, None, SITE, None, TCP, *port)
    assert _as_rule(Match(ip_proto=UDP, udp_src=7, udp_dst=9)) == Classifier(0, None, None, None, UDP, *port)
    assert _as_rule(Match()) == Classifier(0)
    asked = conversations(classified(), [Match(ipv4_src=SITE)])
    assert [str(each.source) for each in asked[1:]] == ["10.0.1.0", "10.0.1.255", "10.0.0.255", "10.0.2.0"]


def test_a_conversation_has_its_source_only_in_packets_of_its_family() -> None:
    own = Conversation(IPv6Address("2001:db8::1"), Transport(UDP, 1, 2))
    assert own.of(PACKET) == replace(PACKET, transport=Transport(UDP, 1, 2))
    assert talk("10.0.9.9", UDP, 1, 2).of(PACKET).source == IPv4Address("10.0.9.9")
    texts = [str(each) for each in (ORDINARY, own, talk(None, GRE, 0, 0), talk("10.0.9.9"))]
    assert texts == [
        "",
        ", from 2001:db8::1, protocol 17 ports 1 to 2",
        ", protocol 47",
        ", from 10.0.9.9",
    ]


@pytest.mark.parametrize(
    ("rule", "differing"),
    [
        (Classifier(1, dscp=0), {"dscp": 1}),
        (Classifier(1, source=SITE), {"source": IPv4Address("10.0.2.1")}),
        (Classifier(1, destination=IPv4Network("10.0.4.0/24")), {"destination": IPv4Address("10.0.5.1")}),
        (Classifier(1, protocol=TCP), {"transport": Transport(UDP)}),
        (Classifier(1, source_port=PortRange(1000, 1000)), {"transport": Transport(TCP, 1001, 2000)}),
        (Classifier(1, destination_port=PortRange(2000, 2000)), {"transport": Transport(TCP, 1000, 1999)}),
    ],
)
def test_a_rule_takes_packets_with_all_its_fields(rule: Classifier, differing: dict[str, object]) -> None:
    layout = classified(rule, Classifier(0))
    classes = list(layout.classes)
    found = [class_of(each, layout, classes).priority for each in (PACKET, replace(PACKET, **differing))]  # type: ignore[arg-type]
    assert found == [1, 0]
    assert class_of(PACKET, layout, classes[:1]) == classes[0], "a class that is not planned gives the last one that is"
