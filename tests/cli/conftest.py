"""What several tests of the commands use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets a test start in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
