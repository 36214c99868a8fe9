"""Composes YAML into nodes without recursion and within limits, quickly by libyaml, with the messages of PyYAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from kuijia_base.reading import DEEPEST

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
