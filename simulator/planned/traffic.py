"""Flows between the sites of a plan, and the hash slots that lead them into its tunnels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kuijia_app.tables.options import PipelineOptions
from kuijia_app.tables.slots import cut_slots
from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.quantities import exact
from simulator.packet.flows import ENDLESS, Flows
from simulator.packet.queues import TokenBucket
from simulator.packet.simulation import NO_SLOT
from simulator.packet.transports import Transport
from simulator.planned.network import PlannedNetwork
from te_solver.model.plan import PairPlan, Plan


@dataclass(frozen=True, eq=False)
class SiteFlows:
    """F flows of one transport between sites; acknowledgements have the slot of their flow, at the other ingress.

    Attributes:
        pairs: source and target of each flow, names of two switches.
        transport: the transport of all flows.
        size: bytes, as in `simulator.packet.flows.Flows`, shape (F,).
        start: seconds, shape (F,).
        priority: the class of traffic, as in `PairPlan.priority`, shape (F,).
        slot: hash slot, -1 for that of the flow's hash, shape (F,).
        tunnel: position of the tunnel in its pair's plan, whose slots the flows of the pair take in turn; -1 for any,
            shape (F,).
        backup: with `tunnel`, position of the tunnel to which its slots are promised; -1 for any, shape (F,).
        limit: Mbit/s on the wire to which a flow's host shapes it, shape (F,); 0 for no limit. The flow then has a host
            of its own.
        catch_up: seconds of its limit that such a flow may send at once after it sent less.
    """

    pairs: Sequence[tuple[str, str]]
    transport: Transport
    size: NDArray[np.int64]
    start: NDArray[np.float64]
    priority: NDArray[np.int64]
    slot: NDArray[np.int64]
    tunnel: NDArray[np.int64]
    backup: NDArray[np.int64]
    limit: NDArray[np.float64]
    catch_up: float

    @classmethod
    def of(  # noqa: PLR0913  # all by name, and most flows leave the last ones out
        cls,
        pairs: Sequence[tuple[str, str]],
        transport: Transport,
        *,
        size: ArrayLike = ENDLESS,
        start: ArrayLike = 0.0,
        priority: ArrayLike = 0,
        slot: ArrayLike = -1,
        tunnel: ArrayLike = -1,
        backup: ArrayLike = -1,
        limit: ArrayLike = 0.0,
        catch_up: float = 0.0,
    ) -> SiteFlows:
        """Return flows between these pairs, which may be repeated; a single value applies to all flows."""
        count = len(pairs)
        sizes, priorities, slots, tunnels, backups = (
            np.broadcast_to(np.asarray(value, np.int64), (count,)) for value in (size, priority, slot, tunnel, backup)
        )
        starts, limits = (np.broadcast_to(np.asarray(value, np.float64), (count,)) for value in (start, limit))
        if (limits < 0).any() or not np.isfinite(limits).all():
            raise UnsoundError(("limit",), f"a limit of {exact(limits.min())} Mbit/s", "a finite number, 0 or more")
        return cls(
            tuple(pairs), transport, sizes, starts, priorities, slots, tunnels, backups, limits, max(catch_up, 0.0)
        )

    @property
    def count(self) -> int:
        return len(self.pairs)

    def buckets(self) -> Iterator[tuple[str, TokenBucket]]:
        """Yield the source and the token bucket of each flow with a limit; the bucket holds two packets at least."""
        for (source, _), limit in zip(self.pairs, self.limit.tolist(), strict=True):
            if limit > 0:
                depth = max(2 * self.transport.largest_packet, round(limit * 1e6 / 8 * self.catch_up))
                yield source, TokenBucket(limit, depth)


_SlotKey = tuple[tuple[str, str], int, int, int]
"""Pair, priority, tunnel and backup."""


class FlowPlacer:
    """Places flows on hosts, levels and slots; keeps count of hosts and slots through all groups of flows."""

    def __init__(self, plan: Plan, options: PipelineOptions, network: PlannedNetwork) -> None:
        self._options, self._network = options, network
        self._pairs = _directed_pairs(plan)
        self._level = {each.priority: level for level, each in enumerate(options.layout.classes)}
        self._next_host: dict[str, int] = {}
        self._next_shaped: dict[str, int] = {}
        self._slots: dict[_SlotKey, list[int]] = {}
        self._taken: dict[_SlotKey, int] = {}

    def flows(self, group: SiteFlows) -> Flows:
        """Return the flows of the packet model; the flows of a site take its hosts in turn.

        Raises:
            UnsoundError: a site or class of traffic is unknown.
        """
        limited = (group.limit > 0).tolist()
        ends = [
            (self._shaped_host(source) if shaped else self._host(source), self._host(target))
            for (source, target), shaped in zip(group.pairs, limited, strict=True)
        ]
        levels = [self._level_of(int(priority)) for priority in group.priority]
        sources, targets = zip(*ends, strict=True) if ends else ((), ())
        return Flows.of(
            np.array(sources, np.int64),
            np.array(targets, np.int64),
            group.transport,
            size=group.size,
            start=group.start,
            level=np.array(levels, np.int64),
        )

    def slots(self, group: SiteFlows) -> NDArray[np.uint32]:
        """Return the slot of each flow, `NO_SLOT` for that of its hash.

        Raises:
            UnsoundError: a flow has both slot and tunnel, a slot is too large, or a tunnel is unknown or has no slot.
        """
        columns = (each.tolist() for each in (group.slot, group.priority, group.tunnel, group.backup))
        flows = zip(*columns, group.pairs, strict=True)
        slots = [self._slot(number, slot, (ends, *owner)) for number, (slot, *owner, ends) in enumerate(flows)]
        return np.array(slots, np.uint32)

    def _host(self, site: str) -> int:
        hosts = self._network.hosts.get(site)
        if hosts is None:
            raise UnsoundError(("pairs",), f"unknown site {quoted(site)}", "a node of the plan's topology")
        number = self._next_host.get(site, 0)
        self._next_host[site] = (number + 1) % len(hosts)
        return hosts[number]

    def _shaped_host(self, site: str) -> int:
        self._host(site)  # refuses an unknown site
        number = self._next_shaped.get(site, 0)
        self._next_shaped[site] = number + 1
        return self._network.shaped[site][number]

    def _level_of(self, priority: int) -> int:
        if priority not in self._level:
            served = ", ".join(map(str, self._level))
            raise UnsoundError(("priority",), f"priority {priority}", f"one that the queue layout serves: {served}")
        return self._level[priority]

    def _slot(self, number: int, slot: int, key: _SlotKey) -> int:
        tunnel = key[2]
        if slot >= 0 and tunnel >= 0:
            raise UnsoundError(("slot", number), f"slot {slot} and tunnel {tunnel}", "one of the two")
        if slot >= self._options.slot_count:
            raise UnsoundError(("slot", number), f"slot {slot}", f"0 to {self._options.slot_count - 1}")
        if tunnel < 0:
            return slot if slot >= 0 else NO_SLOT
        if key not in self._slots:
            self._slots[key] = self._slots_of(number, *key)
        turn = self._taken.get(key, 0)
        self._taken[key] = turn + 1
        return self._slots[key][turn % len(self._slots[key])]

    def _slots_of(self, number: int, ends: tuple[str, str], priority: int, tunnel: int, backup: int) -> list[int]:
        pair = self._pairs.get((*ends, priority))
        problem = f"tunnel {tunnel} of {'-'.join(ends)}"
        if pair is None or max(tunnel, backup) >= len(pair.tunnels):
            known = 0 if pair is None else len(pair.tunnels)
            raise UnsoundError(("tunnel", number), problem, f"one of its {known} tunnels, and a backup among them")
        table = cut_slots([each.weight for each in pair.tunnels], self._options.slot_count)
        owned = [
            place for place, slot in enumerate(table.slots) if slot.primary == tunnel and backup in {-1, slot.backup}
        ]
        if not owned:
            promised = "" if backup < 0 else f" with backup {backup}"
            raise UnsoundError(("tunnel", number), f"{problem} owns no slot{promised}", "one that does")
        return owned


def _directed_pairs(plan: Plan) -> dict[tuple[str, str, int], PairPlan]:
    """Return the plan of each ordered pair and class; the way back of a pair has the same tunnels and weights."""
    found: dict[tuple[str, str, int], PairPlan] = {}
    for pair in plan.pairs:
        found.setdefault((pair.target, pair.source, pair.priority), pair)
    found.update({(pair.source, pair.target, pair.priority): pair for pair in plan.pairs})
    return found
