"""The packets of the experiment offer half of the planned load, and any loss during a change is reported."""

from __future__ import annotations

import argparse
from dataclasses import asdict

import pytest

from experiments.measuring.load import MachineLoad
from experiments.results.exhibit import exhibit_text
from experiments.update.command import configure, options_from
from experiments.update.report import (
    FLOWS_PER_PAIR,
    PAIRS,
    PLANS,
    UpdateOptions,
    UpdatePhase,
    exhibits,
    interval_of,
    unbelievable,
    update_plan,
)
from testbed.lab.cuts import PlanUpdate

IDLE = MachineLoad(0.5, 0.0, 0.1, 0.2, 0.1, 0.0)
CHANGE = PlanUpdate((("s1", "s4"),), (), (("s1", "s2", "s4"),), 1, 2.1)


def result(name: str, lost: int, invalid: tuple[str, ...] = ()) -> UpdatePhase:
    return UpdatePhase(name, 1, 3.0, 1000, lost, 0, {}, (CHANGE,), IDLE, invalid)


def test_the_flows_of_a_pair_offer_half_of_what_it_is_allocated() -> None:
    for pair in update_plan(20.0, 3, spread=True).pairs:
        assert pair.allocated == pytest.approx(PAIRS[pair.source, pair.target] * 20.0)
        offered = FLOWS_PER_PAIR * 1046 * 8 / interval_of(pair) / 1e6
        assert offered == pytest.approx(pair.allocated / 2)


def test_the_two_plans_differ_in_their_tunnels() -> None:
    wide, narrow = (update_plan(20.0, tunnels, spread=spread) for tunnels, spread in PLANS)
    weights = [{tunnel.nodes: tunnel.weight for tunnel in plan.tunnels} for plan in (wide, narrow)]
    assert weights[1].keys() < weights[0].keys()
    assert sum(weights[0][path] != pytest.approx(weight) for path, weight in weights[1].items()) == 3


def test_a_loss_counts_unless_nothing_was_changed() -> None:
    results = [result("idle", 3), result("update", 0), result("restart", 2)]
    (made,) = exhibits(list(map(asdict, results)), "emulation")
    assert list(made.missed()) == ["update (emulation): limit: packets lost during restart is 2, expected at most 0"]


def test_what_is_not_to_be_believed_is_told() -> None:
    phase = asdict(result("update", 0, ("busy",)))
    assert list(unbelievable([phase])) == ["update: invalid in 3 attempts (busy)"]


def test_the_table_has_a_line_for_each_phase_and_each_update() -> None:
    (made,) = exhibits([asdict(result("update", 1))], "emulation")
    lines = exhibit_text(made).splitlines()
    assert lines[4].split() == ["update,", "here", "1", "3", "1000", "1", "0"]
    assert lines[-1] == "Update 1: 1 tunnels kept, 0 added, 1 removed, 1 reweighted, done after 2.1 s."


@pytest.mark.parametrize(
    ("arguments", "quick", "expected"),
    [
        ([], False, UpdateOptions(6, 3)),
        ([], True, UpdateOptions(2, 1)),
        (["--updates", "4", "--restarts", "2"], True, UpdateOptions(4, 2)),
    ],
)
def test_what_is_given_goes_before_the_defaults(arguments: list[str], *, quick: bool, expected: UpdateOptions) -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    assert options_from(parser.parse_args(arguments), quick=quick) == expected
