"""Peers exchange signs of life, and the plans of an update that is under way."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kuijia_app.control import peer_messages
from kuijia_app.control.pair import Beat
from kuijia_app.control.peer_messages import Decoder, _within, decoded_beat, encoded
from kuijia_app.control.rollout import Rollout, Stages, Version
from kuijia_app.tables.pipeline import build_tables
from te_solver.formats.plan_file import plan_to_json
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from tests.fuzz.contract import fault_of_message
from tests.fuzz.controller_peers import message_examples, use_message
from tests.fuzz.file_target import JsonGrammar
from tests.kuijia_app.plans import both_ways, motivation_plan, plan_of

BEAT = Beat(7, is_acting=True, generation=1 << 48, reach=frozenset({"s1", "s2"}), hands_over=True)
OPTIONS = {"scheme": "kuijia", "slots": 64}
PLAN, OTHER = motivation_plan(), motivation_plan((0.2, 0.3, 0.5))


SWITCHES = PLAN.topology.nodes
STAGES: dict[str, Any] = {"in_force": {"name": "x", "plan": plan_to_json(PLAN)}, "next": None, "retained": []}
ANY_PLAN = "a plan"


def version(name: str, weights: tuple[float, float, float]) -> Version:
    plan = motivation_plan(weights)
    return Version(name, plan, build_tables(plan))


def test_a_message_is_read_as_it_was_written() -> None:
    stages = Stages(version("start", (0.5, 0.3, 0.2)), version("new", (0.2, 0.3, 0.5)))
    beat, found = Decoder(build_tables, PLAN, OPTIONS).decoded(encoded(BEAT, stages, OPTIONS))
    assert beat == BEAT
    assert found is not None
    assert (found.in_force.plan, found.in_force.name) == (stages.in_force.plan, "start")
    assert found.next is not None
    assert found.next.plan == OTHER


def test_versions_that_were_read_before_are_the_same_objects() -> None:
    decoder = Decoder(build_tables, PLAN, OPTIONS)
    first, second = (version("start", (0.5, 0.3, 0.2)), version("new", (0.2, 0.3, 0.5)))
    _, before = decoder.decoded(encoded(BEAT, Stages(first), OPTIONS))
    _, after = decoder.decoded(encoded(BEAT, Stages(second, retained=((first, "new"),)), OPTIONS))
    assert before is not None
    assert after is not None
    assert after.retained[0][0] is before.in_force


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b'{"instance": []}', b"1", b"[" * 100_000])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Decoder(build_tables, PLAN, OPTIONS).decoded(line)


def test_a_line_of_brackets_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = plan_of(both_ways("dense", "a b", "a-b"), *["a-b"] * 1000)
    stages = Stages(Version("dense", dense, {}))
    plan = replace(PLAN, topology=dense.topology, pairs=())
    with pytest.raises(ValueError, match="pair"):  # it is read, and has a pair twice
        Decoder(build_tables, plan, OPTIONS).decoded(encoded(replace(BEAT, reach=frozenset()), stages, OPTIONS))
    monkeypatch.setattr(peer_messages, "json_data", None)
    for bracket in (b"[]", b'{"":1}'):
        with pytest.raises(ValueError, match=r"^not a message of a controller: too many brackets$"):
            Decoder(build_tables, PLAN, OPTIONS).decoded(b"[" + b",".join([bracket] * 100_000) + b"]")


def test_a_plan_for_another_network_is_refused() -> None:
    line = encoded(replace(BEAT, reach=frozenset()), Stages(version("start", (0.5, 0.3, 0.2))), OPTIONS)
    topology = load_topology(shipped_network("gscale"))
    with pytest.raises(ValueError, match="are not those of the plan in force"):
        Decoder(build_tables, replace(PLAN, topology=topology, pairs=()), OPTIONS).decoded(line)
    with pytest.raises(ValueError, match=r"^its switch s1 is not one of ours$"):
        decoded_beat(encoded(BEAT, None, OPTIONS), OPTIONS, topology.nodes)


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        ({"scheme": "kuijia", "slots": 32}, "its option slots is '32', ours is '64'"),
        ({"scheme": "kuijia"}, "its option slots is 'None', ours is '64'"),
        ({**OPTIONS, "switches": 20}, "its option switches is '20', ours is 'None'"),
        ({**OPTIONS, "a\n" * 1000: 1}, "its option 'a"),
    ],
)
def test_who_has_other_options_is_no_peer(theirs: dict[str, object], told: str) -> None:
    line = encoded(BEAT, None, theirs)
    for decode in (Decoder(build_tables, PLAN, OPTIONS).decoded, lambda each: decoded_beat(each, OPTIONS, SWITCHES)):
        with pytest.raises(ValueError, match=told) as raised:
            decode(line)
        assert len(str(raised.value)) < 500
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "changed",
    [
        {"instance": 1 << 16},
        {"instance": -1},
        {"instance": float("inf")},
        {"instance": True},
        {"generation": 1 << 64},
        {"generation": "1"},
        {"acting": 1},
        {"hands_over": None},
        {"reach": "s1"},
        {"reach": [["s1"]]},
        {"reach": ["s1", "s9"]},
        {"process": "x" * 65},
        {"process": "line\n"},
        {"process": "\ud800"},
        {"process": None},
    ],
)
def test_a_sign_of_life_with_values_that_no_controller_has_is_refused(changed: dict[str, object]) -> None:
    line = json.dumps(json.loads(encoded(BEAT, None, OPTIONS)) | changed).encode()
    for decode in (Decoder(build_tables, PLAN, OPTIONS).decoded, lambda each: decoded_beat(each, OPTIONS, SWITCHES)):
        with pytest.raises(ValueError, match=r"\w"):
            decode(line)


def with_plan(**changed: object) -> dict[str, Any]:
    return STAGES | {"in_force": {"name": "x", "plan": plan_to_json(PLAN) | changed}}


@pytest.mark.parametrize(
    "stages",
    [
        {},
        STAGES | {"in_force": {}},
        STAGES | {"in_force": {"name": "x", "plan": {}}},
        STAGES | {"in_force": STAGES["in_force"] | {"name": "x" * 65}},
        STAGES | {"retained": [[1]]},
        STAGES | {"retained": [[STAGES["in_force"], []]]},
        STAGES | {"retained": [[STAGES["in_force"], "\n"]]},
        STAGES | {"next": 7},
        with_plan(solve_seconds=float("inf")),
        with_plan(objective_value=float("nan")),
        with_plan(topology=plan_to_json(PLAN)["topology"] | {"name": "\ud800"}),
    ],
)
def test_stages_that_are_none_are_refused(stages: object) -> None:
    message = json.loads(encoded(BEAT, None, OPTIONS)) | {"stages": stages}
    with pytest.raises(ValueError, match=r"\w"):
        Decoder(build_tables, PLAN, OPTIONS).decoded(json.dumps(message).encode())


def without_plans(data: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a message with a word in the place of each plan, so that most changes are to what is around them."""
    if isinstance(data, dict):
        return {key: ANY_PLAN if key == "plan" else without_plans(value) for key, value in data.items()}
    return [without_plans(each) for each in data] if isinstance(data, list) else data


