from __future__ import annotations

import copy
import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_base.errors import InputError
from te_solver.formats.plan_file import load_plan, plan_from_json, plan_text, plan_to_json, save_plan
from te_solver.model.plan import PairPlan, Plan, Tunnel
from te_solver.model.topology import Link, Topology
from tests.te_solver.random_networks import topologies

PLAN = Plan(
    Topology("net", ("a", "b", "c"), (Link("a", "b", 10.0), Link("b", "c", 10.0, 0.01), Link("a", "c", 10.0))),
    (
        PairPlan("a", "c", 12.5, 12.5, (Tunnel(16, ("a", "c"), 10.0, 0.8), Tunnel(17, ("a", "b", "c"), 2.5, 0.2))),
        PairPlan("a", "b", 5.0, 5.0, (Tunnel(18, ("a", "b"), 5.0, 1.0),)),
    ),
    "max-throughput",
    17.5,
    "HiGHS 1.15.1",
    0.25,
)


def test_the_repr_of_a_plan_is_a_line_that_tells_an_overload() -> None:
    plain = "Plan('net', 2 pairs, 3 tunnels, max-throughput: 17.5 of 17.5 Mbit/s)"
    assert repr(PLAN) == plain
    assert repr(replace(PLAN, topology=PLAN.topology.scaled(0.8))) == f"{plain[:-1]}, busiest link 125.00%)"


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Sound plans with one tunnel for some of the links, with any rates."""
    topology = draw(topologies(directed=True))
    chosen = draw(st.lists(st.sampled_from(topology.links), unique=True))
    rate = st.floats(0, 1e12)
    pairs = tuple(
        PairPlan(*link.ends, draw(rate), draw(rate), (Tunnel(16 + position, link.ends, draw(rate), 1.0),))
        for position, link in enumerate(chosen)
    )
    name = draw(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1))
    return Plan(replace(topology, name=name), pairs, "max-throughput", draw(rate), "HiGHS 1.15.1", draw(rate))


@given(plans())
def test_a_plan_survives_json(plan: Plan) -> None:
    assert plan_from_json(json.loads(plan_text(plan)), "memory") == plan


def test_a_plan_survives_a_file(tmp_path: Path) -> None:
    save_plan(PLAN, tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == PLAN
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_holds_the_fields_of_the_contract() -> None:
    data = plan_to_json(PLAN)
    assert list(data) == [
        "format", "version", "topology", "objective", "objective_value", "solver", "solve_seconds",
        "protected_failures", "pairs",
    ]  # fmt: skip
    assert data["topology"]["links"][1] == {"source": "b", "target": "c", "capacity": 10.0, "delay": 0.01}
    assert data["pairs"][1] == {
        "source": "a",
        "target": "b",
        "priority": 0,
        "demand": 5.0,
        "allocated": 5.0,
        "tunnels": [{"path_id": 18, "nodes": ["a", "b"], "rate": 5.0, "weight": 1.0}],
    }


def test_classes_and_protection_survive_a_file_and_may_be_missing_from_it() -> None:
    pair = PLAN.pairs[0]
    plan = replace(PLAN, pairs=(pair, replace(pair, priority=3, demand=1.0)), protected_failures=2)
    data = plan_to_json(plan)
    assert plan_from_json(data, "memory") == plan
    del data["protected_failures"], data["pairs"][0]["priority"]
    assert plan_from_json(data, "memory") == replace(plan, protected_failures=0)


def test_the_probabilities_of_cables_are_written_where_there_are_some() -> None:
    down = {frozenset("ab"): 0.25, frozenset("ac"): 0.0}
    plan = replace(PLAN, topology=replace(PLAN.topology, down=down))
    assert plan_from_json(json.loads(plan_text(plan)), "memory").topology.down == down
    assert "down" not in plan_to_json(PLAN)["topology"]


def test_an_upper_bound_is_written_where_there_is_one() -> None:
    assert "upper_bound" not in plan_to_json(PLAN)
    bounded = replace(PLAN, upper_bound=PLAN.objective_value + 1)
    assert plan_to_json(bounded)["upper_bound"] == PLAN.objective_value + 1
    assert plan_from_json(plan_to_json(bounded), "memory") == bounded


def test_rates_above_capacities_are_read() -> None:
    # Such a plan is what `with_capacity` makes of a plan, to be tried on a smaller network.
    plan = replace(PLAN, topology=PLAN.topology.with_capacity(1.0))
    assert plan_from_json(plan_to_json(plan), "memory") == plan


Change = Callable[[dict[str, Any]], None]


def cut(*path: str | int) -> Change:
    """Removes what stands at `path`."""

    def change(data: dict[str, Any]) -> None:
        del reduce(getitem, path[:-1], data)[path[-1]]  # type: ignore[arg-type]

    return change


def put(value: object, *path: str | int) -> Change:
    """Puts `value` at `path`."""

    def change(data: dict[str, Any]) -> None:
        reduce(getitem, path[:-1], data)[path[-1]] = value  # type: ignore[arg-type, index]

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (put("other", "format"), ":format: found 'other', expected \"kuijia-plan\""),
        (put(2, "version"), ":version: found 2, expected version 1"),
        (cut("topology"), ": there is no topology, expected an object as kuijia solve -o writes it"),
        (put(1, "colour"), ": unknown key 'colour', expected an object as kuijia solve -o writes it"),
        (put({}, "pairs"), ":pairs: found an object, expected a list of pairs"),
        (
            put("fast", "objective_value"),
            (
                ":objective_value: found 'fast', "
                "expected a number: Mbit/s, or the share of a capacity for min-max-utilisation"
            ),
        ),
        (
            put(True, "protected_failures"),
            (
                ":protected_failures: found true or false, "
                "expected how many failed edges the allocations survive without loss, a whole number, zero or more"
            ),
        ),
        (
            put(-1, "pairs", 0, "priority"),
            (
                ":pairs[0].priority: found -1, "
                "expected a whole number, zero or more, 0 being the most important class of traffic"
            ),
        ),
        (put("a\nb", "solver"), r":solver: found 'a\nb', expected the name of a solver"),
        (
            put("", "topology", "name"),
            ":topology.name: name '', expected printable characters without spaces around them",
        ),
        (put(None, "solver"), ":solver: found null, expected the name of a solver"),
        (
            cut("topology", "links", 1, "capacity"),
            ":topology.links[1]: there is no capacity, expected an object with source, target, capacity and delay",
        ),
        (
            put(-1, "topology", "links", 1, "capacity"),
            ":topology.links[1].capacity: found -1, expected a number of Mbit/s greater than zero",
        ),
        (
            put("x", "topology", "links", 2, "source"),
            ":topology.links[2].source: link to the unknown node 'x', expected a name from nodes",
        ),
        (
            put("b", "topology", "nodes", 0),
            ":topology.nodes[1]: node b is given twice, expected different names",
        ),
        (put("x", "pairs", 0, "source"), ":pairs[0].source: unknown node 'x', expected a node of the topology"),
        (put([], "pairs", 1, "tunnels"), ":pairs[1].tunnels: found 0 entries, expected a list of 1 to 64 tunnels"),
        (
            put("a-b-c", "pairs", 0, "tunnels", 1, "nodes"),
            ":pairs[0].tunnels[1].nodes: found 'a-b-c', expected a list of at least two node names",
        ),
        (
            put(["a", "c", "b"], "pairs", 1, "tunnels", 0, "nodes"),
            ":pairs[1].tunnels[0].nodes: there is no link c-b, expected a path over links of the topology",
        ),
        (
            put(3, "pairs", 0, "tunnels", 1, "path_id"),
            (
                ":pairs[0].tunnels[1].path_id: found 3, "
                "expected a whole number, 16 or more (MPLS labels below are reserved)"
            ),
        ),
        (
            put(18, "pairs", 0, "tunnels", 1, "path_id"),
            ":pairs[1].tunnels[0].path_id: path id 18 is given twice, expected different ids",
        ),
        (
            put(1.5, "pairs", 1, "tunnels", 0, "weight"),
            ":pairs[1].tunnels[0].weight: found 1.5, expected a number from 0 to 1",
        ),
        (
            put(0.1, "pairs", 0, "tunnels", 1, "weight"),
            ":pairs[0].tunnels: the weights sum to 0.9, expected a sum of 1",
        ),
        (
            put([{"a": "a", "b": "x", "probability": 0.1}], "topology", "down"),
            ":topology.down[0]: there is no link between 'a' and 'x', expected each cable of the topology at most once",
        ),
        (
            put([{"a": a, "b": b, "probability": 0.1} for a, b in ("ab", "ba")], "topology", "down"),
            (
                ":topology.down[1]: a second probability between 'b' and 'a', "
                "expected each cable of the topology at most once"
            ),
        ),
        (
            put([{"a": "a", "b": "b", "probability": 2}], "topology", "down"),
            ":topology.down[0].probability: found 2, expected a number from 0 to 1",
        ),
    ],
)
def test_a_bad_plan_is_refused_with_its_key(tmp_path: Path, change: Change, complaint: str) -> None:
    data = copy.deepcopy(plan_to_json(PLAN))
    change(data)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as raised:
        load_plan(path)
    assert str(raised.value) == f"{path}{complaint}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ":1: malformed JSON (Expecting value), expected a plan in JSON"),
        ('{\n"format": kuijia}', ":2: malformed JSON (Expecting value), expected a plan in JSON"),
        ("[1, 2]", ": found a list, expected an object as kuijia solve -o writes it"),
        ("{}", ": there is no format, expected an object as kuijia solve -o writes it"),
        ('{"version": NaN}', ": the number 'NaN', expected finite numbers"),
        ('{"version": 1e999}', ": the number '1e999', expected finite numbers"),
        (f'{{"version": 1{"0" * 5000}}}', f": the number '1{'0' * 59}'..., expected finite numbers"),
        ("[" * 100_000, ": nested too deeply, expected a plan in JSON"),
    ],
)
def test_what_is_no_plan_at_all_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_plan(path)
    assert str(raised.value) == f"{path}{complaint}"


def test_a_failed_write_leaves_the_former_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    save_plan(PLAN, path)

    def full(partial: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), partial, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match="No space left on device"):
        save_plan(replace(PLAN, solver="another"), path)
    assert load_plan(path) == PLAN
    assert [each.name for each in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    ("name", "reason"), [("absent/plan.json", "No such file or directory"), (".", "Is a directory")]
)
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    with pytest.raises(InputError) as raised:
        save_plan(PLAN, path)
    assert str(raised.value) == f"{path}: cannot be written ({reason}), expected a path that can be written to"


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    save_plan(PLAN, link)
    assert link.is_symlink()
    assert load_plan(target) == PLAN


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save_plan(PLAN, pipe)
        assert os.read(reader, 1 << 16).decode() == plan_text(PLAN)
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("place", ["objective_value", "solve_seconds", "capacity", "rate", "demand", "path_id"])
def test_a_number_beyond_a_double_is_refused(place: str) -> None:
    data = json.loads(json.dumps(plan_to_json(PLAN)))
    parts = {
        "capacity": data["topology"]["links"][0],
        "demand": data["pairs"][0],
        "rate": data["pairs"][0]["tunnels"][0],
        "path_id": data["pairs"][0]["tunnels"][0],
    }
    parts.get(place, data)[place] = 10**400
    if place == "path_id":  # a whole number of any length; switches refuse it
        assert plan_from_json(data, "plan").pairs[0].tunnels[0].path_id == 10**400
    else:
        with pytest.raises(InputError, match="plan: a number of more than 308 digits"):
            plan_from_json(data, "plan")
