"""Decides which of several controllers may program a switch, and whether a switch belongs to the plan; pure."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from kuijia_app.control.snapshot import Room
from kuijia_app.tables.rules import GroupType, SwitchTables
from kuijia_app.tables.wiring import Wiring

DENIALS = frozenset({"OFPET_BAD_REQUEST/OFPBRC_IS_SLAVE", "OFPET_ROLE_REQUEST_FAILED/OFPRRFC_STALE"})
"""Errors by which a switch informs a controller that a newer one is its master (OpenFlow 1.3.5, 7.3.9)."""

_NO_ROOM = {"OFPFMFC_TABLE_FULL": Room.OF_ENTRIES, "OFPGMFC_OUT_OF_GROUPS": Room.OF_GROUPS}
"""Ends of the names of errors by which a switch says that it is full (OpenFlow 1.3.5, 7.5.4.6 and 7.5.4.7), and what
it has no room for."""

_GROUP_TYPES = {GroupType.SELECT: 1, GroupType.FAST_FAILOVER: 3}
"""Numbers of types of groups (OpenFlow 1.3.5, 7.3.4.2)."""

UNDEFINED = 0xFFFF_FFFF_FFFF_FFFF
"""Generation id by which a switch says that it has seen none (as Open vSwitch does)."""

_ALL = 1 << 64
_TERM = 48
_INSTANCE = 32


def first_generation(term: int, instance: int) -> int:
    """Return the first generation id of a controller in a term.

    The upper 16 bits are the term, which counts masters. The next 16 bits differ between controllers, so that no two
    use the same id. The rest counts renewals.
    """
    found = (term % (1 << 16)) << _TERM | (instance % (1 << 16)) << _INSTANCE
    return found if found != UNDEFINED else found - 1


def term_of(generation: int) -> int:
    return generation >> _TERM


def instance_of(generation: int) -> int:
    return generation >> _INSTANCE & 0xFFFF


def is_later(one: int, other: int) -> bool:
    """Return True if the first of two generation ids is the later one (OpenFlow 1.3.5, 7.3.9)."""
    return 0 < (one - other) % _ALL < _ALL >> 1


class Claims:
    """Generation ids by which this controller claims switches.

    A switch keeps the greatest id it has seen and accepts no role from a controller with a smaller one. The id comes
    from what the switches report and not from a clock: clocks are set back.

    All switches are claimed by one id as far as that is possible. One that tells an id above which most others could
    not be claimed is claimed by an id of its own: it may lie.

    Attributes:
        generation: the common id.
    """

    def __init__(self, instance: int | None = None) -> None:
        """Start a controller's life; `instance` is random if it is None."""
        self.instance = secrets.randbits(16) if instance is None else instance
        self.generation = first_generation(1, self.instance)
        self._held: set[str] = set()
        self._own: dict[str, int] = {}

    def raised_above(self, reported: Iterable[int | None]) -> None:
        """Make `generation` later than these ids if one is not earlier, or than as many of them and ours as possible.

        Ids are compared as on a circle (OpenFlow 1.3.5, 7.3.9), so there may be none that is later than all.
        """
        told, ours = [each for each in reported if each is not None], list(map(self.of, self._held))
        if all(is_later(self.generation, each) for each in told):
            return

        def accepted(candidate: int) -> int:
            by_ours = sum(each == candidate or is_later(candidate, each) for each in ours)
            return by_ours + sum(is_later(candidate, each) for each in told)

        terms = dict.fromkeys(map(term_of, (*told, *ours)))
        raised = max((self.generation, *map(self._first_after, terms)), key=accepted)
        before = {switch: self.of(switch) for switch in self._held}
        self._own = {switch: each for switch, each in before.items() if each != raised and not is_later(raised, each)}
        self.generation = raised

    def renewed(self) -> int:
        """Return the next common generation id of the same term; `of` changes likewise."""
        self.generation = _next_generation(self.generation)
        self._own = {switch: _next_generation(each) for switch, each in self._own.items()}
        return self.generation

    def begun_anew(self) -> None:
        """Forget which switches were ours: another controller has acted."""
        self._held.clear()
        self._own.clear()
        self.generation = self._first_after(term_of(self.generation))

    def met(self, switch: str, reported: int | None) -> bool:
        """Take in the greatest id that a switch has seen; return False if a later controller has claimed it.

        Otherwise the switch may be claimed by `of(switch)`. `generation` may have become greater.
        """
        if switch in self._held:
            return reported is None or not is_later(reported, self.of(switch))
        if reported is not None and not is_later(self.generation, reported):
            # Also above an equal one: an earlier process may have had the same number.
            self.raised_above((reported,))
            if not is_later(self.generation, reported):
                self._own[switch] = self._first_after(term_of(reported))
        self._held.add(switch)
        return True

    def left(self, switch: str) -> None:
        """Forget that a switch was ours: another controller has claimed it, as it says."""
        self._held.discard(switch)
        self._own.pop(switch, None)

    def of(self, switch: str) -> int:
        """Return the id by which a switch is to be claimed."""
        return self._own.get(switch, self.generation)

    def _first_after(self, term: int) -> int:
        return first_generation(term + 1, self.instance)


