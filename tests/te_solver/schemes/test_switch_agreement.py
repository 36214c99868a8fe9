"""The switches' tables agree with the schemes, up to the rounding of hash slots."""

from __future__ import annotations

from collections import Counter

import pytest

from kuijia_app.tables.pipeline import PipelineOptions, build_tables
from kuijia_app.tables.queues import PLAIN_LAYOUT
from kuijia_app.tables.rules import GroupType, PushLabel, ToGroup
from te_solver.model.plan import FIRST_PATH_ID
from te_solver.schemes.failure_scheme import FailureScheme
from te_solver.schemes.models.rerouting import failover_order
from te_solver.schemes.models.rescaling import Kuijia, Rescaling
from te_solver.schemes.shipped.kuijia import KUIJIA
from te_solver.schemes.shipped.rescaling import RESCALING
from tests.te_solver.schemes.cases import cut, parallel, parallel_plan

SLOTS = 256


def slots_by_tunnel(
    weights: tuple[float, ...], dead: tuple[int, ...], scheme: FailureScheme
) -> Counter[tuple[int, bool]]:
    """Return the number of the ingress's hash slots per tunnel, counted from one, for normal and victims' queue."""
    tables = build_tables(parallel_plan(weights), PipelineOptions(scheme, SLOTS))["s"]
    groups = {group.group_id: group for group in tables.groups}
    (select,) = (group for group in tables.groups if group.group_type is GroupType.SELECT)
    found: Counter[tuple[int, bool]] = Counter()
    for slot in select.buckets:
        (to_group,) = slot.actions
        assert isinstance(to_group, ToGroup)
        pushes = [bucket.actions[0] for bucket in groups[to_group.group_id].buckets]
        push = next(
            push for push in pushes if isinstance(push, PushLabel) and push.label - FIRST_PATH_ID + 1 not in dead
        )
        found[push.label - FIRST_PATH_ID + 1, push.traffic_class == PLAIN_LAYOUT.classes[0].victim.traffic_class] += 1
    return found


@pytest.mark.parametrize(
    ("weights", "dead"),
    [
        ((0.5, 0.3, 0.2), (1,)),
        ((0.5, 0.3, 0.2), (1, 2)),
        ((0.4, 0.3, 0.2, 0.1), (1, 2)),
        ((0.4, 0.3, 0.2, 0.1), (4, 1)),
        ((0.25, 0.25, 0.25, 0.25), (2, 3)),
        ((0.1, 0.0, 0.5, 0.4, 0.0), (3, 4)),
        ((0.0, 0.0, 1.0, 0.0), (3, 1)),
        ((0.3, 0.1, 0.2, 0.15, 0.25), (1, 3, 5)),
    ],
)
@pytest.mark.parametrize(
    ("in_switch", "scheme"),
    [(KUIJIA, Kuijia(failover_order)), (RESCALING, Rescaling(failover_order))],
)
def test_switches_divide_victims_in_the_failover_order(
    weights: tuple[float, ...], dead: tuple[int, ...], in_switch: FailureScheme, scheme: Kuijia | Rescaling
) -> None:
    answer = scheme.reroute(parallel(*weights), cut(*dead))
    expected: Counter[tuple[int, bool]] = Counter()
    for carrier, low, offered in zip(
        answer.carrier.tolist(), answer.demoted.tolist(), answer.offered.tolist(), strict=True
    ):
        expected[carrier + 1, low] += offered
    found = slots_by_tunnel(weights, dead, in_switch)
    for key in expected | found:
        assert found[key] / SLOTS * 100 == pytest.approx(expected[key], abs=2), key


def test_with_several_failed_tunnels_switches_are_off_the_ideal_split() -> None:
    found = slots_by_tunnel((0.4, 0.3, 0.2, 0.1), (1, 2), KUIJIA)
    ideal = Kuijia().reroute(parallel(0.4, 0.3, 0.2, 0.1), cut(1, 2))
    assert [found[3, True] / SLOTS, found[4, True] / SLOTS] == pytest.approx([0.59, 0.11], abs=0.01)
    assert (ideal.tunnel_rates[2:] - [20, 10]).tolist() == pytest.approx([140 / 3, 70 / 3])
