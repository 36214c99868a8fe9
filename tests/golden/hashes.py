"""Hashes of texts, in a file with a line each, and the texts themselves where they were made last."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HASHES = Path(__file__).with_name("hashes.txt")
KEPT = ROOT / "build" / "golden.json"
"""Texts of the last run in this clone, for a diff; git ignores it."""

_DIGITS = 16
_SECONDS = 850.0


def texts() -> dict[str, str]:
    """Make all texts in a process of its own, whatever this one and its user have set."""
    same = {
        "COLUMNS": "80",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": str(ROOT),
        "TZ": "UTC",
    }
    made = subprocess.run(
        [sys.executable, "-m", "tests.golden.texts"],
        env={**os.environ, **same},
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    assert made.returncode == 0, made.stderr
    by_name: dict[str, str] = json.loads(made.stdout)
    return by_name


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def stored() -> dict[str, str]:
    """Return the stored hashes by name."""
    lines = HASHES.read_text(encoding="utf-8").splitlines() if HASHES.exists() else []
    return {name: digest for digest, _, name in (line.partition(" ") for line in lines)}


def store(made: Mapping[str, str]) -> None:
    """Write the hashes of texts in place of all stored ones, and keep the texts for the next diff."""
    lines = [f"{hash_of(text)} {name}\n" for name, text in made.items()]
    HASHES.write_text("".join(lines), encoding="utf-8")
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(made), encoding="utf-8")


def changes(before: Mapping[str, str], made: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each name whose hash is another, new or gone, with a diff where the text before is kept."""
    kept: dict[str, str] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in dict.fromkeys([*before, *made]):
        if name not in made:
            yield f"gone: {name}"
        elif name not in before:
            yield f"new: {name}"
        elif before[name] != hash_of(made[name]):
            yield f"changed: {name}"
            if hash_of(kept.get(name, "")) == before[name]:
                yield from list(unified_diff(kept[name].splitlines(), made[name].splitlines(), lineterm="", n=1))[2:]
