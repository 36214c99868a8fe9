"""Options of an emulated network beyond its topology."""

from __future__ import annotations

from dataclasses import dataclass

from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT, QueueLayout
from testbed.machine.ovs import Datapath


@dataclass(frozen=True)
class NetworkOptions:
    """Options beyond the topology.

    Attributes:
        layout: the queues of every port.
        tagging: place of the queue's tag in packets, for datapaths on which `set_queue` has no effect.
        buffer_packets: length of every queue.
        datapath: type of datapath; None selects the kernel's if it has one.
        system_ovs: True to use the machine's running Open vSwitch, in the machine's own namespace.
    """

    layout: QueueLayout = PLAIN_LAYOUT
    tagging: Tagging = Tagging.MPLS
    buffer_packets: int = 100
    datapath: Datapath | None = None
    system_ovs: bool = False
