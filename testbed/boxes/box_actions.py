"""Runs on a box: the actions of its agent, with arguments and answers that are JSON data."""

from __future__ import annotations

import errno
import json
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from kuijia_app.preparation.send_buffer import enlarge_send_buffers
from kuijia_base.commands import run_batch, run_command
from testbed.boxes.box_switch import delete_links, remove_cables
from testbed.boxes.changes import BoxStep
from testbed.boxes.record import BoxRecord
from testbed.boxes.survey import call_controller, clock, survey
from testbed.links.label_observer import EgressFlowKey, LabelObserver
from testbed.links.link_probes import ProbeSink, ProbeStream, ProbeTiming, run_probes
from testbed.links.load_counters import count_load
from testbed.links.port_status import SwitchPort, are_running, bring_up, is_running, switch_ports
from testbed.machine.network_namespace import namespace_named
from testbed.machine.processes import SocketKind
from testbed.machine.programs import LocalProgram

_ETHERTYPE = 0x88B5
"""EtherType for local experiments (IEEE 802)."""

_ETH_P_ALL = 0x0003
_GROUP = bytes.fromhex("01005e900001")
_HEADER = _GROUP + bytes.fromhex("02fffffffffe") + struct.pack("!H", _ETHERTYPE)
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_MULTICAST = 263, 1, 0
"""Constants of linux/socket.h and linux/if_packet.h that the socket module lacks."""

_INTERVAL = 0.1
_LAST_ROUNDS = 5
"""Rounds that are still sent after every interface has received something."""

_SNAP_LENGTH = 512


