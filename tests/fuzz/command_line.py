"""Runs the `kuijia` command inside this process and judges its exit status and what it says."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence

from kuijia.cli.main import main
from kuijia_base.errors import KuijiaError
from tests.fuzz.contract import fault_of_message
from tests.fuzz.targets import BrokenContractError

_GOOD, _FAILED, _BAD_INPUT = 0, 1, 2
_FAULT = "error: kuijia has a fault: "
"""The command's words in the place of a traceback."""


class RefusedError(KuijiaError):
    """The command has refused its input by exit status 2 and one line."""


def run_command(arguments: Sequence[str]) -> None:
    """Run `kuijia` with these arguments.

    Raises:
        RefusedError: it exits with status 2 after one line.
        BrokenContractError: another status than 0, 1 and 2, or a failure that is not told in one line.
    """
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status: object = main(arguments)
        except SystemExit as end:
            status = end.code
    assert isinstance(errors.buffer, io.BytesIO)
    said = errors.buffer.getvalue().decode()
    told = _judge(status, said)
    if status == _BAD_INPUT:
        raise RefusedError(told[0])


def _judge(status: object, said: str) -> list[str]:
    """Return what was said besides notes and warnings, line by line."""
    if status not in (_GOOD, _FAILED, _BAD_INPUT):
        raise BrokenContractError(f"exit status {status}")
    if _FAULT in said:
        what = said.partition(_FAULT)[2].strip()
        raise BrokenContractError(f"fault {what.partition(':')[0]}: {what[:200]!a}")
    told = [line for line in said.split("\n") if line and not line.startswith(("note: ", "warning: "))]
    if status == _BAD_INPUT and (len(told) != 1 or not told[0].startswith("error: ")):
        raise BrokenContractError(f"exit status 2 with {len(told)} lines: {said[:120]!a}")
    for line in said.split("\n"):
        broken = fault_of_message(line)
        if broken is not None:
            raise BrokenContractError(f"{broken.cause}: {broken.symptom[:200]}")
    return told
