"""Settings of objectives, written after their names: `swan:alpha=1.5`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kuijia_base.errors import UnsoundError, quoted
from kuijia_base.text import parse_number

MARK = ":"
"""Sign between an objective and its settings."""

_WHERE = ("objective",)

Value = float | str
Values = Mapping[str, Value]


@dataclass(frozen=True)
class NumberSetting:
    """A setting that is a number from `least` to `most`, of which those named in `excluded` are no values."""

    default: float
    least: float
    most: float = math.inf
    whole: bool = False
    excluded: Literal["none", "least", "both"] = "none"

    def read(self, text: str) -> Value | None:
        """Return the number that a text states, None if it is none or out of bounds."""
        value = parse_number(text)
        if value is None or not self.least <= value <= self.most or not math.isfinite(value):
            return None
        if (self.whole and value != int(value)) or (self.excluded != "none" and value == self.least):
            return None
        return None if self.excluded == "both" and value == self.most else value

    @property
    def expected(self) -> str:
        lower = f"{'from' if self.excluded == 'none' else 'above'} {self.least:g}"
        upper = f"{' and below' if self.excluded == 'both' else ' to'} {self.most:g}"
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} {lower}{upper if math.isfinite(self.most) else ''}"


@dataclass(frozen=True)
class WordSetting:
    """A setting that is one of some words; any text, if there are none, which is the name of a file if `is_file`."""

    default: str
    among: tuple[str, ...] = ()
    is_file: bool = False

    def read(self, text: str) -> Value | None:
        """Return the text if it is one of the words."""
        return text if text and (not self.among or text in self.among) else None

    @property
    def expected(self) -> str:
        return f"one of {', '.join(self.among)}" if self.among else "the name of a file"


Setting = NumberSetting | WordSetting
Settings = Mapping[str, Setting]


def base_name(objective: str) -> str:
    """Return the name of an objective without its settings."""
    return objective.partition(MARK)[0]


def with_whole_names(objective: str, settings: Settings) -> str:
    """Return the objective with files from the root on: its plan may be solved again in another folder.

    A file whose whole name has a comma in it, which would part settings, keeps its name.
    """
    name, mark, text = objective.partition(MARK)
    parts = []
    for part in text.split(","):
        key, equals, word = part.partition("=")
        setting = settings.get(key)
        whole = str(Path(word).absolute()) if isinstance(setting, WordSetting) and setting.is_file else word
        parts.append(part if "," in whole else f"{key}{equals}{whole}")
    return f"{name}{mark}{','.join(parts)}"


def values_of(objective: str, settings: Settings) -> dict[str, Value]:
    """Return the values of all settings that a user's objective has, the defaults of those that it leaves out.

    Raises:
        UnsoundError: a setting is unknown, given twice, or has a value that it cannot have; `where` is `objective`.
    """
    name, mark, text = objective.partition(MARK)
    values: dict[str, Value] = {}
    for part in text.split(",") if mark else ():
        key, equals, word = part.partition("=")
        if key not in settings or not equals:
            known = ", ".join(f"{each}=..." for each in settings) or f"{name} alone, which has no settings"
            raise UnsoundError(_WHERE, f"{name} has no setting {quoted(part)}", known)
        value = settings[key].read(word)
        if value is None or key in values:
            problem = f"{key} twice" if key in values else f"{key} of {name} is {quoted(word)}"
            raise UnsoundError(_WHERE, problem, settings[key].expected)
        values[key] = value
    return {key: values.get(key, setting.default) for key, setting in settings.items()}
