"""Experiments are found by name, with everything needed to list and run them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from experiments import registry
from experiments.registry import Experiment, all_experiments, experiment, find_experiment
from kuijia_base.errors import InputError


def test_the_tables_of_the_motivation_are_there() -> None:
    found = {each.name: each for each in all_experiments()}
    assert found["table2"].reproduces == "Table 2"
    assert found["table3"].reproduces == "Table 3"
    assert all(each.backends and each.title for each in found.values())


def test_an_experiment_is_found_by_its_name() -> None:
    assert find_experiment("table3").name == "table3"


def test_an_unknown_name_is_refused_and_those_like_it_are_told() -> None:
    with pytest.raises(InputError, match=r"experiment:table9: is unknown, expected one of table2, table3") as caught:
        find_experiment("table9")
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["dumbbell", "fig", "flashpass", "x" * 100_000])
def test_however_many_experiments_there_are_few_are_told(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_experiment(name)
    assert caught.value.expected.count(",") < 10
    assert caught.value.expected.endswith(" (see `kuijia list`)")


def test_a_name_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    known: Experiment = find_experiment_of("table2")
    register = experiment("again", title="t", reproduces="r", backends=("flow",), configure=known.configure)
    assert register(known.run) is known.run
    with pytest.raises(ValueError, match="two experiments are called again"):
        register(known.run)


def find_experiment_of(name: str) -> Experiment:
    return Experiment(name, "t", "r", ("flow",), lambda _: None, unused_run)


def unused_run(*_: object) -> registry.Outcome:
    raise AssertionError("not to be run")


def test_the_order_of_experiments_does_not_depend_on_what_was_imported_before() -> None:
    program = (
        "import experiments.update.command, experiments.fig4.command; from experiments.registry import all_experiments;"
        "print(*[each.name for each in all_experiments()])"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.split() == [each.name for each in all_experiments()]
    assert outcome.stdout.startswith("table2 table3 fig4 ")


def test_listing_experiments_imports_neither_the_optimiser_nor_the_plotting() -> None:
    program = (
        "import sys; from experiments.registry import all_experiments; all_experiments();"
        "print([name for name in ('cvxpy', 'matplotlib', 'mininet') if name in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"
