"""No pattern that the program matches text against takes exponential time, whatever the text."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("experiments", "hedera", "kuijia", "kuijia_app", "kuijia_base", "simulator", "te_solver", "testbed")
FUNCTIONS = {
    f"re.{name}" for name in ("compile", "match", "search", "fullmatch", "sub", "split", "findall", "finditer")
}
MOST_SECONDS = 60
"""Of a processor, for all texts of a pattern, which one without backtracking reads in a fraction of a second."""

REPEATED = [
    "a",
    "1",
    " ",
    ".",
    "-",
    "_",
    ":",
    "/",
    "#",
    '"',
    "(",
    "[",
    "a.",
    "a ",
    "a-",
    "1.",
    ' "',
    "a=",
    "->",
    "a:",
    ".1",
    "a/",
]
PUMPED = f"""
import json, re, sys
pattern = re.compile(*json.load(sys.stdin))
prefixes = ["", "a", '"', "# interpolation", "model name", "&#", "set(ipv4(", "OpenSSH_1", ".a.1"]
for repeated in {REPEATED!r}:
    for prefix in prefixes:
        for end in ("", "!", "\\0", " !", "\\n"):
            text = prefix + repeated * 1500 + end
            pattern.fullmatch(text), pattern.match(text), pattern.search(text[:600] + end)
"""


def patterns() -> Iterator[tuple[str, str, int]]:
    """Give the place, text and flags of each pattern that stands as a constant in the program."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "import re\n" in text else ():
                if not (isinstance(node, ast.Call) and ast.unparse(node.func) in FUNCTIONS):
                    continue
                if isinstance(node.args[0], ast.Constant):
                    words = (each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute))
                    flags = sum(getattr(re, word) for word in words if word.isupper())
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", str(node.args[0].value), flags


ALL = list(patterns())


def test_patterns_are_found() -> None:
    assert len(ALL) > 20
    assert any(place.startswith("te_solver/formats/topology_yaml.py") for place, _, _ in ALL)


def match_pumped_texts(pattern: str, flags: int, seconds: int) -> None:
    """Match a pattern against its texts; raises CalledProcessError if that takes more seconds of a processor."""
    words = ["prlimit", f"--cpu={seconds}", sys.executable, "-c", PUMPED]
    subprocess.run(words, input=json.dumps([pattern, flags]), text=True, check=True)


@pytest.mark.parametrize(("pattern", "flags"), [each[1:] for each in ALL], ids=[each[0] for each in ALL])
def test_no_text_takes_a_pattern_exponential_time(pattern: str, flags: int) -> None:
    match_pumped_texts(pattern, flags, MOST_SECONDS)


def test_a_pattern_of_exponential_time_would_be_seen() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        match_pumped_texts(r"\w+([ .-]?\w+)*", 0, 5)
