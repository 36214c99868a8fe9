"""Real frames through a port's queues: the tag of each selects the queue that counts it."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kuijia_app.preparation.completion import complete_queues
from kuijia_app.preparation.queues import clearing_commands, htb_commands, tag_filter_commands
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queue_layouts import LAYOUTS
from kuijia_app.tables.queues import Queue, QueueLayout
from kuijia_base.commands import run_batch, run_command
from testbed.machine.network_namespace import private_network
from testbed.network.queue_counters import read_queue_counters
from tests.kuijia_app.preparation.ovs_tree import tree_of_ovs

pytestmark = pytest.mark.emulation

INTERFACE = "port"
ADDRESSES = bytes.fromhex("02ffffffffff020000000001")
LABEL, TTL = 16, 64
VLAN = 4094


@pytest.fixture
def port() -> Iterator[None]:
    with private_network():
        run_command(["ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", "far"])
        for end in (INTERFACE, "far"):
            run_command(["ip", "link", "set", end, "up"])
        yield


def labelled(queue: Queue) -> bytes:
    entry = LABEL << 12 | queue.traffic_class << 9 | 1 << 8 | TTL
    return ADDRESSES + struct.pack("!HI", 0x8847, entry) + bytes(60)


def in_vlan(queue: Queue, inside: bytes) -> bytes:
    tag = struct.pack("!HH", 0x8100, queue.traffic_class << 13 | VLAN)
    return inside[: len(ADDRESSES)] + tag + inside[len(ADDRESSES) :]


def in_service_vlan(queue: Queue, inside: bytes) -> bytes:
    tag = struct.pack("!HH", 0x88A8, queue.traffic_class << 13 | VLAN)
    return inside[: len(ADDRESSES)] + tag + inside[len(ADDRESSES) :]


def in_ip(code_point: int, ecn: int) -> bytes:
    return ADDRESSES + struct.pack("!HBB", 0x0800, 0x45, code_point << 2 | ecn) + bytes(60)


def sent_by_queue(layout: QueueLayout, tagging: Tagging, frames: list[bytes]) -> dict[str, int]:
    run_batch("tc", tree_of_ovs(INTERFACE, layout))
    filters = tag_filter_commands(INTERFACE, layout, tagging)
    complete_queues(clearing_commands(INTERFACE, layout), [*htb_commands(INTERFACE, 20.0, layout, 100), *filters])
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((INTERFACE, 0))
        for frame in frames:
            sender.send(frame)
    return {each.queue: each.sent_packets + each.waiting_packets for each in read_queue_counters(INTERFACE, layout)}


@pytest.mark.usefixtures("port")
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_labelled_frames_wait_in_the_queue_of_their_traffic_class(layout: QueueLayout) -> None:
    frames = [labelled(queue) for number, queue in enumerate(layout.queues, start=1) for _ in range(number)]
    expected = {queue.name: number for number, queue in enumerate(layout.queues, start=1)}
    assert sent_by_queue(layout, Tagging.MPLS, frames) == expected


@pytest.mark.usefixtures("port")
@pytest.mark.parametrize("name", ["plain", "four"])
def test_tagged_ip_packets_wait_in_the_queue_of_their_ecn_bits_whatever_their_code_point(name: str) -> None:
    layout = LAYOUTS[name]
    frames = []
    for number, queue in enumerate(layout.queues, start=1):
        assert queue.ecn is not None
        frames += [in_ip(code_point, queue.ecn) for code_point in (1, 32, 63)] * number
    expected = {queue.name: 3 * number for number, queue in enumerate(layout.queues, start=1)}
    assert sent_by_queue(layout, Tagging.DSCP_ECN, frames) == expected


@pytest.mark.usefixtures("port")
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_frames_in_a_vlan_wait_in_the_queue_of_its_priority_whatever_they_hold(layout: QueueLayout) -> None:
    other = layout.queues[-1]
    frames = []
    for number, queue in enumerate(layout.queues, start=1):
        frames += [in_vlan(queue, in_ip(48, 3)), in_vlan(queue, ADDRESSES + bytes.fromhex("88b5") + bytes(60))] * number
        frames += [in_service_vlan(queue, in_vlan(other, in_ip(0, 0))), in_service_vlan(queue, in_ip(0, 0))] * number
    expected = {queue.name: 4 * number for number, queue in enumerate(layout.queues, start=1)}
    assert sent_by_queue(layout, Tagging.VLAN, frames) == expected


@pytest.mark.usefixtures("port")
def test_frames_without_a_tag_wait_in_the_queue_of_the_last_class() -> None:
    layout = LAYOUTS["eight"]
    frames = [in_ip(46, 1), ADDRESSES + bytes.fromhex("88b5") + bytes(60)]
    found = sent_by_queue(layout, Tagging.MPLS, frames)
    assert found == {queue.name: 2 * (queue == layout.default) for queue in layout.queues}


@pytest.mark.usefixtures("port")
def test_a_layout_with_ids_of_its_own_is_counted_by_name() -> None:
    plain = LAYOUTS["plain"]
    moved = {queue: replace(queue, queue_id=queue.queue_id * 1000 + 7) for queue in plain.queues}
    (served,) = plain.classes
    classes = (replace(served, normal=moved[served.normal], victim=moved[served.victim]),)
    layout = QueueLayout("own", tuple(moved.values()), moved[plain.control], classes)
    frames = [labelled(queue) for queue in layout.queues]
    assert sent_by_queue(layout, Tagging.MPLS, frames) == {"control": 1, "normal": 1, "victim": 1}
