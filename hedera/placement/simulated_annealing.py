"""Simulated annealing: a search for the best label (core switch) towards each destination host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hedera import _core
from hedera.network.fabric import HASHED, Fabric, Ints, Vector
from hedera.placement.interface import UNIT, Elephants, Placement, amounts, without_dead_paths

SMALL_NETWORK = 16
"""Most hosts for which the search is warmer, as in the paper's testbed."""

_GREED_OF_SMALL, _GREED_OF_LARGE = 0.5, 1000.0
_GREED_OF_FLOWS = 10.0
_DEAREST = 2.0**31 - 1

Start = Literal["drawn", "spread", "in order"]
"""First state of the search in each pod: hosts in random slots; hosts of an edge switch below different aggregation
switches; or the n-th host in the n-th slot, which puts hosts of an edge switch below the same one."""


@dataclass(frozen=True)
class Annealing:
    """Parameters of the search.

    Attributes:
        iterations: states tried in a round with one label for all flows to a host.
        flow_iterations: states tried after that with a label for each flow; 0 for the paper's search.
        greed: a state worse by e interfaces is accepted with probability exp(-greed * e * iterations / left), the
            paper's exp(c * (E - E') / T) with c = greed * T0; None for 0.5 in networks of up to 16 hosts, else 1000.
        movement_fee: cost of moving a flow that has been placed before, as a share of its demand.
        seed: the seed of all random choices.
        start: first state; the paper has a random one.
    """

    iterations: int = 1000
    flow_iterations: int = 3000
    greed: float | None = None
    movement_fee: float = 0.0
    seed: int = 1
    start: Start = "drawn"


