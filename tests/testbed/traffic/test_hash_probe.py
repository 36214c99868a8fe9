"""Frames are parsed as in the RFCs, flows are chosen by the paths of their probes, and probes are really seen."""

from __future__ import annotations

import socket
import struct
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.probe_frames import ProbeForm, ProbeSaid, probe_frame
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT
from testbed.links.label_observer import EgressFlowKey, IngressMark, LabelObserver, ProbeError, parse_labelled_frame
from testbed.network.network import EmulatedNetwork
from testbed.traffic.hash_probe import TunnelFlowWish, choose_flows
from tests.testbed.emulated import NORMAL_PORT, VICTIM_PORT, probe_marks, program_path, running_network

PORTS = st.integers(0, 0xFFFF)


def frame(
    label: int = 16,
    traffic_class: int = 0,
    *,
    protocol: int = socket.IPPROTO_TCP,
    ports: tuple[int, int] = (20001, 5201),
    ethertype: int = 0x8847,
    bottom_of_stack: int = 1,
    version: int = 4,
    options: bytes = b"",
    fragment_offset: int = 0,
) -> bytes:
    entry = label << 12 | traffic_class << 9 | bottom_of_stack << 8 | 64
    header_words = 5 + len(options) // 4
    ip = struct.pack(
        "!BBHHHBBH4s4s",
        version << 4 | header_words,
        0,
        100,
        1,
        fragment_offset,
        64,
        protocol,
        0,
        b"\n\0\1\1",
        b"\n\0\4\1",
    )
    return b"\0" * 12 + struct.pack("!HI", ethertype, entry) + ip + options + struct.pack("!HH", *ports) + b"payload"


@given(label=st.integers(16, 0xFFFFF), traffic_class=st.integers(0, 7), source=PORTS, server=PORTS)
def test_label_class_and_ports_are_read(label: int, traffic_class: int, source: int, server: int) -> None:
    parsed = parse_labelled_frame(frame(label, traffic_class, ports=(source, server)))
    assert parsed == (EgressFlowKey("tcp", "10.0.1.1", source, server), IngressMark(label, traffic_class))


@given(vid=st.integers(1, 4094), priority=st.integers(0, 7), source=PORTS, server=PORTS)
def test_vlan_id_priority_and_ports_are_read(vid: int, priority: int, source: int, server: int) -> None:
    labelled = frame(ports=(source, server))
    tagged = labelled[:12] + struct.pack("!HHH", 0x8100, priority << 13 | vid, 0x0800) + labelled[18:]
    assert parse_labelled_frame(tagged) == (
        EgressFlowKey("tcp", "10.0.1.1", source, server),
        IngressMark(vid, priority),
    )
    assert parse_labelled_frame(tagged[:16] + b"\x08\x06" + tagged[18:]) is None


def test_udp_and_ip_options_are_understood() -> None:
    parsed = parse_labelled_frame(frame(protocol=socket.IPPROTO_UDP, options=b"\1" * 8))
    assert parsed == (EgressFlowKey("udp", "10.0.1.1", 20001, 5201), IngressMark(16, 0))


@pytest.mark.parametrize(
    "other",
    [
        frame(ethertype=0x0800),
        frame(bottom_of_stack=0),
        frame(version=6),
        frame(protocol=socket.IPPROTO_ICMP),
        frame(fragment_offset=185),
        frame()[:40],
        frame(options=b"\1" * 40)[:60],
        b"",
    ],
)
def test_other_frames_are_left_alone(other: bytes) -> None:
    assert parse_labelled_frame(other) is None


@pytest.mark.parametrize("tagging", Tagging)
def test_probes_of_links_are_no_packets_of_flows(tagging: Tagging) -> None:
    form = ProbeForm(tagging, PLAIN_LAYOUT.control)
    assert parse_labelled_frame(probe_frame(form, b"k" * 32, ProbeSaid(1, 1, 1, 1500))) is None


