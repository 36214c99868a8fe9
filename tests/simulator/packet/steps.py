"""Takes parts of the core step by step: builds the driver `steps.cpp` beside them, without the simulation."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.sanitized import COMPILER
from tests.simulator.packet.fuzz import CORE

DRIVER = Path(__file__).with_name("steps.cpp")
SOURCES = (
    *(
        f"transports/{name}.cpp"
        for name in (
            *(
                "bbr",
                "congestion",
                "congestion_control",
                "copa",
                "credited",
                "delivery_rate",
                "expresspass",
                "flashpass",
            ),
            *("resequencer", "segments", "tcp", "tcp_receiver", "tcp_sender", "vegas"),
        )
    ),
    *(
        f"routing/{name}.cpp"
        for name in ("clove_ecn", "flow_bender", "hermes", "rack_paths", "rack_probes", "sensed_path")
    ),
    *(f"queues/{name}.cpp" for name in ("buffer", "fifo", "hashed_credits", "strict_priority")),
)
FLAGS = (
    *("-std=c++20", "-O0", "-g0", "-ffp-contract=off", "-ffunction-sections", "-Wl,--gc-sections"),
    "-D_GLIBCXX_ASSERTIONS",
)
"""Unused functions go, and with them what they need of the simulation."""

BUILT = "KUIJIA_STEPS"
"""The variable that names the driver where it is built already."""

Step = tuple[str | float, ...]


@dataclass(frozen=True)
class Parts:
    """The driver, once it is built."""

    program: Path

    def answers(self, part: str, steps: Iterable[Step], **rules: float) -> list[list[float]]:
        """Return the numbers that answer each step of a part with these rules, in the core's units."""
        text = "".join(_line(step) for step in steps)
        done = subprocess.run(self._command(part, rules), input=text, stdout=subprocess.PIPE, text=True, check=True)
        return [_numbers(line) for line in done.stdout.splitlines()]

    def begin(self, part: str, **rules: float) -> Conversation:
        """Begin with a part whose next step depends on its last answer."""
        return Conversation(self._command(part, rules))

    def _command(self, part: str, rules: dict[str, float]) -> list[str]:
        return [str(self.program), part, *(f"{name}={value!r}" for name, value in rules.items())]


class Conversation:
    """A part that takes one step after the other, until the context ends."""

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def step(self, *step: str | float) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(_line(step))
        self._process.stdin.flush()
        return _numbers(self._process.stdout.readline())

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def build_parts(folder: Path, core: Path = CORE) -> Parts:
    """Compile the driver and the sources of the core that it takes; raise CalledProcessError if that fails."""
    if BUILT in os.environ:
        return Parts(Path(os.environ[BUILT]))
    together = folder / "parts.cpp"
    together.write_text("".join(f'#include "{core / source}"\n' for source in SOURCES))
    program = folder / "steps"
    subprocess.run([COMPILER, *FLAGS, f"-I{core}", "-o", program, DRIVER, together], check=True)
    return Parts(program)


def _line(step: Step) -> str:
    return " ".join(word if isinstance(word, str) else repr(word) for word in step) + "\n"


def _numbers(line: str) -> list[float]:
    return [float(word) for word in line.split()]
