"""Experiments are found by name, with everything needed to list and run them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from experiments.catalog import CATALOG, find_entry
from kuijia_base.errors import InputError


def test_the_tables_of_the_motivation_are_there() -> None:
    found = {each.name: each for each in CATALOG}
    assert found["table2"].reproduces == "Table 2"
    assert found["table3"].reproduces == "Table 3"
    assert list(found)[:3] == ["table2", "table3", "fig4"]
    assert len(found) == len(CATALOG)


def test_every_row_has_its_code_and_every_code_its_row() -> None:
    modules = {each.module: each.load() for each in CATALOG}
    assert {name for module in modules for name in sys.modules[module].EXPERIMENTS} == {each.name for each in CATALOG}
    for each in CATALOG:
        assert each.title
        assert each.backends
        assert set(each.load().without) <= {"capacity", "repetitions", "quick", "full", "framework", "slots"}


def test_an_experiment_is_found_by_its_name() -> None:
    assert find_entry("table3").name == "table3"


def test_an_unknown_name_is_refused_and_those_like_it_are_told() -> None:
    with pytest.raises(InputError, match=r"experiment:table9: is unknown, expected one of table2, table3") as caught:
        find_entry("table9")
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["dumbbell", "fig", "flashpass", "x" * 100_000])
def test_however_many_experiments_there_are_few_are_told(name: str) -> None:
    with pytest.raises(InputError) as caught:
        find_entry(name)
    assert caught.value.expected.count(",") < 10
    assert caught.value.expected.endswith(" (see `kuijia list`)")


def test_listing_experiments_imports_none_of_them() -> None:
    program = (
        "import sys; from experiments.catalog import all_entries; all_entries();"
        "print([name for name in sys.modules if name.startswith(('experiments.', 'numpy'))])"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout == "['experiments.catalog']\n"
