"""Finds flows that the ingress switch hashes to wanted tunnels, by sending packets and looking.

A probe is a real packet of the flow-to-be: same addresses, protocol, ports and code point. It leaves the ingress host
as a user's traffic would, and is seen on the core ports of the ingress switch with the label and traffic class it was
given. No knowledge of the switch's hash function or of its tables is used.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from testbed import probe_sender
from testbed.errors import TestbedError
from testbed.network import Host

Protocol = Literal["tcp", "udp"]

PROBE_TIMEOUT = 15.0
"""Seconds after which a probe that was never seen is a fault."""

_ROUND_SECONDS = 1.0
"""How long sent probes are waited for; those that were lost are then sent again."""

_ANSWER_SECONDS = 0.5
"""How long the sender waits for connections to be refused."""

_SENDER_TIMEOUT = 10.0
_SNAP_LENGTH = 128
_RECEIVE_BUFFER = 1 << 20
_ETHERNET_HEADER = 14
_ETHERTYPE_MPLS = 0x8847
_ETH_P_ALL = 0x0003
_PROTOCOLS: Mapping[int, Protocol] = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}


class ProbeError(TestbedError):
    """Probes that were not seen."""


@dataclass(frozen=True, slots=True)
class FlowKey:
    """What tells the flows of an egress apart; `code_point` is the DSCP value their host gives them."""

    protocol: Protocol
    source_address: str
    source_port: int
    server_port: int
    code_point: int = 0

    @property
    def source(self) -> tuple[str, int]:
        return self.source_address, self.source_port


@dataclass(frozen=True, slots=True)
class Mark:
    """What the ingress put on a packet: the MPLS label, which is the tunnel's path id, and the traffic class."""

    label: int
    traffic_class: int


@dataclass(frozen=True, slots=True)
class FlowWish:
    """A flow that should use the tunnel with `label`, and the one with `label_after` when a given link is down."""

    name: str
    label: int
    label_after: int


def parse_labelled_frame(frame: bytes) -> tuple[FlowKey, Mark] | None:
    """The flow and mark of an Ethernet frame with one MPLS label over IPv4 TCP or UDP, None for any other frame.

    RFC 3032 section 2.1 for the label stack entry, RFC 791 section 3.1 for the IPv4 header.
    """
    ip = _ETHERNET_HEADER + 4
    if len(frame) < ip + 20 or struct.unpack_from("!H", frame, 12) != (_ETHERTYPE_MPLS,):
        return None
    (entry,) = struct.unpack_from("!I", frame, _ETHERNET_HEADER)
    is_bottom_of_stack = bool(entry >> 8 & 1)
    is_first_fragment = struct.unpack_from("!H", frame, ip + 6)[0] & 0x1FFF == 0
    protocol = _PROTOCOLS.get(frame[ip + 9])
    ports = ip + (frame[ip] & 0xF) * 4
    if not is_bottom_of_stack or frame[ip] >> 4 != 4 or protocol is None or not is_first_fragment:
        return None
    if len(frame) < ports + 4:
        return None
    source_port, server_port = struct.unpack_from("!HH", frame, ports)
    source_address = socket.inet_ntoa(frame[ip + 12 : ip + 16])
    key = FlowKey(protocol, source_address, source_port, server_port, code_point=frame[ip + 1] >> 2)
    return key, Mark(label=entry >> 12, traffic_class=entry >> 9 & 7)


def choose_flows(
    wishes: Iterable[FlowWish],
    candidates: Mapping[str, Sequence[FlowKey]],
    before: Mapping[FlowKey, Mark],
    after: Mapping[FlowKey, Mark],
) -> dict[str, FlowKey]:
    """For every wish the first of its candidates that fulfils it; a wish that none fulfils is missing.

    Args:
        wishes: the flows wanted.
        candidates: the flows that were probed for each wish, by its name.
        before: where the ingress sent the probes with all links up.
        after: where it sent them with the link down.
    """
    chosen = {}
    for wish in wishes:
        for flow in candidates[wish.name]:
            if before[flow].label == wish.label and after[flow].label == wish.label_after:
                chosen[wish.name] = flow
                break
    return chosen


