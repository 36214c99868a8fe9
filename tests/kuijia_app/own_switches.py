"""Three bridges as a user has them, with real packets: own datapath ids, ports, addresses and links of 1,500 bytes.

Nothing prepares them for a plan unless a test calls `make_queues`, `set_mtu` or what it tests. They live in a network
namespace of their own, which is that of the thread inside the block.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType, TracebackType

from kuijia_app.tables.options import OptionWords
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.stated_wiring import StatedWiring, SwitchEnds
from kuijia_app.tables.wiring import HostEnd
from kuijia_app.tables.wiring_file import wiring_text
from kuijia_base.commands import run_command
from kuijia_base.errors import TestbedError
from te_solver.formats.plan_file import save_plan
from te_solver.model.plan import Plan
from testbed.controllers.application_process import Event, Framework, Listening
from testbed.controllers.controller_process import ControllerProcess
from testbed.machine.network_namespace import private_network
from testbed.machine.ovs import Datapath, PrivateOvs
from testbed.network.hosts import Host
from tests.kuijia_app.dummy_switches import free_port
from tests.kuijia_app.plans import both_ways, plan_of

SITES = ("paris", "london", "rome")
CAPACITY = 20.0
_LINK_PORTS = {
    "paris": {"london": 3, "rome": 7},
    "london": {"paris": 11, "rome": 2},
    "rome": {"paris": 5, "london": 21},
}
_HOST_PORTS = {"paris": 12, "london": 4, "rome": 9}
NO_TRUNKS: Mapping[str, int] = MappingProxyType({})
FIRST_VLAN = 40
"""VLAN of the first leased link."""

_PROVIDER = ("br-west", "br-east")
_TRUNK = ("west-trunk", "east-trunk")
_DATAPATH_IDS = {"paris": 0x00C0FFEE00000001, "london": 0x00C0FFEE0000BEEF, "rome": 0x0A}


def triangle_plan() -> Plan:
    """Return a plan for all six ordered pairs of sites, each with the direct tunnel and the way round."""
    topology = both_ways("triangle", " ".join(SITES), "paris-london london-rome paris-rome", CAPACITY)
    thirds = {(a, b): next(each for each in SITES if each not in (a, b)) for a, b in permutations(SITES, 2)}
    return plan_of(topology, *(f"{a}-{b} {a}-{thirds[a, b]}-{b}" for a, b in permutations(SITES, 2)))


def second(site: str) -> str:
    """Return the name of the host of a further site at the same port."""
    return f"{site}-2"


def triangle_wiring(
    trunks: Mapping[str, int] = NO_TRUNKS, beside: Mapping[str, int] = NO_TRUNKS, own_tag: int | None = None
) -> StatedWiring:
    hosts = {
        site: HostEnd(
            _HOST_PORTS[site],
            IPv4Address(f"172.20.{number}.10"),
            (IPv4Network(f"172.20.{number}.0/24"),),
            vlan=trunks.get(site),
            tagged=own_tag is not None,
        )
        for number, site in enumerate(SITES, start=1)
    }
    switches = {site: SwitchEnds(_DATAPATH_IDS[site], _LINK_PORTS[site], hosts[site]) for site in SITES}
    for number, (site, vlan) in enumerate(beside.items(), start=11):
        prefix = IPv4Network(f"172.20.{number}.0/24")
        more = (HostEnd(_HOST_PORTS[site], prefix[10], (prefix,), vlan=vlan),)
        switches[site] = replace(switches[site], more_hosts=more)
    return StatedWiring("wiring.yaml", switches)


class OwnSwitches:
    """The bridges br-paris, br-london and br-rome, and a host at each; an interface is called after its two ends.

    Attributes:
        folder: for files of the test.
        leased: links that are VLANs through the two switches of a provider, br-west and br-east, joined by a trunk.
        trunks: VLANs of sites that are behind a switch of their own, which tags what their host sends.
        beside: VLANs of further sites behind the same switch, whose hosts are called as `second` says.
        own_tag: VLAN in whose tag the packets of all sites come, as of their own: a switch at each site adds it.
        plan, wiring: as in `plan_file` and `wiring_file`.
        ovs: the Open vSwitch of all bridges.
        hosts: by site.
        controller_port: where the bridges look for a controller after `connect`.
        undo: what ends them.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan | None = None,
        leased: Collection[tuple[str, str]] = frozenset(),
        trunks: Mapping[str, int] = NO_TRUNKS,
        beside: Mapping[str, int] = NO_TRUNKS,
        own_tag: int | None = None,
    ) -> None:
        self.folder = folder
        self.leased = leased
        self.trunks, self.beside, self.own_tag = trunks, beside, own_tag
        self._access = trunks if own_tag is None else dict.fromkeys(SITES, own_tag)
        self.plan = plan or triangle_plan()
        self.wiring = triangle_wiring(trunks, beside, own_tag).of(self.plan.topology)
        self.addresses = {site: self.wiring.host_address(site) for site in SITES}
        self.addresses |= {second(site): self.wiring.host_ends(site)[1].address for site in beside}
        self.plan_file, self.wiring_file = folder / "plan.json", folder / "wiring.yaml"
        self.hosts: dict[str, Host] = {}
        self.controller_port = free_port()
        self.undo = ExitStack()

    def __enter__(self) -> OwnSwitches:
        with self.undo as stack:
            save_plan(self.plan, self.plan_file)
            self.wiring_file.write_text(wiring_text(triangle_wiring(self.trunks, self.beside, self.own_tag)))
            stack.enter_context(private_network())
            # The path of a Unix socket may have 107 characters; a test's folder is often longer.
            short = Path(stack.enter_context(TemporaryDirectory(prefix="kj")))
            self.ovs = PrivateOvs(short / "ovs", Datapath.USERSPACE)
            stack.callback(self.ovs.stop)
            self.ovs.start()
            self._make_links()
            for site in SITES:
                self._make_host(site, site, stack)
            for site in self.beside:
                self._make_host(second(site), site, stack)
            for site in SITES:
                self._make_bridge(site)
            if self.leased:
                self._make_provider()
            for site in self._behind_access:
                self._make_access(site)
            self.undo = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo.close()

    @staticmethod
    def bridge(site: str) -> str:
        return f"br-{site}"

    def interface(self, site: str, neighbour: str) -> str:
        """Return the interface of a bridge that leads to a neighbour, or to the site's own host."""
        return f"{site[:6]}-{'host' if neighbour == site else neighbour[:6]}"

    def port(self, site: str, neighbour: str) -> int:
        return self.wiring.host_port(site) if neighbour == site else self.wiring.port(site, neighbour)

    def link_ends(self) -> list[tuple[str, str]]:
        """Return site and neighbour for both ends of all links."""
        return [(site, neighbour) for site in SITES for neighbour in self.plan.topology.neighbours[site]]

    def make_queues(self, ends: Iterable[tuple[str, str]] | None = None, rate: float = CAPACITY) -> None:
        """Make the plan's queues at ports, by default at all, in Open vSwitch's database."""
        every = [*self.link_ends(), *((site, site) for site in SITES)]
        for site, neighbour in every if ends is None else ends:
            bits = round(rate * 1e6)
            ids = {queue.queue_id: f"@queue{queue.queue_id}" for queue in PLAIN_LAYOUT.queues}
            named = ",".join(f"{number}={name}" for number, name in ids.items())
            limits = f"other-config:max-rate={bits}"
            queues = [
                word
                for priority, name in enumerate(ids.values())
                for word in ("--", f"--id={name}", "create", "Queue", limits, f"other-config:priority={priority}")
            ]
            qos = ["--", "--id=@qos", "create", "QoS", "type=linux-htb", limits, f"queues={named}"]
            self.ovs.vsctl("set", "Port", self.interface(site, neighbour), "qos=@qos", *qos, *queues)

    def remove_queues(self, site: str, neighbour: str) -> None:
        self.ovs.vsctl("clear", "Port", self.interface(site, neighbour), "qos")

    def set_mtu(self, size: int, ends: Iterable[tuple[str, str]] | None = None) -> None:
        """Let the links' ports, by default all, carry so many bytes after the Ethernet header."""
        for site, neighbour in self.link_ends() if ends is None else ends:
            self.ovs.vsctl("set", "Interface", self.interface(site, neighbour), f"mtu_request={size}")

    def cut(self, a: str, b: str) -> None:
        self.set_link(a, b, "down")

    def set_link(self, a: str, b: str, state: str) -> None:
        """Set both ends of a link "up" or "down"."""
        for site, neighbour in ((a, b), (b, a)):
            run_command(["ip", "link", "set", self.interface(site, neighbour), state])

    def connect(self, sites: Iterable[str] = SITES) -> None:
        for site in sites:
            target = f"tcp:127.0.0.1:{self.controller_port}"
            self.ovs.vsctl("set-controller", self.bridge(site), target)
            self.ovs.vsctl("set", "Controller", self.bridge(site), "max_backoff=1000", "inactivity_probe=5000")

    @contextmanager
    def controller(
        self, framework: Framework = "os-ken", words: OptionWords | None = None, **checks: object
    ) -> Iterator[ControllerProcess]:
        """Run a controller with the bridges connected to it; their tables stay when it ends.

        `checks` are the controller's options on what switches may lack, such as `missing="warn"`.
        """
        words = words or OptionWords(wiring=str(self.wiring_file))
        process = ControllerProcess(self.folder, self.plan_file, words, framework, Listening(self.controller_port))
        process.checks = checks
        process.start()
        try:
            self.connect()
            yield process
        finally:
            process.stop()

    def sends(self, source: str, target: str, size: int = 56, count: int = 5) -> float:
        """Return the share of pings with so many bytes of data that are answered, of `count` within a second."""
        words = ["ping", "-M", "do", "-c", str(count), "-i", "0.1", "-W", "1", "-s", str(size)]
        words.append(str(self.hosts[target].address))
        process = self.hosts[source].start(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.communicate()[0].decode()
        found = re.search(r"(\d+) received", output)
        if found is None:
            raise TestbedError(f"ping said: {output}")
        return int(found.group(1)) / count

    def use_gateways(self) -> None:
        """Leave hosts an address and a route by the gateway of their site."""
        for name, host in self.hosts.items():
            others = [str(address) for other, address in self.addresses.items() if other != name]
            gateway = IPv4Network((self.addresses[name], 24), strict=False)[1]
            host.batch("ip", [["neigh", "del", other, "dev", "eth0"] for other in others])
            host.batch("ip", [f"route replace 172.20.0.0/16 via {gateway} dev eth0 onlink".split()])

    def _make_links(self) -> None:
        for a, b in (("paris", "london"), ("london", "rome"), ("paris", "rome")):
            ends = self.interface(a, b), self.interface(b, a)
            if (a, b) in self.leased:
                for end in ends:
                    _join(end, _provider_end(end))
            else:
                _join(*ends)

    def _make_provider(self) -> None:
        """Make the provider's switches, which forward by MAC address as they come; each leased link is a VLAN."""
        _join(*_TRUNK)
        words = ["--"]
        for bridge, trunk in zip(_PROVIDER, _TRUNK, strict=True):
            vlans = ",".join(str(FIRST_VLAN + number) for number in range(len(self.leased)))
            words += [
                "add-br",
                bridge,
                "--",
                "set",
                "Bridge",
                bridge,
                "datapath_type=netdev",
                f"flood_vlans={vlans}",
                "--",
            ]
            words += ["add-port", bridge, trunk, "--", "set", "Interface", trunk, "mtu_request=1600", "--"]
        for vlan, (a, b) in enumerate(self.leased, FIRST_VLAN):
            for bridge, end in zip(_PROVIDER, (self.interface(a, b), self.interface(b, a)), strict=True):
                port = _provider_end(end)
                words += [
                    "add-port",
                    bridge,
                    port,
                    f"tag={vlan}",
                    "--",
                    "set",
                    "Interface",
                    port,
                    "mtu_request=1600",
                    "--",
                ]
        self.ovs.vsctl(*words[:-1])

    def _make_access(self, site: str) -> None:
        """Make a site's own switch, which learns addresses, between its hosts and a trunk to ours."""
        bridge, words = f"acc-{site}", ["datapath_type=netdev", "--", "add-port", f"acc-{site}", _access_end(site, "t")]
        for side, vlans in (("h", self._access), ("h2", self.beside)):
            if side == "h" or site in vlans:
                tag = [f"tag={vlans[site]}"] if site in vlans else []
                words += ["--", "add-port", bridge, _access_end(site, side), *tag]
        self.ovs.vsctl("add-br", bridge, "--", "set", "Bridge", bridge, *words)

    def carry_in_trunk(self, vlans: Iterable[int]) -> None:
        """Let the provider's trunk carry these VLANs only; all ports stay up."""
        self.ovs.vsctl("set", "Port", _TRUNK[0], f"trunks={','.join(map(str, vlans))}")

    @property
    def _behind_access(self) -> list[str]:
        return list(dict.fromkeys((*self._access, *self.beside)))

    def _make_host(self, name: str, site: str, stack: ExitStack) -> None:
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        stack.callback(_end, holder)
        _wait(lambda: Path(f"/proc/{holder.pid}/ns/net").stat() != Path("/proc/thread-self/ns/net").stat())
        host = self.hosts[name] = Host(name, self.addresses[name], "eth0", holder.pid)
        interface = self.interface(site, site)
        peer = ["type", "veth", "peer", "name", "eth0", "netns", str(holder.pid)]
        if site in self._behind_access:
            if name == site:
                _join(interface, _access_end(site, "t"))
            interface = _access_end(site, "h" if name == site else "h2")
        run_command(["ip", "link", "add", interface, *peer])
        run_command(["ip", "link", "set", interface, "up"])
        macs = {other: f"02:00:00:00:00:{number:02x}" for number, other in enumerate(self.addresses, start=1)}
        changes = [
            f"link set eth0 address {macs[name]} up",
            f"addr add {host.address}/32 dev eth0",
            "route add 172.20.0.0/16 dev eth0",
            *(
                f"neigh add {address} lladdr {macs[other]} dev eth0 nud permanent"
                for other, address in self.addresses.items()
                if other != name
            ),
        ]
        host.batch("ip", [change.split() for change in changes])
        process = host.start(["ethtool", "-K", "eth0", "tx", "off"], stdout=subprocess.DEVNULL)
        process.wait()

    def _make_bridge(self, site: str) -> None:
        bridge = self.bridge(site)
        words = ["add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev", "fail_mode=secure"]
        words += ["protocols=OpenFlow13", f"other_config:datapath-id={self.wiring.datapath_id(site):016x}"]
        for neighbour in (*self.plan.topology.neighbours[site], site):
            interface = self.interface(site, neighbour)
            words += ["--", "add-port", bridge, interface]
            words += ["--", "set", "Interface", interface, f"ofport_request={self.port(site, neighbour)}"]
        self.ovs.vsctl(*words)


def problems(events: Iterable[Event]) -> list[Event]:
    """Return the events of problems that are not gone."""
    found: dict[tuple[object, ...], Event] = {}
    for event in events:
        key = tuple(event.get(name) for name in ("kind", "switch", "port", "detail"))
        if event["event"] == "problem-found":
            found[key] = event
        elif event["event"] == "problem-gone":
            found.pop(key, None)
    return list(found.values())


def _join(*ends: str) -> None:
    """Make a cable between two interfaces that are up."""
    run_command(["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]])
    for end in ends:
        run_command(["ip", "link", "set", end, "up"])


def _access_end(site: str, side: str) -> str:
    """Return the interface of a site's own switch that leads to the trunk ("t") or a host ("h", "h2")."""
    return f"{side}-{site[:6]}-acc"


def _provider_end(end: str) -> str:
    return f"p-{end}"


def _wait(condition: Callable[[], bool], patience: float = 10.0) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            raise TestbedError("a host's namespace was not made")
        time.sleep(0.005)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
