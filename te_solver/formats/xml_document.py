"""XML as a tree of elements with their lines; refuses what makes a small file large or opens another file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import read_bytes

LARGEST_BYTES = 64 * 2**20
DEEPEST = 100
MOST_ELEMENTS = 500_000


@dataclass(slots=True)
class Element:
    """One element: its name without namespace, its attributes and text, and the line it starts on."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        return next(self.all(tag), None)


def read_xml(path: Path, root: str, expected: str) -> Element:
    """Return the root element of an XML file, which must be called `root`.

    Raises:
        InputError: the file cannot be read, is no XML, is larger or deeper than the limits, has a document type or
            another root; its place is the line.
    """
    content = read_bytes(path, expected)
    if len(content) > LARGEST_BYTES:
        raise InputError(path, "", f"{len(content)} bytes", f"at most {LARGEST_BYTES}")
    return _Builder(path, root, expected).build(content)


class _Builder:
    def __init__(self, path: Path, root: str, expected: str) -> None:
        self._path = path
        self._expected_root = root
        self._expected = expected
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self._root: Element | None = None
        self._elements = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_document_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def build(self, content: bytes) -> Element:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            problem = f"malformed XML ({expat.ErrorString(error.code)})"
            raise InputError(self._path, error.lineno, problem, self._expected) from error
        except InputError:
            raise
        except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not by the byte
            raise InputError(self._path, 1, f"malformed XML ({error})", "text in UTF-8") from error
        assert self._root is not None, "a document without an element is malformed"
        return self._root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        self._elements += 1
        if self._elements > MOST_ELEMENTS:
            raise InputError(self._path, line, "too many elements", f"at most {MOST_ELEMENTS} in a file")
        element = Element(_local(name), {_local(key): value for key, value in attributes.items()}, line)
        if not self._open:
            if element.tag != self._expected_root:
                found = f"the document is a {quoted(element.tag)}"
                raise InputError(self._path, line, found, f"{self._expected}: a {self._expected_root!r}")
            self._root = element
        elif len(self._open) >= DEEPEST:
            raise InputError(self._path, line, "nested too deeply", f"at most {DEEPEST} levels")
        else:
            self._open[-1].children.append(element)
        self._open.append(element)
        self._texts.append([])

    def _end(self, _name: str) -> None:
        self._open.pop().text = "".join(self._texts.pop()).strip()

    def _characters(self, text: str) -> None:
        self._texts[-1].append(text)

    def _refuse_document_type(self, *_declared: object) -> NoReturn:
        line = self._parser.CurrentLineNumber
        raise InputError(self._path, line, "a document type", "XML without <!DOCTYPE and without entities of its own")


def _local(name: str) -> str:
    """Return the name without its namespace, which the parser puts before it."""
    return name.rpartition(" ")[2]
