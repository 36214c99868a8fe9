"""Real switches of a data centre on the dummy datapath, and packets carried from one to the next as cables would."""

from __future__ import annotations

import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from hedera.network.data_centre import DataCentre
from testbed.crosscheck.dummy_switches import DummyNetwork
from testbed.machine.ovs import ControlSocket
from tests.kuijia_app.dummy_switches import free_port

DROPPED = "dropped"
_PATIENCE = 30.0
_MOST_HOPS = 12
_PCAP_HEADER = 24
_PCAP_RECORD = struct.Struct("<IIII")
_PLACES = {b"\x08\x00": (14 + 8, 14 + 20), b"\x86\xdd": (14 + 7, 14 + 40)}
"""Where TTL or hop limit and the header of TCP are, by EtherType."""

_FOLLOWED_TTL, _FED_TTL = 64, 63
_FEEDING_PAUSE = 0.1


class DummyFabric(DummyNetwork):
    """Switches that connect to a controller on the loopback on request."""

    def __init__(self, centre: DataCentre, directory: Path) -> None:
        super().__init__(centre.wiring, directory, captured=True)
        self.controller_port = free_port()
        self._seen: dict[tuple[str, int], int] = defaultdict(int)

    def connect(self, *ports: int) -> None:
        """Let all switches connect to the controllers at these ports, by default to the one at `controller_port`."""
        targets = [f"tcp:127.0.0.1:{port}" for port in ports or (self.controller_port,)]
        for switch in self.wiring.topology.nodes:
            self.ovs.vsctl("set-controller", self.bridge(switch), *targets)

    def set_link(self, cable: Iterable[str], state: str) -> None:
        a, b = cable
        for switch, other in ((a, b), (b, a)):
            self.set_port(switch, self.wiring.port(switch, other), state)

    def ways(self, flows: Mapping[int, tuple[int, int]]) -> dict[int, tuple[str, ...]]:
        """Send a TCP packet of every flow: source port to source and target, numbers of hosts.

        Returns what each crosses: switches, then a host or `DROPPED`.
        """
        self.ovs.appctl("revalidator/wait")
        sites = self.wiring.sites
        hosts = {(site.switch, site.port): site.name for site in sites}
        ways: dict[int, tuple[str, ...]] = dict.fromkeys(flows, ())
        places = {port: (sites[source].switch, sites[source].port) for port, (source, _) in flows.items()}
        with ControlSocket(self.ovs.switch_control) as control:
            for _ in range(_MOST_HOPS):
                for source_port, (switch, port) in places.items():
                    packet = self._packet(source_port, *flows[source_port], _FOLLOWED_TTL)
                    control.command("netdev-dummy/receive", self.interface(switch, port), packet)
                left = self._left({source_port: switch for source_port, (switch, _) in places.items()})
                after: dict[int, tuple[str, int]] = {}
                for source_port, (switch, _) in places.items():
                    out = left.get(source_port)
                    neighbour = None if out is None else self.wiring.neighbour_at(switch, out)
                    ways[source_port] += (switch,)
                    if out is None:
                        ways[source_port] += (DROPPED,)
                    elif neighbour is None:
                        ways[source_port] += (hosts[switch, out],)
                    else:
                        after[source_port] = neighbour, self.wiring.port(neighbour, switch)
                places = after
                if not places:
                    return ways
        raise AssertionError(f"a loop: {ways}")

    @contextmanager
    def fed(self, flows: Mapping[int, tuple[int, int]]) -> Iterator[None]:
        """Make the first switch of every flow count its packets permanently; `ways` does not follow this."""
        ended = threading.Event()

        def feed() -> None:
            with ControlSocket(self.ovs.switch_control) as control:
                while not ended.wait(_FEEDING_PAUSE):
                    for source_port, (source, target) in flows.items():
                        site = self.wiring.sites[source]
                        packet = self._packet(source_port, source, target, _FED_TTL)
                        control.command("netdev-dummy/receive", self.interface(site.switch, site.port), packet)

        with ThreadPoolExecutor(1) as pool:
            feeding = pool.submit(feed)
            try:
                yield
            finally:
                ended.set()
                feeding.result()

    def _packet(self, source_port: int, source: int, target: int, ttl: int) -> str:
        sender, receiver = self.wiring.sites[source], self.wiring.sites[target]
        ip = f"eth_type(0x0800),ipv4(src={sender.address},dst={receiver.address},proto=6,tos=0,ttl={ttl},frag=no)"
        if sender.address.version == 6:
            ends = f"src={sender.address},dst={receiver.address},label=0"
            ip = f"eth_type(0x86dd),ipv6({ends},proto=6,tclass=0,hlimit={ttl},frag=no)"
        tcp = f"tcp(src={source_port},dst=5001),tcp_flags(2)"
        return f"in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),{ip},{tcp}"

    def _left(self, switches: Mapping[int, str]) -> dict[int, int]:
        """Return each source port with the port by which its packet left the switch; packets that stayed have none."""
        left: dict[int, int] = {}
        deadline = time.monotonic() + _PATIENCE
        while len(left) < len(switches) and time.monotonic() < deadline:
            for switch in set(switches.values()):
                for out in self.ports(switch):
                    left.update((source_port, out) for source_port in self._newly_captured(switch, out))
        return left

    def _newly_captured(self, switch: str, port: int) -> list[int]:
        path = self.capture(switch, port)
        data = path.read_bytes() if path.exists() else b""
        found = []
        position = max(self._seen[switch, port], _PCAP_HEADER)
        while position + _PCAP_RECORD.size <= len(data):
            _, _, length, _ = _PCAP_RECORD.unpack_from(data, position)
            frame = data[position + _PCAP_RECORD.size :][:length]
            if len(frame) < length:
                break
            position += _PCAP_RECORD.size + length
            ttl_at, tcp_at = _PLACES.get(frame[12:14], (0, 0))
            if ttl_at and frame[ttl_at] == _FOLLOWED_TTL:
                found.append(struct.unpack_from("!H", frame, tcp_at)[0])
        self._seen[switch, port] = position
        return found
