from __future__ import annotations

import pytest

from kuijia_base.errors import InputError, SolverError, UnsoundError, one_line, quoted, shown
from kuijia_base.reading import reading

NASTY = "a\nb\x1b[31m\u202e\ud800\x00" + "x" * 10_000


@pytest.mark.parametrize(
    ("error", "complaint"),
    [
        (RecursionError(), "net.yaml: nested too deeply, expected a topology"),
        (MemoryError(), "net.yaml: needs more memory than is available, expected a topology"),
        (
            OSError(40, "Too many levels of symbolic links"),
            "net.yaml: cannot be read (Too many levels of symbolic links)",
        ),
        (
            ValueError("Exceeds the limit"),
            "net.yaml: cannot be read (ValueError: Exceeds the limit), expected a topology",
        ),
        (KeyError("a"), "net.yaml: cannot be read (KeyError: 'a'), expected a topology"),
        (OverflowError("too large"), "net.yaml: cannot be read (OverflowError: too large), expected a topology"),
        (UnsoundError(("pairs", 3), "no weight", "one"), "net.yaml:pairs[3]: no weight, expected one"),
    ],
)
def test_whatever_a_library_raises_names_the_file(error: Exception, complaint: str) -> None:
    with pytest.raises(InputError) as raised, reading("net.yaml", "a topology"):
        raise error
    assert str(raised.value).startswith(complaint)
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [SolverError("none"), KeyboardInterrupt(), InputError("a", "", "b", "c")])
def test_errors_of_ours_and_interrupts_pass(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised, reading("net.yaml", "a topology"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("part", range(4))
def test_a_complaint_is_one_short_printable_line_whatever_it_is_about(part: int) -> None:
    parts = ["source", "place", "problem", "expected"]
    parts[part] = NASTY
    told = str(InputError(parts[0], parts[1], parts[2], parts[3]))
    assert told.isprintable()
    assert len(told) <= 500
    assert all(word in told for word in parts if word != NASTY)


def test_a_complaint_of_long_parts_only_is_short() -> None:
    told = str(InputError(NASTY, NASTY, NASTY, NASTY))
    assert told.isprintable()
    assert len(told) <= 500


def test_usual_complaints_stay_as_they_are() -> None:
    assert str(InputError("/home/me/a b.yaml", 3, "no nodes", "some")) == "/home/me/a b.yaml:3: no nodes, expected some"
    assert str(InputError("plan.json", "", "no nodes", "some")) == "plan.json: no nodes, expected some"


@pytest.mark.parametrize("text", [NASTY, "\U0001ffff" * 60, "é" * 100])
def test_quotes_are_short(text: str) -> None:
    assert len(quoted(text)) <= 130
    assert quoted(text).isprintable()
    assert shown(text) == quoted(text)


def test_short_names_are_shown_as_they_are() -> None:
    assert shown("s1") == "s1"
    assert quoted("s1") == "'s1'"


def test_a_long_line_loses_its_middle() -> None:
    line = one_line("a" * 500 + "z" * 500, 100)
    assert len(line) == 100
    assert line.startswith("aaa")
    assert line.endswith("zzz")