class LabelObserver:
    """Captures the packets that leave through interfaces of the calling thread's network namespace, from the start on.

    Raises:
        ProbeError: an interface cannot be observed.
    """

    def __init__(self, interfaces: Iterable[str]) -> None:
        self._captures: list[socket.socket] = []
        for interface in interfaces:
            try:
                self._captures.append(_open_capture(interface))
            except OSError as error:
                self.close()
                raise ProbeError(f"interface {interface} cannot be observed: {error.strerror}") from error

    def __enter__(self) -> LabelObserver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for capture in self._captures:
            capture.close()

    def watch(
        self, flows: Iterable[FlowKey], seconds: float, ignored: Container[int] = frozenset()
    ) -> dict[FlowKey, Mark]:
        """The mark of the next packet of each flow; ends when all have been seen, at most after `seconds`.

        Packets with a label among `ignored` do not count: after a change a switch may use old labels for a while.
        """
        unseen = set(flows)
        seen: dict[FlowKey, Mark] = {}
        deadline = time.monotonic() + seconds
        while unseen and (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select(self._captures, [], [], left)
            for capture in ready:
                try:
                    frame, address = capture.recvfrom(_SNAP_LENGTH)
                except OSError as error:
                    # Said once when the interface is taken down, or was down already: packet(7).
                    if error.errno != errno.ENETDOWN:
                        raise
                    continue
                sighting = parse_labelled_frame(frame) if address[2] == socket.PACKET_OUTGOING else None
                if sighting is not None and sighting[0] in unseen and sighting[1].label not in ignored:
                    unseen.remove(sighting[0])
                    seen[sighting[0]] = sighting[1]
        return seen


def probe_marks(
    host: Host, address: str, interfaces: Iterable[str], flows: Iterable[FlowKey], timeout: float = PROBE_TIMEOUT
) -> dict[FlowKey, Mark]:
    """Send a packet of every flow from `host` and see what mark the ingress switch gives it.

    Args:
        host: of the ingress site.
        address: of the egress site's host.
        interfaces: the core ports of the ingress switch, in the calling thread's network namespace.
        flows: all of one protocol; their source addresses are the host's.
        timeout: seconds; probes that are not seen are sent again until then.

    Returns:
        The mark of each flow, but for those whose source address and port are in use at the host.

    Raises:
        ProbeError: some probes were never seen.
    """
    unseen = list(dict.fromkeys(flows))
    if not unseen:
        return {}
    seen: dict[FlowKey, Mark] = {}
    deadline = time.monotonic() + timeout
    with LabelObserver(interfaces) as observer:
        while unseen:
            if time.monotonic() > deadline:
                raise ProbeError(
                    f"{len(unseen)} of {len(unseen) + len(seen)} probes from {host.name} to {address} were not seen to"
                    f" leave its switch within {timeout:g} s"
                )
            sender = host.start(_sender_command(address, unseen), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            seen.update(observer.watch(unseen, _ROUND_SECONDS))
            taken = _sources_in_use(sender, host.name)
            unseen = [flow for flow in unseen if flow not in seen and flow.source not in taken]
    return seen


def _sender_command(address: str, flows: Sequence[FlowKey]) -> list[str]:
    (protocol,) = {flow.protocol for flow in flows}
    probes = [f"{flow.source_address}:{flow.source_port}:{flow.server_port}:{flow.code_point}" for flow in flows]
    # Isolated mode: the modules beside the program must not be taken for the standard library's.
    return [sys.executable, "-I", probe_sender.__file__, protocol, address, f"{_ANSWER_SECONDS:g}", *probes]


def _sources_in_use(sender: subprocess.Popen[bytes], host_name: str) -> set[tuple[str, int]]:
    try:
        output, _ = sender.communicate(timeout=_SENDER_TIMEOUT)
    except subprocess.TimeoutExpired as error:
        sender.kill()
        sender.communicate()
        raise ProbeError(f"the sender of probes on {host_name} does not end") from error
    if sender.returncode != 0:
        raise ProbeError(f"the sender of probes on {host_name} failed with exit status {sender.returncode}")
    return {(address, int(port)) for address, _, port in (line.partition(":") for line in output.decode().split())}


def _open_capture(interface: str) -> socket.socket:
    # Bound for all protocols: no other socket is shown the packets that leave (packet(7)).
    capture = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    try:
        capture.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
        capture.bind((interface, _ETH_P_ALL))
    except OSError:
        capture.close()
        raise
    return capture
