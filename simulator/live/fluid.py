"""The network of a plan in the fluid model: what each queue and flow gets under a scheme while things are broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kuijia_base.text import link_id
from simulator.flow.failure_impact import FailureModel
from simulator.flow.model import Flags, FluidFlows, Vector, share
from simulator.live.states import Direction, FlowState, LinkState, QueueInfo, QueueLoad, Role, RoleSum, View
from te_solver.model.failures import Failure
from te_solver.model.plan import Plan
from te_solver.model.topology import Topology
from te_solver.schemes.all_schemes import failure_scheme
from te_solver.schemes.failure_scheme import VICTIM
from te_solver.schemes.models.interface import Scheme
from te_solver.schemes.models.rerouting import NEW_TRAFFIC, Rerouting
from te_solver.schemes.models.traffic import PlannedTraffic

_ROLES: tuple[Role, ...] = get_args(Role)
_Roles: TypeAlias = NDArray[np.int64]

MOST_FLOWS = 300
"""Flows that a view shows; of more, the largest."""


@dataclass(frozen=True)
class ExtraFlow:
    """A flow in addition to the demands: `tunnel` is the column of the tunnel that its hash selects."""

    id: str
    source: str
    target: str
    priority: int
    rate: float
    is_elastic: bool
    tunnel: int


@dataclass(frozen=True)
class Effect:
    """A view, and the sums in the log: victims, and what they and the other traffic lose, in Mbit/s."""

    view: View
    victims: float
    victims_lose: float
    others_lose: float


@dataclass(frozen=True)
class _Load:
    """Rates of each flow, and those that each level carries and drops on each link, shape (levels, L)."""

    goodput: Vector
    carried: Vector
    dropped: Vector


class FluidNetwork:
    """The traffic of a plan, one flow for each tunnel that carries some.

    Args:
        elastic: True if its traffic adapts to its share, as TCP does; else it loses the excess.
    """

    def __init__(self, plan: Plan, *, elastic: bool) -> None:
        self.plan = plan
        self.traffic = PlannedTraffic.of(plan)
        self._model = FailureModel(self.traffic, elastic=elastic)
        self._tunnels = plan.tunnels
        carrying = np.flatnonzero(self.traffic.sent > 0)
        largest = np.argsort(-self.traffic.sent[carrying], kind="stable")[:MOST_FLOWS]
        self._shown = np.sort(carrying[largest])
        self._unshown = np.setdiff1d(carrying, self._shown)
        self.left_out = self._unshown.size
        self.levels = tuple(level for each in self.traffic.classes for level in (2 * each, 2 * each + 1))

    @property
    def queues(self) -> tuple[QueueInfo, ...]:
        return tuple(QueueInfo(level + 1, "victim" if level % 2 else "normal", level // 2) for level in self.levels)

    def tunnels_of(self, source: str, target: str, priority: int) -> tuple[int, ...]:
        """Return the columns of a pair's tunnels, the heaviest first; those of another class if this one has none."""
        of_class = [
            [column for column in range(len(self._tunnels)) if self.traffic.tunnels.pair[column] == row]
            for row, pair in enumerate(self.plan.pairs)
            if (pair.source, pair.target) == (source, target) and pair.priority == priority
        ]
        columns = of_class[0] if of_class else []
        return tuple(sorted(columns, key=lambda column: -self.traffic.weight[column]))

    def effect(self, scheme: Scheme, failure: Failure, extras: Sequence[ExtraFlow] = ()) -> Effect:
        """Return the network under a scheme while a failure lasts.

        Raises:
            NoFixedPointError: the losses of inelastic traffic do not settle.
            SolverError: the solver of a scheme gave up.
            ValueError: the plan was not made for the scheme.
        """
        rerouting = scheme.reroute(self.traffic, failure)
        demotes = failure_scheme(scheme.name).demotes(VICTIM)
        carriers = [self._carrier(each, rerouting.damage.alive) for each in extras]
        flows = self._flows(rerouting, extras, carriers, demotes=demotes)
        load = self._load(flows, rerouting.damage.failed_links)
        moved = [carrier not in {None, each.tunnel} for each, carrier in zip(extras, carriers, strict=True)]
        roles = _roles(flows, np.concatenate([rerouting.victim, np.array(moved, np.bool_)]), load.carried.shape[1])
        sent, goodput = self.traffic.sent, self._goodput(rerouting, load.goodput)
        role_of = self._roles_before(rerouting, roles)
        planned = self._planned_flows(rerouting, goodput, role_of)
        started = self._extra_flows(extras, carriers, load.goodput[rerouting.offered.size :], roles)
        dead = tuple(dict.fromkeys(self._tunnels[column].path_id for column in np.flatnonzero(~rerouting.damage.alive)))
        topology, failed = self.plan.topology, set(failure.nodes)
        edges = {frozenset(edge) for edge in failure.edges}
        links = link_states(topology, self.levels, load.carried, load.dropped, edges)
        nodes_down = tuple(node for node in topology.nodes if node in failed)
        lost = np.maximum(sent - goodput, 0.0)
        alive = rerouting.damage.alive
        return Effect(
            View(scheme.name, links, nodes_down, dead, planned + started, self._sums(goodput, role_of)),
            float(sent[~alive].sum()),
            float(lost[~alive].sum()),
            float(lost[alive].sum()),
        )

    def _carrier(self, flow: ExtraFlow, alive: Flags) -> int | None:
        """Return the tunnel of a flow: its own, else the heaviest one that is alive; None if none is."""
        if flow.tunnel < alive.size and alive[flow.tunnel]:
            return flow.tunnel
        others = self.tunnels_of(flow.source, flow.target, flow.priority)
        return next((column for column in others if alive[column]), None)

    def _flows(
        self, rerouting: Rerouting, extras: Sequence[ExtraFlow], carriers: Sequence[int | None], *, demotes: bool
    ) -> FluidFlows:
        planned = self._model.flows(rerouting.tunnels, rerouting.carrier, rerouting.offered, rerouting.level)
        if not extras:
            return planned
        columns = [0 if column is None else column for column in carriers]
        first, links = self.traffic.tunnels.links_in_order
        paths = [links[first[column] : first[column + 1]] for column in columns]
        moved = [column != each.tunnel for each, column in zip(extras, carriers, strict=True)]
        level = [2 * each.priority + (demotes and other) for each, other in zip(extras, moved, strict=True)]
        rate = [0.0 if column is None else each.rate for each, column in zip(extras, carriers, strict=True)]
        return FluidFlows(
            np.concatenate([planned.first, planned.first[-1] + np.cumsum([len(path) for path in paths])]),
            np.concatenate([planned.links, *paths]).astype(np.int32),
            np.concatenate([planned.offered, rate]),
            np.concatenate([planned.level, level]).astype(np.int32),
            np.concatenate([planned.elastic, [each.is_elastic for each in extras]]).astype(np.bool_),
            np.concatenate([planned.weight, np.ones(len(extras))]),
        )

    def _load(self, flows: FluidFlows, failed: Flags) -> _Load:
        """Return the loads level by level: each is served from what the earlier ones leave."""
        capacity = np.where(failed, 0.0, self.traffic.capacity)
        carried, dropped = np.zeros((2, len(self.levels) + 1, capacity.size))
        goodput = np.zeros(flows.size)
        for place, level in enumerate(self.levels, start=1):
            shares = share(capacity, flows.offering(np.where(flows.level <= level, flows.offered, 0.0)))
            carried[place], dropped[place], goodput = shares.load, shares.dropped, shares.goodput
        return _Load(goodput, np.diff(carried, axis=0), np.diff(dropped, axis=0))

    def _goodput(self, rerouting: Rerouting, goodput: Vector) -> Vector:
        """Return what arrives of the traffic of each planned tunnel, wherever it goes now."""
        owner = np.where(rerouting.origin == NEW_TRAFFIC, rerouting.carrier, rerouting.origin)
        return np.bincount(owner, goodput[: owner.size], minlength=self.traffic.sent.size).astype(np.float64)

    def _roles_before(self, rerouting: Rerouting, roles: _Roles) -> _Roles:
        """Return the role of the traffic of each planned tunnel: that of its first part, a victim's if it has none."""
        found = np.full(self.traffic.sent.size, _ROLES.index("victim"))
        old = np.flatnonzero(rerouting.origin != NEW_TRAFFIC)[::-1]  # of several parts the last one stays
        found[rerouting.origin[old]] = roles[old]
        return found

    def _planned_flows(self, rerouting: Rerouting, arriving: Vector, role_of: _Roles) -> tuple[FlowState, ...]:
        carriers: dict[int, list[int]] = {}
        shown = np.isin(rerouting.origin, self._shown)
        for origin, carrier in zip(rerouting.origin[shown].tolist(), rerouting.carrier[shown].tolist(), strict=True):
            carriers.setdefault(origin, []).append(carrier)
        found = []
        for column in self._shown.tolist():
            tunnel, pair = self._tunnels[column], self.plan.pairs[self.traffic.tunnels.pair[column]]
            ids = {self._tunnels[each].path_id for each in carriers.get(column, ()) if each < len(self._tunnels)}
            found.append(
                FlowState(
                    f"f{tunnel.path_id}" + (f".{pair.priority}" if pair.priority else ""),
                    pair.source,
                    pair.target,
                    pair.priority,
                    _rounded(self.traffic.sent[column]),
                    _rounded(arriving[column]),
                    _ROLES[role_of[column]],
                    tuple(sorted(ids)),
                )
            )
        return tuple(found)

    def _sums(self, arriving: Vector, role_of: _Roles) -> tuple[RoleSum, ...]:
        """Return the sums of the flows that are not shown, role by role."""
        of_unshown = role_of[self._unshown]
        columns = {number: self._unshown[of_unshown == number] for number in dict.fromkeys(of_unshown.tolist())}
        return tuple(
            RoleSum(_ROLES[number], of.size, _rounded(self.traffic.sent[of].sum()), _rounded(arriving[of].sum()))
            for number, of in columns.items()
        )

    def _extra_flows(
        self, extras: Sequence[ExtraFlow], carriers: Sequence[int | None], goodput: Vector, roles: _Roles
    ) -> tuple[FlowState, ...]:
        own_roles = roles[roles.size - len(extras) :].tolist()
        return tuple(
            FlowState(
                each.id,
                each.source,
                each.target,
                each.priority,
                each.rate,
                _rounded(got),
                _ROLES[role] if carrier is not None else "victim",
                () if carrier is None else (self._tunnels[carrier].path_id,),
            )
            for each, carrier, got, role in zip(extras, carriers, goodput.tolist(), own_roles, strict=True)
        )


