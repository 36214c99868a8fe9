"""`kuijia completion`: prints the script by which a shell completes verbs, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from experiments.catalog import all_entries
from kuijia.cli.parsers import actions_of, all_parsers, whole_parser
from kuijia_base.additions import is_installed
from kuijia_base.errors import KuijiaError

_SHELLS = ("bash", "zsh")
_FILES = frozenset({"PLAN", "FILE", "INVENTORY"})
_NETWORKS = frozenset({"TOPOLOGY", "DEMANDS"})
"""Files, or names of shipped networks."""

_FOLDERS = frozenset({"DIR"})

_NETWORK_BY: Mapping[str, str] = {"bash": "_kuijia_network", "zsh": "_kuijia_network"}
_SCHEMES_BY: Mapping[str, str] = {"bash": "_kuijia_schemes", "zsh": "_kuijia_schemes"}

_PREAMBLES: Mapping[str, str] = {
    "bash": """\
_kuijia_network() {{
  compgen -W '{networks}' -- "$1"
  compgen -f -- "$1"
}}
_kuijia_schemes() {{
  local before=
  [[ $1 != *,* ]] || before=${{1%,*}},
  compgen -P "$before" -W '{schemes}' -- "${{1##*,}}"
}}""",
    "zsh": """\
_kuijia_network() {{
  _alternative 'files:file:_files' 'networks:shipped network:({networks})'
}}
_kuijia_schemes() {{
  _sequence compadd - {schemes}
}}""",
}
"""Functions that complete what no list of words and no file name does."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        'bash: eval "$(kuijia completion bash)" in ~/.bashrc. zsh: kuijia completion zsh > FOLDER/_kuijia, with FOLDER '
        "in fpath."
    )
    parser.add_argument("shell", choices=_SHELLS, help="shell that reads the script")


def run(args: argparse.Namespace) -> int:
    print(script(args.shell))
    return 0


def script(shell: str) -> str:
    """Return the script for a shell.

    Raises:
        KuijiaError: an installation without shtab.
    """
    if not is_installed("shtab"):
        raise KuijiaError("shtab is not installed: pip install shtab")
    import shtab  # noqa: PLC0415  # only this verb needs it

    from te_solver.networks import shipped_names  # noqa: PLC0415  # only this verb needs it
    from te_solver.schemes.all_schemes import scheme_names  # noqa: PLC0415  # loads what packages add

    parser = whole_parser()
    for each in all_parsers(parser):
        for action in actions_of(each):
            if action.dest == "experiment":
                action.choices = [entry.name for entry in all_entries()]
            elif action.dest == "schemes":
                _complete_by(action, _SCHEMES_BY)
            elif action.choices is None and action.metavar in _NETWORKS:
                _complete_by(action, _NETWORK_BY)
            elif action.choices is None and (action.metavar in _FILES or action.type is Path):
                _complete_by(action, shtab.DIRECTORY if action.metavar in _FOLDERS else shtab.FILE)
    names = {"networks": " ".join(shipped_names()), "schemes": " ".join(scheme_names())}
    return str(shtab.complete(parser, shell=shell, preamble=_PREAMBLES[shell].format(**names)))


def _complete_by(action: argparse.Action, way: Mapping[str, object]) -> None:
    action.complete = way  # type: ignore[attr-defined]  # shtab reads it
