"""Memory saved by decomposition: the paper's figure 8, and our own tables of a plan like that of section 5.4."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from kuijia_app.proof.equivalence import first_difference
from kuijia_app.tables.field_counts import count_fields
from kuijia_app.tables.options import Form, PipelineOptions
from kuijia_app.tables.paper_tables import HOSTS_PRIORITIES, Memory, figure_7, figure_8, stored
from kuijia_app.tables.pipeline import build_tables
from kuijia_app.tables.queue_layouts import LAYOUTS
from te_solver.formats.topology_file import load_topology
from te_solver.model.demand_generators import random_pairs
from te_solver.networks import shipped_network
from te_solver.solve import solve

PUBLISHED_SLOPE, PUBLISHED_SAVING = 0.36, 1 - 1580 / 2552


@pytest.mark.parametrize("priorities", [1, 3, 8])
@pytest.mark.parametrize("memory", Memory)
def test_every_way_to_hold_the_forwarding_entries_of_figure_7_does_the_same(priorities: int, memory: Memory) -> None:
    tables = figure_7(priorities)
    for switch in ("s2", "s3"):
        assert first_difference(tables[switch], stored(tables[switch], memory)) is None


def test_replicated_entries_of_figure_7_need_five_fields_each_and_three_at_the_ingress() -> None:
    assert figure_8(from_hosts=()).replicated == tuple(30 * count for count in range(1, 9))
    assert figure_8(from_hosts=range(8)).replicated == tuple(36 * count for count in range(1, 9))
    sent = (1, 2, 3, 4, 5, 5, 6, 6)
    assert figure_8().replicated == tuple(30 * count + 6 * from_hosts for count, from_hosts in enumerate(sent, 1))


def test_the_slope_of_figure_8_is_the_published_one() -> None:
    assert figure_8().slope_ratio == pytest.approx(PUBLISHED_SLOPE, abs=0.01)


@pytest.mark.parametrize("goto_counts", [True, False])
def test_the_slope_depends_on_what_is_counted_and_the_published_one_lies_between(*, goto_counts: bool) -> None:
    none, all_of_them = (figure_8(from_hosts=each, goto_counts=goto_counts) for each in ((), range(8)))
    assert 0.26 < none.slope_ratio < PUBLISHED_SLOPE < all_of_them.slope_ratio < 0.41


@pytest.mark.parametrize("from_hosts", [(), HOSTS_PRIORITIES, range(8)])
@pytest.mark.parametrize("goto_counts", [True, False])
def test_more_than_half_is_saved_at_eight_priorities(from_hosts: Collection[int], *, goto_counts: bool) -> None:
    assert figure_8(from_hosts=from_hosts, goto_counts=goto_counts).last_saving > 0.5


def test_our_tables_of_five_random_pairs_in_two_classes_save_more_than_was_published() -> None:
    topology = load_topology(shipped_network("gscale"))
    high = [
        replace(demand, rate=demand.rate / 11) for demand in random_pairs(topology, np.random.default_rng(1), 5, 1e3)
    ]
    low = [replace(demand, rate=demand.rate * 10, priority=1) for demand in high]
    plan = solve(topology, [*high, *low], 3)
    fields = {
        form: sum(
            count_fields(tables.flows)
            for tables in build_tables(plan, PipelineOptions(layout=LAYOUTS["four"], form=form)).values()
        )
        for form in Form
    }
    assert 1 - fields[Form.DECOMPOSED] / fields[Form.SINGLE] > PUBLISHED_SAVING