def probe_cables(box: str, token: str, interfaces: Sequence[str], seconds: float) -> dict[str, list[tuple[str, str]]]:
    """Send and listen until every interface has received something, or the time is over.

    Args:
        box: name of this box in the frames.
        token: frames with another token are ignored.
        interfaces: to send and receive on; those that are down receive nothing.
        seconds: time limit.

    Returns:
        By interface, the boxes and interfaces whose frames arrived there.
    """
    heard: dict[str, set[tuple[str, str]]] = {interface: set() for interface in interfaces}
    with ExitStack() as stack:
        sockets = {_open(interface, stack): interface for interface in interfaces}
        deadline = time.monotonic() + seconds
        rounds_left = _LAST_ROUNDS
        while time.monotonic() < deadline and rounds_left > 0:
            for each, interface in sockets.items():
                _send(each, _HEADER + json.dumps([token, box, interface]).encode().ljust(_SNAP_LENGTH // 4))
            _listen(sockets, token, heard, time.monotonic() + _INTERVAL)
            if all(heard.values()):
                rounds_left -= 1
    return {interface: sorted(neighbours) for interface, neighbours in heard.items()}


def _listen(
    sockets: dict[socket.socket, str], token: str, heard: dict[str, set[tuple[str, str]]], until: float
) -> None:
    while (left := until - time.monotonic()) > 0:
        for each in select.select(list(sockets), [], [], left)[0]:
            try:
                frame, address = each.recvfrom(_SNAP_LENGTH)
            except OSError as error:
                if error.errno != errno.ENETDOWN:  # reported once when the interface goes down: packet(7)
                    raise
                continue
            if address[2] == socket.PACKET_OUTGOING or frame[12:14] != _HEADER[12:]:
                continue
            try:
                said_token, box, interface = json.loads(frame[14:])
            except ValueError:  # another experiment's
                continue
            if said_token == token:
                heard[sockets[each]].add((str(box), str(interface)))


def _send(each: socket.socket, frame: bytes) -> None:
    try:
        each.send(frame)
    except OSError as error:
        if error.errno not in (errno.ENETDOWN, errno.ENOBUFS):
            raise


def _open(interface: str, stack: ExitStack) -> socket.socket:
    # Without a protocol until it is bound; otherwise it would first receive from other interfaces (packet(7)).
    each = stack.enter_context(closing(socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
    # For all protocols: the kernel's datapath takes frames before receivers of a single one.
    each.bind((interface, _ETH_P_ALL))
    # A network card accepts frames only to groups that have been joined; struct packet_mreq in packet(7).
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PACKET_MR_MULTICAST, len(_GROUP), _GROUP)
    each.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
    return each


class BoxPrograms:
    """Programs that were started and not stopped; every public method is an action."""

    def __init__(self) -> None:
        self._last = 0
        self._running: dict[int, LocalProgram] = {}

    def launch(self, argv: Sequence[str]) -> int:
        # In its own session: a signal to ours would lose the programs' last output.
        program = LocalProgram(argv, subprocess.Popen, start_new_session=True)
        self._last += 1
        self._running[self._last] = program
        return self._last

    def launch_python(self, prefix: Sequence[str], source: str, arguments: Sequence[str]) -> int:
        """Launch a program given as source text; `prefix` is a command that runs the command after it."""
        return self.launch([*prefix, sys.executable, "-I", "-c", source, *arguments])

    def program_status(self, program: int) -> int | None:
        return self._running[program].status()

    def program_output(self, program: int) -> str:
        return self._running[program].output()

    def program_owns_socket(self, program: int, protocol: str, state: str, local_port: int, remote_port: int) -> bool:
        return self._running[program].owns_socket(SocketKind(protocol, state), local_port, remote_port)

    def program_bytes_read(self, program: int) -> int:
        return self._running[program].bytes_read()

    def terminate_program(self, program: int) -> None:
        self._running[program].terminate()

    def stop_program(self, program: int) -> None:
        self._running.pop(program).stop()

    def _stop_programs(self) -> None:
        while self._running:
            self._running.popitem()[1].stop()


class BoxActions(BoxPrograms):
    """Every public method is an action; leaving the block ends everything that actions have begun."""

    survey = staticmethod(survey)
    clock = staticmethod(clock)
    monotonic_clock = staticmethod(time.monotonic)
    probe_cables = staticmethod(probe_cables)
    is_running = staticmethod(is_running)
    are_running = staticmethod(are_running)
    bring_up = staticmethod(bring_up)
    call_controller = staticmethod(call_controller)
    remove_cables = staticmethod(remove_cables)
    delete_links = staticmethod(delete_links)

    def __init__(self) -> None:
        super().__init__()
        self._observer: LabelObserver | None = None
        self._claim = ExitStack()
        self._is_claimed = False

    def __enter__(self) -> BoxActions:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_programs()
        self.end_observation()
        self._claim.close()

    def run(self, argv: Sequence[str], stdin: str | None = None) -> str:
        return run_command(argv, stdin=stdin)

    def count_load(self, ovs_directory: str | None) -> dict[str, Any]:
        """Return the load of the box, and of its Open vSwitch if that forwards packets itself."""
        return asdict(count_load(None if ovs_directory is None else _switch_pid(ovs_directory)))

    def is_forwarding(self, ovs_directory: str) -> bool:
        """Return True if the box's Open vSwitch runs: it listens for requests."""
        with socket.socket(socket.AF_UNIX) as control:
            try:
                control.connect(str(Path(ovs_directory) / f"ovs-vswitchd.{_switch_pid(ovs_directory)}.ctl"))
            except (OSError, ValueError):
                return False
        return True

    def batch(self, namespace: str | None, program: Literal["ip", "tc"], commands: Sequence[list[str]]) -> None:
        if namespace is None:
            run_batch(program, commands)
        else:
            with namespace_named(namespace):
                run_batch(program, commands)

    def fingerprint(self, role: str, node: str) -> str | None:
        return BoxRecord.of(role, node).print_of_changes()

    def recorded_interfaces(self, role: str, node: str) -> list[str] | None:
        return BoxRecord.of(role, node).interfaces()

    def claim(self, role: str, node: str, interfaces: Sequence[str]) -> None:
        if not self._is_claimed:
            self._claim.enter_context(BoxRecord.of(role, node).claim(interfaces))
            self._is_claimed = True

    def begin_changes(self, role: str, node: str, fingerprint: str, interfaces: Sequence[str]) -> None:
        BoxRecord.of(role, node).begin(fingerprint, interfaces)

    def make_changes(self, role: str, node: str, steps: Sequence[Mapping[str, Any]]) -> None:
        BoxRecord.of(role, node).make(BoxStep(step["do"], step["undo"], step["lasting"]) for step in steps)

    def finish_changes(self, role: str, node: str) -> None:
        BoxRecord.of(role, node).finish()

    def put_back(self, role: str, node: str) -> list[str]:
        return BoxRecord.of(role, node).put_back()

    def enlarge_send_buffers(self, ovs_directory: str) -> None:
        enlarge_send_buffers(_switch_pid(ovs_directory))

    def switch_port(self, interface: str, number: int, management: str, *, up: bool) -> float:
        _, delays = switch_ports({"": SwitchPort(interface, number, Path(management))}, up=up)
        return delays[""]

    def probe_links(
        self, streams: Sequence[Sequence[Any]], sinks: Sequence[Sequence[Any]], timing: Sequence[float]
    ) -> tuple[Sequence[int], Sequence[int], float]:
        """Return the frames sent and arrived, and the seconds of the measurement; arguments are fields in order."""
        counts = run_probes(
            [ProbeStream(*stream) for stream in streams], [ProbeSink(*sink) for sink in sinks], ProbeTiming(*timing)
        )
        return counts.sent, counts.arrived, counts.seconds

    def observe(self, interfaces: Sequence[str]) -> None:
        self.end_observation()
        self._observer = LabelObserver(interfaces)

    def watch(
        self, flows: Sequence[Sequence[Any]], seconds: float, ignored: Sequence[int]
    ) -> list[tuple[int, int, int]]:
        """Return the flows seen, as position, label and traffic class."""
        assert self._observer is not None, "no observation was started"
        keys = [EgressFlowKey(*flow) for flow in flows]
        seen = self._observer.watch(keys, seconds, frozenset(ignored))
        return [
            (position, seen[key].label, seen[key].traffic_class) for position, key in enumerate(keys) if key in seen
        ]

    def end_observation(self) -> None:
        if self._observer is not None:
            self._observer.close()
            self._observer = None


def _switch_pid(ovs_directory: str) -> int:
    return int((Path(ovs_directory) / "ovs-vswitchd.pid").read_text())
