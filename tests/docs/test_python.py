"""The page on Python names everything that is public; another test runs its examples."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

import pytest

import kuijia
from kuijia.api.demands import MASSES, MODELS
from kuijia.api.packet_options import REFERENCES
from kuijia.api.table_building import FAILURE_KINDS
from kuijia.api.whatif_options import BACKENDS, DEFAULT_SCHEMES, SPLIT_NAMES, WEIGHTING_NAMES
from te_solver.model.plan import WEIGHTS
from te_solver.programs.registry import objective_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")


def test_every_function_and_error_is_named() -> None:
    named = set(re.findall(r"`(?:kuijia\.)?(\w+)", PAGE))
    functions = {name for name in kuijia.__all__ if name.islower()}
    errors = {name for name in kuijia.__all__ if name.endswith("Error")}
    assert functions | errors <= named


def test_every_method_of_a_result_that_the_page_lists_is_there() -> None:
    rows = re.findall(r"^\| `.*?\(.*?\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 8
    for name, members in rows:
        missing = [each for each in re.findall(r"`(\w+)`", members) if each not in _members(getattr(kuijia, name))]
        assert not missing, name


@pytest.mark.parametrize(
    ("function", "option", "values"),
    [
        ("solve", "objective", objective_names()),
        ("solve", "tunnel_weight", WEIGHTS),
        ("whatif", "backend", BACKENDS),
        ("whatif", "schemes", DEFAULT_SCHEMES),
        ("whatif", "split", SPLIT_NAMES),
        ("whatif", "weighting", WEIGHTING_NAMES),
        ("make_demands", "model", MODELS),
        ("make_demands", "masses", MASSES),
        ("verify", "failures", FAILURE_KINDS),
        ("packet", "load_of", REFERENCES),
    ],
)
def test_the_help_of_a_function_names_every_value_of_an_option(
    function: str, option: str, values: Collection[str]
) -> None:
    entry = re.search(rf"^ {{8}}{option}: (.*(?:\n {{12}}.*)*)", getattr(kuijia, function).__doc__, re.MULTILINE)
    assert entry is not None
    assert set(re.findall(r'"([a-z][a-z0-9-]+)"', entry[1])) == set(values)


def _members(kind: type) -> set[str]:
    """Return the names of methods, and of attributes by the class's own documentation."""
    return {*dir(kind), *re.findall(r"^ {8}(\w+):", kind.__doc__ or "", re.MULTILINE)}
