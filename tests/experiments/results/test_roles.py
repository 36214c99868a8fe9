"""Roles follow from the tunnels of the flows and the failed link."""

from __future__ import annotations

from experiments.measuring.failure_run import FlowPaths, roles
from tests.experiments.sample_results import LINK, PATHS


def stays(*nodes: str) -> FlowPaths:
    return FlowPaths(nodes, nodes)


def test_in_the_motivation_experiment_two_flows_are_victims_and_two_directly_affected() -> None:
    assert roles(PATHS, LINK) == {"f1": "victim", "f2": "victim", "f3": "direct", "f4": "direct"}


def test_the_failed_link_breaks_both_directions() -> None:
    assert roles({"f": FlowPaths(("d", "b", "a"), ("d", "a"))}, ("b", "d")) == {"f": "victim"}


def test_a_flow_that_shares_a_link_with_a_directly_affected_one_is_indirectly_affected() -> None:
    flows = {
        "victim": FlowPaths(("a", "b"), ("a", "c", "b")),
        "direct": stays("a", "c", "d"),
        "indirect": stays("c", "d", "e"),
        "far": stays("d", "e"),
        "apart": stays("x", "y"),
    }
    assert roles(flows, ("a", "b")) == {
        "victim": "victim",
        "direct": "direct",
        "indirect": "indirect",
        "far": "aboriginal",
        "apart": "aboriginal",
    }


def test_flows_in_the_opposite_direction_share_nothing() -> None:
    flows = {"victim": FlowPaths(("a", "b"), ("a", "c", "b")), "back": stays("b", "c", "a")}
    assert roles(flows, ("a", "b"))["back"] == "aboriginal"