EXAMPLES = [json.dumps(without_plans(json.loads(each))).encode() for each in message_examples()]
GRAMMAR = JsonGrammar()


@settings(deadline=None, max_examples=500)
@given(st.integers(0, 2**32), st.sampled_from(EXAMPLES))
def test_a_hostile_message_is_refused_or_does_no_harm_later(seed: int, example: bytes) -> None:
    line = GRAMMAR.changed(Random(seed), example)
    assert line is not None
    whole = line.replace(json.dumps(ANY_PLAN).encode(), json.dumps(plan_to_json(PLAN)).encode())
    assert fault_of_message(refusal_of(whole)) is None


def refusal_of(line: bytes) -> str:
    """Use a message; return why it is refused, nothing if it is not."""
    try:
        use_message(line)
    except ValueError as refusal:
        return str(refusal)
    return ""


def test_an_update_goes_on_where_another_controller_was() -> None:
    first, second = (version("start", (0.5, 0.3, 0.2)), version("new", (0.2, 0.3, 0.5)))
    theirs = Rollout(first, drain=2.0)
    for switch in first.tables:
        theirs.acknowledged(switch, 0.0)
    theirs.propose(second, 0.0)
    ours = Rollout(first, drain=2.0)
    ours.resume(theirs.stages)
    progress = [each for switch in first.tables for each in ours.acknowledged(switch, 10.0)]
    progress += ours.passed(10.0)
    progress += [each for switch in first.tables for each in ours.acknowledged(switch, 11.0)]
    assert ours.in_force.name == "new"
    progress += ours.passed(14.0)
    progress += [each for switch in first.tables for each in ours.acknowledged(switch, 14.0)]
    assert ours.is_settled
    assert [each.state for each in progress if each.name == "new"] == ["live", "done"]


@pytest.mark.parametrize(("number", "is_within"), [(-1, False), (0, True), (5, True), (6, False)])
def test_a_number_is_from_zero_to_its_last(number: int, *, is_within: bool) -> None:
    if is_within:
        assert _within(5, number, "rank") == number
        return
    with pytest.raises(ValueError, match="its rank is not from 0 to 5"):
        _within(5, number, "rank")
