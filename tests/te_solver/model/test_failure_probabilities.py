"""Probabilities of failures: computed by hand, and bad files."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_base.errors import InputError, UnsoundError
from te_solver.formats.failures_file import load_probabilities
from te_solver.formats.topology_file import load_topology
from te_solver.model.failures import (
    NO_FAILURE,
    PUBLISHED,
    Failure,
    from_counts,
    from_links,
    link_pairs,
    single_links,
    single_nodes,
)
from te_solver.networks import shipped_network

FIG1 = load_topology(shipped_network("fig1"))
LINKS = tuple(single_links(FIG1))


def test_links_fail_independently() -> None:
    down = {frozenset(edge): 0.01 for edge in FIG1.edges}
    found = from_links(FIG1, (*LINKS, *link_pairs(FIG1)), down)
    assert found.none == pytest.approx(0.99**5)
    assert found.of == pytest.approx([0.01 * 0.99**4] * 5 + [0.01**2 * 0.99**3] * 10)
    assert found.unlisted == pytest.approx(10 * 0.01**3 * 0.99**2 + 5 * 0.01**4 * 0.99 + 0.01**5)


@given(st.lists(st.floats(0, 0.999), min_size=5, max_size=5))
def test_all_sets_of_links_together_are_certain(shares: list[float]) -> None:
    sets = [Failure(str(each), each) for size in range(1, 6) for each in combinations(FIG1.edges, size)]
    found = from_links(FIG1, sets, {frozenset(edge): share for edge, share in zip(FIG1.edges, shares, strict=True)})
    assert found.none + sum(found.of) == pytest.approx(1)


def test_sets_of_as_many_links_are_equally_likely() -> None:
    # Table 1, 5 minutes: one link 21.5 % - 1.1 %, among 5; two links 1.1 % - .7 %, among 10; more is unlisted.
    found = from_counts(FIG1, (*LINKS, *link_pairs(FIG1)), PUBLISHED["table1-5min"])
    assert found.none == pytest.approx(0.785)
    assert found.of == pytest.approx([0.204 / 5] * 5 + [0.004 / 10] * 10)
    assert found.unlisted == pytest.approx(0.007)


def test_three_links_have_no_probability_of_their_own() -> None:
    three = Failure("three", FIG1.edges[:3])
    assert from_counts(FIG1, (three,), PUBLISHED["table1-5min"]).of == (0.0,)


def test_what_links_do_not_tell_is_refused() -> None:
    with pytest.raises(UnsoundError, match="takes a node down"):
        from_counts(FIG1, tuple(single_nodes(FIG1)), PUBLISHED["table1-2min"])
    with pytest.raises(UnsoundError, match="'one' and 'two' are of the same links"):
        from_links(FIG1, [Failure("one", (("s1", "s2"),)), Failure("two", (("s2", "s1"),))], {})


def test_a_file_gives_links_or_failures(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("# measured\na,b,probability\ns2,s1,0.1\n s2 , s4 ,0.2\n")
    notes: list[str] = []
    found = load_probabilities(path, FIG1, LINKS, notes.append)
    assert found.none == pytest.approx(0.9 * 0.8)
    assert found.of == pytest.approx([0.1 * 0.8, 0.9 * 0.2, 0, 0, 0])
    assert notes == ["3 links have no probability: they never fail"]
    path.write_text("failure,probability\ns1,0.25\ns4,0.125\n")
    named = load_probabilities(path, FIG1, tuple(single_nodes(FIG1)))
    assert (named.none, named.of, named.unlisted) == (0.625, (0.25, 0, 0, 0.125), 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv: there is no header, expected a,b,probability or failure,probability"),
        ("a,b\ns1,s2\n", "p.csv:1: found 'a,b', expected the header a,b,probability or"),
        ("a,b,probability\n", "p.csv: there is no probability"),
        ("a,b,probability\ns1,s2\n", "p.csv:2: 2 columns, expected 3"),
        ("a,b,probability\ns2,s3,0.1\n", "p.csv:2: there is no link between 's2' and 's3', expected a link of fig1"),
        ("a,b,probability\n\ns1,s2,often\n", "p.csv:3: probability 'often' is not a number, expected a probability"),
        ("a,b,probability\ns1,s2,1\n", "p.csv:2: probability 1, expected a probability, at least 0 and below 1"),
        ("a,b,probability\ns1,s2,nan\n", "p.csv:2: probability nan, expected"),
        ("a,b,probability\ns1,s2,.1\ns2,s1,.1\n", "p.csv:3: s2-s1 has a probability in line 2, expected one line each"),
        ("failure,probability\ns1-s2,.1\ns9,.1\n", "p.csv:3: unknown failure 's9', expected one of the"),
        ("failure,probability\ns1-s2,.6\ns2-s4,.6\n", "p.csv: the probabilities add up to 1.2, expected at most 1"),
    ],
)
def test_faults_of_a_file_are_named_with_their_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        load_probabilities(tmp_path / "p.csv", FIG1, LINKS)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(message)


@pytest.mark.parametrize("size", [0, 1])
def test_that_nothing_fails_has_its_probability_once(size: int) -> None:
    """Before, a listed failure of nothing had the probability of no failure a second time: the sum was 1.9."""
    failures = [NO_FAILURE, *LINKS][: 1 + 5 * size]
    found = from_links(FIG1, failures, {frozenset(("s1", "s2")): 0.1})
    assert [found.none, found.of[0], found.unlisted] == pytest.approx([0.9, 0.0, 0.1 * (1 - size)])
    assert found.none + sum(found.of) + found.unlisted == pytest.approx(1)
    counted = from_counts(FIG1, failures, (0.1, 0.01))
    assert [counted.none, counted.of[0]] == pytest.approx([0.9, 0.0])
    assert counted.none + sum(counted.of) + counted.unlisted == pytest.approx(1)


def test_a_name_of_two_failures_has_no_probability(tmp_path: Path) -> None:
    """A node may have the name of a link: both would get the probability, and more than all demand be available."""
    path = tmp_path / "p.csv"
    path.write_text("failure,probability\ns4,0.1\nA-B,0.1\n")
    twins = [Failure("A-B", (("s1", "s2"),)), Failure("A-B", nodes=("s3",)), Failure("s4", nodes=("s4",))]
    with pytest.raises(InputError, match="3: 2 of the examined failures have the name 'A-B', expected a name of one"):
        load_probabilities(path, FIG1, twins)
    path.write_text("failure,probability\ns4,0.1\n")
    assert load_probabilities(path, FIG1, twins).of == (0.0, 0.0, 0.1)
