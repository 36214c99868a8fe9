"""Help, version and wrong words import no large library, which would take longer than the rest of the command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kuijia.cli.verbs import VERBS, load_verb

SLOW = {
    "cryptography",
    "cvxpy",
    "distributed",
    "eventlet",
    "highspy",
    "jinja2",
    "jsonschema",
    "loky",
    "matplotlib",
    "networkx",
    "os_ken",
    "pandas",
    "rich",
    "ryu",
    "scipy",
    "topohub",
}
"""Libraries that take long to import or that an extra installs."""

VERBLESS: Sequence[Sequence[str]] = (["--help"], ["--version"], [], ["sovle"], ["--tunnels", "3"])

PROGRAM = """
import contextlib, io, json, sys
from kuijia.cli.main import main

for words in json.loads(sys.argv[1]):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(words)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def imported(commands: Sequence[Sequence[str]]) -> set[str]:
    """Return the packages that an interpreter has imported after these commands."""
    program = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    return set(
        json.loads(subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    )


def test_without_a_good_verb_nothing_large_is_imported() -> None:
    assert not imported(VERBLESS) & (SLOW | {"numpy", "te_solver", "yaml"})


def test_help_of_verbs_imports_nothing_slow() -> None:
    found = imported([[verb, *words] for verb in VERBS for words in (["--help"], ["--tpyo"])])
    assert "te_solver" in found
    assert not found & SLOW


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_module(verb: str) -> None:
    loaded = load_verb(verb, [verb])
    assert callable(loaded.configure)
    assert callable(loaded.run)


@pytest.mark.parametrize("at", ["kuijia.cli.main", "kuijia.cli.verbs", "kuijia.cli.list", "experiments.catalog"])
def test_ctrl_c_during_an_import_ends_in_one_line(at: str) -> None:
    outcome = run_with(INTERRUPTED_IMPORT.format(at=at))
    assert (outcome.returncode, outcome.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize("seconds_to_start", [0.0, 0.2])
def test_ctrl_c_in_a_finalizer_is_not_lost(seconds_to_start: float) -> None:
    """Also where starting the thread that repeats it takes long, in which it would be lost once more."""
    outcome = run_with(INTERRUPTED_FINALIZER.format(seconds=seconds_to_start))
    assert (outcome.returncode, outcome.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(("words", "status"), [(["list"], 0), (["list", "--help"], 0), (["solve", "none", "none"], 2)])
def test_ctrl_c_after_the_last_line_changes_nothing(words: list[str], status: int) -> None:
    """While Python shuts down, which takes a tenth of a second with all packages loaded."""
    calm, interrupted = run_with("", words), run_with(INTERRUPTED_SHUTDOWN, words)
    assert calm.returncode == status
    assert (interrupted.returncode, interrupted.stderr) == (status, calm.stderr)


def test_a_second_ctrl_c_ends_what_hangs_after_the_first() -> None:
    outcome = run_with(INTERRUPTED_IMPORT.format(at="kuijia.cli.list") + INTERRUPTED_SHUTDOWN)
    assert (outcome.returncode, outcome.stderr) == (-signal.SIGINT, "interrupted\n")


def test_ctrl_c_in_code_that_is_a_string_ends_as_anywhere_else(tmp_path: Path) -> None:
    """Python remembers such an interrupt, although it is caught, and kills `python -m` for it."""
    program = "from kuijia.cli import list\nlist.run = lambda args: exec('raise KeyboardInterrupt')"
    (tmp_path / "program.py").write_text(f"{program}\n{START.format(words=['kuijia', 'list'])}")
    command = [sys.executable, "-m", "program"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30)
    assert (outcome.returncode, outcome.stderr) == (130, "interrupted\n")


INTERRUPTED_SHUTDOWN = """
import atexit, signal, sys

atexit.register(signal.raise_signal, signal.SIGINT)
"""

INTERRUPTED_IMPORT = """
import sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "{at}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""

INTERRUPTED_FINALIZER = """
import sys, threading, time
from kuijia.cli import list

start = threading.Thread.start

def start_slowly(thread):
    start(thread)
    time.sleep({seconds})

threading.Thread.start = start_slowly

class Finalized:
    def __del__(self):
        raise KeyboardInterrupt

def run(args):
    Finalized()
    time.sleep(60)

list.run = run
"""


def run_with(beginning: str, words: Sequence[str] = ("list",)) -> subprocess.CompletedProcess[str]:
    """Run `kuijia`, of itself `kuijia list`, in a process of its own after some lines of Python."""
    program = f"{beginning}\n{START.format(words=['kuijia', *words])}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=30)


START = """
import sys
from kuijia.__main__ import run

sys.argv = {words}
sys.exit(run())
"""
