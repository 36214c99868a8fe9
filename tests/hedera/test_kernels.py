"""The kernels of placement agree with their references, and refuse invalid input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedera import _core
from hedera.network.fabric import Fabric, Ints, Vector
from hedera.network.fat_tree import FatTree
from hedera.placement.interface import UNIT, Elephants, amounts
from hedera.placement.simulated_annealing import Seats
from tests.hedera.cases import capacities, elephants, fabrics
from tests.hedera.reference import annealing, first_fit, refinement

Case = tuple[Fabric, Elephants, Vector]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    fabric = draw(fabrics())
    return fabric, draw(elephants(fabric, placed=True)), draw(capacities(fabric))


@settings(deadline=None, max_examples=60)
@given(cases())
def test_first_fit_is_its_reference(case: Case) -> None:
    fabric, flows, capacity = case
    given = amounts(flows.demand, fabric), amounts(capacity, fabric), flows.choice
    fast = _core.first_fit(fabric.routes(flows.source, flows.target), *given)
    assert fast.tolist() == first_fit.first_fit(fabric, flows.source, flows.target, *given)


@settings(deadline=None, max_examples=60)
@given(cases(), st.sampled_from([0.0, 0.5, 1000.0]), st.integers(0, 2**64 - 1), st.booleans())
def test_annealing_is_its_reference(case: Case, greed: float, seed: int, fees: bool) -> None:  # noqa: FBT001
    fabric, flows, capacity = case
    seats = Seats.of(fabric)
    random = np.random.default_rng(seed)
    host = seats.draw(fabric, random)
    fee = random.integers(0, int(UNIT) // 4, fabric.hosts) if fees else np.zeros(fabric.hosts, np.int64)
    demand, room = amounts(flows.demand, fabric), amounts(capacity, fabric)
    schedule = (60, greed, UNIT, seed)
    found, before, after, improvements = _core.anneal(
        fabric.routes(flows.source, flows.target),
        demand,
        room,
        seats.label,
        host,
        (seats.pod_first, seats.block_first, fabric.edge_first),
        fee,
        schedule,
    )
    search = annealing.Search(fabric, flows.source, flows.target, demand, room, seats, fee.astype(np.int32))
    slow = annealing.anneal(search, host.tolist(), schedule)
    assert (found.tolist(), improvements) == (slow.host, slow.improvements)
    at_hosts = after - before  # both omit or both count hosts' own cables
    assert at_hosts == slow.after - slow.before


@settings(deadline=None, max_examples=60)
@given(cases(), st.sampled_from([0.0, 0.5, 10.0]), st.integers(0, 2**64 - 1))
def test_refinement_is_its_reference(case: Case, greed: float, seed: int) -> None:
    fabric, flows, capacity = case
    random = np.random.default_rng(seed)
    begin = random.integers(0, fabric.labels, flows.size).astype(np.int32)
    fee = random.integers(0, int(UNIT) // 4, flows.size).astype(np.int32)
    demand, room = amounts(flows.demand, fabric), amounts(capacity, fabric)
    room[~fabric.inner] = np.iinfo(np.int32).max  # the kernel ignores these
    schedule = (60, greed, UNIT, seed)
    routes = fabric.routes(flows.source, flows.target)
    found, before, after, improvements = _core.refine(routes, demand, room, begin, flows.choice, fee, schedule)
    search = refinement.Search(fabric, flows.source, flows.target, demand, room, flows.choice, fee)
    slow = refinement.refine(search, begin.tolist(), schedule)
    assert (found.tolist(), before, after, improvements) == (slow.choice, slow.before, slow.after, slow.improvements)


def test_kernels_refuse_what_does_not_fit_together() -> None:
    tree = FatTree(4)
    routes = tree.routes(np.array([0], np.int32), np.array([15], np.int32))
    one, room = np.array([5], np.int32), np.full(tree.links, 9, np.int32)
    with pytest.raises(ValueError, match="amount: expected one for each"):
        _core.first_fit(routes, np.array([1, 2], np.int32), room, one * 0)
    with pytest.raises(ValueError, match=r"amount\[0\]: expected an amount that is not negative"):
        _core.first_fit(routes, -one, room, one * 0)
    with pytest.raises(ValueError, match=r"choice\[0\]: expected a label, or -1"):
        _core.first_fit(routes, one, room, one)
    seats = Seats.of(tree)
    host = seats.draw(tree, np.random.default_rng(1))
    ranges = (seats.pod_first, seats.block_first, tree.edge_first)
    fee = np.zeros(tree.hosts, np.int64)

    def anneal(host: Ints, amount: Ints, iterations: int) -> object:
        return _core.anneal(routes, amount, room, seats.label, host, ranges, fee, (iterations, 1.0, UNIT, 1))

    with pytest.raises(ValueError, match=r"host\[1\]: expected each host once, or -1"):
        anneal(np.zeros_like(host), one, 1)
    with pytest.raises(ValueError, match="host: expected every host in a slot"):
        anneal(np.full_like(host, -1), one, 1)
    with pytest.raises(ValueError, match="iterations: expected a number that is not negative"):
        anneal(host, one, -1)
    with pytest.raises(ValueError, match=r"choice\[0\]: expected an existing number"):
        _core.refine(routes, one, room, one * 0 - 1, one * 0, one, (1, 1.0, UNIT, 1))
    with pytest.raises(ValueError, match="choice and home: expected one for each flow"):
        _core.refine(routes, one, room, one * 0, np.zeros(2, np.int32), one, (1, 1.0, UNIT, 1))
    crowd = tree.routes(np.zeros(2, np.int32), np.full(2, 15, np.int32))
    with pytest.raises(ValueError, match=r"amount: expected less than 2\^31 in total on any link"):
        _core.anneal(crowd, np.full(2, 2**31 - 1, np.int32), room, seats.label, host, ranges, fee, (1, 1.0, UNIT, 1))
