"""An inventory says everything once and nothing that a program could misread; errors name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_app.framework.tls import TlsFiles
from kuijia_app.preparation.sessions import watched_name
from kuijia_app.tables.bfd import LAST_BFD_PATH_ID
from kuijia_base.errors import InputError
from te_solver.model.topology import Link, Topology
from testbed.boxes.inventory import DEFAULT_BRIDGE, read_inventory
from testbed.machine.ovs import Datapath

GOOD = """\
controller: {address: 192.0.2.1}
ssh: {user: lab, sudo: true, port: 2222}
switches:
  - {node: a, address: 192.0.2.11, management: eth0, links: {b: eth1}, host: eth2}
  - {node: b, address: box-b, management: eno1, links: {a: eth1}, user: root, sudo: false, datapath: netdev}
hosts:
  - {node: a, address: "2001:db8::3", management: eth0, interface: eth1}
"""
PAIR = Topology("pair", ("a", "b"), (Link("a", "b", 20.0), Link("b", "a", 20.0)))


def written(folder: Path, text: str) -> Path:
    path = folder / "inventory.yaml"
    path.write_text(text)
    return path


def test_what_a_box_leaves_out_is_what_the_inventory_says_of_all(tmp_path: Path) -> None:
    inventory = read_inventory(written(tmp_path, GOOD))
    a, b = inventory.switches["a"], inventory.switches["b"]
    assert (a.login.user, a.login.sudo, a.login.port) == ("lab", True, 2222)
    assert (b.login.user, b.login.sudo, b.datapath) == ("root", False, Datapath.USERSPACE)
    assert (a.bridge, a.datapath, a.interfaces, b.interfaces) == (
        DEFAULT_BRIDGE,
        Datapath.KERNEL,
        ("eth1", "eth2"),
        ("eth1",),
    )
    assert [box.name for box in inventory.boxes] == ["switch a", "switch b", "host a"]
    inventory.require_fit(PAIR)


@pytest.mark.parametrize(
    ("before", "after", "line", "problem"),
    [
        ("eth2}", "eth0}", 4, "eth0 is the management interface"),
        ("host: eth2", "host: eth1", 4, "eth1 is cabled twice"),
        ("{b: eth1}", "{b: -x}", 4, "an interface '-x'"),
        ("{b: eth1}", "{b: 'eth1;reboot'}", 4, "an interface 'eth1;reboot'"),
        ("{b: eth1}", "{b: all}", 4, "an interface 'all'"),
        ("{b: eth1}", "{b: '../../x'}", 4, "an interface '../../x'"),
        ("{b: eth1}", "{}", 4, "links names none"),
        ("{b: eth1}", "[eth1]", 4, "links is not a mapping"),
        ("{b: eth1}", "{b: null}", 4, "an interface is null"),
        ("address: box-b", "address: ~", 5, "address is null"),
        ("user: lab", "key: null", 2, "a file is null"),
        ("address: box-b", "address: -oProxyCommand=reboot", 5, "address '-oProxyCommand=reboot'"),
        ("user: root", "user: -lroot", 5, "user '-lroot'"),
        ("node: b", "node: a", 5, "a second switch 'a'"),
        ("datapath: netdev", "datapath: dpdk", 5, "datapath 'dpdk'"),
        ("port: 2222", "port: 70000", 2, "port 70000"),
        ("user: lab", "key: missing", 2, "there is no file"),
        ("user: lab", "key: ~no-such-user/key", 2, "file '~no-such-user/key' cannot be found"),
        ("user: lab", f"known_hosts: {'x' * 5000}", 2, "cannot be found (File name too long)"),
        ("192.0.2.1}", f"192.0.2.1, tls: {{key: {'x' * 5000}, certificate: c, ca: a}}}}", 1, "(File name too long)"),
        ('{node: a, address: "', '{node: b, address: "', 7, "no switch 'b' has an interface to a host"),
        ("controller: {address: 192.0.2.1}", "controller: {}", 1, "controller has no address"),
        ("address: 192.0.2.1}", "address: 0.0.0.0}", 1, "address '0.0.0.0'"),
        ("address: 192.0.2.1}", "address: '2001:db8::1'}", 1, "address '2001:db8::1'"),
        ("192.0.2.1}", "192.0.2.1, tls: {key: k, certificate: c}}", 1, "tls has no ca"),
        ("192.0.2.1}", "192.0.2.1, tls: {key: k, certificate: c, ca: a}}", 1, "there is no file"),
        ("host: eth2", "host: eth2, bridge: kuijia-lab", 4, "bridge 'kuijia-lab'"),
        ("interface: eth1", "interfaces: eth1", 7, "unknown key 'interfaces'"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, before: str, after: str, line: int, problem: str) -> None:
    assert before in GOOD
    with pytest.raises(InputError) as caught:
        read_inventory(written(tmp_path, GOOD.replace(before, after)))
    assert problem in caught.value.problem
    assert caught.value.place == str(line)


TWICE = """\
controller: {address: 192.0.2.1}
ssh: {user: lab}
switches:
  - {node: a, address: box, management: eth0, links: {b: eth1}, host: eth2}
  - {node: b, address: box, management: eth3, links: {a: eth4}, bridge: kuijia-b}
