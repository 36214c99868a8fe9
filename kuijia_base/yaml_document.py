"""A YAML file, within bounds, as nodes that know their lines, with one clear InputError for any fault."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from kuijia_base.errors import InputError, quoted
from kuijia_base.quantities import parse_rate
from kuijia_base.reading import DEEPEST, reading
from kuijia_base.text import parse_number, read_text

MOST_VALUES = 200_000
"""Most keys, texts, lists and mappings of a file; a topology of twenty thousand links has fewer."""

_QUICK_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Event = Any
"""An event of either parser: both use the same class of events, but different classes of marks."""

_EXPLAINED = 2**15
"""Most characters that PyYAML's own parser, thirty times as slow as libyaml, reads again for a better error message."""


class TooMuchError(Exception):
    """A text is beyond a limit; `line` counts from 1."""

    def __init__(self, line: int, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem
        self.expected = expected


class TooDeepError(Exception):
    """A text is nested deeper than `DEEPEST`."""


def compose(text: str) -> yaml.Node | None:
    """Return the root node of a text with one document, None of an empty one; aliases share their node.

    Tags are not resolved: a node has the tag that the text gives it. Nodes have a start mark only.

    Raises:
        yaml.YAMLError: the text is not YAML.
        TooDeepError: it is nested deeper than `DEEPEST`.
        TooMuchError: it has more than `MOST_VALUES`.
    """
    try:
        return _compose(text, _QUICK_LOADER)
    except yaml.YAMLError as error:
        if len(text) > _EXPLAINED:
            raise
        try:
            return _compose(text, yaml.SafeLoader)
        except (ArithmeticError, ValueError):  # it fails on some escapes and directives, which libyaml refuses
            raise error from None


_Collection = yaml.SequenceNode | yaml.MappingNode
_NODES: Mapping[type, type[_Collection]] = {
    yaml.SequenceStartEvent: yaml.SequenceNode,
    yaml.MappingStartEvent: yaml.MappingNode,
}


@dataclass(slots=True)
class _Composer:
    """The part of a document that has been read."""

    root: yaml.Node | None = None
    values: int = 0
    open: list[_Collection] = field(default_factory=list)
    """Lists and mappings that have not ended, outermost first."""

    keys: list[yaml.Node | None] = field(default_factory=list)
    """For each open mapping the key that waits for its value."""

    anchors: dict[str, yaml.Node] = field(default_factory=dict)

    def take(self, event: _Event) -> None:
        """Add the node of an event of the parser."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._add(yaml.ScalarNode(event.tag or "", event.value, event.start_mark, None, event.style or None), event)
        elif kind in _NODES:
            if len(self.open) >= DEEPEST:
                raise TooDeepError
            node: _Collection = _NODES[kind](event.tag or "", [], event.start_mark)
            self._add(node, event)
            self.open.append(node)
            self.keys.append(None)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.open.pop()
            self.keys.pop()
        elif kind is yaml.AliasEvent:
            if event.anchor not in self.anchors:
                raise _composer_error(event, f"found undefined alias {event.anchor!r}")
            self._put(self.anchors[event.anchor])
        elif kind is yaml.DocumentStartEvent and self.root is not None:
            raise _composer_error(event, "but found another document")

    def _add(self, node: yaml.Node, event: _Event) -> None:
        self.values += 1
        if self.values > MOST_VALUES:
            raise TooMuchError(event.start_mark.line + 1, "too many values", f"at most {MOST_VALUES} in a file")
        if event.anchor is not None:
            if event.anchor in self.anchors:
                raise _composer_error(event, f"found duplicate anchor {event.anchor!r}")
            self.anchors[event.anchor] = node
        self._put(node)

    def _put(self, node: yaml.Node) -> None:
        if not self.open:
            self.root = node
        elif isinstance(self.open[-1], yaml.SequenceNode):
            self.open[-1].value.append(node)
        elif self.keys[-1] is None:
            self.keys[-1] = node
        else:
            self.open[-1].value.append((self.keys[-1], node))
            self.keys[-1] = None


def _composer_error(event: _Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _compose(text: str, loader: type[yaml.SafeLoader]) -> yaml.Node | None:
    composer = _Composer()
    for event in yaml.parse(text, Loader=loader):
        composer.take(event)
    return composer.root


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
