"""The proof with classifiers: sound tables pass in every form, and tables that classify wrongly do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network

import pytest

from kuijia_app.proof.classes import class_of, conversations
from kuijia_app.proof.model.packet import Packet, Transport
from kuijia_app.proof.verification import Violation
from kuijia_app.tables.classifiers import Classifier, PortRange
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.rules import FlowEntry, SwitchTables
from tests.kuijia_app.proof.verifying import verify
from tests.kuijia_app.tables.test_classifiers import RULES, classified, two_classes
from tests.kuijia_app.wirings import dual_stack

TCP, UDP = 6, 17

OVERLAPPING = (
    Classifier(1, protocol=TCP, destination_port=PortRange(440, 450), source=IPv4Network("10.0.1.0/24")),
    Classifier(0, protocol=TCP, destination_port=PortRange(443, 460)),
    Classifier(1, dscp=46),
    Classifier(0, source=IPv4Network("10.0.0.0/8"), protocol=UDP),
)

Change = Callable[[FlowEntry], list[FlowEntry]]


def found_with(change: Change | None, options: PipelineOptions) -> list[Violation]:
    tables = build_tables(two_classes(), options)
    if change is not None:
        flows = tuple(each for entry in tables["s1"].flows for each in change(entry))
        tables["s1"] = SwitchTables(tables["s1"].groups, flows)
    return verify(two_classes(), tables, options).violations


@pytest.mark.parametrize("rules", [RULES, OVERLAPPING, ()], ids=["apart", "overlapping", "none"])
@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("tagging", Tagging)
def test_tables_with_classifiers_are_sound(tagging: Tagging, form: Form, rules: tuple[Classifier, ...]) -> None:
    liveness = Liveness.BFD if form is Form.SINGLE else Liveness.CONTROLLER
    assert (
        found_with(None, PipelineOptions(layout=classified(*rules), tagging=tagging, form=form, liveness=liveness))
        == []
    )


OF_BOTH_FAMILIES = (
    Classifier(1, source=IPv6Network("2001:db8:0:1::/65"), protocol=TCP),
    Classifier(0, source=IPv6Network("2001:db8::/32"), destination=IPv6Network("2001:db8:0:4::/64")),
    Classifier(0, source=IPv4Network("10.0.1.0/24")),
    Classifier(1, protocol=58),
)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("tagging", Tagging)
def test_rules_with_prefixes_of_ipv6_are_proved(tagging: Tagging, form: Form) -> None:
    wiring = dual_stack(two_classes().topology)
    options = PipelineOptions(layout=classified(*OF_BOTH_FAMILIES), tagging=tagging, form=form, wiring=wiring)
    assert found_with(None, options) == []


def test_a_wrong_prefix_of_ipv6_is_found() -> None:
    def widened(entry: FlowEntry) -> list[FlowEntry]:
        source = entry.match.ipv6_src
        if source is None or source.prefixlen != 65:
            return [entry]
        return [replace(entry, match=replace(entry.match, ipv6_src=source.supernet()))]

    wiring = dual_stack(two_classes().topology)
    found = found_with(widened, PipelineOptions(layout=classified(*OF_BOTH_FAMILIES), wiring=wiring))
    assert {each.rule for each in found} == {"class"}


def test_other_traffic_needs_no_class() -> None:
    options = PipelineOptions(layout=classified(*RULES), other_traffic=OtherTraffic.FORWARD)
    assert found_with(None, options) == []


def to_other_class(entry: FlowEntry) -> FlowEntry:
    return replace(entry, goto_table={5: 6, 6: 5}[entry.goto_table or 0])


def is_rule(entry: FlowEntry) -> bool:
    return entry.table_id == 4 and entry.priority > 900


BROKEN: dict[str, Change] = {
    "no rules": lambda entry: [] if is_rule(entry) else [entry],
    "rules of another class": lambda entry: [to_other_class(entry) if is_rule(entry) else entry],
    "the last rule first": lambda entry: [replace(entry, priority=2000 - entry.priority) if is_rule(entry) else entry],
    "the rest in another class": lambda entry: [
        to_other_class(entry) if (entry.table_id, entry.priority) == (4, 100) else entry
    ],
    "one port fewer": lambda entry: [] if entry.match.tcp_dst == 460 else [entry],
    "one port more": lambda entry: [
        entry,
        *([replace(entry, match=replace(entry.match, tcp_dst=461))] if entry.match.tcp_dst == 460 else []),
    ],
    "any protocol": lambda entry: [
        replace(entry, match=replace(entry.match, ip_proto=None)) if entry.match.ip_proto == UDP else entry
    ],
    "a port that no rule names": lambda entry: [
        entry,
        *(
            [replace(entry, priority=2000, match=replace(entry.match, tcp_dst=7), goto_table=5)]
            if entry.match.tcp_dst == 460
            else []
        ),
    ],
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_wrong_classification_is_found(change: Change) -> None:
    found = found_with(change, PipelineOptions(layout=classified(*OVERLAPPING)))
    assert "class" in {each.rule for each in found}


@pytest.mark.parametrize(
    ("transport", "source", "dscp", "priority"),
    [
        (Transport(TCP, 1000, 443), "10.0.1.1", 0, 1),
        (Transport(TCP, 1000, 443), "10.0.2.1", 0, 0),
        (Transport(TCP, 1000, 461), "10.0.2.1", 0, 1),
        (Transport(UDP, 1000, 443), "10.0.2.1", 0, 0),
        (Transport(UDP, 1000, 443), "11.0.2.1", 0, 1),
        (Transport(UDP, 1000, 443), "10.0.2.1", 46, 1),
        (Transport(1, 0, 0), "10.0.2.1", 0, 1),
    ],
)
def test_the_first_rule_with_a_packet_decides(transport: Transport, source: str, dscp: int, priority: int) -> None:
    layout = classified(*OVERLAPPING)
    packet = Packet(1, IPv4Address(source), IPv4Address("10.0.4.1"), dscp, transport=transport)
    assert class_of(packet, layout, list(layout.classes)).priority == priority


def test_packets_of_no_rule_keep_the_class_of_their_code_point() -> None:
    layout = classified(*RULES)
    packet = Packet(1, IPv4Address("10.0.2.1"), IPv4Address("10.0.4.1"))
    assert [class_of(replace(packet, dscp=each), layout, list(layout.classes)).priority for each in (46, 0)] == [0, 1]


def test_conversations_lie_at_the_ends_of_a_rule_and_just_outside() -> None:
    rule = Classifier(0, source=IPv4Network("0.0.0.1/32"), protocol=TCP, source_port=PortRange(440, 450))
    found = conversations(classified(rule), ())
    assert {int(each.source) for each in found if each.source is not None} == {0, 1, 2}
    inside = IPv4Address("0.0.0.1")
    of_tcp = [each.transport for each in found if each.source == inside and each.transport.protocol == TCP]
    assert {each.source_port for each in of_tcp} == {439, 440, 450, 451}
    whole = conversations(classified(Classifier(0, protocol=TCP, source_port=PortRange(1, 0xFFFF))), ())
    assert {each.transport.source_port for each in whole if each.transport.protocol == TCP} - {1000} == {1, 0xFFFF}


def test_packets_of_two_rules_are_those_of_the_narrower_prefix() -> None:
    wide = Classifier(1, source=IPv4Network("10.0.0.0/8"), protocol=UDP)
    narrow = Classifier(0, source=IPv4Network("10.0.1.0/24"), destination_port=PortRange(443, 443))
    for rules in ((wide, narrow), (narrow, wide)):
        asked = {(each.source, each.transport) for each in conversations(classified(*rules), ())}
        assert (IPv4Address("10.0.1.0"), Transport(UDP, destination_port=443)) in asked
