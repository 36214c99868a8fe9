"""Results survive the way through JSON, and what is no result is refused by its key."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from experiments.results.result import Check, load_result, result_from_json, result_schema, result_to_json
from kuijia_base.errors import InputError
from tests.experiments.sample_results import TABLE_2_KUIJIA, flow, result, save_result

CHECK = Check("f3 after/before", 0.99, 0.98, None)


def data() -> dict[str, Any]:
    return result_to_json(result("kuijia", TABLE_2_KUIJIA, checks=(CHECK,)))


def test_the_schema_is_a_schema_and_fits_what_is_written() -> None:
    Draft202012Validator.check_schema(result_schema())
    Draft202012Validator(result_schema()).validate(data())


def test_a_result_comes_back_from_a_file_as_it_was(tmp_path: Path) -> None:
    original = result("kuijia", TABLE_2_KUIJIA, checks=(CHECK,), invalid=("too busy",))
    save_result(original, tmp_path / "result.json")
    assert load_result(tmp_path / "result.json") == original


def test_a_file_of_the_version_before_is_read() -> None:
    old = data() | {"version": 1}
    del old["parameters"]
    for each in old["flows"]:
        del each["priority"], each["sent"]
    assert result_from_json(old, "old.json") == result("kuijia", TABLE_2_KUIJIA, checks=(CHECK,))


@given(before=st.just(0.0) | st.floats(1e-6, 1e6), after=st.floats(0, 1e6), low=st.none() | st.booleans())
def test_every_flow_comes_back_as_it_was(before: float, after: float, low: bool | None) -> None:  # noqa: FBT001
    made = replace(result("kuijia", TABLE_2_KUIJIA), flows=(flow("f1", before, after, low_after=low),))
    assert result_from_json(json.loads(json.dumps(result_to_json(made))), "test") == made


def test_what_the_contract_names_is_there() -> None:
    written = data()
    names = {"experiment", "backend", "scheme", "seed", "capacity", "flows", "published", "manifest", "version"}
    assert names <= written.keys()
    assert {"name", "role", "before", "after", "loss"} <= written["flows"][0].keys()
    assert written["flows"][0]["loss"] == pytest.approx(0.5)


def test_a_flow_that_had_nothing_has_no_loss() -> None:
    assert flow("f1", 0.0, 0.0).loss is None
    assert flow("f1", 2.0, 3.0).loss == pytest.approx(-0.5)


def test_the_loss_of_udp_is_that_of_the_packets_sent_after_the_failure() -> None:
    assert replace(flow("f1", 2.0, 1.5), sent=2.5).loss == pytest.approx(0.4)
    assert replace(flow("f1", 2.0, 0.0), sent=0.0).loss is None


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("version",), 3, "version"),
        (("format",), "kuijia-plan", "format"),
        (("capacity",), 0, "capacity"),
        (("repetition",), 0, "repetition"),
        (("flows",), [], "flows"),
        (("flows", 0, "role"), "bystander", "flows[0].role"),
        (("flows", 1, "before"), -1, "flows[1].before"),
        (("flows", 1, "tunnel_after"), "s1", "flows[1].tunnel_after"),
        (("failure", "link"), ["s1"], "failure.link"),
        (("checks", 0, "measured"), None, "checks[0].measured"),
        (("checks", 0, "low"), None, "checks[0]"),
        (("surprise",), 1, ""),
    ],
)
def test_what_breaks_the_schema_is_refused_by_its_key(path: tuple[str | int, ...], value: object, place: str) -> None:
    broken = data()
    inner: Any = broken
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(InputError) as caught:
        result_from_json(broken, "r.json")
    assert (caught.value.source, caught.value.place) == ("r.json", place)


def test_a_missing_key_is_refused() -> None:
    broken = data()
    del broken["manifest"]
    with pytest.raises(InputError, match=r"r\.json: breaks the schema"):
        result_from_json(broken, "r.json")


def test_text_that_is_no_json_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"format":\n oops}')
    with pytest.raises(InputError, match=r"result\.json:2: malformed JSON"):
        load_result(tmp_path / "result.json")


@pytest.mark.parametrize(
    ("check", "passed", "bar"),
    [
        (Check("x", 0.98, 0.98, None), True, "at least 0.98"),
        (Check("x", 0.979, 0.98, None), False, "at least 0.98"),
        (Check("x", 0.03, None, 0.03), True, "at most 0.03"),
        (Check("x", 0.031, None, 0.03), False, "at most 0.03"),
        (Check("x", 0.5, 0.41, 0.57), True, "0.41 to 0.57"),
        (Check("x", 0.4, 0.41, 0.57), False, "0.41 to 0.57"),
        (Check("x", math.nan, 0.41, 0.57), False, "0.41 to 0.57"),
    ],
)
def test_a_check_passes_within_its_bounds(check: Check, passed: bool, bar: str) -> None:  # noqa: FBT001
    assert (check.passed, check.bar) == (passed, bar)


def test_a_result_passes_when_it_is_valid_and_all_its_checks_do() -> None:
    good, bad = CHECK, Check("f4 after/before", 0.9, 0.98, None)
    assert result("kuijia", TABLE_2_KUIJIA, checks=(good,)).passed
    assert not result("kuijia", TABLE_2_KUIJIA, checks=(good, bad)).passed
    assert not result("kuijia", TABLE_2_KUIJIA, checks=(good,), invalid=("too busy",)).passed
