"""What the product says and computes is what it was: a change on purpose makes the hashes again (CONTRIBUTING.md)."""

from __future__ import annotations

from tests.golden.hashes import changes, hash_of, stored, texts


def test_what_is_said_and_computed_is_what_it_was() -> None:
    found = list(changes(stored(), texts()))
    assert not found, "\n".join([*found, "if that is meant: .venv/bin/python -m tests.golden"])


def test_each_difference_is_named() -> None:
    before = {"same": hash_of("1"), "other": hash_of("2"), "less": hash_of("3")}
    found = list(changes(before, {"same": "1", "other": "two", "more": "4"}))
    assert found == ["changed: other", "gone: less", "new: more"]
