from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from experiments.results.result import result_schema
from kuijia_base.validation import first_faults, make_validator
from te_solver.formats.plan_file import plan_to_json
from te_solver.schemas import schema
from tests.te_solver.formats.test_plan_file import PLAN

WRONG: list[Any] = [None, True, False, -1, 0, 1.5, 1e300, "", "x", [], [1], ["a"], {}, {"a": 1}]


def changed(data: dict[str, Any], choice: random.Random) -> dict[str, Any]:
    """Return data with some value in it replaced, removed or added."""
    data = copy.deepcopy(data)
    inside: Any = data
    while True:
        if not inside or not isinstance(inside, dict | list):
            return data
        key = choice.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        what = choice.randrange(6)
        if what == 0:
            inside[key] = choice.choice(WRONG)
            return data
        if what == 1:
            del inside[key]
            return data
        if what == 2 and isinstance(inside, dict):
            inside["other"] = choice.choice(WRONG)
            return data
        inside = inside[key]


def test_faults_are_those_of_the_library_alone() -> None:
    quick, alone = make_validator(schema("plan")), Draft202012Validator(schema("plan"))
    choice = random.Random(1)
    whole = plan_to_json(PLAN)
    faulty = 0
    for _ in range(1500):
        data = changed(changed(whole, choice), choice)
        found = [(error.json_path, error.message) for error in quick.iter_errors(data)]
        assert found == [(error.json_path, error.message) for error in alone.iter_errors(data)]
        faulty += bool(found)
    assert faulty > 500


@pytest.mark.parametrize("document", [schema("plan"), result_schema()])
def test_hostile_roots_are_faults(document: dict[str, Any]) -> None:
    quick, alone = make_validator(document), Draft202012Validator(document)
    for data in WRONG:
        assert [each.message for each in quick.iter_errors(data)] == [each.message for each in alone.iter_errors(data)]


def test_of_very_many_faults_some_are_looked_at() -> None:
    data = {**plan_to_json(PLAN), "pairs": [[]] * 300_000}
    assert 1 <= len(list(first_faults(make_validator(schema("plan")), data))) <= 1000
