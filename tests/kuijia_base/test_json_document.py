from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from kuijia_base import json_document
from kuijia_base.errors import InputError
from kuijia_base.json_document import read_json


def read(path: Path, text: str) -> object:
    path.write_text(text)
    return read_json(path, "a file", "JSON")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 101 + "]" * 101,
        '{"a":' * 500 + "1" + "}" * 500,
        "9" * 5000,
        "-" + "9" * 5000,
        "1e999",
        "NaN",
        "-Infinity",
        '"\\ud800"',
        '["\\udfff\\ud800"]',
        '{"\\uDBFF": 1}',
        "",
        "{",
        '"\t"',
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path / "a.json", text)
    assert str(raised.value).startswith(f"{tmp_path / 'a.json'}:")
    assert len(str(raised.value)) <= 500


@pytest.mark.parametrize("data", [[[]], {"a": [1, 2.5, None, True, "é\n😀"]}, 3, "x", 10**300])
def test_data_come_as_they_are(tmp_path: Path, data: object) -> None:
    assert read(tmp_path / "a.json", json.dumps(data)) == data


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '[{"x": {"b": [], "\\u0061": 1, "a": 2}}]'])
def test_a_key_that_is_given_twice_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"a\.json: 'a' is given twice in an object, expected each key once$"):
        read(tmp_path / "a.json", text)


def test_different_objects_may_have_the_same_key(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", '[{"a": {"a": 1}}, {"a": 2}]') == [{"a": {"a": 1}}, {"a": 2}]


def test_as_deep_as_the_limit_is_read(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", "[" * 100 + "]" * 100)


def test_readers_may_take_constants(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[NaN]")
    found = read_json(path, "a file", "JSON", float)
    assert isinstance(found, list)
    assert math.isnan(found[0])


def test_a_file_beyond_the_limit_is_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_document, "LARGEST_BYTES", 2**20)
    with pytest.raises(InputError, match=r"is too large, expected a file of at most 1 MiB"):
        read(tmp_path / "a.json", f'"{"a" * 2**20}"')


def test_a_device_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_document, "LARGEST_BYTES", 2**20)
    with pytest.raises(InputError, match="is too large"):
        read_json(Path("/dev/zero"), "a file", "JSON")
