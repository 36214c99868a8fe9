"""Lists of the package's metadata, without a reader of TOML, which Python 3.10 lacks."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def project_lists() -> dict[str, list[str]]:
    """Return every list of texts in pyproject.toml's tables on the project, such as `dependencies`, by its key."""
    table = (ROOT / "pyproject.toml").read_text().partition("\n[project]\n")[2].partition("\n[project.scripts]\n")[0]
    lists = re.findall(r"^([a-z0-9]+) = \[(.*?)\](?: #[^\n]*)?$", table, re.DOTALL | re.MULTILINE)
    return {name: re.findall(r'"([^"]+)"', content) for name, content in lists}
