"""Counts cases, keeps failures as files with the command that repeats each, and sums both up."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kuijia_base.progress import Progress
from kuijia_base.text import write_bytes

KEPT = 3
"""Files that are kept of failures with the same cause."""


@dataclass(frozen=True)
class Failure:
    """A case that broke the contract.

    Attributes:
        symptom: what happened, in one line.
        cause: what failures with the same cause have in common.
        file: holds the case.
        traceback: of the exception, where there was one.
    """

    target: str
    symptom: str
    cause: str
    file: Path
    traceback: str = ""

    @property
    def command(self) -> str:
        """The command that repeats the case."""
        return shlex.join(["./run", "fuzz", "--repeat", str(self.file), self.target])


@dataclass
class Report:
    """Findings of a run so far; the same for targets of every kind.

    Attributes:
        folder: where failing cases are written.
        progress: tells people how the run is getting on.
        most_cases: number of cases after which a target is done; None for no limit.
        cases: by target.
        causes: number of failures by target and cause.
        failures: those whose case was kept.
        figures: numbers that targets measured, by target and name.
    """

    folder: Path
    progress: Progress
    most_cases: int | None = None
    cases: Counter[str] = field(default_factory=Counter)
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    figures: dict[str, dict[str, float | str]] = field(default_factory=dict)

    def count(self, target: str, cases: int = 1) -> None:
        """Count cases that are done."""
        self.cases[target] += cases

    def enough(self, target: str) -> bool:
        """Return True once the target has had as many cases as were asked for."""
        return self.most_cases is not None and self.cases[target] >= self.most_cases

    def failure(
        self, target: str, symptom: str, content: bytes, suffix: str, cause: str | None = None, traceback: str = ""
    ) -> None:
        """Keep a failing case; `cause` groups failures, the symptom does where it is None."""
        key = target, cause or symptom
        self.causes[key] += 1
        if self.causes[key] > KEPT:
            return
        digest = hashlib.sha256(content).hexdigest()[:12]
        file = self.folder / f"{target.replace(':', '-')}-{digest}{suffix}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(file, content)
        self.failures.append(Failure(target, symptom, key[1], file, traceback))
        if self.causes[key] == 1:
            self.progress.say(f"{target}: {symptom}: {file}")

    def figure(self, target: str, name: str, value: float | str) -> None:
        """Keep a number that the summary shows, such as the peak of memory; a later value takes the place of it."""
        self.figures.setdefault(target, {})[name] = value

    def as_json(self) -> dict[str, Any]:
        """Return the run as JSON data."""
        return {
            "cases": dict(self.cases),
            "figures": self.figures,
            "failures": [
                {
                    "target": each.target,
                    "symptom": each.symptom,
                    "times": self.causes[each.target, each.cause],
                    "file": str(each.file),
                    "command": each.command,
                }
                for each in self.failures
            ],
        }

    def lines(self) -> list[str]:
        """Return the run as lines for people, failures last."""
        lines = [
            "  ".join([f"{name}: {count:,} cases", *(f"{key} {_text(value)}" for key, value in self._of(name).items())])
            for name, count in self.cases.items()
        ]
        for each in self.failures:
            times = self.causes[each.target, each.cause]
            lines += ["", f"{each.target}: {each.symptom} ({times:,} times)", f"  {each.file}", f"  {each.command}"]
        return lines

    def _of(self, target: str) -> dict[str, float | str]:
        return self.figures.get(target, {})


def _text(value: float | str) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value}"
