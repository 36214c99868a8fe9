from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kuijia_base import yaml_document
from kuijia_base.yaml_document import compose
from tests.cpu_time import at_most
from tests.te_solver.formats.reading import complaint, read

LINKS = "links: [{a: a, b: b, capacity: 1}]\n"
"""Of processor time, for a file of a megabyte."""


def plain(node: yaml.Node | None) -> object:
    """Return keys and texts of a node as plain data, with the line of each text."""
    if isinstance(node, yaml.SequenceNode):
        return [plain(each) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        return [(plain(key), plain(value)) for key, value in node.value]
    if isinstance(node, yaml.ScalarNode):
        return node.value, node.start_mark.line, node.style or None
    return node


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "# only a comment\n",
        "nodes: [a, 'b', \"c\\u00e9\", 1.5, no]\nlinks:\n- {a: 1, b: 2}\n- a: 3\n  b: |\n    many\n    lines\n",
        "a: &x [1, 2]\nb: *x\nc: {d: *x}\n",
        "? [a, b]\n: {}\n? c\n",
        "--- !!map\na: !!str 3\n...\n",
        "[]",
        "a: >-\n  folded\n  text\n",
    ],
)
def test_nodes_are_those_of_pyyaml(text: str) -> None:
    assert plain(compose(text)) == plain(yaml.compose(text, Loader=yaml.SafeLoader))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'nodes: ["\\UFFFFFFFF", b]\n{LINKS}', ":1: malformed YAML"),
        (f'nodes: ["\\U00110000", b]\n{LINKS}', ":1: malformed YAML"),
        (f"%YAML 1.{'9' * 5000}\n---\nnodes: [a, b]\n{LINKS}", ":1: malformed YAML"),
        (f"%YAML {'9' * 5000}.1\n---\nnodes: [a, b]\n{LINKS}", ":1: malformed YAML"),
        ("nodes: |9999999999\n a\n", ":1: malformed YAML"),
        ("nodes: !<tag:%ff> a\n", ":1: malformed YAML"),
        (f"nodes: *{'x' * 9000}\n", ":1: malformed YAML"),
        ("nodes: &a [*a]\nlinks: *a\n", ":1: "),
        ("a: 1\n---\nb: 2\n", ":2: malformed YAML"),
    ],
)
def test_what_parsers_stumble_over_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    found = complaint(tmp_path / "net.yaml", text)
    assert found.startswith(told)
    assert found.isprintable()
    assert len(found) <= 500


HOSTILE = {
    "many values": f"nodes: [{'a,' * 500_000}b]\n",
    "different names": f"nodes: [{','.join(f'n{number}' for number in range(120_000))}]\nlinks: 3\n",
    "deep lists": "[" * 1_000_000,
    "deep mappings": "{a: " * 250_000,
    "deep blocks": "".join(f"{' ' * depth}a:\n" for depth in range(1400)),
    "dashes": "- " * 500_000,
    "questions": "? " * 500_000,
    "colons": ":" * 1_000_000,
    "escapes": f'nodes: "{chr(92)}n{(chr(92) + "n") * 480_000}"\n',
    "anchors": f"[{','.join(f'&a{number} x' for number in range(90_000))}]",
    "aliases": f"[&a x,{','.join(['*a'] * 250_000)}]",
    "documents": "--- a\n" * 160_000,
    "exclamation": "!" * 1_000_000,
    "pairs": f"{{{'? a : b,' * 100_000}}}",
    "lines": "\n" * 1_000_000,
    "a long name": f"nodes: [{'a' * 1_000_000}, b]\n{LINKS}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_megabyte_is_refused_in_time(tmp_path: Path, text: str) -> None:
    with at_most(2):
        told = complaint(tmp_path / "net.yaml", text)
    assert told.isprintable()
    assert len(told) <= 500


def test_aliases_do_not_make_a_small_file_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MOST_VALUES", 1000)
    link = "{a: a, b: b, capacity: 1}"
    told = complaint(tmp_path / "net.yaml", f"nodes: [a, b]\nlinks: [&l {link}, {', '.join(['*l'] * 500)}]\n")
    assert "too many values by aliases, expected at most 1000" in told


def test_more_values_than_the_limit_are_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "MOST_VALUES", 10)
    assert complaint(tmp_path / "net.yaml", f"nodes: [a, b, c]\n{LINKS}").startswith(":2: too many values, expected at")


def test_a_file_beyond_the_limit_is_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "LARGEST_BYTES", 2**20)
    told = complaint(tmp_path / "net.yaml", "#" * 2**21)
    assert told == ": is too large, expected a topology file of at most 1 MiB"


def test_without_libyaml_files_are_read_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_document, "_QUICK_LOADER", yaml.SafeLoader)
    assert read(tmp_path / "net.yaml", f"nodes: [a, b]\n{LINKS}")[0].nodes == ("a", "b")
    assert complaint(tmp_path / "net.yaml", f'nodes: ["\\UFFFFFFFF", b]\n{LINKS}')
