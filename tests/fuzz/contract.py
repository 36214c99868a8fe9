"""Judges one case: it ends normally or with a short one-line refusal, and leaves nothing where it must not."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kuijia_base.errors import KuijiaError
from tests.fuzz.guard import Guard
from tests.fuzz.targets import BrokenContractError, CaseTarget

LONGEST_MESSAGE = 500
_SHOWN_FRAMES = 12
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Broken:
    """A breach of the contract; `cause` is the same for cases that broke it at the same place."""

    symptom: str
    cause: str
    traceback: str = ""


def random_of(seed: int, target: str, number: int) -> Random:
    """Return the generator of a case, the same wherever and whenever it is made."""
    return Random(f"{seed} {target} {number}")


def examine(target: CaseTarget, content: bytes, folder: Path, guard: Guard) -> Broken | None:
    """Run a case in its empty folder, the current one; return how it broke the contract, None when it did not."""
    arguments = target.lay(content, folder)
    before = _names(folder)
    guard.watch(folder, asked=target.names_paths)
    try:
        target.run(arguments)
    except KuijiaError as refusal:
        broken = fault_of_message(str(refusal)) or _fault_of_leftovers(_names(folder) - before)
    except BrokenContractError as error:
        broken = Broken(str(error), str(error).partition(":")[0])
    except BaseException as error:  # noqa: BLE001  # that any other is raised is what we look for
        broken = _of_exception(error)
    else:
        broken = None
    faults = guard.faults
    guard.watch(None)
    return Broken(faults[0], faults[0].partition(":")[0]) if faults else broken


def fault_of_message(message: str) -> Broken | None:
    """Return what is wrong with the message of an error; it has to be short, printable and on one line."""
    if not message.isprintable():
        at = next(place for place, letter in enumerate(message) if not letter.isprintable())
        text = f"message with character {message[at]!a}"
        return Broken(f"{text}: {message[:at][-80:]!a}", f"{text} {_shape(message)}")
    if len(message) > LONGEST_MESSAGE:
        text = "message too long"
        return Broken(f"{text}: {len(message)} characters, {message[:120]!a}", f"{text} {_shape(message)}")
    return None


def _fault_of_leftovers(names: set[str]) -> Broken | None:
    """Return what is wrong when a refused case has left these files behind."""
    if not names:
        return None
    shown = ", ".join(sorted(names))[:80]
    return Broken(f"refused, but left behind: {shown!a}", "left behind")


def _shape(message: str) -> str:
    """Return the words of a message that stand in no quotes and after no path: equal for equal causes."""
    words = message.partition(": ")[2].split()
    return " ".join(word for word in words[:6] if word.isalpha() and word.isascii())


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in os.scandir(folder)}


def _of_exception(error: BaseException) -> Broken:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(f"{ROOT}/") and "/.venv/" not in frame.filename]
    kind = type(error).__name__
    last = ours[-1] if ours else frames[-1]
    place = f"{last.filename.removeprefix(f'{ROOT}/')}:{last.name}"
    said = str(error).split("\n", 1)[0][:120]
    told = "".join(traceback.format_exception(error, limit=-_SHOWN_FRAMES))
    return Broken(f"{kind} in {place}, line {last.lineno}: {said!a}", f"{kind} in {place}", told)
