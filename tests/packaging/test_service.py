"""The systemd unit of the controller is sound, locked down, and starts a command that exists."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kuijia.cli.controller import configure
from kuijia_base.errors import InputError
from tests.packaging.project_lists import ROOT

FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "kuijia-controller.service"
PROGRAM = "/opt/kuijia/bin/kuijia"

analysed = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze (Debian: systemd)")


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return a copy of the unit that starts a program that is there."""
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace(PROGRAM, sys.executable))
    return copy


def settings() -> dict[str, list[str]]:
    """Return the values of each setting."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


@analysed
def test_systemd_finds_no_fault(unit: Path) -> None:
    outcome = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@analysed
def test_the_service_is_locked_down(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", str(unit)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_the_command_and_its_defaults_are_accepted() -> None:
    (start,) = settings()["ExecStart"]
    words = dict(shlex.split(value)[0].split("=", 1) for value in settings()["Environment"])
    command = start.replace("${PLAN}", words["PLAN"]).replace("$OPTIONS", words["OPTIONS"])
    program, verb, *arguments = shlex.split(command)
    assert (program, verb) == (PROGRAM, "controller")
    parser = argparse.ArgumentParser(exit_on_error=False)
    configure(parser)
    args = parser.parse_args(arguments)
    assert str(args.plan) == words["PLAN"]
    (state,) = settings()["StateDirectory"]
    assert all(path.parent == Path("/var/lib", state) for path in (args.events, Path(words["PLAN"])))


def test_bad_input_is_not_tried_again_and_its_user_exists() -> None:
    assert settings()["RestartPreventExitStatus"] == [str(InputError.exit_status)]
    (account,) = (FOLDER / "kuijia.sysusers").read_text().splitlines()
    assert settings()["User"] == [account.split()[1]]
