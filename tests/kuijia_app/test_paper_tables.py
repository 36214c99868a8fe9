"""How much memory decomposition saves: the paper's figure 8, and our own tables of a plan like that of section 5.4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kuijia_app.equivalence import first_difference
from kuijia_app.field_counts import count_fields
from kuijia_app.options import Form, PipelineOptions
from kuijia_app.paper_tables import Memory, figure_7, figure_8, stored
from kuijia_app.pipeline import build_tables
from kuijia_app.queue_layouts import LAYOUTS
from te_solver.demand_generators import random_pairs
from te_solver.networks import shipped_network
from te_solver.solve import solve
from te_solver.topology_file import load_topology

PUBLISHED_SLOPE, PUBLISHED_SAVING = 0.36, 1 - 1580 / 2552


@pytest.mark.parametrize("priorities", [1, 3, 8])
@pytest.mark.parametrize("memory", Memory)
def test_every_way_to_hold_the_forwarding_entries_of_figure_7_does_the_same(priorities: int, memory: Memory) -> None:
    tables = figure_7(priorities, ingress=True)
    for switch in ("s2", "s3"):
        assert first_difference(tables[switch], stored(tables[switch], memory)) is None


def test_replicated_entries_of_figure_7_need_five_fields_each_and_three_at_the_ingress() -> None:
    assert figure_8(8, ingress=False, goto_counts=True).replicated == tuple(30 * count for count in range(1, 9))
    assert figure_8(8, ingress=True, goto_counts=True).replicated == tuple(36 * count for count in range(1, 9))


@pytest.mark.parametrize("goto_counts", [True, False])
def test_the_published_slope_lies_between_those_without_and_with_the_ingress_entries(*, goto_counts: bool) -> None:
    without, with_ingress = (figure_8(8, ingress=each, goto_counts=goto_counts) for each in (False, True))
    assert 0.27 < without.slope_ratio < PUBLISHED_SLOPE < with_ingress.slope_ratio < 0.41


@pytest.mark.parametrize("ingress", [False, True])
def test_more_than_half_is_saved_at_eight_priorities(*, ingress: bool) -> None:
    assert figure_8(8, ingress=ingress, goto_counts=True).last_saving > 0.5


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
