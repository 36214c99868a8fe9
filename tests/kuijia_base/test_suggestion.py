from __future__ import annotations

import pytest

from kuijia_base.suggestion import meant, similar, unknown


@pytest.mark.parametrize(
    ("name", "found"), [("slove", "solve"), ("WhatIf", "whatif"), ("pasket", "packet"), ("xyz", None), ("", None)]
)
def test_the_most_similar_name_is_found_whatever_its_case(name: str, found: str | None) -> None:
    assert similar(name, ["solve", "whatif", "packet"]) == found


def test_a_name_is_shown_as_it_is_written() -> None:
    assert meant("new york", ["New York", "Boston"]) == " (did you mean New York?)"
    assert meant("Rome", ["New York", "Boston"]) == ""
    assert unknown("kuija", ["kuijia"]) == "'kuija' is unknown (did you mean kuijia?)"


def test_very_many_or_very_long_names_are_not_compared() -> None:
    assert similar("n17", (f"n{number}" for number in range(1_000_000))) is None
    assert similar("n" * 1_000_000, ["n" * 1_000_000]) is None
    assert similar("n" * 60, [f"{'n' * 50}{number}" for number in range(5000)]) is not None


def test_a_name_in_another_unicode_form_is_told_by_its_form_as_it_looks_the_same() -> None:
    composed, apart = "S\u00e3o Paulo", "Sa\u0303o Paulo"
    assert meant(apart, ["Rio", composed]) == f" (there is {composed} in another Unicode form: NFD here, NFC there)"
    assert meant(composed, [apart]) == f" (there is {apart} in another Unicode form: NFC here, NFD there)"
