"""Finds the flow entries of others that take packets which ours are to handle; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.reconciliation import FlowKey
from kuijia_app.control.snapshot import ForeignEntry
from kuijia_app.tables.identifiers import DROP_GROUP
from kuijia_app.tables.ofctl_text import match_text
from kuijia_app.tables.rules import FlowEntry, Match, ToGroup

MOST_NAMED = 16
"""Entries that are named at one switch."""

Demands = Mapping[str, tuple[object, int | None]]
"""For each field of a match its value, and for a number the bits of it that count, None for all."""

_STEP = 300
"""Comparisons of two entries for which a step of a task has time."""


class DefeatingEntries:
    """Search for the entries of others that defeat ours, as a task in short steps; `found` has the result at its end.

    An entry defeats one of ours in the same table if some packet matches both, and its priority is at least as high: at
    equal priorities a switch may choose either (OpenFlow 1.3.5, 5.3). Entries of ours that drop are left out, and those
    of `foreign` with one of `own_cookies`.
    """

    def __init__(
        self,
        foreign: Iterable[ForeignEntry],
        own: Mapping[FlowKey, FlowEntry | None],
        own_cookies: Collection[int] = (),
    ) -> None:
        others = (entry for entry in foreign if entry.cookie not in own_cookies)
        self._foreign = sorted(others, key=lambda entry: -entry.key.priority)
        self._own = own
        self.found: list[ForeignEntry] = []

    def steps(self) -> Iterator[None]:
        """Return the task."""
        if not self._foreign:
            return
        compared = 0
        tables: dict[int, list[tuple[int, Demands]]] = {}
        for key, entry in self._own.items():
            if entry is not None and not _drops(entry):
                tables.setdefault(key.table_id, []).append((key.priority, _fields(key)))
                compared += 1
                if compared % _STEP == 0:
                    yield
        for each in self._foreign:
            fields = _fields(each.key)
            for priority, others in tables.get(each.key.table_id, ()):
                compared += 1
                if compared % _STEP == 0:
                    yield
                if each.key.priority >= priority and _overlap(fields, others):
                    self.found.append(each)
                    break
            if len(self.found) >= MOST_NAMED:
                return


def defeat(switch: str, entry: ForeignEntry) -> SwitchFinding:
    """Return the finding about an entry of somebody else that defeats ours."""
    named = entry_text(entry.key)
    text = f"an entry of somebody else takes packets that ours are to handle: {named}, cookie {entry.cookie:#x}"
    advice = f"unless it is meant to, ovs-ofctl -O OpenFlow13 --strict del-flows BRIDGE '{named}'"
    fields = _fields(entry.key)
    port = fields["in_port"][0] if "in_port" in fields else None
    key = FindingKey(FindingKind.FOREIGN_ENTRY, switch, port if isinstance(port, int) else None, named)
    return SwitchFinding(key, text, advice)


def entry_text(key: FlowKey) -> str:
    """Return table, priority and match of an entry, for `ovs-ofctl` if none of its fields is unknown to our rules."""
    if isinstance(key.match, Match):
        matched = match_text(key.match)
    else:
        matched = ",".join(f"{name}={_value_text(value)}" for name, value in key.match)
    return ",".join([f"table={key.table_id}", f"priority={key.priority}", *([matched] if matched else [])])


def _value_text(value: object) -> str:
    return "/".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _drops(entry: FlowEntry) -> bool:
    if entry.goto_table is not None:
        return False
    return all(
        isinstance(action, ToGroup) and action.group_id == DROP_GROUP for action in entry.actions + entry.written
    )


def _fields(key: FlowKey) -> Demands:
    if isinstance(key.match, Match):
        names = ((name, getattr(key.match, name)) for name in Match.__slots__)
        given = {name: value for name, value in names if value is not None}
    else:
        given = dict(key.match)
    return {name: _demanded(value) for name, value in given.items()}


def _demanded(value: object) -> tuple[object, int | None]:
    if isinstance(value, IPv4Network | IPv6Network):
        return int(value.network_address), int(value.netmask)
    if isinstance(value, tuple) and len(value) == 2:
        first, mask = (_number(each) for each in value)
        if first is not None and mask is not None:
            return first, mask
        return None, 0  # a field whose form is unknown: any packet may match
    number = _number(value)
    return (value, None) if number is None else (number, None)


def _number(value: object) -> int | None:
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return None
    try:
        return int(ip_address(value))
    except ValueError:
        return None


def _overlap(one: Demands, other: Demands) -> bool:
    """Return True if a packet may match both."""
    for name, (value, mask) in one.items():
        if name not in other:
            continue
        other_value, other_mask = other[name]
        if isinstance(value, int) and isinstance(other_value, int):
            bits = (-1 if mask is None else mask) & (-1 if other_mask is None else other_mask)
            if (value ^ other_value) & bits:
                return False
        elif mask is None and other_mask is None and value != other_value:
            return False
    return True