@given(st.binary(max_size=80))
def test_no_frame_is_too_odd(data: bytes) -> None:
    parse_labelled_frame(b"\0" * 12 + b"\x88\x47" + data)


def key(source_port: int) -> EgressFlowKey:
    return EgressFlowKey("tcp", "10.0.1.1", source_port, 5201)


def test_the_first_candidate_with_both_tunnels_is_chosen() -> None:
    before = {
        key(1): IngressMark(18, 0),
        key(2): IngressMark(16, 0),
        key(3): IngressMark(16, 0),
        key(4): IngressMark(16, 0),
    }
    after = {
        key(1): IngressMark(18, 0),
        key(2): IngressMark(17, 1),
        key(3): IngressMark(18, 1),
        key(4): IngressMark(18, 1),
    }
    wishes = [TunnelFlowWish("f1", 16, 18), TunnelFlowWish("f4", 18, 18)]
    candidates = {"f1": list(before), "f4": list(before)}
    assert choose_flows(wishes, candidates, before, after) == {"f1": key(3), "f4": key(1)}


def test_a_wish_that_no_candidate_fulfils_is_missing() -> None:
    assert (
        choose_flows(
            [TunnelFlowWish("f1", 16, 18)], {"f1": [key(1)]}, {key(1): IngressMark(16, 0)}, {key(1): IngressMark(17, 0)}
        )
        == {}
    )


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedNetwork]:
    with running_network(tmp_path_factory.mktemp("run")) as network:
        program_path(network, ["a", "b", "c"], label=16)
        program_path(network, ["c", "b", "a"], label=17)
        yield network


def core_interfaces(network: EmulatedNetwork) -> list[str]:
    return [network.interface("a", port) for port in (1, 2)]


@pytest.mark.emulation
def test_the_mark_of_every_probe_is_seen(network: EmulatedNetwork) -> None:
    address = str(network.host("c").address)
    normal = [EgressFlowKey("udp", "10.0.1.1", port, NORMAL_PORT) for port in range(20100, 20150)]
    victims = [EgressFlowKey("udp", "10.0.1.1", port, VICTIM_PORT) for port in range(20150, 20200)]
    marks = probe_marks(network.host("a"), address, core_interfaces(network), normal + victims)
    assert marks == {flow: IngressMark(16, 0) for flow in normal} | {flow: IngressMark(16, 1) for flow in victims}
    connections = [EgressFlowKey("tcp", "10.0.1.1", port, 5201) for port in range(20200, 20250)]
    marks = probe_marks(network.host("a"), address, core_interfaces(network), connections)
    assert marks == {flow: IngressMark(16, 6) for flow in connections}


@pytest.mark.emulation
def test_a_source_port_in_use_is_left_out(network: EmulatedNetwork) -> None:
    program = "import socket; s = socket.create_server(('', 20300)); print(flush=True); input()"
    holder = network.host("a").start(["python3", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        flows = [EgressFlowKey("tcp", "10.0.1.1", 20300, 5201), EgressFlowKey("tcp", "10.0.1.1", 20301, 5201)]
        marks = probe_marks(network.host("a"), str(network.host("c").address), core_interfaces(network), flows)
    finally:
        holder.kill()
        holder.communicate()
    assert set(marks) == {flows[1]}


@pytest.mark.emulation
def test_probes_that_never_leave_are_an_error_after_the_deadline(network: EmulatedNetwork) -> None:
    nowhere = str(network.host("b").address)
    with pytest.raises(ProbeError, match=r"2 of 2 probes from a to .* were not seen .* within 1.5 s"):
        probe_marks(network.host("a"), nowhere, core_interfaces(network), [key(20400), key(20401)], timeout=1.5)


@pytest.mark.emulation
def test_an_interface_that_does_not_exist_is_named(network: EmulatedNetwork) -> None:
    with pytest.raises(ProbeError, match="s9-eth9"):
        LabelObserver([network.interface("a", 1), "s9-eth9"])
