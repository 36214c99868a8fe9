"""Flows count as changed by how far their goodput moves, whichever way; light demands do not count."""

from __future__ import annotations

import pytest

from experiments.gscale.cases import LINKS, Case
from experiments.gscale.exhibits import exhibits_of
from tests.experiments.gscale.results import made_up


def test_flows_are_counted_that_change_by_more_than_a_tolerance() -> None:
    kept = [1.0, 0.92, 0.6, 1.12]
    runs = [made_up(Case("tcp", 1.2, LINKS[0], "rescaling", n), {"direct": part}) for n, part in enumerate(kept, 1)]
    light = made_up(Case("tcp", 0.8, LINKS[0], "rescaling", 1), {"direct": 0.5})
    spared = made_up(Case("tcp", 1.2, LINKS[0], "kuijia", 1), {"direct": 1.0, "victim": 0.1})
    (table,) = exhibits_of([*runs, light, spared], ["table4-changes"])
    shares = {tolerance: table.line("rescaling").at(tolerance).value for tolerance in ("5%", "10%", "15%", "40%")}
    assert shares == pytest.approx({"5%": 75.0, "10%": 50.0, "15%": 25.0, "40%": 0.0})
    assert {point.value for point in table.line("kuijia").points} == {0.0}
    assert table.remarks == ("Flows of the runs with demands above 0.8: 4 under rescaling, 1 under kuijia.",)


def test_nothing_is_shown_where_no_failure_overloads_a_link() -> None:
    assert exhibits_of([made_up(Case("tcp", 0.8, LINKS[0], "kuijia", 1), {"direct": 1.0})], ["table4-changes"]) == ()
