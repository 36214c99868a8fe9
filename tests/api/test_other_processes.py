"""What the Python interface returns goes to other processes, as a script that asks for much at once does with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import networkx as nx
import pytest

import kuijia

GRAPH = nx.cycle_graph(["a", "b", "c", "d"])
PLAN = kuijia.solve(GRAPH, {("a", "c"): 30.0})
ASKED: dict[str, Callable[[], object]] = {
    "topology": lambda: kuijia.load_topology("topohub:topozoo/Abilene"),
    "demands": lambda: kuijia.make_demands(GRAPH, seed=1),
    "plan": lambda: PLAN,
    "whatif": lambda: kuijia.whatif(PLAN),
    "tables": lambda: kuijia.compile(PLAN),
    "proof": lambda: kuijia.verify(PLAN),
    "trace": lambda: kuijia.trace(PLAN, "a", "c"),
    "packet": lambda: kuijia.packet("leaf-spine:2,2,2", sizes="web-search", load=0.3, flows=5),
}


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_is_the_same_in_another_process(name: str) -> None:
    answer = ASKED[name]()
    copy = pickle.loads(pickle.dumps(answer))  # noqa: S301  # our own
    assert type(copy) is type(answer)
    assert repr(copy) == repr(answer)
    assert str(copy) == str(answer)
