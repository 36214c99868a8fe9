"""The code as it stands is formatted, passes the linters and is typed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GEMS = Path("/usr/share/rubygems-integration/all/specifications")
CORES = ("simulator", "hedera", "tests")
SHELL_SCRIPTS = ("run", ".ci/run", "requirements/install-debian", "requirements/provision-vagrant")


@pytest.mark.parametrize(
    "check", [("check", "--output-format=concise"), ("format", "--check")], ids=lambda check: check[0]
)
def test_ruff_finds_nothing(check: tuple[str, ...]) -> None:
    _run(sys.executable, "-m", "ruff", *check)


def test_clang_format_changes_nothing() -> None:
    sources = [str(path) for kind in ("*.cpp", "*.hpp") for room in CORES for path in (ROOT / room).rglob(kind)]
    assert len(sources) > 40
    _run(str(Path(sys.executable).with_name("clang-format")), "--dry-run", "--Werror", *sources)


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="types are those of the libraries locked for Python 3.11")
def test_mypy_finds_nothing() -> None:
    _run(sys.executable, "-m", "mypy")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    _run("shellcheck", *SHELL_SCRIPTS)


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("vagrant") is None or not GEMS.is_dir() or not any(GEMS.glob("vagrant-libvirt-*.gemspec")),
    reason="no Vagrant with libvirt (Debian packages vagrant, vagrant-libvirt)",
)
def test_vagrant_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a provider, whose part of the file would be passed over otherwise."""
    for name in ("VAGRANT_HOME", "VAGRANT_DOTFILE_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("VAGRANT_DEFAULT_PROVIDER", "libvirt")
    monkeypatch.setenv("VAGRANT_CHECKPOINT_DISABLE", "1")  # it would ask the network for a newer Vagrant
    _run("vagrant", "validate")


def _run(*command: str) -> None:
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
