"""Ids of links tell all pairs of names apart, and are read back for people."""

from __future__ import annotations

import pytest

from kuijia_base.text import link_id, link_words


def test_ids_differ_where_names_contain_what_joins_them() -> None:
    pairs = [("a~b", "c"), ("a", "b~c"), ("a~", "b"), ("a", "~b"), ("a%7Eb", "c"), ("a%257Eb", "c")]
    assert len({link_id(*pair) for pair in pairs}) == len(pairs)
    assert link_id("s1", "s2") == "s1~s2"


@pytest.mark.parametrize("pair", [("s1", "s2"), ("a~b", "c"), ("a%7Eb", "100%"), ("a%257E", "ü/b")])
def test_people_read_the_names(pair: tuple[str, str]) -> None:
    assert link_words(link_id(*pair)) == "-".join(pair)
