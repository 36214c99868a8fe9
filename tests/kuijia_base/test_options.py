"""Options that are declared once: the command line and the keywords of Python follow from one data class."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Annotated

import pytest

from kuijia_base.errors import InputError
from kuijia_base.option_values import whole_number
from kuijia_base.options import Option, add_options, bad_option, from_arguments, from_keywords, spelled, typed_options


@dataclass(frozen=True)
class Cooking:
    time: Annotated[int, Option("minutes", whole_number(1, 90), "N", group="heat")] = 5
    pot_size: Annotated[float | None, Option("litres", float, "L")] = None
    lid: Annotated[str, Option("on or off", choices=("on", "off"), apart="top")] = "on"
    salt: Annotated[bool, Option("with salt", apart="top")] = False
    seed: Annotated[int, Option("first seed", whole_number(0), common=True, keyword="start")] = 1


WORDS = {"time": 5, "pot_size": None, "lid": "on", "salt": False, "start": 1}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(exit_on_error=False)
    add_options(made, Cooking)
    made.set_defaults(seed=1)
    return made


def test_words_and_keywords_make_the_same_study() -> None:
    typed = from_arguments(Cooking, parser().parse_args(["--time", "7", "--pot-size", "2", "--salt"]))
    assert typed == from_keywords(Cooking, WORDS | {"time": 7, "pot_size": 2.0, "salt": True})
    assert from_arguments(Cooking, parser().parse_args([])) == from_keywords(Cooking, WORDS) == Cooking()


def test_a_common_option_is_left_to_every_verb() -> None:
    options = {name for action in parser()._actions for name in action.option_strings}
    assert options == {"-h", "--help", "--time", "--pot-size", "--lid", "--salt"}


def test_options_apart_exclude_each_other() -> None:
    with pytest.raises(argparse.ArgumentError):
        parser().parse_args(["--lid", "off", "--salt"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"time": 91}, "time: '91', expected a whole number from 1 to 90"),
        ({"lid": "of"}, "lid: 'of' is unknown (did you mean off?), expected one of on, off"),
        ({"salt": "yes"}, "salt: 'yes', expected True or False"),
        ({"start": -1}, "start: '-1', expected a whole number from 0 on"),
    ],
)
def test_keywords_are_checked_as_words_are(given: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match="option") as error:
        from_keywords(Cooking, WORDS | given)
    assert str(error.value) == f"option:{said}"


def test_messages_spell_options_as_the_user_does() -> None:
    assert (spelled("pot_size", 2), spelled("lid", "off")) == ("pot_size=2", "lid='off'")
    with typed_options():
        assert (spelled("pot_size", 2), spelled("salt", value=True)) == ("--pot-size 2", "--salt")
        assert str(bad_option("pot_size", "too small", "more")) == "option:--pot-size: too small, expected more"
    assert spelled("salt", value=True) == "salt=True"
