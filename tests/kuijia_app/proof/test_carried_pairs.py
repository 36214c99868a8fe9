"""Pairs that failures leave without a tunnel are proved to be carried over a live path, as victims."""

from __future__ import annotations

from itertools import combinations

import pytest

from kuijia_app.control.restoration import Restoration
from kuijia_app.proof.model.network import ModelNetwork
from kuijia_app.proof.verification import Verification, Verifier
from kuijia_app.tables.destination_trees import DefaultEntries, restored
from kuijia_app.tables.options import Form, Liveness, OtherTraffic, PipelineOptions, Tagging
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queues import PLAIN_LAYOUT
from te_solver.model.failures import NO_FAILURE, Failure
from tests.kuijia_app.plans import both_ways, plan_of

TOPOLOGY = both_ways("mesh", "a b c d e", "a-b b-c c-d d-e e-a b-e")
PLAN = plan_of(TOPOLOGY, "a-b-c a-e-d-c", "d-e")
EDGES = list(TOPOLOGY.edges)
CUTS = [
    *(Failure("-".join(edge), edges=(edge,)) for edge in EDGES),
    *(Failure(f"{one}, {other}", edges=(one, other)) for one, other in combinations(EDGES, 2)),
    *(Failure(node, nodes=(node,)) for node in TOPOLOGY.nodes),
]


def verified(options: PipelineOptions) -> Verification:
    return Verifier(PLAN, build_tables(PLAN, options), options).run(CUTS)


@pytest.mark.parametrize(
    "options",
    [
        PipelineOptions(slot_count=16),
        PipelineOptions(slot_count=16, liveness=Liveness.BFD),
        PipelineOptions(slot_count=16, tagging=Tagging.DSCP_ECN),
        PipelineOptions(slot_count=16, form=Form.DECOMPOSED),
        PipelineOptions(slot_count=16, other_traffic=OtherTraffic.FORWARD),
    ],
    ids=lambda options: (
        f"{options.liveness.value}-{options.tagging.value}-{options.form.value}-{options.other_traffic.value}"
    ),
)
def test_pairs_without_a_tunnel_are_delivered_over_a_live_path_in_the_victims_queue(options: PipelineOptions) -> None:
    assert verified(options).violations == []


def test_a_pair_in_a_queue_without_entries_on_its_path_is_a_violation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket, normal = DefaultEntries.bucket, PLAIN_LAYOUT.classes[0].normal
    monkeypatch.setattr(
        DefaultEntries,
        "bucket",
        lambda self, ingress, next_hop, egress, _: bucket(self, ingress, next_hop, egress, normal),
    )
    assert {violation.rule for violation in verified(PipelineOptions(slot_count=16)).violations} == {"delivered"}


def test_the_model_carries_exactly_the_pairs_that_are_to_be_and_heals() -> None:
    options = PipelineOptions(slot_count=16)
    wiring = options.wired(TOPOLOGY)
    restoration = Restoration(wiring, options, (PLAN,))
    network = ModelNetwork(PLAN, build_tables(PLAN, options), options.liveness, wiring, restoration=restoration)
    carried = 0
    for failure in CUTS:
        network.fail(failure)
        if not failure.nodes:
            assert network.carried == restored(PLAN, frozenset(map(frozenset, failure.edges)))
            carried += len(network.carried)
        network.fail(NO_FAILURE)
        assert (network.carried, network.changed) == ({}, frozenset())
    assert carried > 10