def _next_generation(generation: int) -> int:
    return (generation + 1) % UNDEFINED


def misfit(wiring: Wiring, switch: str, ports: Iterable[int], *, is_ours: bool) -> str | None:
    """Return why a switch cannot be the plan's switch of this name, in words; None if it can.

    Switches may have more ports than the plan uses. A switch with entries of ours was programmed before: a port that it
    lacks has failed since. Of a site's ports one is enough.

    Args:
        wiring: ports that the plan expects.
        switch: the name for its datapath id.
        ports: numbers of its ports.
        is_ours: True if it has entries of ours.
    """
    expected = sorted(wiring.ports(switch))
    present = set(ports)
    own = set(wiring.host_ports(switch)) if wiring.has_host(switch) else set()
    missing = sorted(set(expected) - present - (own if own & present else set()))
    if not missing or is_ours:
        return None
    listed = ", ".join(map(str, missing))
    is_row = expected == list(range(1, len(expected) + 1)) and len(expected) > 1
    numbers = f"1 to {len(expected)}" if is_row else ", ".join(map(str, expected))
    leads_to = ", ".join(wiring.topology.neighbours[switch])
    host = " and the site's host" if wiring.has_host(switch) else ""
    return f"has no port {listed}: the plan expects ports {numbers}, to {leads_to}{host}"


def room_lacking(error: str) -> Room | None:
    """Return what a switch has no room for, by the name of its error; None if it means something else."""
    return _NO_ROOM.get(error.rpartition("/")[2])


def room_text(room: Room, sizes: Mapping[int, int], needed: SwitchTables) -> str:
    """Return in words how much a switch can hold of what it has no room for; `sizes` is empty if it does not say."""
    if room is Room.OF_GROUPS:
        kinds = {group.group_type for group in needed.groups}
        numbers = ((kind, number) for kind, number in _GROUP_TYPES.items() if kind in kinds and number in sizes)
        told = [f"{sizes[number]:,} groups of type {kind.value}" for kind, number in numbers]
    else:
        tables = sorted({entry.table_id for entry in needed.flows} & sizes.keys())
        told = [f"{sizes[table]:,} entries in table {table}" for table in tables]
    return f"it has room for {' and '.join(told)}" if told else "it does not say how much it has room for"


def shortage(error: str, needed: SwitchTables | None, entries: int, groups: int) -> str:
    """Return an error of a switch; one that says that it is full comes with the numbers of entries and groups.

    Args:
        error: the name of the error.
        needed: tables that the switch should have.
        entries: number of entries of ours that it had when it was read.
        groups: number of groups likewise.
    """
    if needed is None or room_lacking(error) is None:
        return error
    needs = f"it needs {len(needed.flows):,} entries and {len(needed.groups):,} groups"
    return f"{error}: {needs}, and had {entries:,} and {groups:,} of ours when it was read"
