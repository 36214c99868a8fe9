"""A target that reads a file: its cases are valid examples, changed as bytes or by their structure, small to huge."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import yaml

from tests.fuzz import bytes_mutations, elements, trees
from tests.fuzz.contract import fault_of_message
from tests.fuzz.targets import BrokenContractError, CaseTarget

LARGEST = 1_000_000
"""Bytes of a case."""

_LARGEST_BY_STRUCTURE = 32 * LARGEST
"""Bytes: what is repeated may hold repetitions, and more would need the memory of a case before anything reads it."""

_LARGEST_SHARE = 0.0007
_PUMPED_SHARE = 0.03
_SMALLEST_PUMPED = 60
_BY_STRUCTURE = 0.55


class Grammar(ABC):
    """Knowledge of a format: words that mean something in it, and its structure."""

    words: Sequence[bytes] = ()

    @abstractmethod
    def changed(self, random: Random, example: bytes) -> bytes | None:
        """Return an example with its structure changed; None when the format has no structure but lines and words."""


class LinesGrammar(Grammar):
    """Lines of words."""

    def __init__(self, *words: str) -> None:
        self.words = tuple(word.encode() for word in words)

    def changed(self, random: Random, example: bytes) -> bytes | None:  # noqa: ARG002  # as all grammars have it
        return None


class JsonGrammar(Grammar):
    words = tuple(
        word.encode()
        for word in ("[", "]", "{", "}", ",", ":", '"', "null", "NaN", "-Infinity", "1e999", '"\\ud800"', "//")
    )

    def __init__(self) -> None:
        self._parsed: dict[bytes, trees.Tree] = {}

    def changed(self, random: Random, example: bytes) -> bytes | None:
        return trees.as_json(random, trees.mutated(random, self._tree(example)))

    def _tree(self, example: bytes) -> trees.Tree:
        if example not in self._parsed:
            self._parsed[example] = trees.tree_of(json.loads(example))
        return self._parsed[example]


class YamlGrammar(JsonGrammar):
    words = tuple(
        word.encode()
        for word in (
            *(
                "- ",
                "? ",
                ": ",
                "&a ",
                "*a",
                "*b",
                "!!int ",
                "!!python/object:os.system ",
                "! ",
                "!<x> ",
                "!a!b ",
                "|",
                ">-",
                "|9",
            ),
            *(
                "%YAML 1.1\n",
                "%YAML 9.9\n",
                "%YAML 1.1.1.1\n",
                "%TAG !a! tag:x\n",
                "%TAG\n",
                "--- ",
                "...\n",
                "<<: *a\n",
                "[",
                "{",
            ),
            *(
                '"\\UFFFFFFFF"',
                '"\\x',
                '"\\uD800"',
                "'",
                '"',
                "#",
                "\t",
                "@",
                "`",
                "~",
                "0x1f",
                "1:30",
                "2001-01-01",
                "=",
                "}",
                "]",
            ),
            "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        )
    )

    def changed(self, random: Random, example: bytes) -> bytes | None:
        return trees.as_yaml(random, trees.mutated(random, self._tree(example)))

    def _tree(self, example: bytes) -> trees.Tree:
        if example not in self._parsed:
            self._parsed[example] = trees.tree_of(yaml.load(example, yaml.BaseLoader))  # noqa: S506  # texts only
        return self._parsed[example]


class XmlGrammar(Grammar):
    words = tuple(
        word.encode()
        for word in (
            "<",
            ">",
            "</",
            "/>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "&#x0;",
            "&#9;",
            "&x;",
            "<?a?>",
            "<!DOCTYPE x>",
            '="',
        )
    )

    def __init__(self) -> None:
        self._parsed: dict[bytes, elements.Element] = {}

    def changed(self, random: Random, example: bytes) -> bytes | None:
        if example not in self._parsed:
            self._parsed[example] = elements.elements_of(example.decode())
        return elements.mutated(random, self._parsed[example])


def made(random: Random, examples: Sequence[bytes], grammar: Grammar) -> bytes:
    """Return a file for a format of this grammar: mostly an example with a few changes, at times up to a megabyte."""
    example = random.choice(examples)
    kind = random.random()
    if kind < _LARGEST_SHARE:
        return bytes_mutations.pumped(random, example, grammar.words, LARGEST)[:LARGEST]
    if kind < _PUMPED_SHARE:
        size = int(_SMALLEST_PUMPED * math.exp(random.random() ** 2 * math.log(LARGEST / _SMALLEST_PUMPED)))
        return bytes_mutations.pumped(random, example, grammar.words, size)[:LARGEST]
    if random.random() < _BY_STRUCTURE:
        changed = grammar.changed(random, example)
        if changed is not None:
            if random.random() >= 0.9:
                changed = bytes_mutations.mutated(random, changed, examples, grammar.words)
            return changed[:_LARGEST_BY_STRUCTURE]
    return bytes_mutations.mutated(random, example, examples, grammar.words)


class FileTarget(CaseTarget):
    """A function that reads one file.

    Args:
        name: of the target.
        file: name of the file that holds a case.
        examples: valid files, made when the first case is.
        read: reads the file and uses what it has read.
        grammar: of the format.
        beside: other files in the folder, by name.
    """

    def __init__(
        self,
        name: str,
        file: str,
        examples: Callable[[], Sequence[str]],
        read: Callable[[Path], object],
        grammar: Grammar,
        beside: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.suffix = Path(file).suffix
        self._file = file
        self._load_examples = examples
        self._read = read
        self._grammar = grammar
        self._beside = beside or {}
        self._examples: Sequence[bytes] = ()

    def prepare(self) -> None:
        if not self._examples:
            self._examples = tuple(example.encode() for example in self._load_examples())

    def make(self, random: Random) -> bytes:
        return made(random, self._examples, self._grammar)

    @property
    def examples(self) -> Sequence[bytes]:
        """The valid files that cases are made from."""
        self.prepare()
        return self._examples

    def lay(self, content: bytes, folder: Path) -> Sequence[str]:
        for name, text in self._beside.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / self._file).write_bytes(content)
        return (str(folder / self._file),)

    def run(self, arguments: Sequence[str]) -> None:
        (path,) = arguments
        self._read(Path(path))


class Notes(list[str]):
    """The notes of a reader; each is a line that users see, so the contract on messages holds for it."""

    def require_sound(self) -> None:
        """Raise BrokenContractError when a note is no short printable line."""
        for note in self:
            fault = fault_of_message(note)
            if fault is not None:
                raise BrokenContractError(f"note: {fault.symptom}")
