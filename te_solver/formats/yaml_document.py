"""A YAML file as nodes that know their lines, with one clear InputError for whatever is not as it should be."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import yaml

from te_solver.errors import InputError, quoted
from te_solver.text import parse_number, read_text


class YamlDocument:
    """The composed nodes of a file; they hold an aliased part once, however often it is used."""

    def __init__(self, path: Path, content: str, parts: str) -> None:
        """`content` says what the file should hold, as in "a topology", `parts` what that is made of."""
        self.path = path
        self._content = content
        self._parts = parts

    def root(self) -> yaml.Node:
        """The outermost node; raises InputError when the file cannot be read or parsed, or is empty."""
        text = read_text(self.path, f"{self._content} file")
        try:
            # The C loader would crash the interpreter on deep nesting; this one raises.
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else ""
            problem = " ".join((error.problem or error.context or "it cannot be parsed").split())
            raise InputError(self.path, line, f"malformed YAML ({problem})", f"{self._content} in YAML") from error
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            problem = f"malformed YAML (character {error.character:#04x})"
            raise InputError(self.path, line, problem, "printable text") from error
        except RecursionError as error:
            raise InputError(self.path, "", "nested too deeply", f"{self._content} in YAML") from error
        if not isinstance(root, yaml.Node):
            raise InputError(self.path, "", "the file is empty", self._parts)
        return root

    def mapping(
        self, node: yaml.Node, what: str, known: Collection[str], required: Collection[str]
    ) -> dict[str, yaml.Node]:
        expected = f"the keys {', '.join(known)}"
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node, f"{what} is not a mapping", expected)
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
        return list(node.value)

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

    def flag(self, node: yaml.Node, what: str) -> bool:
        text = self.text(node, what)
        if text not in {"true", "false"} or _is_quoted(node):
            raise self.error(node, f"{what} {quoted(text)}", "true or false")
        return text == "true"

    def error(self, node: yaml.Node, problem: str, expected: str) -> InputError:
        return InputError(self.path, node.start_mark.line + 1, problem, expected)


def _is_quoted(node: yaml.Node) -> bool:
    """Whether the scalar is a text even where it looks like something else."""
    return isinstance(node, yaml.ScalarNode) and node.style is not None
