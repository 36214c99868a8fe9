"""Wiring files: what they say is used, and whatever contradicts itself or the plan is refused in one line."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from kuijia_app.control.liveness import LivenessTracker
from kuijia_app.control.roles import misfit
from kuijia_app.proof.verification import Verifier
from kuijia_app.tables.options import Form, Liveness, PipelineOptions
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.stated_wiring import Mask, StatedWiring, SwitchEnds, stated
from kuijia_app.tables.wiring import Wiring
from kuijia_app.tables.wiring_file import load_wiring, wiring_text
from kuijia_base.errors import InputError, UnsoundError
from te_solver.model.failures import single_links
from te_solver.model.topology import Topology
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of
from tests.kuijia_app.wirings import permuted

LAST_PORT = 0xFEFF

LINE = both_ways("line", "a b", "a-b")

GOOD = """\
version: 1
switches:
  a:
    datapath_id: "00:00:00:00:00:00:00:2a"
    links: {b: 7}
    host: {port: 3, prefixes: [10.1.0.0/16, 192.168.7.0/24], address: 10.1.2.3}
  b:
    datapath_id: 0x2b
    links: {a: 1}
    host: {port: 2, prefixes: [10.2.0.1]}
not_ours: ["0000aa0000000000/ffffff0000000000", 99]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "wiring.yaml"
    path.write_text(text)
    return path


