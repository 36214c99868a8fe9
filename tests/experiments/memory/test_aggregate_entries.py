"""Entries for single aggregates, of a plan whose entries are counted by hand."""

from __future__ import annotations

from experiments.memory.exhibits import aggregate_tables
from kuijia_app.proof.equivalence import first_difference
from kuijia_app.tables.decomposition import decompose
from kuijia_app.tables.field_counts import count_fields
from te_solver.demands import Demand
from te_solver.plan import Plan
from te_solver.solve import solve
from te_solver.topology import Link, Topology


def _two_ways(*priorities: int) -> Plan:
    links = [("a", "b"), ("a", "c"), ("c", "b")]
    topology = Topology("two ways", ("a", "b", "c"), tuple(Link(*ends, 1.0) for ends in links))
    return solve(topology, [Demand("a", "b", 0.5, priority) for priority in priorities], 2)


def test_each_aggregate_has_entries_on_its_tunnel_and_on_the_one_it_may_be_moved_to() -> None:
    tables = aggregate_tables(_two_ways(0))
    # Two aggregates: both at a and b on either way, and both at c, where one is at home and the other a victim.
    assert {node: len(entries) for node, entries in tables.items()} == {"a": 4, "b": 4, "c": 2}
    assert sum(map(count_fields, tables.values())) == 10 * 5
    assert {entry.match.mpls_tc for entry in tables["c"]} == {0, 1}
    assert {len(entries) for entries in aggregate_tables(_two_ways(0, 1)).values()} == {8, 4}


def test_decomposed_entries_treat_every_packet_alike() -> None:
    for entries in aggregate_tables(_two_ways(0, 1)).values():
        assert first_difference(entries, decompose(entries)) is None
