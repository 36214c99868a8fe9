"""Networks of the Topology Zoo and SNDlib have a plan in bounded time: a seeded sample; `zoo.py` has them all."""

from __future__ import annotations

import importlib
from random import Random

import pytest

from tests.te_solver.zoo import keys, solved

pytestmark = pytest.mark.slow

ODD = ("topozoo/Marnet", "topozoo/Latnet", "sndlib/ta1")
"""A complete graph but for some links, the largest that is solved in a few seconds, one with demands of its own."""

SAMPLE = (*ODD, *Random(16).sample(keys(), 7))


@pytest.mark.parametrize("key", SAMPLE)
def test_a_network_has_a_plan_for_each_of_its_demands(key: str) -> None:
    importlib.import_module("te_solver.solve")
    assert [each.fault for each in solved(key) if each.fault] == []


def test_there_are_networks_of_both_groups() -> None:
    assert {key.partition("/")[0] for key in keys()} == {"topozoo", "sndlib"}
    assert len(keys()) > 200
