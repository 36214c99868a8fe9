"""The code as it stands is formatted, passes the linters and is typed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHELL_SCRIPTS = ("run", ".ci/run", "requirements/install-debian")


@pytest.mark.parametrize(
    "check",
    [("ruff", "check", "--quiet", "--output-format=concise"), ("ruff", "format", "--check", "--quiet"), ("mypy",)],
    ids=["ruff-check", "ruff-format", "mypy"],
)
def test_python_passes(check: tuple[str, ...]) -> None:
    outcome = subprocess.run([sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shell_scripts_pass_shellcheck() -> None:
    outcome = subprocess.run(["shellcheck", *SHELL_SCRIPTS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout
