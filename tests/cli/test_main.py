"""`kuijia` without a verb."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from kuijia.cli import main as main_module
from kuijia.cli.main import main
from kuijia.cli.verbs import TASKS, with_default_action


@pytest.mark.parametrize(("is_clone", "commit"), [(True, r" \([0-9a-f]{7,}(-dirty)?\)"), (False, "")])
def test_the_version_is_printed_in_a_clone_with_its_commit(
    *, is_clone: bool, commit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_module, "ROOT", tmp_path)
    if is_clone:
        shutil.copy(Path(main_module.__file__), tmp_path / "file")
        for words in (["init", "-q"], ["add", "file"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qma"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(re.escape(f"kuijia {metadata.version('kuijia')}") + commit + "\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slove"], "argument VERB: invalid choice: 'slove' (did you mean solve?)\n"),
        (["topology", "descrbe", "gscale"], "argument ACTION: invalid choice: 'descrbe' (did you mean describe?)"),
        (["solve", "fig1", "fig1", "--objective", "max-mn"], "invalid choice: 'max-mn' (did you mean max-min?)"),
        (
            ["solve", "fig1", "fig1", "--tunels", "2"],
            "kuijia solve: unrecognized arguments: --tunels 2 (did you mean --tunnels?)",
        ),
        (["list", "all"], "kuijia list: unrecognized arguments: all\n"),
        (["packet", "fig1", "--transport", "cubicc"], "'cubicc' is unknown (did you mean cubic?)"),
        (["run", "tabel2"], "experiment:tabel2: is unknown, expected one of table2"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_one_that_was_meant(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "completed"),
    [
        ("topology gscale", "topology describe gscale"),
        ("topology --default-capacity 5 net.gml", "topology describe --default-capacity 5 net.gml"),
        ("-v topology net.gml --json", "-v topology describe net.gml --json"),
        ("topology convert", "topology convert"),
        ("topology describe gscale", "topology describe gscale"),
        ("topology --json convert gscale", "topology --json convert gscale"),
        ("topology descrbe gscale", "topology descrbe gscale"),
        ("topology --help", "topology --help"),
        ("topology", "topology"),
        ("solve gscale gscale", "solve gscale gscale"),
        ("", ""),
    ],
)
def test_a_network_is_described_when_no_action_is_named(given: str, completed: str) -> None:
    assert with_default_action(given.split()) == completed.split()


def test_earlier_names_of_options_work_and_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for verb, earlier, present in (
        ("solve", "--capacity ", "--default-capacity"),
        ("trace", "--fail ", "--failures"),
        ("verify", "--schemes ", "--scheme"),
        ("whatif", "--scheme ", "--schemes"),
    ):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        shown = capsys.readouterr().out
        assert present in shown
        assert earlier not in shown
    for option in ("--capacity", "--default-capacity"):
        assert main(["topology", "describe", "gscale", option, "10G"]) == 0


def test_a_table_of_another_scheme_may_be_asked_for_by_either_name(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    assert main(["solve", "fig1", "fig1", "-o", str(plan)]) == 0
    for option in ("--scheme", "--schemes"):
        assert main(["verify", str(plan), option, "rescaling"]) == 0
    for option in ("--scheme", "--schemes"):
        assert main(["whatif", "--plan", str(plan), option, "kuijia"]) == 0


def test_the_bare_command_lists_every_verb_under_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    assert _help_of([], capsys) == _help_of(["--help"], capsys)
    shown = _help_of([], capsys)
    for task, verbs in TASKS.items():
        section = shown.split(f"\n{task}:\n")[1].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines() if line[2] != " "] == list(verbs)


def _help_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    return capsys.readouterr().out
