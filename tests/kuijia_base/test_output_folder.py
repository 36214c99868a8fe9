"""A folder that cannot be written to is refused at once, and files are whole or absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kuijia_base.errors import InputError
from kuijia_base.output_folder import OutputFolder, output_folder


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "results" / "table2")
    folder.write_json("a.json", {"x": 1})
    folder.write_text("b.txt", "text\n")
    assert json.loads((tmp_path / "results/table2/a.json").read_text()) == {"x": 1}
    assert folder.written == ["a.json", "b.txt"]
    assert {path.name for path in folder.path.iterdir()} == {"a.json", "b.txt"}


def test_a_folder_in_which_nothing_was_written_is_removed_again(tmp_path: Path) -> None:
    with pytest.raises(KeyError), OutputFolder(tmp_path / "results" / "table2"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").mkdir()
    with output_folder(tmp_path / "mine"), output_folder(None) as none:
        assert none is None
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written to") as caught:
        OutputFolder(tmp_path / "file" / "table2")
    assert caught.value.exit_status == 2
    with pytest.raises(InputError, match="cannot be written to"):
        OutputFolder(tmp_path / "file")


def test_json_has_a_line_for_each_point_with_its_runs(tmp_path: Path) -> None:
    """Results are committed: an indented line for each number of a run would be a fifth of their bytes."""
    data = {"a": 1, "b": [{"x": "é", "each": (1.5, None)}, {}], "c": {"d": {"e": []}}, "f": [[1], [2]]}
    OutputFolder(tmp_path).write_json("a.json", data)
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text) == json.loads(json.dumps(data))
    assert text.splitlines() == [
        "{",
        ' "a": 1,',
        ' "b": [',
        '  {"x": "\\u00e9", "each": [1.5, null]},',
        "  {}",
        " ],",
        ' "c": {',
        '  "d": {"e": []}',
        " },",
        ' "f": [[1], [2]]',
        "}",
    ]


def test_a_stamp_adds_to_json_objects_what_they_lack(tmp_path: Path) -> None:
    (tmp_path / "before.json").write_text("{}")
    output = OutputFolder(tmp_path)
    output.write_json("bare.json", {"a": 1})
    output.write_json("own.json", {"manifest": {"started": "then"}})
    output.write_json("list.json", [1])
    output.write_text("text.txt", "{}")
    output.stamp("manifest", {"command": "kuijia run fig8", "started": "now"})
    read = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert json.loads(read["bare"]) == {"a": 1, "manifest": {"command": "kuijia run fig8", "started": "now"}}
    assert json.loads(read["own"])["manifest"] == {"command": "kuijia run fig8", "started": "then"}
    assert json.loads(read["list"]) == [1]
    assert (read["text"], read["before"]) == ("{}", "{}")
