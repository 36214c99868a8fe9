"""Progress of long work: below the cell of a notebook, and only if it is wanted."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

import kuijia
from kuijia_base import progress


def test_silent_progress_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.progress_line(silent=True) as line:
        line.say("a note")
        line.show("work", 1, 2)
    assert capsys.readouterr() == ("", "")


class _OfNotebook(io.StringIO):
    """Standard error as ipykernel has it, which a notebook shows in red."""


_OfNotebook.__module__ = "ipykernel.iostream"


def test_a_notebook_gets_progress_by_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", _OfNotebook())
    with progress.progress_line() as line:
        line.say("a note")
    assert capsys.readouterr().out == "a note\n"


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("plan", lambda **options: kuijia.solve("fig1", **options)),
        ("whatif", lambda **options: kuijia.whatif("fig1", schemes="kuijia", failures="s1-s2", **options)),
        ("packet", lambda **options: kuijia.packet("single-switch:3", flows=2, **options)),
    ],
)
def test_functions_are_silent_when_asked(module: str, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    seen: list[bool] = []

    def line(*, patient: bool, silent: bool) -> Any:  # noqa: ANN401  # that of progress
        assert patient
        seen.append(silent)
        return progress.progress_line(silent=silent)

    monkeypatch.setattr(f"kuijia.api.{module}.progress_line", line)
    call()
    call(progress=False)
    assert seen == [False, True]
