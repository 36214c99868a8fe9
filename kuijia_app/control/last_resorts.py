"""Keeps groups off tunnels that are known to be dead or lossy, beyond what an ingress does by itself; pure.

An ingress falls back on the last resort of a pair while all its sessions are down, perhaps by an alarm alone:
a switch that stands still for a moment loses all its sessions. By ports alone it cannot tell which tunnel is broken
further on. The controller can, from the ports of other switches, and it knows this long before such an alarm.

A scheme that renormalises has a dead tunnel's slots removed, too (Zhang et al., Kuijia, section 4.1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from kuijia_app.control.identity import are_identical
from kuijia_app.control.liveness import Tunnel
from kuijia_app.tables.ingress import Ingress
from kuijia_app.tables.options import PipelineOptions
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
