"""Three bridges of a user's own, with ids, ports and names of their own, and links of 1,500 bytes; real packets.

a ---------- c        a-c, a-b and b-c carry 20 Mbit/s
 \\          /
  \\-- b ---/          each switch has a host
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kuijia_app.tables.stated_wiring import StatedWiring, SwitchEnds
from kuijia_app.tables.wiring import HostEnd, Wiring
from kuijia_app.tables.wiring_file import wiring_text
from kuijia_base.commands import run_batch, run_command
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import PairPlan, Plan, Tunnel
from testbed.machine.network_namespace import disable_ipv6, network_of, private_network
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.network.bfd import parse_bfd_show
from testbed.network.bridges import site_commands, site_host
from testbed.network.hosts import Host
from tests.kuijia_app.plans import both_ways

TRIANGLE = both_ways("triangle", "a b c", "a-c b-c a-b", capacity=20.0)
BRIDGES = {"a": "br-paris", "b": "br-amsterdam", "c": "br-rome"}
NUMBERS = {"a": 0xC8, "b": 0xD4BED9A1002A, "c": 0x2B}
PORTS = {"a": {"c": 7, "b": 12}, "b": {"a": 2, "c": 31}, "c": {"a": 5, "b": 4}}
HOST_PORTS = {"a": 3, "b": 9, "c": 1}


def stated_wiring() -> StatedWiring:
    usual = Wiring(TRIANGLE)
    return StatedWiring(
        "own",
        {
            node: SwitchEnds(
                NUMBERS[node],
                PORTS[node],
                HostEnd(HOST_PORTS[node], usual.host_address(node), usual.prefixes(node)),
            )
            for node in TRIANGLE.nodes
        },
    )


def plan() -> Plan:
    """Return 16 Mbit/s from a and from b to c, each over its own link; the other way is each one's backup."""
    paths = {("a", "c"): (("a", "c"), ("a", "b", "c")), ("b", "c"): (("b", "c"), ("b", "a", "c"))}
    pairs: list[PairPlan] = []
    for (source, target), (own, other) in paths.items():
        for ends, ways in (((source, target), (own, other)), ((target, source), (own[::-1], other[::-1]))):
            first = 16 + 2 * len(pairs)
            tunnels = (Tunnel(first, ways[0], 16.0, 1.0), Tunnel(first + 1, ways[1], 0.0, 0.0))
            pairs.append(PairPlan(*ends, 16.0, 16.0, tunnels))
    return Plan(TRIANGLE, tuple(pairs), "max-throughput", 64.0, "none", 0.0)


class OwnSwitches:
    """The bridges while they run, in the calling thread's network namespace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ovs = PrivateOvs(folder / "ovs", Datapath.USERSPACE)
        self.hosts: dict[str, Host] = {}
        self.plan_file, self.wiring_file = folder / "plan.json", folder / "wiring.yaml"
        save_plan(plan(), self.plan_file)
        self.wiring_file.write_text(wiring_text(stated_wiring()))

    def kuijia(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run `kuijia` on the plan with the wiring and the database of the bridges: `switches check` and its like."""
        return subprocess.run(
            [sys.executable, "-m", "kuijia", *words, str(self.plan_file), *self.options()],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def options(self) -> list[str]:
        return ["--wiring", str(self.wiring_file), "--ovsdb", self.ovs.database]

    def interface(self, switch: str, other: str) -> str:
        return f"{switch}-{other}"

    def state(self) -> dict[str, str]:
        """Return everything that preparation may change, as texts."""
        found = {
            table: self.ovs.vsctl("--format=json", f"--columns={columns}", "list", table)
            for table, columns in {
                "Bridge": "name,datapath_id,datapath_type,fail_mode,protocols,other_config,external_ids,ports",
                "Port": "name,interfaces,qos,external_ids,other_config,tag",
                "Interface": "name,type,ofport,mtu,mtu_request,bfd,external_ids,options",
                "QoS": "_uuid,type,other_config,queues,external_ids",
                "Queue": "_uuid,other_config,external_ids",
            }.items()
        }
        found |= {table: "\n".join(sorted(text.split("],["))) for table, text in found.items()}
        found["show"] = self.ovs.vsctl("show")
        found["qdiscs"] = run_command(["tc", "qdisc", "show"])
        for name in self.devices():
            for what in ("class", "filter"):
                found[f"{what} {name}"] = run_command(["tc", what, "show", "dev", name])
        found["links"] = run_command(["ip", "-oneline", "link", "show"])
        return found

    def session_states(self) -> list[str]:
        """Return the state of both ends of every BFD session."""
        return [end.state for end in parse_bfd_show(self.ovs.appctl("bfd/show")).values()]

    def devices(self) -> list[str]:
        return [self.interface(a, b) for a in TRIANGLE.nodes for b in (*PORTS[a], "host")]

    def set_link(self, a: str, b: str, state: str) -> None:
        for name in (self.interface(a, b), self.interface(b, a)):
            run_command(["ip", "link", "set", name, state])

    def controlled_by(self, port: int) -> None:
        for bridge in BRIDGES.values():
            self.ovs.vsctl("set-controller", bridge, f"tcp:127.0.0.1:{port}")


@contextmanager
def own_switches(folder: Path) -> Iterator[OwnSwitches]:
    """Build the bridges and their hosts in a private network namespace, as a user would: nothing is prepared."""
    with private_network(), ExitStack() as undo:
        switches = OwnSwitches(folder)
        for a, b in TRIANGLE.edges:
            ends = switches.interface(a, b), switches.interface(b, a)
            run_command(["ip", "link", "add", "name", ends[0], "type", "veth", "peer", "name", ends[1]])
        for node in TRIANGLE.nodes:
            _add_host(switches, node, undo)
        run_batch("ip", [["link", "set", name, "up"] for name in switches.devices()])
        undo.callback(switches.ovs.stop)
        switches.ovs.start()
        for node, bridge in BRIDGES.items():
            ports = {switches.interface(node, other): number for other, number in PORTS[node].items()}
            ports[switches.interface(node, "host")] = HOST_PORTS[node]
            settings = ["datapath_type=netdev", f"other_config:datapath-id={NUMBERS[node]:016x}"]
            words = ["add-br", bridge, "--", "set", "Bridge", bridge, *settings]
            for name, number in ports.items():
                words += ["--", "add-port", bridge, name, "--", "set", "Interface", name, f"ofport_request={number}"]
            switches.ovs.vsctl(*words)
        yield switches


def _add_host(switches: OwnSwitches, node: str, undo: ExitStack) -> None:
    near, far = switches.interface(node, "host"), f"{node}0"
    holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
    undo.callback(holder.wait)
    undo.callback(holder.kill)
    assert holder.stdout is not None
    undo.callback(holder.stdout.close)
    holder.stdout.readline()  # its namespace is there
    run_command(["ip", "link", "add", "name", near, "type", "veth", "peer", "name", far])
    run_command(["ip", "link", "set", far, "address", _mac(node), "netns", str(holder.pid)])
    wiring = stated_wiring().of(TRIANGLE)
    sites = {site.name: site for site in wiring.sites}
    setup = site_host(sites[node], wiring, {name: _mac(name) for name in sites if name != node})
    with network_of(holder.pid):
        disable_ipv6()
        run_batch("ip", site_commands(far, setup))
        run_command(["ethtool", "-K", far, "tx", "off"])
    switches.hosts[node] = Host(node, sites[node].address, far, holder.pid)
    undo.callback(switches.hosts[node].end_programs)


def _mac(node: str) -> str:
    return next(site.mac for site in stated_wiring().of(TRIANGLE).sites if site.name == node)
