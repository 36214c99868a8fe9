"""Reads the result of a real Open vSwitch's `ofproto/trace` for a packet as values (ovs-vswitchd(8))."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kuijia_app.proof.model.packet import VlanTag
from kuijia_app.tables.rules import ETH_TYPE_VLAN
from kuijia_base.errors import TestbedError

_GROUP = re.compile(r"\s*group:(\d+)")
_BUCKET = re.compile(r"\s*-> using bucket (\d+)")
_NO_BUCKET = re.compile(r"\s*-> no live bucket")
_QUEUE = re.compile(r"\s*set_queue:(\d+)")
_ACTIONS = re.compile(r"Datapath actions: (.*)")
_PUSH = re.compile(r"push_mpls\(label=(\d+),tc=(\d+),.*\)")
_PUSH_VLAN = re.compile(r"push_vlan\((?:tpid=(0x[0-9a-f]+),)?vid=(\d+),pcp=(\d+)\)")
_POP = re.compile(r"pop_mpls\(eth_type=0x([0-9a-f]+)\)")
_TOS = re.compile(r"set\(ipv(?:4\(.*?tos|6\(.*?tclass)=(0x[0-9a-f]+|\d+).*\)\)")
_AGAIN = re.compile(r"recirc\(0x[0-9a-f]+\)")
_PRIORITY = re.compile(r"set\(skb_priority\((0x[0-9a-f]+|\d+)\)\)")


@dataclass(frozen=True, slots=True)
class TracedPacket:
    """Treatment of a packet by one switch.

    Attributes:
        groups: the groups used with the position of the bucket each chose, None: none was alive.
        interface: output device, None: it was dropped.
        queue: of the last `set_queue` before the output.
        pushed: labels with their traffic classes that were pushed, in this order.
        popped: EtherTypes that were written as labels were popped, in this order.
        vlans_popped: number of VLAN tags that were popped, before any was pushed.
        vlans_pushed: VLAN tags that were pushed and not popped again, the outermost first.
        is_read_again: True if the switch reads what was under a label before it goes on, which this trace does not.
        tos: new TOS byte of the IPv4 header, or traffic class of the IPv6 header, None: unchanged.
    """

    groups: tuple[tuple[int, int | None], ...]
    interface: str | None
    queue: int | None
    pushed: tuple[tuple[int, int], ...]
    popped: tuple[int, ...]
    tos: int | None
    vlans_popped: int = 0
    vlans_pushed: tuple[VlanTag, ...] = ()
    is_read_again: bool = False


def parse_trace(text: str) -> TracedPacket:
    """Return the packet's treatment from the output of `ofproto/trace BRIDGE FLOW --names`.

    Raises:
        TestbedError: it shows an action that no entry of ours has, such as sending copies.
    """
    groups: list[tuple[int, int | None]] = []
    awaiting: list[int] = []
    queue: int | None = None
    actions: str | None = None
    for line in text.splitlines():
        if found := _GROUP.fullmatch(line):
            awaiting.append(int(found[1]))
        elif found := _BUCKET.fullmatch(line):
            groups.append((awaiting.pop(), int(found[1])))
        elif _NO_BUCKET.fullmatch(line):
            groups.append((awaiting.pop(), None))
        elif found := _QUEUE.fullmatch(line):
            queue = int(found[1])
        elif found := _ACTIONS.fullmatch(line):
            actions = found[1]
    if actions is None or awaiting:
        raise TestbedError(f"the output of ofproto/trace is not understood: {text.strip()!r}")
    return _with_actions(tuple(groups), queue, actions)


def _with_actions(groups: tuple[tuple[int, int | None], ...], queue: int | None, actions: str) -> TracedPacket:
    interface: str | None = None
    pushed: list[tuple[int, int]] = []
    popped: list[int] = []
    vlans = _Vlans()
    tos: int | None = None
    priority = 0
    every = list(_split(actions))
    is_read_again = bool(_AGAIN.fullmatch(every[-1]))
    for action in every[: len(every) - is_read_again]:
        if found := _PUSH.fullmatch(action):
            pushed.append((int(found[1]), int(found[2])))
        elif found := _POP.fullmatch(action):
            popped.append(int(found[1], 16))
        elif vlans.takes(action):
            pass
        elif found := _TOS.fullmatch(action):
            tos = int(found[1], 0)
        elif found := _PRIORITY.fullmatch(action):
            priority = int(found[1], 0)
        elif "(" in action or interface is not None:
            raise TestbedError(f"the datapath's actions are not understood: {actions}")
        elif action != "drop":
            interface = action
    # In the dummy datapath a queue's number is its priority; packets without a queue have priority 0 as well.
    if interface is not None and priority != (queue or 0):
        raise TestbedError(f"set_queue:{queue} came to the datapath as priority {priority}: {actions}")
    sent_in = queue if interface is not None or is_read_again else None
    tags = tuple(pushed), tuple(popped)
    return TracedPacket(groups, interface, sent_in, *tags, tos, vlans.popped, tuple(vlans.pushed), is_read_again)


class _Vlans:
    """The VLAN tags of a packet by the datapath's actions so far."""

    def __init__(self) -> None:
        self.popped = 0
        self.pushed: list[VlanTag] = []

    def takes(self, action: str) -> bool:
        """Carry out an action; return False for one that is not about tags."""
        found = _PUSH_VLAN.fullmatch(action)
        if found:
            self.pushed.insert(0, VlanTag(int(found[2]), int(found[3]), int(found[1] or hex(ETH_TYPE_VLAN), 0)))
        elif action == "pop_vlan":
            self.popped += not self.pushed
            del self.pushed[:1]
        return bool(found) or action == "pop_vlan"


def _split(actions: str) -> Iterator[str]:
    """Yield the actions, split at commas outside brackets."""
    depth = start = 0
    for position, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield actions[start:position]
            start = position + 1
    yield actions[start:]
