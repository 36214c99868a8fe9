"""Packages of extras that are missing are named with the command that installs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import pytest

from kuijia.cli.main import main
from kuijia_base.additions import MissingPackageError, missing_package, require_installed
from kuijia_base.output_folder import OutputFolder
from kuijia_base.picture_file import write_picture


def without(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a module look as if it were not installed."""
    for name in [each for each in sys.modules if each.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)

    class Hidden:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name.partition(".")[0] == module:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Hidden, *sys.meta_path])


def test_what_is_installed_is_not_missed() -> None:
    require_installed("matplotlib", "--plot")
    assert missing_package(ImportError("cannot import name 'Figur'", name="matplotlib.figure")) is None
    assert missing_package(ModuleNotFoundError("No module named 'nowhere'", name="nowhere")) is None


def test_verbs_about_switches_say_on_other_systems_that_they_need_linux(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(*_: object) -> NoReturn:
        raise ModuleNotFoundError("No module named 'fcntl'", name="fcntl")

    monkeypatch.setattr("kuijia.cli.main.load_verb", load)
    assert main(["lab", "status"]) == 2
    assert capsys.readouterr().err == "error: this command runs only on Linux (fcntl is missing)\n"


def test_an_absent_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError) as caught:
        require_installed("matplotlib", "--plot")
    assert str(caught.value) == "matplotlib, needed for --plot, is not installed: pip install 'kuijia[plot]'"
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("controller plan.json", "error: os-ken is not installed: pip install 'kuijia[controller]'\n"),
        ("scheduler --fat-tree 4", "error: os-ken is not installed: pip install 'kuijia[controller]'\n"),
    ],
)
def test_controllers_without_os_ken_end_in_one_line(
    arguments: str, complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["solve", "fig1", "fig1", "-o", "plan.json"]) == 0
    capsys.readouterr()
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    without("os_ken", monkeypatch)
    assert main(arguments.split()) == 2
    assert capsys.readouterr().err == complaint


def test_without_matplotlib_a_plot_is_refused_before_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    assert main(["solve", "fig1", "fig1", "-o", "plan.json", "--plot", "plan.svg"]) == 2
    assert capsys.readouterr().err.endswith("--plot, is not installed: pip install 'kuijia[plot]'\n")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_results_have_no_pictures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    output = OutputFolder(tmp_path)
    write_picture(output, "table.svg", lambda: pytest.fail("nothing can be drawn"))
    assert output.written == []


def test_a_what_if_study_without_matplotlib_has_its_numbers_and_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("kuijia_base.additions.find_spec", lambda _: None)
    assert main(["whatif", "fig1", "fig1", "--schemes", "kuijia", "-o", str(tmp_path / "new")]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"whatif.json", "whatif.csv"}
    assert "no report and no pictures without matplotlib: pip install 'kuijia[plot]'\n" in capsys.readouterr().err
