"""`kuijia run EXPERIMENT --help` shows the options of that experiment alone."""

from __future__ import annotations

import pytest

from experiments.registry import all_experiments, find_experiment
from kuijia.cli.main import main
from kuijia.cli.run_help import options_of


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


def test_no_experiment_shows_an_option_that_it_ignores() -> None:
    for experiment in all_experiments():
        assert not options_of(experiment) & set(experiment.ignores)
        assert set(experiment.heeds) <= options_of(experiment)
    assert "inventory" not in options_of(find_experiment("hedera-shuffle"))