def test_a_wiring_has_the_numbers_of_the_file(tmp_path: Path) -> None:
    wiring = load_wiring(written(tmp_path, GOOD)).of(LINE)
    assert [wiring.datapath_id(node) for node in "ab"] == [0x2A, 0x2B]
    assert [wiring.switch_of(number) for number in (0x2A, 0x2B, 1)] == ["a", "b", None]
    assert [wiring.number(node) for node in "ab"] == [1, 2]
    assert (wiring.port("a", "b"), wiring.host_port("a"), list(wiring.ports("a"))) == (7, 3, [7, 3])
    assert [wiring.neighbour_at("a", port) for port in (7, 3, 1)] == ["b", None, None]
    assert wiring.prefixes("a") == (IPv4Network("10.1.0.0/16"), IPv4Network("192.168.7.0/24"))
    assert wiring.host_address("a") == IPv4Address("10.1.2.3")
    assert wiring.host_address("b") == IPv4Address("10.2.0.1")
    assert [wiring.is_not_ours(number) for number in (0xAA_00_0000_0001, 99, 100, 0xAB_00_0000_0001)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_written_wiring_is_read_back_the_same(tmp_path: Path, *, as_json: bool) -> None:
    awkward = Topology("awkward", ("no", "new york", "ünï: x"), both_ways("t", "p q r", "p-q q-r").links[:0])
    found = stated(Wiring(awkward))
    wiring = StatedWiring("any", found.switches, (Mask(5), Mask(0xFF00, 0xFF00)))
    path = written(tmp_path, wiring_text(wiring, as_json=as_json, remarks=["a remark"]))
    again = load_wiring(path)
    assert (again.switches, again.not_ours) == (wiring.switches, wiring.not_ours)
    default = load_wiring(written(tmp_path, wiring_text(stated(Wiring(LINE)), as_json=as_json))).of(LINE)
    assert [[default.datapath_id(node), *default.ports(node)] for node in "ab"] == [[1, 1, 2], [2, 1, 2]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: 1", "version: 2", "1: version 2, expected 1"),
        ("0x2b", "0xzz", "8: switches.b.datapath_id: '0xzz', expected 16 hexadecimal digits"),
        (
            "0x2b",
            "0",
            "switches.b.datapath_id: 0000000000000000, expected another one: Open vSwitch takes none of zeros",
        ),
        ("{b: 7}", "{b: 65280}", "5: switches.a.links.b: '65280', expected a port number from 1 to 65279"),
        ("0x2b", "42", "switches.b.datapath_id: 000000000000002a is also that of a, expected one of its own"),
        ("0x2b", "99", "not_ours[1]: it covers b, expected switches of others only"),
        ("{a: 1}", "{a: 2}", "switches.b.host.port: port 2 is also the one to a, expected one port for each cable"),
        ("{a: 1}", "{a: 0}", "9: switches.b.links.a: '0', expected a port number from 1 to 65279"),
        ("{a: 1}", "{a: 1, c: 9}", "switches.b.links.c: unknown node 'c', expected a switch of this file"),
        ("{a: 1}", "{}", "switches.a.links.b: b has no port to a, expected both ends of each link"),
        ("{a: 1}", "{a: 1, a: 4}", "9: switches.b.links.a is given twice, expected each node once"),
        ("[10.2.0.1]", "[10.1.255.0/24]", "switches.b.host.prefixes[0]: 10.1.255.0/24 overlaps 10.1.0.0/16 of a"),
        ("[10.2.0.1]", "[10.2.0.1/24]", "10: switches.b.host.prefixes: '10.2.0.1/24' has host bits"),
        ("10.1.2.3", "10.3.2.3", "6: switches.a.host.address: 10.3.2.3 is in none of its prefixes"),
        ("not_ours", "notours", "11: unknown key 'notours', expected the keys version, switches, not_ours"),
        ('"0000aa', '"00aa', "11: not_ours: '00aa0000000000/ffffff0000000000', expected 16 hexadecimal digits"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_line_or_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as error:
        load_wiring(path)
    assert str(error.value).startswith(f"{path}:{message}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (both_ways("more", "a b c", "a-b"), "switches: no switch 'c', expected every node of more"),
        (both_ways("less", "a", ""), "switches.b: unknown node 'b', expected a node of less"),
        (both_ways("apart", "a b", ""), "switches.a.links.b: apart has no such link"),
    ],
)
def test_a_wiring_of_another_network_is_refused(tmp_path: Path, network: Topology, message: str) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(InputError) as error:
        load_wiring(path).of(network)
    assert str(error.value).startswith(f"{path}:{message}")


def test_a_link_without_a_port_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("{b: 7}", "{}").replace("{a: 1}", "{}"))
    with pytest.raises(InputError) as error:
        load_wiring(path).of(LINE)
    assert str(error.value) == (
        f"{path}:switches.a.links: no port to 'b', a neighbour in line, expected a port for each link"
    )


def test_traffic_needs_a_host_at_both_ends_but_not_on_the_way() -> None:
    network = both_ways("row", "a b c", "a-b b-c")
    found = stated(Wiring(network))
    transit = {**found.switches, "b": replace(found.switches["b"], host=None)}
    options = PipelineOptions(wiring=StatedWiring("row.yaml", transit))
    through = plan_of(network, "a-b-c")
    tables = build_tables(through, options)
    assert Verifier(through, tables, options).run(single_links(network)).is_sound
    with pytest.raises(InputError, match=r"row\.yaml:switches\.b: it has no host, but one is needed"):
        build_tables(plan_of(network, "a-b"), options)


def test_ports_that_bfd_sessions_use_are_refused() -> None:
    plan = motivation_plan()
    wiring = permuted(plan.topology, seed=1, last_port=LAST_PORT)
    with pytest.raises(InputError, match=r"port \d+: BFD sessions use it, expected 1 to 999"):
        build_tables(plan, PipelineOptions(wiring=wiring, liveness=Liveness.BFD))


@pytest.mark.parametrize("port", [0, 65280, 65534, 0xFFFF_FFFE])
def test_ports_that_open_vswitch_lacks_are_refused_wherever_they_come_from(port: int) -> None:
    ends = {"a": SwitchEnds(1, {"b": port}), "b": SwitchEnds(2, {"a": 1})}
    with pytest.raises(UnsoundError, match=rf"port {port}, expected 1 to 65279") as error:
        StatedWiring("any", ends)
    assert error.value.where == ("switches", "a", "links", "b")


@pytest.mark.parametrize("liveness", list(Liveness))
@pytest.mark.parametrize("form", list(Form))
def test_tables_with_permuted_numbers_are_sound(liveness: Liveness, form: Form) -> None:
    plan = motivation_plan()
    options = PipelineOptions(wiring=permuted(plan.topology, seed=2), liveness=liveness, form=form)
    usual = PipelineOptions(liveness=liveness, form=form)
    found = Verifier(plan, build_tables(plan, options), options).run(single_links(plan.topology))
    assert [str(each) for each in found.violations] == []
    same = Verifier(plan, build_tables(plan, usual), usual).run(single_links(plan.topology))
    assert (found.header_classes, found.cases) == (same.header_classes, same.cases)


def test_every_prefix_of_a_site_is_served_and_others_are_not() -> None:
    plan = motivation_plan()
    found = stated(Wiring(plan.topology))
    more = IPv4Network("172.16.4.0/22")
    s4 = found.switches["s4"]
    assert s4.host is not None
    host = replace(s4.host, prefixes=(*s4.host.prefixes, more))
    switches = {**found.switches, "s4": replace(s4, host=host)}
    options = PipelineOptions(wiring=StatedWiring("any", switches))
    tables = build_tables(plan, options)
    matched = {entry.match.ipv4_dst for entry in tables["s1"].flows if entry.match.ipv4_dst is not None}
    assert matched == {IPv4Network("10.0.4.0/24"), more}
    assert Verifier(plan, tables, options).run(single_links(plan.topology)).is_sound
    usual = PipelineOptions(wiring=found)
    faults = Verifier(plan, build_tables(plan, usual), options).run(single_links(plan.topology)).violations
    assert any("172.16.4.0" in str(fault) for fault in faults)


def test_liveness_and_fitness_go_by_the_stated_ports() -> None:
    plan = motivation_plan()
    wiring = permuted(plan.topology, seed=3).of(plan.topology)
    tracker = LivenessTracker(plan, wiring)
    changes = tracker.port_changed("s2", wiring.port("s2", "s4"), live=False)
    assert [(change.ingress, change.path_id) for change in changes] == [("s1", 16)]
    tracker.ports_described("s2", dict.fromkeys(wiring.ports("s2"), True))
    assert tracker.failed_edges == frozenset()
    assert misfit(wiring, "s2", wiring.ports("s2"), is_ours=False) is None
    problem = misfit(wiring, "s2", [1, 2, 3], is_ours=False)
    assert problem is not None
    assert problem.endswith(f"the plan expects ports {', '.join(map(str, sorted(wiring.ports('s2'))))}, "
                            "to s1, s4 and the site's host")  # fmt: skip
