"""Shells complete what the parsers know, by scripts that `shtab` makes."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kuijia.cli.completion import script
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
    printed = capsys.readouterr().out
    lines = [
        "kuijia so",
        "kuijia solve --obj",
        "kuijia solve --objective max",
        "kuijia run hermes-fig1",
        "kuijia trace --fa",
        "kuijia solve gs",
        "kuijia whatif --schemes recompute,pre",
    ]
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", _COMPLETE, "bash", *lines], input=printed, capture_output=True, text=True, check=True
    )
    verb, option, values, experiments, failures, network, schemes = done.stdout.splitlines()
    assert (verb, option, values) == ("solve", "--objective", "max-throughput max-min max-concurrent")
    assert "hermes-fig10" in experiments.split()
    assert failures == "--failures"
    assert network == "gscale"
    assert schemes == "recompute,precomputed"


_ZSHRC = """
fpath=({folder} $fpath)
autoload -Uz compinit
compinit -u -D
show-line() {{ print -r -- "<$BUFFER>"; BUFFER= }}
zle -N show-line
bindkey '^G' show-line
PS1='ready> '
"""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh, which is not installed everywhere")
def test_zsh_completes_verbs_options_and_values(tmp_path: Path) -> None:
    (tmp_path / "_kuijia").write_text(script("zsh"))
    (tmp_path / ".zshrc").write_text(_ZSHRC.format(folder=tmp_path))
    (tmp_path / "own.json").touch()
    completed = {
        "kuijia so": "kuijia solve ",
        "kuijia solve --obj": "kuijia solve --objective ",
        "kuijia solve --objective max-t": "kuijia solve --objective max-throughput ",
        "kuijia solve gs": "kuijia solve gscale ",
        "kuijia solve fig1 gs": "kuijia solve fig1 gscale ",
        "kuijia whatif --schemes recompute,pre": "kuijia whatif --schemes recompute,precomputed,",
        "kuijia run hermes-fig10 --back": "kuijia run hermes-fig10 --backend ",
        "kuijia run hedera-ti": "kuijia run hedera-timing ",
        "kuijia verify ow": "kuijia verify own.json ",
        "kuijia lab sta": "kuijia lab status ",
        "kuijia completion z": "kuijia completion zsh ",
    }
    assert typed_into_zsh(tmp_path, [f"{line}\t" for line in completed]) == list(completed.values())


def typed_into_zsh(folder: Path, lines: Sequence[str]) -> list[str]:
    """Return what an interactive zsh makes of lines that are typed."""
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "ZDOTDIR": f"{folder}", "LC_ALL": "C.UTF-8"}
    keyboard, its_side = pty.openpty()
    with subprocess.Popen(
        ["zsh", "-i", "+m"], cwd=folder, env=environment, stdin=its_side, stdout=its_side, stderr=its_side
    ):
        os.close(its_side)
        found = read_until(keyboard, b"ready> ")
        for line in lines:
            os.write(keyboard, f"{line}\a".encode())
            found += read_until(keyboard, b">\r\n")
        os.write(keyboard, b"exit\n")
    os.close(keyboard)
    return [each.decode() for each in re.findall(rb"<([^<>]*)>\r\n", found)]


def read_until(terminal: int, end: bytes) -> bytes:
    found = b""
    while end not in found:
        found += os.read(terminal, 10**6)
    return found


def test_zsh_knows_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("#compdef kuijia")
    assert all(f"    {verb}:'" in printed for verb in VERBS)
