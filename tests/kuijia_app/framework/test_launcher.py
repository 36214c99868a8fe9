"""A launcher that needs signals refuses a system without them in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import signal, sys
del signal.{signal}
from kuijia.cli.main import main
sys.argv = ["kuijia", "{verb}", "plan.json"]
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["SIGHUP", "SIGUSR1"])
@pytest.mark.parametrize("verb", ["controller", "scheduler"])
def test_a_system_without_the_signals_of_controllers_is_refused_in_one_line(verb: str, name: str) -> None:
    program = _PROGRAM.format(signal=name, verb=verb)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: controllers need the signals SIGHUP, SIGUSR1, SIGUSR2, which this system lacks\n"
