"""A YAML file as nodes that know their lines, with one clear InputError for any fault."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import yaml

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import parse_rate
from kuijia_base.reading import reading
from kuijia_base.text import parse_number, read_text
from kuijia_base.yaml_nodes import MOST_VALUES, TooDeepError, TooMuchError, compose

_NULL_TAG = "tag:yaml.org,2002:null"
_NULL_WORDS = ("", "~", "null", "Null", "NULL")

LARGEST_BYTES = 16 * 2**20
"""Size limit of a file: more than a file with the most values usually has."""


class YamlDocument:
    """The composed nodes of a file; an aliased part is held once, however often it is used."""

    def __init__(self, path: Path, content: str, parts: str) -> None:
        """Prepare to read; `content` names the expected content, such as "a topology", `parts` its parts."""
        self.path = path
        self._content = content
        self._parts = parts
        self._seen = 0

    def root(self) -> yaml.Node:
        """Return the outermost node; raise InputError if the file cannot be read or parsed, or is empty."""
        text = read_text(self.path, f"{self._content} file", LARGEST_BYTES)
        expected = f"{self._content} in YAML"
        try:
            with reading(self.path, expected):
                root = compose(text)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else ""
            problem = " ".join((error.problem or error.context or "it cannot be parsed").split())
            raise InputError(self.path, line, f"malformed YAML ({problem})", expected) from error
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            problem = f"malformed YAML (character {error.character:#04x})"
            raise InputError(self.path, line, problem, "printable text") from error
        except TooDeepError as error:
            raise InputError(self.path, "", "nested too deeply", expected) from error
        except TooMuchError as error:
            raise InputError(self.path, error.line, error.problem, error.expected) from error
        if root is None:
            raise InputError(self.path, "", "the file is empty", self._parts)
        return root

    def mapping(
        self, node: yaml.Node, what: str, known: Collection[str], required: Collection[str]
    ) -> dict[str, yaml.Node]:
        expected = f"the keys {', '.join(known)}"
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} is not a mapping", expected)
        self._see(node)
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = self.text(key_node, "a key")
            if key not in known:
                raise self.error(key_node, f"unknown key {quoted(key)}", expected)
            if key in found:
                raise self.error(key_node, f"{key} is given twice", "each key once")
            found[key] = value
        for key in required:
            if key not in found:
                raise self.error(node, f"{what} has no {key}", expected)
        return found

    def sequence(self, node: yaml.Node, what: str, expected: str, filled: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, f"{what} is not a list", expected)
        if not node.value:
            raise self.error(node, f"{what} is empty", filled)
        self._see(node)
        return list(node.value)

    def _see(self, node: yaml.CollectionNode) -> None:
        """Count the parts of a node each time it is used: aliases must not make a small file large."""
        self._seen += len(node.value)
        if self._seen > MOST_VALUES:
            raise self.error(node, "too many values by aliases", f"at most {MOST_VALUES} in a file")

    def text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node, f"{what} is a list or mapping", "a single word or number")
        return str(node.value)

    def number(self, node: yaml.Node, what: str, expected: str) -> float:
        text = self.text(node, what)
        number = None if _is_quoted(node) else parse_number(text)
        if number is None:
            raise self.error(node, f"{what} {quoted(text)} is not a number", expected)
        return number

    def whole(self, node: yaml.Node, what: str, expected: str = "a whole number, zero or more") -> int:
        number = self.number(node, what, expected)
        if not (number >= 0 and number.is_integer()):
            raise self.error(node, f"{what} {quoted(str(node.value))}", expected)
        return int(number)

    def rate(self, node: yaml.Node, what: str, expected: str) -> float:
        """Return a rate in Mbit/s: a number, or one with its unit, which JSON has in quotes."""
        text = self.text(node, what)
        is_number_in_quotes = _is_quoted(node) and parse_number(text) is not None
        found = None if is_number_in_quotes else parse_rate(text)
        if found is None:
            raise self.error(node, f"{what} {quoted(text)} is not a number", expected)
        return found

    def flag(self, node: yaml.Node, what: str) -> bool:
        text = self.text(node, what)
        if text not in {"true", "false"} or _is_quoted(node):
            raise self.error(node, f"{what} {quoted(text)}", "true or false")
        return text == "true"

    def error(self, node: yaml.Node, problem: str, expected: str) -> InputError:
        return InputError(self.path, node.start_mark.line + 1, problem, expected)


def is_null(node: yaml.Node) -> bool:
    """Return True if the scalar is YAML's null, by an empty or plain word or by its tag."""
    if node.tag:
        return bool(node.tag == _NULL_TAG)
    return node.value in _NULL_WORDS and not _is_quoted(node)


def _is_quoted(node: yaml.Node) -> bool:
    """Return True if the scalar is a text even if it looks like something else."""
    return isinstance(node, yaml.ScalarNode) and node.style is not None
