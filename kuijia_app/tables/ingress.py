"""Entries and groups of an ingress: they split its host's traffic over the tunnels by class and avoid dead tunnels."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

from kuijia_app.tables import identifiers
from kuijia_app.tables.bfd import BfdSessions
from kuijia_app.tables.classifier_tables import classes_used
from kuijia_app.tables.failover import Failover, GroupIds, TunnelChoice, failover_at
from kuijia_app.tables.families import Prefix, families_of, family_of
from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.queues import DSCP_NETWORK_CONTROL, TrafficClass
from kuijia_app.tables.routes import RoutedPair
from kuijia_app.tables.rules import Bucket, FlowEntry, Group, GroupType, Match, ToGroup
from kuijia_app.tables.slots import cut_slots, grown_slots
from kuijia_app.tables.tagging import Tags, arriving_at
from kuijia_app.tables.wiring import Entrance, Wiring
from te_solver.schemes.failure_scheme import VICTIM


@dataclass(frozen=True)
class Ingress:
    """All traffic from one ingress to one egress: `classes` are its directions, the most important first."""

    classes: tuple[RoutedPair, ...]
    wiring: Wiring
    options: PipelineOptions
    tags: Tags
    sessions: BfdSessions | None

    @property
    def path_ids(self) -> frozenset[int]:
        """Path ids of its tunnels."""
        return frozenset(route.path_id for direction in self.classes for route in direction.routes)

    def groups(self) -> Iterator[Group]:
        """Yield a SELECT group of equal slots per class and family, and a group for control traffic.

        Each comes after those it needs. Families share all but the SELECT groups.
        """
        failover = failover_at(self.classes[0], self.wiring, self.tags, self.sessions)
        yield from self.last_resorts()
        for direction in self.classes:
            yield from self._class_groups(direction, failover)
            yield from self._splits(direction, ())
        yield from self._control_groups(failover)

    def splits(self, dead: Collection[int] = ()) -> Iterator[Group]:
        """Yield the SELECT groups of each class, whose slots are those of tunnels without path ids in `dead`.

        If these have no weight, or there are none, the slots are those of all tunnels.
        """
        for direction in self.classes:
            yield from self._splits(direction, dead)

    def last_resorts(self, dead: Collection[int] = ()) -> Iterator[Group]:
        """Yield the last-resort group of each class, then that of control traffic.

        Tunnels whose path ids are in `dead` come after all others.
        """
        failover = failover_at(self.classes[0], self.wiring, self.tags, self.sessions)
        for group_id, choices in self._last_choices():
            in_order = sorted(choices, key=lambda choice: choice.route.path_id in dead)
            yield failover.last_resort(tuple(in_order), group_id)

    def entries(self) -> Iterator[FlowEntry]:
        """Yield entries for each prefix of the egress.

        They match by code point for each planned class but the last, which gets all others; CS6 is control. With
        classifiers, tables of their own find the class.
        """
        if self.options.layout.classifiers.are_used:
            yield from self._entries_by_class()
        for entrance in self.wiring.entrances(self.classes[0].ingress):
            for prefix in self.wiring.prefixes(self.classes[0].egress):
                yield from self._entries_to(prefix, entrance)

    def _entries_to(self, prefix: Prefix, entrance: Entrance) -> Iterator[FlowEntry]:
        *marked, last = self.classes
        vlan_id, untag = arriving_at(entrance, self.tags)
        match = partial(Match.to, prefix, in_port=entrance.port, vlan_vid=vlan_id)
        layout, family = self.options.layout, family_of(prefix)
        to_last = ToGroup(identifiers.split_group(self._egress_id, self._class_index(last), family))
        if layout.classifiers.are_used:
            yield FlowEntry(identifiers.DATA_PRIORITY, match(), untag, goto_table=identifiers.CLASSIFIER_TABLE)
            marked = []
        else:
            yield FlowEntry(identifiers.DATA_PRIORITY, match(), (*untag, to_last))
        for direction in marked:
            index = self._class_index(direction)
            to_class = ToGroup(identifiers.split_group(self._egress_id, index, family))
            for code_point in layout.classes[index].code_points:
                yield FlowEntry(identifiers.CLASS_PRIORITY, match(ip_dscp=code_point), (*untag, to_class))
        to_control = (*untag, *self.tags.name(family), ToGroup(identifiers.control_group(self._egress_id)))
        yield FlowEntry(identifiers.CONTROL_PRIORITY, match(ip_dscp=DSCP_NETWORK_CONTROL), to_control)

    def _entries_by_class(self) -> Iterator[FlowEntry]:
        """Yield the entries of the tables of classes; a class that is not planned is treated as the last one."""
        planned = {direction.priority: direction for direction in self.classes}
        for priority in classes_used(self.options.layout):
            index = self._class_index(planned.get(priority, self.classes[-1]))
            for prefix in self.wiring.prefixes(self.classes[0].egress):
                to_class = ToGroup(identifiers.split_group(self._egress_id, index, family_of(prefix)))
                to_table = identifiers.class_table(priority)
                yield FlowEntry(identifiers.DATA_PRIORITY, Match.to(prefix), (to_class,), to_table)

    @property
    def _egress_id(self) -> int:
        """Number of the egress in group ids, which have no room for datapath ids of users."""
        return self.wiring.number(self.classes[0].egress)

    def _class_index(self, direction: RoutedPair) -> int:
        return self.options.layout.classes.index(self._served(direction))

    def _served(self, direction: RoutedPair) -> TrafficClass:
        return next(each for each in self.options.layout.classes if each.priority == direction.priority)

    def _class_groups(self, direction: RoutedPair, failover: Failover) -> Iterator[Group]:
        routes, served = direction.routes, self._served(direction)
        moved = served.victim if self.options.scheme.demotes(VICTIM) else served.normal
        index = self._class_index(direction)
        weights = [route.weight for route in routes]
        owners = sorted(set(self._owners(direction)))
        last_resort = identifiers.last_resort_group(self._egress_id, index)
        for primary, backup in owners:
            others = self.options.scheme.failover(primary, backup, weights)
            choices = (
                TunnelChoice(routes[primary], served.normal),
                *(TunnelChoice(routes[other], moved) for other in others),
            )
            group_id = _slot_group_ids(routes[primary].path_id, backup, index)
            yield from failover.groups(choices, group_id, last_resort)

    def _owners(self, direction: RoutedPair) -> list[tuple[int, int]]:
        """Return for each slot, in hash order, its tunnel and the backup to which it is promised, by position."""
        table = cut_slots([route.weight for route in direction.routes], self.options.slot_count)
        return [(slot.primary, _position(slot.backup, slot.primary)) for slot in table.slots]

    def _splits(self, direction: RoutedPair, dead: Collection[int]) -> Iterator[Group]:
        """Yield the SELECT group of a class for each family of its egress.

        The ranges of its live tunnels grow over all slots (Kuijia, 4.1).
        """
        routes, index, owners = direction.routes, self._class_index(direction), self._owners(direction)
        own = {primary: (primary, backup) for primary, backup in reversed(owners)}
        weights = [route.weight if at in own else 0.0 for at, route in enumerate(routes)]
        dead_owners = {at for at in own if routes[at].path_id in dead}
        if grown := grown_slots(weights, dead_owners, self.options.slot_count):
            owners = [own[at] for at in grown]
        heads = [identifiers.failover_group(routes[primary].path_id, backup, index) for primary, backup in owners]
        for family in families_of(self.wiring.prefixes(direction.egress)):
            # The family is named here, as a switch that had to hash a packet under a label would find no addresses.
            slots = tuple(Bucket((*self.tags.name(family), ToGroup(head))) for head in heads)
            yield Group(identifiers.split_group(self._egress_id, index, family), GroupType.SELECT, slots)

    def _last_choices(self) -> Iterator[tuple[int, tuple[TunnelChoice, ...]]]:
        """Yield each last-resort group's id and its tunnels: of a class by weight, all for victims.

        Even a scheme that demotes nobody must not let traffic that may get nowhere take the place of other traffic.
        """
        for direction in self.classes:
            weights = [route.weight for route in direction.routes]
            heaviest = weights.index(max(weights))
            order = (heaviest, *self.options.scheme.failover(heaviest, heaviest, weights))
            victim = self._served(direction).victim
            group_id = identifiers.last_resort_group(self._egress_id, self._class_index(direction))
            yield group_id, tuple(TunnelChoice(direction.routes[position], victim) for position in order)
        yield identifiers.control_last_resort_group(self._egress_id), self._control_choices

    @property
    def _control_choices(self) -> tuple[TunnelChoice, ...]:
        routes = sorted(self.classes[0].routes, key=lambda route: len(route.nodes))
        return tuple(TunnelChoice(route, self.options.layout.control) for route in routes)

    def _control_groups(self, failover: Failover) -> Iterator[Group]:
        """Yield the groups of control traffic, which takes the shortest alive tunnel, unhashed."""
        last_resort = identifiers.control_last_resort_group(self._egress_id)
        yield from failover.groups(self._control_choices, _control_group_ids(self._egress_id), last_resort)


def _position(backup: int | None, primary: int) -> int:
    """Return the position that names a slot's backup; a tunnel without a backup names itself."""
    return primary if backup is None else backup


def _slot_group_ids(path_id: int, backup: int, class_index: int) -> GroupIds:
    def group_id(step: int) -> int:
        if step == 0:
            return identifiers.failover_group(path_id, backup, class_index)
        return identifiers.chain_group(path_id, backup, class_index, step)

    return group_id


def _control_group_ids(egress_id: int) -> GroupIds:
    def group_id(step: int) -> int:
        return identifiers.control_chain_group(egress_id, step) if step else identifiers.control_group(egress_id)

    return group_id
