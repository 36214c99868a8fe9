"""A user's script with every call: it runs, and mypy, which checks this file like all others, knows every type of it.

Each `type: ignore` is a mistake of a user's that a type checker must find: one that it does not find is reported.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest
from typing_extensions import assert_type

import kuijia


def test_a_script_runs_and_its_types_are_known(tmp_path: Path) -> None:
    network = kuijia.load_topology("fig1", default_capacity=1000)
    demands = kuijia.load_demands([("s1", "s4", 3000.0)], network)
    plan = kuijia.solve(network, demands, tunnels=3, objective="max-throughput")
    assert_type(network, kuijia.Topology)
    assert_type(demands, kuijia.Demands)
    assert_type(plan, kuijia.Plan)
    assert_type(plan.topology, kuijia.Topology)
    assert_type(plan.table("links"), kuijia.Table)
    assert_type(plan.save(tmp_path / "plan.json"), Path)
    assert_type(kuijia.load_plan(tmp_path / "plan.json"), kuijia.Plan)
    assert_type(kuijia.make_demands(nx.path_graph(3), total=10), kuijia.Demands)

    study = kuijia.whatif(plan, schemes=["kuijia", "rescaling"], failures=[("s2", "s4")])
    assert_type(study, kuijia.WhatIf)
    assert_type(study.table(), kuijia.Table)
    assert_type(study.plan("kuijia"), kuijia.Plan)

    seconds = kuijia.whatif(plan, backend="packet", failures=[("s2", "s4")], sizes=20_000, rate_scale=0.01, workers=1)
    assert_type(seconds, kuijia.WhatIfPackets)
    assert_type(seconds.outcomes(), kuijia.Table)

    tables = kuijia.compile(plan, slots=16)
    assert_type(tables, kuijia.Tables)
    assert_type(kuijia.verify(tables), kuijia.Proof)
    assert_type(kuijia.verify(plan, failures="links", slots=16), kuijia.Proof)
    assert_type(kuijia.trace(tables, "s1->s4", failures=["s2-s4"]), kuijia.Trace)
    assert_type(kuijia.trace(tables, "s1", "s4", failures=[("s2", "s4")]), kuijia.Trace)
    assert_type(kuijia.packet("single-switch:2", flows=4, sizes=1000), kuijia.PacketResult)
    assert_type(kuijia.__version__, str)


def test_a_type_checker_finds_mistakes() -> None:
    with pytest.raises(kuijia.KuijiaError):
        kuijia.load_topology(3)  # type: ignore[arg-type]
    with pytest.raises(kuijia.KuijiaError):
        kuijia.solve("fig1", tunnels="three")  # type: ignore[arg-type]
    with pytest.raises(kuijia.KuijiaError):
        kuijia.solve("fig1", tunnel_weight="stones")  # type: ignore[arg-type]
    with pytest.raises(kuijia.KuijiaError):
        kuijia.solve("fig1", [("s1", "s4")])  # type: ignore[list-item]
    with pytest.raises(kuijia.KuijiaError):
        kuijia.whatif("fig1", load=0.5)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        kuijia.verify("fig1", slot=16)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        kuijia.solv("fig1")  # type: ignore[attr-defined]
