"""Real Open vSwitch switches on the dummy datapath: no root, no interfaces, packets handed in and read from files."""

from __future__ import annotations

import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kuijia_app.tables.wiring import Wiring
from te_solver.model.plan import Plan
from testbed.crosscheck.dummy_switches import DummyBridges

PATIENCE = 60.0
"""Seconds after which a condition that does not come true fails the test."""

_BATCH = 50
"""Packets handed in at a time: a dummy port queues no more than 100."""

_NOBODY_LISTENS = 1
"""A TCP port."""

_PORTS = random.Random()
"""Unlike the module's own generator, this one has another seed in every process."""

_PCAP_HEADER = 24
_PCAP_RECORD = struct.Struct("<IIII")


@dataclass(frozen=True)
class SentPacket:
    """A packet that left a port: label and traffic class of its MPLS header, TCP source port of the packet under it."""

    label: int
    traffic_class: int
    source_port: int


class DummySwitches(DummyBridges):
    """The switches of a plan, wired to each other, which connect to a controller on the loopback when they are told to.

    Without cables all packets between two switches would vanish, and a controller that compares their counters would
    lead traffic elsewhere.
    """

    def __init__(self, plan: Plan, directory: Path, wiring: Wiring | None = None) -> None:
        super().__init__(plan, directory, captured=True, wiring=wiring)
        self.controller_port = free_port()
        self._seen: Counter[tuple[str, int]] = Counter()

    def start(self) -> None:
        super().start()
        for switch, neighbour in self.wiring.topology.edges:
            self._wire(switch, neighbour)

    def _wire(self, switch: str, neighbour: str) -> None:
        """Lay a cable between two switches, a stream over a socket: what one end sends the other end receives."""
        listener = self.interface(switch, self.wiring.port(switch, neighbour))
        caller = self.interface(neighbour, self.wiring.port(neighbour, switch))
        cable = self.ovs.directory / f"{listener}.cable"
        self.ovs.vsctl("set", "Interface", listener, f"options:pstream=punix:{cable}")
        self.ovs.vsctl("set", "Interface", caller, f"options:stream=unix:{cable}")
        wait_until(
            lambda: self.ovs.appctl("netdev-dummy/conn-state", caller).endswith(": connected\n"),
            f"a cable leads from {switch} to {neighbour}",
        )

    def connect(self, switch: str) -> None:
        self._look_for_controller(switch, self.controller_port)

    def disconnect(self, switch: str) -> None:
        """Let the switch end its connection to the controller and look for it where it is not; its tables stay."""
        self._look_for_controller(switch, _NOBODY_LISTENS)

    def _look_for_controller(self, switch: str, port: int) -> None:
        self.ovs.vsctl("set-controller", self.bridge(switch), f"tcp:127.0.0.1:{port}")

    def send_from_host(self, switch: str, target: str, source_ports: Iterable[int], tos: int = 0) -> list[SentPacket]:
        """Hand the switch one TCP packet per source port, and return what left its ports, in order of source port."""
        addresses = f"src={self.wiring.host_address(switch)},dst={self.wiring.host_address(target)}"
        host_interface = self.interface(switch, self.wiring.host_port(switch))
        ports = list(source_ports)
        sent: list[SentPacket] = []
        # A barrier does not wait for the datapath's cache to follow the tables.
        self.ovs.appctl("revalidator/wait")
        for start in range(0, len(ports), _BATCH):
            batch = ports[start : start + _BATCH]
            packets = [
                "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),"
                f"ipv4({addresses},proto=6,tos={tos},ttl=64,frag=no),tcp(src={port},dst=5001),tcp_flags(2)"
                for port in batch
            ]
            self.ovs.appctl("netdev-dummy/receive", host_interface, *packets)
            expected = len(sent) + len(batch)

            def all_left(expected: int = expected) -> bool:
                sent.extend(self._newly_captured(switch))
                return len(sent) >= expected

            wait_until(all_left, f"{len(batch)} packets left {switch}")
        return sorted(sent, key=lambda packet: packet.source_port)

    def _newly_captured(self, switch: str) -> list[SentPacket]:
        """Return the packets of a switch's own host that left ports to other switches since the last call."""
        packets = []
        host = self.wiring.host_address(switch).packed
        for port in self.wiring.link_ports(switch):
            captured = _read_capture(self.capture(switch, port), host)
            packets += captured[self._seen[switch, port] :]
            self._seen[switch, port] = len(captured)
        return packets


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {PATIENCE:g} s: {what}")
        time.sleep(0.01)


def _read_capture(path: Path, source: bytes) -> list[SentPacket]:
    """Return the packets from this IPv4 address in a capture."""
    data = path.read_bytes() if path.exists() else b""
    packets = []
    position = _PCAP_HEADER
    while position + _PCAP_RECORD.size <= len(data):
        _, _, length, _ = _PCAP_RECORD.unpack_from(data, position)
        frame = data[position + _PCAP_RECORD.size :][:length]
        position += _PCAP_RECORD.size + length
        if len(frame) == length and frame[12:14] == b"\x88\x47" and frame[14 + 4 + 12 :][:4] == source:
            (entry,) = struct.unpack_from("!I", frame, 14)
            (source_port,) = struct.unpack_from("!H", frame, 14 + 4 + 20)
            packets.append(SentPacket(entry >> 12, entry >> 9 & 7, source_port))
    return packets


def free_port() -> int:
    """Return a port that is free on every address.

    It is from a range that the kernel gives to no connection (ip_local_port_range): none takes it before its test does.
    """
    while True:
        port = _PORTS.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
