"""Text of packets, entries and ways, as violations name them."""

from __future__ import annotations

from kuijia_app.proof.equivalence import FIRST_TABLE_PORT, Sent
from kuijia_app.proof.model.network import Hop, Walk
from kuijia_app.proof.model.packet import Packet
from kuijia_app.proof.model.switch import EntryStep
from kuijia_app.tables.ofctl_text import match_text


def place(hop: Hop) -> str:
    """Return the switch, table and entry, and the packet that arrived there."""
    lookups = [step for step in hop.forwarding.steps if isinstance(step, EntryStep)]
    tables = ", ".join(
        f"table {step.table_id} {'no entry' if step.entry is None else f'entry {match_text(step.entry.match)}'}"
        for step in lookups
    )
    return f"{hop.switch} ({tables}; {header_text(hop.packet)})"


def tag_texts(packet: Packet) -> list[str]:
    """Return the VLAN tags and labels of a packet, outermost first."""
    vlans = [f"vlan {tag.vid} pcp {tag.pcp}" for tag in packet.vlans]
    return vlans + [f"label {label.label} tc {label.traffic_class}" for label in packet.labels]


def header_text(packet: Packet) -> str:
    tags = "".join(f", {each}" for each in tag_texts(packet))
    return f"in port {packet.in_port}{tags}, dscp {packet.dscp}, ecn {packet.ecn}"


def sent_text(sent: Sent) -> str:
    to = (_place_text(port) if port < 0 else f"port {port} queue {packet.queue}" for port, packet in sent)
    return ", ".join(to) or "nothing"


def _place_text(number: int) -> str:
    is_table = number <= FIRST_TABLE_PORT
    return f"table {FIRST_TABLE_PORT - number}" if is_table else f"group {-1 - number}"


def way_text(walk: Walk) -> str:
    queues = ",".join("-" if queue is None else str(queue) for queue in walk.queues)
    return f"{'-'.join(walk.nodes)} in queues {queues} ({walk.end.value})"


def slots_text(slots: tuple[int, ...]) -> str:
    """Return text such as `slots 0-15,32`."""
    runs: list[list[int]] = []
    for slot in slots:
        if runs and slot == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], slot]
        else:
            runs.append([slot, slot])
    return "slots " + ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)
