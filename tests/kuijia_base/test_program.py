"""Libraries start verbs by the name of the program, and what they start is the command line."""

from __future__ import annotations

import subprocess
from importlib import metadata

from kuijia_base.commands import MODULES, kuijia_command


def test_a_started_verb_is_the_one_of_the_command_line() -> None:
    ended = subprocess.run(kuijia_command("list", "--help"), cwd=MODULES, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("usage: kuijia list ")


def test_the_installed_command_is_that_program() -> None:
    (script,) = (each for each in metadata.entry_points(group="console_scripts") if each.name == "kuijia")
    assert script.value.startswith(f"{kuijia_command('list')[2]}.")
