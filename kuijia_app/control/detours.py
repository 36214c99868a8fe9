"""Keeps groups off tunnels that are known to be dead or lossy, beyond what an ingress does by itself; pure.

An ingress falls back on the last resort of a pair while all its sessions are down, perhaps by an alarm alone:
a switch that stands still for a moment loses all its sessions. By ports alone it cannot tell which tunnel is broken
further on. The controller can, from the ports of other switches, and it knows this long before such an alarm.

A scheme that renormalises has a dead tunnel's slots removed, too (Zhang et al., Kuijia, section 4.1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from kuijia_app.control.controller_roles import ControllerRoles
from kuijia_app.control.identity import are_identical
from kuijia_app.control.liveness import LivenessTracker, Tunnel
from kuijia_app.control.rollout import Rollout
from kuijia_app.control.switches import ControlledSwitches, Runtime
from kuijia_app.framework import event_log
from kuijia_app.tables.ingress import Ingress
from kuijia_app.tables.options import Liveness, PipelineOptions
from kuijia_app.tables.pipeline import ingresses_of
from kuijia_app.tables.rules import Group, ToGroup
from kuijia_app.tables.tagging import tunnel_of
from te_solver.model.plan import Plan


class LastResorts:
    """The groups that differ from those of the plans: last resorts, where live tunnels come first, and slots."""

    def __init__(self, options: PipelineOptions) -> None:
        self._options = options
        self._plans: tuple[Plan, ...] = ()
        self._ingresses: dict[str, list[Ingress]] = {}
        self._told: dict[str, dict[int, Group]] = {}

    def following(self, plans: tuple[Plan, ...]) -> Iterator[None]:
        """Return a task that takes in the plans in use."""
        if are_identical(plans, self._plans):
            return
        found: defaultdict[str, list[Ingress]] = defaultdict(list)
        for plan in plans:
            for (switch, _), ingress in ingresses_of(plan, self._options).items():
                found[switch].append(ingress)
            yield
        self._plans, self._ingresses = plans, dict(found)

    @property
    def switches(self) -> frozenset[str]:
        """The ingresses with groups that differ."""
        return frozenset(self._told)

    def told(self, switch: str) -> Mapping[int, Group]:
        """Return the groups that an ingress is to have instead of those of its tables."""
        return self._told.get(switch, {})

    def forget(self, switch: str) -> None:
        """Forget what an ingress was told: it has been read again."""
        self._told.pop(switch, None)

    def update(self, switch: str, dead: Collection[Tunnel], wanted: Mapping[int, Group]) -> dict[int, Group | None]:
        """Return the groups of an ingress that change, with None for those of its tables again.

        Args:
            switch: the ingress.
            dead: tunnels that a failure has broken.
            wanted: the groups that the ingress is to have by its tables.
        """
        before, after = self._told.pop(switch, {}), dict(self._past(switch, dead, wanted))
        if after:
            self._told[switch] = after
        back: dict[int, Group | None] = dict.fromkeys(before.keys() - after.keys())
        return back | {group_id: group for group_id, group in after.items() if before.get(group_id) != group}

    def _past(self, switch: str, dead: Collection[Tunnel], wanted: Mapping[int, Group]) -> Iterator[tuple[int, Group]]:
        path_ids = {path_id for ingress, path_id in dead if ingress == switch}
        for ingress in self._ingresses.get(switch, ()) if path_ids else ():
            if path_ids.isdisjoint(ingress.path_ids):
                continue
            pairs = list(zip(ingress.last_resorts(), ingress.last_resorts(path_ids), strict=True))
            if self._options.scheme.renormalises:
                pairs += zip(ingress.splits(), ingress.splits(path_ids), strict=True)
            for own, group in pairs:
                if group != own and wanted.get(own.group_id) == own:
                    yield own.group_id, group


def detours(groups: Iterable[Group], avoided: Collection[int]) -> Iterator[Group]:
    """Yield each group of an ingress that may send into an avoided tunnel or lead on, as it only leads on.

    Args:
        groups: those of the ingress by its tables.
        avoided: path ids of the tunnels.
    """
    for group in groups:
        left = [bucket for bucket in group.buckets if tunnel_of(bucket.actions) not in avoided]
        leads_on = any(isinstance(bucket.actions[-1], ToGroup) for bucket in left if bucket.actions)
        if len(left) < len(group.buckets) and leads_on:
            yield replace(group, buckets=tuple(left))


class Detours:
    """Puts these groups on ingresses that notice by themselves which tunnels are alive, or that renormalise.

    They may be slow to: a BFD session that has just come up detects a failure after seconds (RFC 5880, 6.8.3).
    """

    def __init__(
        self,
        runtime: Runtime,
        options: PipelineOptions,
        switches: ControlledSwitches,
        roles: ControllerRoles,
        rollout: Rollout,
        tracker: LivenessTracker,
        above: Callable[[str], Container[int]],
    ) -> None:
        """Begin without groups that differ.

        Args:
            runtime: of the process.
            options: on tables.
            switches: their connections.
            roles: whether this controller acts.
            rollout: the plans in use.
            tracker: the liveness of tunnels.
            above: returns the groups of an ingress that are to be as others say.
        """
        self._runtime = runtime
        self._switches = switches
        self._roles = roles
        self._rollout = rollout
        self._tracker = tracker
        self._above = above
        self._leads_past = options.liveness is Liveness.BFD
        self._changes_groups = self._leads_past or options.scheme.renormalises
        self._last_resorts = LastResorts(options)
        self._taken: dict[str, dict[int, Group]] = {}
        self._avoided: frozenset[Tunnel] = frozenset()
        self._is_ordering = False

    def taken(self, ingress: str) -> Mapping[int, Group]:
        """Return the groups of an ingress that lead past dead and lossy tunnels."""
        return self._taken.get(ingress, {})

    def last_resorts(self, ingress: str) -> Mapping[int, Group]:
        """Return the last resorts of an ingress, and its slots, that differ from those of its tables."""
        return self._last_resorts.told(ingress)

    def read(self, ingress: str) -> None:
        """Give a switch that has been read its groups."""
        self._take(ingress)
        if self._changes_groups:
            self._last_resorts.forget(ingress)
            self._order(ingress)

    def follow_lossy(self) -> None:
        """Lead traffic past tunnels that have begun to lose packets, and no longer past those that have ceased to."""
        changed, self._avoided = self._avoided ^ self._tracker.avoided, self._tracker.avoided
        if not self._leads_past:
            return
        for ingress in sorted({ingress for ingress, _ in changed} & self._switches.connections.keys()):
            self._take(ingress)
            self._switches.connections[ingress].proceed()
        for ingress, path_id in sorted(changed):
            alive = (ingress, path_id) not in self._avoided
            self._runtime.log.write(event_log.TUNNEL_LIVENESS, ingress=ingress, path_id=path_id, alive=alive)

    def follow_failures(self) -> None:
        """Lead last resorts and traffic past dead tunnels, as time permits, as links have failed or healed."""
        if self._roles.acts and self._changes_groups and not self._is_ordering:
            self._is_ordering = True
            self._runtime.sliced_work.add(self._ordering())

    def follow_tables(self, changed: AbstractSet[str]) -> None:
        """Do the same at switches that are to have other tables."""
        for ingress in sorted(self._taken.keys() & changed & self._switches.connections.keys()):
            self._take(ingress)
        for ingress in sorted(self._last_resorts.switches & changed & self._switches.connections.keys()):
            self._order(ingress)

    def _take(self, ingress: str) -> None:
        if not self._leads_past:
            return
        connection, groups = self._switches.connections[ingress], self._rollout.wanted(ingress).groups
        avoided = self._tracker.dead_path_ids(ingress)
        changed = {each.group_id: each for each in detours(groups, avoided)} if avoided else {}
        for group_id in sorted(self._taken.get(ingress, {}).keys() - changed.keys()):
            connection.want_instead(group_id, None)
        for group_id, group in changed.items():
            connection.want_instead(group_id, group)
        self._taken[ingress] = changed

    def _ordering(self) -> Iterator[None]:
        self._is_ordering = False
        yield from self._last_resorts.following(self._rollout.plans)
        detoured = {ingress for ingress, groups in self._taken.items() if groups}
        ingresses = {ingress for ingress, _ in self._tracker.broken} | self._last_resorts.switches | detoured
        for ingress in sorted(ingresses & self._switches.connections.keys()):
            if self._roles.acts and ingress in self._switches.connections:  # still
                self._take(ingress)
                self._order(ingress)
                self._switches.connections[ingress].proceed()
            yield

    def _order(self, ingress: str) -> None:
        connection, wanted = self._switches.connections[ingress], self._rollout.wanted(ingress)
        above = self._above(ingress)
        for group_id, group in self._last_resorts.update(ingress, self._tracker.broken, wanted.group_of).items():
            if group_id not in above:
                connection.want_instead(group_id, group)