def link_states(
    topology: Topology, levels: Sequence[int], carried: Vector, dropped: Vector, down: set[frozenset[str]]
) -> tuple[LinkState, ...]:
    """Return the state of every link; `carried` and `dropped` have the shape (levels, L)."""
    row = {link.ends: number for number, link in enumerate(topology.links)}
    found = []
    for a, b in topology.edges:
        directions = tuple(
            Direction(
                *ends,
                tuple(
                    QueueLoad(level + 1, _rounded(carried[place, row[ends]]), _rounded(dropped[place, row[ends]]))
                    for place, level in enumerate(levels)
                ),
            )
            for ends in ((a, b), (b, a))
            if ends in row
        )
        found.append(LinkState(link_id(a, b), frozenset((a, b)) not in down, directions))
    return tuple(found)


def _roles(flows: FluidFlows, victim: NDArray[np.bool_], links: int) -> _Roles:
    """Return the role of each flow, as its position in `_ROLES`."""
    hops = np.diff(flows.first)

    def meeting(chosen: Flags) -> Flags:
        used = np.zeros(links, np.bool_)
        used[flows.links[np.repeat(chosen & (flows.offered > 0), hops)]] = True
        return np.asarray(np.logical_or.reduceat(used[flows.links], flows.first[:-1]))

    direct = ~victim & meeting(victim)
    indirect = ~victim & ~direct & meeting(direct)
    numbers = [_ROLES.index(role) for role in ("victim", "direct", "indirect")]
    return np.select([victim, direct, indirect], numbers, _ROLES.index("untouched"))


def _rounded(value: float) -> float:
    """Return a rate as the page shows it: more digits would only be bytes."""
    return round(max(float(value), 0.0), 4)