@dataclass(frozen=True, eq=False)
class Seats:
    """Slots with a fixed label each, which hold one host or none; every pod has all labels equally often.

    A pod has at least as many slots as hosts. As the search only exchanges the contents of two slots of a pod, hosts of
    a pod share a label only if there are more hosts than labels.
    """

    label: Ints
    pod_first: Ints
    block_first: Ints

    @classmethod
    def of(cls, fabric: Fabric) -> Seats:
        sizes = np.diff(fabric.pod_first)
        rows = np.maximum(1, -(-sizes // fabric.labels))
        label = np.concatenate([np.repeat(np.arange(fabric.labels), row) for row in rows.tolist()])
        pod_first = np.concatenate([[0], np.cumsum(rows * fabric.labels)])
        block = label * fabric.blocks // fabric.labels
        begins = np.union1d(np.flatnonzero(np.diff(block)) + 1, pod_first)
        return cls(label.astype(np.int32), pod_first.astype(np.int32), begins.astype(np.int32))

    def draw(self, fabric: Fabric, random: np.random.Generator) -> Ints:
        """Draw a host, or -1, for each slot."""
        host = np.full(self.label.size, -1, np.int32)
        for pod, (begin, end) in enumerate(zip(self.pod_first[:-1], self.pod_first[1:], strict=True)):
            members = np.arange(fabric.pod_first[pod], fabric.pod_first[pod + 1], dtype=np.int32)
            host[begin + random.permutation(end - begin)[: members.size]] = members
        return host

    def filled(self, fabric: Fabric, *, spread: bool) -> Ints:
        """Return the hosts of each pod in its first slots: switch by switch, or first all first hosts of switches."""
        host = np.full(self.label.size, -1, np.int32)
        place = np.arange(fabric.hosts) - np.repeat(fabric.edge_first[:-1], np.diff(fabric.edge_first))
        for pod, begin in enumerate(self.pod_first[:-1].tolist()):
            members = np.arange(fabric.pod_first[pod], fabric.pod_first[pod + 1], dtype=np.int32)
            if spread:
                members = members[np.argsort(place[members], kind="stable")]
            host[begin : begin + members.size] = members
        return host

    def labels_of(self, host: Ints, hosts: int) -> Ints:
        """Return the label of each host, shape (H,), given the host in each slot."""
        label = np.empty(hosts, np.int32)
        label[host[host >= 0]] = self.label[host >= 0]
        return label


class SimulatedAnnealing(Placement):
    """Placement that minimises the total excess load of links between switches; each round starts from the last one.

    First all flows to a host have one label, as in the paper; then single flows change their label, or two exchange
    theirs.

    If priorities differ, the flows of each are placed in turn on the capacity that earlier ones leave; the search then
    remembers a state for each.
    """

    name = "simulated-annealing"

    def __init__(self, annealing: Annealing | None = None) -> None:
        self._annealing = annealing or Annealing()
        self._round = 0
        self._fabric: Fabric | None = None
        self._seats: Seats | None = None
        self._hosts: dict[int, Ints] = {}

    def place(self, fabric: Fabric, flows: Elephants, capacity: Vector) -> Ints:
        if fabric is not self._fabric or self._seats is None:
            self._fabric, self._seats, self._hosts = fabric, Seats.of(fabric), {}
        self._round += 1
        priorities = np.unique(flows.priority).tolist()
        if len(priorities) == 1:
            return self._placed(fabric, self._seats, flows, capacity, priorities[0])
        choice = np.full(flows.size, HASHED, np.int32)
        left = capacity.copy()
        for priority in priorities:
            members = np.flatnonzero(flows.priority == priority)
            of_priority = flows.some(members)
            found = self._placed(fabric, self._seats, of_priority, left, priority)
            choice[members] = found
            left = left_over(fabric, of_priority.choosing(found), left)
        return choice

    def _placed(self, fabric: Fabric, seats: Seats, flows: Elephants, capacity: Vector, priority: int) -> Ints:
        annealing = self._annealing
        host = self._hosts.get(priority)
        if host is None:
            host = self._first(fabric, seats, priority)
        demand = amounts(flows.demand, fabric)
        greed = annealing.greed
        if greed is None:
            greed = _GREED_OF_SMALL if fabric.hosts <= SMALL_NETWORK else _GREED_OF_LARGE
        found, *_ = _core.anneal(
            fabric.routes(flows.source, flows.target),
            demand,
            amounts(capacity, fabric),
            seats.label,
            host,
            (seats.pod_first, seats.block_first, fabric.edge_first),
            self._fees(fabric, flows, demand),
            (annealing.iterations, greed, UNIT, _seed(annealing.seed, self._round)),
        )
        self._hosts[priority] = found
        label = seats.labels_of(found, fabric.hosts)[flows.target]
        if annealing.flow_iterations:
            label = self._refined(fabric, flows, label, capacity)
        return without_dead_paths(fabric, flows, label, capacity)

    def _first(self, fabric: Fabric, seats: Seats, priority: int) -> Ints:
        annealing = self._annealing
        if annealing.start == "drawn":
            return seats.draw(fabric, np.random.default_rng([annealing.seed, priority & 0xFFFFFFFF]))
        return seats.filled(fabric, spread=annealing.start == "spread")

    def _refined(self, fabric: Fabric, flows: Elephants, label: Ints, capacity: Vector) -> Ints:
        """Search from the labels of hosts, or from the flows' previous labels, whichever are better."""
        annealing = self._annealing
        living = without_dead_paths(fabric, flows, flows.choice, capacity)
        demand = amounts(flows.demand, fabric)
        fee = np.where(living == HASHED, 0, np.minimum(demand * annealing.movement_fee, _DEAREST)).astype(np.int32)
        routes, room = fabric.routes(flows.source, flows.target), amounts(capacity, fabric)
        seed = _seed(annealing.seed, self._round, 1)

        def refined(begin: Ints, iterations: int) -> tuple[Ints, int]:
            schedule = (iterations, _GREED_OF_FLOWS, UNIT, seed)
            found, _, energy, _ = _core.refine(routes, demand, room, begin, living, fee, schedule)
            return found, energy

        begin = label
        kept = np.where(living == HASHED, label, living)
        if (kept != label).any() and refined(kept, 0)[1] <= refined(label, 0)[1]:
            begin = kept
        return refined(begin, annealing.flow_iterations)[0]

    def _fees(self, fabric: Fabric, flows: Elephants, demand: Ints) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        fees = np.zeros(fabric.hosts)
        if self._annealing.movement_fee:
            placed = flows.choice != HASHED
            np.add.at(fees, flows.target[placed], demand[placed] * self._annealing.movement_fee)
        return np.floor(fees).astype(np.int64)


class AnnealingPerHost(SimulatedAnnealing):
    """The paper's search alone: all flows to a host have one label, and no search of single flows follows."""

    name = "simulated-annealing-per-host"

    def __init__(self, annealing: Annealing | None = None) -> None:
        super().__init__(replace(annealing or Annealing(), flow_iterations=0))


def left_over(fabric: Fabric, flows: Elephants, capacity: Vector) -> Vector:
    """Return the capacity that placed flows leave if they get their full demands."""
    placed = flows.some(flows.choice != HASHED)
    paths = fabric.flow_paths(placed.source, placed.target, placed.choice)
    taken = np.zeros(capacity.size)
    np.add.at(taken, paths.links, np.repeat(placed.demand, np.diff(paths.first)))
    # A link that is full is not dead: flows of lower priority may have no other.
    return np.where(capacity > 0, np.maximum(capacity - taken, np.minimum(capacity, fabric.nic_rate / UNIT)), 0.0)


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