hosts:
  - {node: a, address: box, management: eth0, interface: eth5}
"""
"""One machine that is three boxes."""


def test_one_machine_can_be_several_boxes(tmp_path: Path) -> None:
    assert len(read_inventory(written(tmp_path, TWICE)).boxes) == 3


@pytest.mark.parametrize(
    ("before", "after", "line", "problem"),
    [
        ("{a: eth4}", "{a: eth1}", 5, "eth1 is an interface of switch a at the same address"),
        ("interface: eth5", "interface: eth2", 7, "eth2 is an interface of switch a at the same address"),
        ("{a: eth4}", "{a: eth0}", 5, "eth0 is the management interface of switch a at the same address"),
        ("management: eth3", "management: eth1", 5, "eth1, the management interface, is used by switch a"),
        (", bridge: kuijia-b", "", 5, "switch a at the same address has a bridge 'kuijia' too"),
    ],
)
def test_boxes_at_one_address_keep_out_of_each_others_way(
    tmp_path: Path, before: str, after: str, line: int, problem: str
) -> None:
    assert before in TWICE
    with pytest.raises(InputError) as caught:
        read_inventory(written(tmp_path, TWICE.replace(before, after)))
    assert problem in caught.value.problem
    assert caught.value.place == str(line)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("management: eth3, links: {a: eth4}, bridge: kuijia-b", "port: 2222, management: eth0, links: {a: eth1}"),
        (", bridge: kuijia-b", ", ovs: /run/second"),
    ],
)
def test_boxes_at_one_address_may_be_containers_or_have_an_open_vswitch_each(
    tmp_path: Path, before: str, after: str
) -> None:
    assert before in TWICE
    assert len(read_inventory(written(tmp_path, TWICE.replace(before, after))).boxes) == 3


def test_keys_are_looked_for_beside_the_inventory(tmp_path: Path) -> None:
    (tmp_path / "lab key").touch()
    inventory = read_inventory(written(tmp_path, GOOD.replace("user: lab", "key: lab key")))
    assert inventory.switches["a"].login.key == tmp_path / "lab key"


def test_switches_connect_by_tls_where_the_inventory_says_with_what(tmp_path: Path) -> None:
    plain = read_inventory(written(tmp_path, GOOD))
    assert (plain.controller.protocol, plain.controller.host, plain.controller.port) == ("tcp", "192.0.2.1", 6653)
    for name in ("k", "c", "a"):
        (tmp_path / name).touch()
    tls = "192.0.2.1, port: 6640, tls: {key: k, certificate: c, ca: a}}"
    secure = read_inventory(written(tmp_path, GOOD.replace("192.0.2.1}", tls))).controller
    assert (secure.protocol, secure.port) == ("ssl", 6640)
    assert secure.tls == TlsFiles(tmp_path / "k", tmp_path / "c", tmp_path / "a")


def test_names_of_cables_made_from_a_bridge_are_no_longer_than_the_kernel_allows(tmp_path: Path) -> None:
    longest = "kuijia-8"
    inventory = read_inventory(written(tmp_path, GOOD.replace("host: eth2", f"host: eth2, bridge: {longest}")))
    assert len(watched_name(inventory.switches["a"].bridge, LAST_BFD_PATH_ID)) < 16


def test_boxes_must_be_those_of_the_topology(tmp_path: Path) -> None:
    inventory = read_inventory(written(tmp_path, GOOD))
    links = (*PAIR.links, Link("b", "c", 20.0), Link("c", "b", 20.0))
    with pytest.raises(InputError, match="switches: no switch for node c of three, expected"):
        inventory.require_fit(Topology("three", ("a", "b", "c"), links))
    others = Topology("others", ("a", "1", "2"), (Link("a", "1", 20.0), Link("1", "2", 20.0)))
    problem = "switches: no switch for nodes 1, 2 of others; switch b is no node of others, expected one for each"
    with pytest.raises(InputError, match=problem):
        inventory.require_fit(others)
    with pytest.raises(InputError, match="site b has no host"):
        inventory.require_hosts({"a", "b"})
