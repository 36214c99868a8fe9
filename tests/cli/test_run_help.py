"""`kuijia run EXPERIMENT --help` shows the options of that experiment alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.catalog import CATALOG
from kuijia.cli.main import main


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["run", *arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_help_without_an_experiment_has_only_what_most_have(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_of(capsys)
    assert shown.startswith("usage: kuijia run [-h]")
    assert len(shown.splitlines()) < 60
    assert "--quick" in shown
    assert "EXPERIMENT --help" in shown
    for option in ("--schemes", "--nic-rate", "--workers", "--slots"):
        assert option not in shown


def test_the_help_on_an_experiment_has_its_options_and_no_others(capsys: pytest.CaptureFixture[str]) -> None:
    shown = help_of(capsys, "fig10")
    assert shown.startswith("usage: kuijia run fig10 [-h]")
    for option in ("--traffic", "--demands", "--schemes", "--slots", "--json"):
        assert f"\n  {option}" in shown
    for option in ("--cut", "--nic-rate", "--message-delay", "\n  EXPERIMENT"):
        assert option not in shown
    assert "(Figure 10)" in shown
    assert "--workers" in help_of(capsys, "cqrd-exp1")


def test_the_help_on_an_experiment_names_its_own_backends_and_folder(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(help_of(capsys, "fig10").split())
    assert "--backend {emulation,flow,packet,boxes} backend to measure on (default: emulation)" in shown
    assert "results/fig10-TIME" in shown
    assert "--backend {boxes,emulation,flow,packet,tables}" in " ".join(help_of(capsys).split())
    assert "\n  --backend" not in help_of(capsys, "fig8")


def test_options_may_stand_before_the_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--cut" in help_of(capsys, "--quick", "table2", "--cut", "s1-s2")


def test_the_help_on_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "tabel2", "--help"]) == 2
    assert capsys.readouterr().err.startswith("error: experiment:tabel2: is unknown, expected one of table2")


def test_no_experiment_shows_an_option_without_meaning_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in CATALOG:
        shown = help_of(capsys, entry.name)
        assert not [name for name in entry.load().without if f"\n  --{name}" in shown]
    assert "inventory" not in help_of(capsys, "hedera-shuffle")


def test_the_help_on_an_experiment_speaks_of_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    names = {each.name for each in CATALOG} - {"fields", "update"}  # words that help texts use
    for experiment in CATALOG:
        shown = help_of(capsys, experiment.name)
        words = set(shown.replace(",", " ").replace(";", " ").replace(")", " ").split())
        others = {each for each in names - {experiment.name} if each in words}
        sections = {line for line in shown.splitlines() if line.startswith("options")}
        assert sections <= {"options:", "options of this experiment:"}
        assert others <= {"recovery", "gscale"}, experiment.name  # values of options of these experiments


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("table2", "(default: 20, or 5 on a machine too slow for that; with --backend packet 1000, as in the paper)"),
        ("fig10", "(default: 20, with --backend packet 1000)"),
        ("fig10", "--full all demands, and 3 repetitions, as in the paper"),
        (
            "gscale-readings",
            "--repetitions N N campaigns of 3 draws of pairs (default: 10, with --quick 1, with --full 67;",
        ),
        ("hermes-fig9", "--repetitions N N seeds (default: 2, with --quick 1, with --full 5)"),
        ("fig4", "--full 10 graphs with 10 draws of pairs each"),
    ],
)
def test_common_options_have_the_experiments_own_defaults(
    name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in " ".join(help_of(capsys, name).split())


def test_an_option_that_changes_nothing_is_not_shown_but_noted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "--full" not in help_of(capsys, "fig6")
    assert main(["run", "fig6", "--full", "--repetitions", "2", "-o", str(tmp_path / "new")]) == 0
    err = capsys.readouterr().err
    assert "note: fig6: --full changes nothing in it\n" in err
    assert "note: fig6: --repetitions changes nothing in it\n" in err
    assert "--quick" not in err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("table2 --sizes x", ""),
        ("hedera-8192 --sizes x", " (did you mean --flow-sizes?)"),
        ("table2 --cutt s1-s2", " (did you mean --cut?)"),
        ("fig10 --nicrate 1", ""),
        ("fig10 --quik", " (did you mean --quick?)"),
        ("fig10 --hlep", " (did you mean --help?)"),
    ],
)
def test_only_options_of_the_experiment_are_suggested(
    words: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", *words.split()])
    assert ended.value.code == 2
    name, _, given = words.partition(" ")
    assert capsys.readouterr().err == f"error: kuijia run {name}: unrecognized arguments: {given}{hint}\n"
