"""Ids of links and names in addresses tell all names apart, and are read back."""

from __future__ import annotations

import pytest

from kuijia_base.text import link_id, link_words, name_in_address, name_of_address


def test_ids_differ_where_names_contain_what_joins_them() -> None:
    pairs = [("a~b", "c"), ("a", "b~c"), ("a~", "b"), ("a", "~b"), ("a%7Eb", "c"), ("a%257Eb", "c")]
    assert len({link_id(*pair) for pair in pairs}) == len(pairs)
    assert link_id("s1", "s2") == "s1~s2"


@pytest.mark.parametrize("pair", [("s1", "s2"), ("a~b", "c"), ("a%7Eb", "100%"), ("a%257E", "ü/b")])
def test_people_read_the_names(pair: tuple[str, str]) -> None:
    assert link_words(link_id(*pair)) == "-".join(pair)


@pytest.mark.parametrize(
    "name", ["s1", ".", "..", "...", "%2E", "%2E%2E", "%252E", "100%", "%%2E", "a/../b", "/", "🦊"]
)
def test_a_name_in_an_address_is_read_back_and_no_step_to_another_folder(name: str) -> None:
    part = name_in_address(name)
    assert part not in {".", ".."}
    assert name_of_address(part) == name


def test_common_names_stand_in_addresses_as_they_are() -> None:
    assert [name_in_address(name) for name in ("s1", "New York", "a.b")] == ["s1", "New York", "a.b"]
