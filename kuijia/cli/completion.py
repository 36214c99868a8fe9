"""`kuijia completion`: prints the script by which a shell completes verbs, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from kuijia.cli.parsers import actions_of, all_parsers, whole_parser
from kuijia_base.errors import KuijiaError
from kuijia_base.extras import is_installed

_SHELLS = ("bash", "zsh")
_FILES = frozenset({"TOPOLOGY", "DEMANDS", "PLAN", "FILE", "INVENTORY"})
_FOLDERS = frozenset({"DIR"})


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

    parser = whole_parser()
    for each in all_parsers(parser):
        for action in actions_of(each):
            if action.dest == "experiment":
                action.choices = _experiments()
            elif action.choices is None and (action.metavar in _FILES or action.type is Path):
                _complete_by(action, shtab.DIRECTORY if action.metavar in _FOLDERS else shtab.FILE)
    return str(shtab.complete(parser, shell=shell))


def _experiments() -> list[str]:
    from experiments.registry import all_experiments  # noqa: PLC0415  # slow to import: all experiments

    return [each.name for each in all_experiments()]


def _complete_by(action: argparse.Action, way: Mapping[str, object]) -> None:
    action.complete = way  # type: ignore[attr-defined]  # shtab reads it
