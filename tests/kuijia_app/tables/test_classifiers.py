"""Classifiers: their file and its faults, the tables that they become, and the size of these."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

import pytest

from kuijia_app.control.reconciliation import IndexedTables
from kuijia_app.proof.acceptance import refusals
from kuijia_app.tables.classifiers import Classifier, Classifiers, PortRange
from kuijia_app.tables.families import Family
from kuijia_app.tables.options import Form, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS, named_layout
from kuijia_app.tables.queues import QueueLayout
from kuijia_app.tables.rules import FlowEntry, Match, SwitchTables
from kuijia_base.errors import InputError
from te_solver.model.plan import Plan
from tests.kuijia_app.plans import motivation_plan
from tests.kuijia_app.wirings import dual_stack

MOST_CLASSIFIER_ENTRIES = 1024
ETH_TYPE_IPV4, ETH_TYPE_IPV6, TCP, UDP = 0x0800, 0x86DD, 6, 17

FILE = """\
base: four
classifiers:
  - {class: 0, protocol: tcp, destination_port: 443}
  - {class: 1, dscp: 46, source: 10.0.1.0/25}
  - {class: 0, protocol: udp, source_port: 5000-5003, destination: 10.0.4.0/24}
  - {class: 0, protocol: 50}
unmatched: 1
"""

RULES = (
    Classifier(0, protocol=TCP, destination_port=PortRange(443, 443)),
    Classifier(1, dscp=46, source=IPv4Network("10.0.1.0/25")),
    Classifier(0, protocol=UDP, source_port=PortRange(5000, 5003), destination=IPv4Network("10.0.4.0/24")),
    Classifier(0, protocol=50),
)


def layout(text: str, folder: Path) -> QueueLayout:
    path = folder / "own.yaml"
    path.write_text(text)
    return named_layout(str(path))


def two_classes() -> Plan:
    plan = motivation_plan((0.5, 0.3, 0.2))
    (high,) = plan.pairs
    return replace(plan, pairs=(high, replace(high, priority=1)))


def classified(*rules: Classifier, unmatched: int = 1) -> QueueLayout:
    return replace(LAYOUTS["four"], classifiers=Classifiers(rules, unmatched))


def of_table(tables: SwitchTables, table_id: int) -> list[FlowEntry]:
    return [entry for entry in tables.flows if entry.table_id == table_id]


def test_a_layout_may_take_another_ones_queues_and_add_classifiers(tmp_path: Path) -> None:
    assert layout(FILE, tmp_path) == replace(LAYOUTS["four"], name="own", classifiers=Classifiers(RULES, 1))


def test_unmatched_packets_are_of_the_least_important_class_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    without = FILE.replace("unmatched: 1\n", "")
    for base, last in (("four", 1), ("eight", 4)):
        assert layout(without.replace("base: four", f"base: {base}"), tmp_path).classifiers.unmatched == last
    assert layout("base: eight\nunmatched: 2\n", tmp_path).classifiers == Classifiers((), 2)
    assert not layout("base: eight\n", tmp_path).classifiers.are_used


FAULTS = {
    ("base: four", "base: six"): "1: base 'six' is unknown, expected plain or eight or four",
    ("base: four", "base: four\ncontrol: high"): "2: control beside a base, which has its own",
    ("base: four", "name: mine"): "1: the file has no queues",
    ("class: 0, protocol: 50", "class: 2, protocol: 50"): "6: there is no class 2, expected one of the layout: 0, 1",
    ("unmatched: 1", "unmatched: 2"): "7: there is no class 2, expected one of the layout: 0, 1",
    ("unmatched: 1", "unmatched: low"): "7: unmatched 'low' is not a number",
    ("protocol: 50", "protocol: 256"): "6: protocol 256, expected 0 to 255",
    ("protocol: 50", "protocol: esp"): "6: protocol 'esp' is not a number, expected icmp, icmpv6, tcp, udp or a number",
    (", protocol: 50", ""): "6: a classifier matches everything, expected one of dscp, source,",
    ("protocol: 50", "destination_port: 50"): "6: destination_port without a protocol that has ports",
    ("protocol: 50", "protocol: icmp, source_port: 50"): "6: source_port without a protocol that has ports",
    ("port: 443", "port: 0"): "3: destination_port 0-0, expected 1 to 65535",
    ("port: 443", "port: 65536"): "3: destination_port 65536-65536, expected 1 to 65535",
    ("5000-5003", "5003-5000"): "5: source_port 5003-5000, expected 1 to 65535, the first one first",
    ("5000-5003", "5000-"): "5: source_port '5000-', expected a port, or a range such as 5000-5009",
    ("5000-5003", "5000-100000"): "5: source_port '5000-100000', expected a port, or a range such as 5000-5009",
    ("5000-5003", "1-1023"): "5: classifiers need 1025 flow entries up to number 3, expected at most 1024",
    ("dscp: 46", "dscp: 48"): "4: code point 48 is that of control traffic, expected another one",
    ("dscp: 46", "dscp: 64"): "4: code point 64, expected 0 to 63",
    ("10.0.1.0/25", "fe80::%eth0/64"): "4: source 'fe80::%eth0/64', expected a prefix such as",
    ("destination: 10.0.4.0/24", "source: 2001:db8::/32, destination: 10.0.4.0/24"): (
        "5: destination 10.0.4.0/24 is not of the same version of IP as source 2001:db8::/32, expected both of IPv4"
    ),
    ("10.0.1.0/25", "10.0.1.1/25"): "4: source '10.0.1.1/25', expected a prefix such as 10.0.1.0/24 or 2001:db8::/32",
    ("10.0.4.0/24", "site 4"): "5: destination 'site 4', expected a prefix such as",
    ("protocol: 50", "protocol: tcp, destination_port: 443, dscp: 0"): (
        "6: classifier 4 never decides, as classifier 1 takes all its packets, expected the narrower one first"
    ),
    ("protocol: 50", "port: 50"): "6: unknown key 'port', expected the keys class, dscp, source,",
}


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{old} -> {new}" for old, new in FAULTS])
def test_a_fault_is_named_with_its_line(tmp_path: Path, fault: tuple[str, str]) -> None:
    old, new = fault
    assert FILE.count(old) == 1
    with pytest.raises(InputError) as raised:
        layout(FILE.replace(old, new), tmp_path)
    assert str(raised.value).startswith(f"{tmp_path / 'own.yaml'}:{FAULTS[fault]}")


def test_the_number_of_classifiers_is_limited(tmp_path: Path) -> None:
    rules = "".join(f"  - {{class: 0, source: 10.{number}.0.0/16}}\n" for number in range(65))
    with pytest.raises(InputError, match=r"own\.yaml:3: 65 classifiers, expected at most 64"):
        layout(f"base: four\nclassifiers:\n{rules}", tmp_path)


def test_classifiers_lead_into_a_table_for_each_class_the_first_one_first() -> None:
    tables = build_tables(two_classes(), PipelineOptions(layout=classified(*RULES)))["s1"]
    found = {entry.match: (entry.priority, entry.goto_table) for entry in of_table(tables, 4)}
    udp = Match(eth_type=ETH_TYPE_IPV4, ipv4_dst=IPv4Network("10.0.4.0/24"), ip_proto=UDP)
    assert found == {
        Match(eth_type=ETH_TYPE_IPV4, ip_proto=TCP, tcp_dst=443): (1000, 5),
        Match(eth_type=ETH_TYPE_IPV4, ip_dscp=46, ipv4_src=IPv4Network("10.0.1.0/25")): (999, 6),
        **{replace(udp, udp_src=port): (998, 5) for port in range(5000, 5004)},
        Match(eth_type=ETH_TYPE_IPV4, ip_proto=50): (997, 5),
        Match(eth_type=ETH_TYPE_IPV4, ip_dscp=46): (150, 5),
        Match(): (100, 6),
    }


def test_a_rule_with_prefixes_takes_packets_of_their_version_of_ip_alone(tmp_path: Path) -> None:
    rules = "[{class: 0, source: 2001:db8:1::/48, destination: 2001:db8:4::/64, protocol: icmpv6}]"
    own = layout(f"base: four\nclassifiers: {rules}\nunmatched: 1\n", tmp_path)
    (rule,) = own.classifiers.rules
    source, destination = IPv6Network("2001:db8:1::/48"), IPv6Network("2001:db8:4::/64")
    match = Match(eth_type=ETH_TYPE_IPV6, ip_proto=58, ipv6_src=source, ipv6_dst=destination)
    assert list(rule.matches(Family.IPV6)) == [match]
    assert list(rule.matches(Family.IPV4)) == []
    plan = two_classes()
    stated = PipelineOptions(layout=own, wiring=dual_stack(plan.topology))
    for options, count in ((PipelineOptions(layout=own), 0), (stated, 1)):
        tables = build_tables(plan, options)["s1"]
        assert sum(entry.match.ipv6_src is not None for entry in tables.flows) == count


def test_a_prefix_covers_none_of_the_other_version_of_ip() -> None:
    everything_ipv4, everything_ipv6 = (Classifier(0, source=ip_network(text)) for text in ("0.0.0.0/0", "::/0"))
    assert not everything_ipv4.covers(everything_ipv6)
    assert not everything_ipv6.covers(everything_ipv4)
    assert everything_ipv6.covers(Classifier(1, source=IPv6Network("2001:db8::/32")))
    assert not Classifier(1, source=IPv6Network("2001:db8::/32")).covers(everything_ipv6)
    assert not everything_ipv6.covers(Classifier(1, protocol=TCP))


def test_ports_cover_those_within_them_and_no_rule_without_ports() -> None:
    wide = Classifier(0, protocol=TCP, source_port=PortRange(80, 90))
    ranges = {(80, 90): True, (82, 85): True, (79, 85): False, (85, 91): False}
    assert {ends: wide.covers(replace(wide, source_port=PortRange(*ends))) for ends in ranges} == ranges
    without = replace(wide, source_port=None)
    assert not wide.covers(without)
    assert without.covers(wide)
    assert not replace(without, destination_port=PortRange(80, 90)).covers(wide)


def test_a_class_that_is_not_planned_is_treated_as_the_last_planned_one() -> None:
    tables = build_tables(motivation_plan((0.5, 0.3, 0.2)), PipelineOptions(layout=classified(*RULES)))["s1"]
    assert [entry.actions for entry in of_table(tables, 5)] == [entry.actions for entry in of_table(tables, 6)]


def test_entries_of_classifiers_and_of_prefixes_add_up_instead_of_multiplying() -> None:
    wide = Classifier(0, protocol=TCP, source_port=PortRange(1, MOST_CLASSIFIER_ENTRIES))
    plan = two_classes()
    sizes = {
        number: len(build_tables(plan, PipelineOptions(layout=classified(*rules)))["s1"].flows)
        for number, rules in ((0, ()), (MOST_CLASSIFIER_ENTRIES, (wide,)))
    }
    assert sizes[MOST_CLASSIFIER_ENTRIES] - sizes[0] == MOST_CLASSIFIER_ENTRIES


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("tagging", Tagging)
def test_every_form_of_the_tables_is_accepted_and_names_no_table_without_entries(tagging: Tagging, form: Form) -> None:
    options = PipelineOptions(layout=classified(*RULES), tagging=tagging, form=form)
    for tables in build_tables(two_classes(), options).values():
        assert list(refusals(tables)) == []
        present = {entry.table_id for entry in tables.flows}
        assert {entry.goto_table for entry in tables.flows} - {None} <= present
        matches = [(entry.table_id, entry.priority, entry.match) for entry in tables.flows]
        assert len(set(matches)) == len(matches)


def test_entries_that_lead_into_classification_attract_traffic() -> None:
    tables = IndexedTables.of(build_tables(two_classes(), PipelineOptions(layout=classified(*RULES)))["s1"])
    assert {key.table_id for key in tables.transit} == {0}
    assert all(entry.goto_table is None for entry in tables.transit.values())
