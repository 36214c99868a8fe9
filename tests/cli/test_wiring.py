"""The verb `kuijia wiring`: files to start from, and files from what Open vSwitch's tools print."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from kuijia.cli.main import main
from kuijia_app.tables.wiring import Neighbours, Wiring
from kuijia_app.tables.wiring_file import load_wiring
from kuijia_base.commands import MODULES, kuijia_command
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from testbed.crosscheck.dummy_switches import DummyNetwork
from tests.kuijia_app.dummy_switches import free_port
from tests.kuijia_app.plans import both_ways
from tests.kuijia_app.wirings import permuted

LINE = both_ways("line", "a b", "a-b")


def test_the_example_states_the_default_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wiring", "example", "fig1", "-o", str(tmp_path / "fig1.json")]) == 0
    assert capsys.readouterr().out == f"wrote 4 switches to {tmp_path / 'fig1.json'}\n"
    assert main(["wiring", "example", "fig1"]) == 0
    printed = capsys.readouterr().out
    assert yaml.safe_load(printed) == json.loads((tmp_path / "fig1.json").read_text())
    topology = load_topology(shipped_network("fig1"))
    usual, found = Wiring(topology), load_wiring(tmp_path / "fig1.json").of(topology)
    for node in topology.nodes:
        assert (found.datapath_id(node), list(found.ports(node))) == (usual.datapath_id(node), list(usual.ports(node)))
    assert found.sites == usual.sites
    assert [found.gateways(node) for node in topology.nodes] == [(usual.prefix(node)[254],) for node in topology.nodes]


@pytest.mark.ovs
def test_numbers_come_from_what_the_tools_of_open_vswitch_print(tmp_path: Path) -> None:
    stated = permuted(LINE, seed=3, neighbours=Neighbours.LEARNED)
    wiring = stated.of(LINE)
    interfaces = {}
    with DummyNetwork(wiring, tmp_path) as network:
        shown = network.ovs.ofctl("show", network.bridge("a"))
        columns = ("--columns=name,datapath_id", "list", "Bridge", network.bridge("b"))
        listed = network.ovs.vsctl("--format=json", "--", *columns, "--", "--columns=name,ofport", "list", "Interface")
        for node, other in ("ab", "ba"):
            host = network.interface(node, wiring.host_port(node))
            prefixes = [str(prefix) for prefix in wiring.prefixes(node)]
            links = {other: network.interface(node, wiring.port(node, other))}
            interfaces[node] = {"links": links, "host": {"port": host, "prefixes": prefixes}}
    (tmp_path / "a.txt").write_text(shown)
    (tmp_path / "b.json").write_text(listed)
    (tmp_path / "cables.yaml").write_text(json.dumps({"switches": interfaces}))
    outputs = [f"{node}={tmp_path / file}" for node, file in (("a", "a.txt"), ("b", "b.json"))]
    assert main(["wiring", "from-ovs", str(tmp_path / "cables.yaml"), *outputs, "-o", str(tmp_path / "w.yaml")]) == 0
    assert load_wiring(tmp_path / "w.yaml").switches == stated.switches


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["from-ovs", "cables.yaml", "a"], "option:NODE=FILE: 'a' has no =, expected NODE=FILE, once for each switch"),
        (["discover", "--switch", "a=x"], "option:--switch: 'a=x', expected NODE=DATAPATH-ID, with 16 hexadecimal"),
        (["discover", "--not-ours", "1/y"], "option:--not-ours: '1/y', expected 16 hexadecimal digits"),
        (["discover", "--host", "192.0.2.1"], "192.0.2.1:6653: cannot listen: "),
        (["example", "fig1", "-o", "none/there.yaml"], "none/there.yaml: "),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: list[str],
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cables.yaml").write_text("switches: {}")
    assert main(["wiring", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {problem}")


@pytest.mark.slow
def test_discovery_without_a_switch_says_so() -> None:
    port = free_port()
    command = kuijia_command("wiring", "discover", "--seconds", "1", "--port", str(port))
    outcome = subprocess.run(command, cwd=MODULES, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    problem = f"no switch connected to 127.0.0.1:{port}, expected switches that use it as controller"
    assert outcome.stderr == f"error: wiring:discover: {problem}\n"
