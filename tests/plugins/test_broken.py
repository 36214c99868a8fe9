"""A broken package is one line that names it, and whatever does not ask for it works."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from experiments.catalog import all_entries, find_entry
from kuijia.cli.main import main
from kuijia_base import additions
from kuijia_base.errors import InputError
from te_solver.formats.topology_file import load_topology
from te_solver.networks import shipped_network
from te_solver.programs.registry import find_objective, objective_names
from te_solver.schemes.all_schemes import all_schemes, failure_scheme, switch_schemes
from te_solver.tunnels.path_finders import finder_by
from tests.plugins.packages import install

SCHEME = """
from te_solver.schemes.shipped.kuijia import KuijiaScheme

class Other(KuijiaScheme):
    name = {name!r}

OTHER = Other()
"""


FIG1 = load_topology(shipped_network("fig1"))
ROW = "from experiments.catalog import ExperimentEntry\n"


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    additions._said.cache_clear()


@pytest.mark.parametrize(
    ("name", "code", "value", "problem"),
    [
        (
            "absent",
            "",
            "nowhere.at_all:X",
            "cannot be loaded (ModuleNotFoundError: No module named 'nowhere'), expected",
        ),
        ("raises", "1 / 0", "raises:X", "cannot be loaded (ZeroDivisionError: division by zero), expected"),
        ("leaves", "raise SystemExit(3)", "leaves:X", "cannot be loaded (SystemExit: 3), expected"),
        (
            "lacks",
            "Y = 1",
            "lacks:X",
            "cannot be loaded (AttributeError: module 'lacks' has no attribute 'X'), expected",
        ),
        ("number", "X = 1", "number:X", "is a int (number:X), expected FailureScheme"),
        ("renamed", SCHEME.format(name="me"), "renamed:OTHER", "calls itself 'me', expected the name 'fancy'"),
    ],
)
def test_a_scheme_that_cannot_be_used_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    code: str,
    value: str,
    problem: str,
) -> None:
    install(tmp_path, monkeypatch, name, {additions.SCHEMES: {"fancy": value}}, code)
    with pytest.raises(InputError, match="scheme 'fancy'") as caught:
        failure_scheme("fancy")
    assert str(caught.value).startswith(f"package {name} 1.0: scheme 'fancy' {problem}")
    assert main(["whatif", "fig1", "fig1", "--schemes", "fancy"]) == 2
    assert capsys.readouterr().err == f"error: {caught.value}\n"


@pytest.mark.parametrize(
    ("group", "value", "find"),
    [
        (additions.OBJECTIVES, "te_solver.programs.max_min:OBJECTIVE", find_objective),
        (additions.PATH_CHOICES, "te_solver.tunnels.path_choices.ksp:CHOICE", partial(finder_by, FIG1)),
    ],
)
def test_objectives_and_path_choices_have_the_names_of_their_entry_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, value: str, find: Callable[[str], object]
) -> None:
    install(tmp_path, monkeypatch, "alias", {group: {"mine": value}})
    with pytest.raises(InputError, match=r"calls itself '(max-min|ksp)', expected the name 'mine'"):
        find("mine")


def test_lists_leave_a_broken_one_out_and_say_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = [each.name for each in all_schemes()]
    install(tmp_path, monkeypatch, "hollow", {additions.SCHEMES: {"fancy": "hollow:X"}}, "Y = 1")
    with caplog.at_level(logging.WARNING):
        assert [each.name for each in all_schemes()] == before
        all_schemes()
    (message,) = caplog.messages
    assert message.startswith("note: package hollow 1.0: scheme 'fancy' cannot be loaded")
    assert message.endswith("; left out")


def test_our_name_stays_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    install(tmp_path, monkeypatch, "thief", {additions.OBJECTIVES: {"max-min": "thief:X"}}, "1 / 0")
    with caplog.at_level(logging.WARNING):
        assert objective_names().count("max-min") == 1
    assert "package thief 1.0: objective 'max-min' has a name that is taken" in caplog.text
    assert find_objective("max-min").name == "max-min"


def test_of_two_packages_with_one_name_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("zebra", "aardvark"):
        install(
            tmp_path, monkeypatch, name, {additions.SCHEMES: {"fancy": f"{name}:OTHER"}}, SCHEME.format(name="fancy")
        )
    with caplog.at_level(logging.WARNING):
        assert type(failure_scheme("fancy")).__module__ == "aardvark"
        assert "fancy" in [each.name for each in switch_schemes()]
    assert "package zebra 1.0: scheme 'fancy' has a name that is taken" in caplog.text


def test_a_file_of_no_known_suffix_is_refused_beside_a_broken_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path, monkeypatch, "format-x", {additions.TOPOLOGY_FORMATS: {"x": "format_x:X"}}, "X = 1")
    (tmp_path / "net.x").write_text("a b\n", encoding="utf-8")
    with caplog.at_level(logging.WARNING), pytest.raises(InputError, match="is not a known suffix of a topology"):
        load_topology(tmp_path / "net.x")
    assert "package format-x 1.0: topology format 'x' is a int" in caplog.text


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("X = 1", "is a int"),
        (
            f"{ROW}X = ExperimentEntry('other', '', '', (), 'm')",
            "calls itself 'other'",
        ),
    ],
)
def test_a_broken_experiment_leaves_ours_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: str, problem: str
) -> None:
    name = f"experiment-{len(code)}"
    install(tmp_path, monkeypatch, name, {additions.EXPERIMENTS: {"mine": f"{name.replace('-', '_')}:X"}}, code)
    with caplog.at_level(logging.WARNING):
        assert "mine" not in [each.name for each in all_entries()]
        assert find_entry("fig4").name == "fig4"
    assert f"package {name} 1.0: experiment 'mine' {problem}" in caplog.text
    with pytest.raises(InputError, match=f"package {name} 1.0: experiment 'mine' "):
        find_entry("mine")


def test_an_experiment_without_code_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = f"{ROW}X = ExperimentEntry('mine', '', '', ('flow',), 'bare')"
    install(tmp_path, monkeypatch, "bare", {additions.EXPERIMENTS: {"mine": "bare:X"}}, code)
    with pytest.raises(InputError, match="experiment:mine: has no code, expected an entry of `EXPERIMENTS` in the mod"):
        find_entry("mine").load()
