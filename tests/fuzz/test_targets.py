"""Every reader and every verb has a fuzz target, and what fuzzing starts from is valid."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name

import pytest

from kuijia.cli.verbs import VERBS
from kuijia_base.errors import InputError
from te_solver.formats.demands_file import DEMAND_FORMATS
from te_solver.formats.topology_file import TOPOLOGY_FORMATS
from tests.fuzz.commands import WORK
from tests.fuzz.contract import random_of
from tests.fuzz.file_target import LARGEST, FileTarget
from tests.fuzz.registry import all_targets, chosen_targets
from tests.fuzz.targets import CaseTarget

CASE_TARGETS = {name: target for name, target in all_targets().items() if isinstance(target, CaseTarget)}
FILE_TARGETS = {name: target for name, target in CASE_TARGETS.items() if isinstance(target, FileTarget)}
DEMANDS = [name for name in CASE_TARGETS if name.startswith("demands:")]


def test_every_format_of_topologies_and_demands_has_a_target() -> None:
    wanted = {f"topology:{name}" for name in TOPOLOGY_FORMATS} | {f"demands:{name}" for name in DEMAND_FORMATS}
    assert wanted <= CASE_TARGETS.keys()


def test_the_arguments_of_every_verb_have_a_target() -> None:
    assert {f"arguments:{verb}" for verb in VERBS} <= CASE_TARGETS.keys()


@pytest.mark.parametrize("place", [place for places in WORK.values() for place in places])
def test_the_work_of_every_verb_begins_where_its_target_stops(place: str) -> None:
    assert callable(resolve_name(place))


@pytest.mark.parametrize("name", FILE_TARGETS)
def test_readers_take_the_examples_that_cases_are_made_from(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = FILE_TARGETS[name]
    for number, example in enumerate(target.examples):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        target.run(target.lay(example, folder))


@pytest.mark.parametrize("name", CASE_TARGETS)
def test_a_case_follows_from_its_seed_and_number(name: str) -> None:
    target = CASE_TARGETS[name]
    target.prepare()
    first, again, other = ([target.make(random_of(seed, name, number)) for number in range(20)] for seed in (1, 1, 2))
    assert first == again != other


def test_cases_of_a_reader_are_small_and_large() -> None:
    target = FILE_TARGETS["topology:yaml"]
    target.prepare()
    sizes = [len(target.make(random_of(1, target.name, number))) for number in range(3_000)]
    assert sorted(sizes)[len(sizes) // 2] < 2_000
    assert max(sizes) == LARGEST


def test_targets_are_chosen_by_name_and_by_kind() -> None:
    chosen = [target.name for target in chosen_targets(["demands", "plan:json"])]
    assert len(DEMANDS) > 1
    assert chosen == [*DEMANDS, "plan:json"]


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(InputError, match="'nothing' is unknown"):
        chosen_targets(["nothing"])
