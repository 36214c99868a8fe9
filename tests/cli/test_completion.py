"""Shells complete what the parsers know, by scripts that `shtab` makes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kuijia.cli.main import main
from kuijia.cli.verbs import VERBS

pytest.importorskip("shtab", reason="no shtab, which ./run installs")

_COMPLETE = """
source /dev/stdin
for line in "$@"; do
    read -ra COMP_WORDS <<<"${line}x"
    last=$((${#COMP_WORDS[@]} - 1))
    COMP_WORDS[last]=${COMP_WORDS[last]%x}
    COMP_CWORD=$last COMPREPLY=()
    _shtab_kuijia
    echo "${COMPREPLY[@]}"
done
"""


def test_bash_completes_verbs_options_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    lines = [
        "kuijia so",
        "kuijia solve --obj",
        "kuijia solve --objective max",
        "kuijia run hermes-fig1",
        "kuijia trace --fa",
    ]
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", _COMPLETE, "bash", *lines], input=script, capture_output=True, text=True, check=True
    )
    verb, option, values, experiments, failures = done.stdout.splitlines()
    assert (verb, option, values) == ("solve", "--objective", "max-throughput max-min")
    assert "hermes-fig10" in experiments.split()
    assert failures == "--failures"


def test_zsh_knows_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script.startswith("#compdef kuijia")
    assert all(f"    {verb}:'" in script for verb in VERBS)
