"""Parses SNDlib's native text format without interpreting it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.text import read_text, require_number
from te_solver.formats.sndlib_network import SndlibDemand, SndlibLink, SndlibNetwork

HEADER = "?SNDlib native format"

_EXPECTED = "an SNDlib network file"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_META = re.compile(r"META\s*\(")
_END = ("", 0)


def parse_sndlib_native(path: Path) -> SndlibNetwork:
    """Return META, NODES, LINKS and DEMANDS of a network file (http://sndlib.zib.de/home.action, "Native format").

    Raises:
        InputError: anything else; its place is the line.
    """
    lines = read_text(path, _EXPECTED).split("\n")
    is_data = (bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)
    number, header = next(((number, lines[number]) for number, data in enumerate(is_data) if data), (0, ""))
    kind = dict(part.strip().partition(":")[::2] for part in header.split(";")[1:])
    if not header.lstrip().startswith(HEADER) or kind.get("type", "").strip() != "network":
        expected = f"{HEADER}; type: network; version: 1.0"
        raise InputError(path, number + 1, f"found {quoted(header.strip())}", expected)
    return _Parser(path, lines).parse()


class _Parser:
    """Parser of the file's words and brackets; a `#` starts a comment."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self._path = path
        self._network = SndlibNetwork()
        self._tokens = self._split(lines)
        self._text, self._line = next(self._tokens, _END)

    def _split(self, lines: list[str]) -> Iterator[tuple[str, int]]:
        """Yield words and brackets with their lines, without those of META."""
        data = (
            (number, line.partition("#")[0].strip())
            for number, line in enumerate(lines, start=1)
            if not line.lstrip().startswith("?")
        )
        for number, line in data:
            if _META.match(line):
                self._meta(line, data)
            else:
                for match in _TOKEN.finditer(line):
                    yield match.group(), number

    def _meta(self, line: str, lines: Iterator[tuple[int, str]]) -> None:
        """Read META, whose first line is given: settings such as `unit = MBITPERSEC`, one a line.

        Their values are free text: brackets in it end the section only if nothing opens them.
        """
        line = line.partition("(")[2]
        while True:
            ends = line.endswith(")") and line.count(")") > line.count("(")
            key, _, value = line[: len(line) - ends].partition("=")
            if key.strip() == "unit":
                self._network.unit = value.strip()
            if ends:
                return
            number, line = next(lines, (0, ""))
            if not number:
                raise InputError(self._path, "", "the file ends in the middle of a section", "a key")

    def parse(self) -> SndlibNetwork:
        items = {"NODES": self._node, "LINKS": self._link, "DEMANDS": self._demand}
        while self._text:
            section, line = self._next("a section")
            if section not in items and section != "ADMISSIBLE_PATHS":
                raise InputError(self._path, line, f"unknown section {quoted(section)}", ", ".join([*items, "META"]))
            self._take("(")
            if section in items:
                while self._text != ")":
                    items[section]()
            else:
                self._skip()
            self._take(")")
        return self._network

    def _node(self) -> None:
        """`Berlin ( 13.4 52.5 )`, with further brackets or without any."""
        self._network.nodes.append(self._next("a node"))
        while self._text == "(":
            self._take("(")
            self._skip()
            self._take(")")

    def _link(self) -> None:
        """`L1 ( A B ) installed installed_cost routing_cost setup_cost ( capacity cost capacity cost )`."""
        _, line = self._next("a link")
        source, target = self._ends()
        installed, *_costs = [self._number(what) for what in ("the pre-installed capacity", *["a cost"] * 3)]
        modules = []
        self._take("(")
        while self._text != ")":
            modules.append(self._number("the capacity of a module"))
            self._number("the cost of a module")
        self._take(")")
        self._network.links.append(SndlibLink(source, target, installed, tuple(modules), line))

    def _demand(self) -> None:
        """`D1 ( A B ) routing_unit value longest_path`."""
        _, line = self._next("a demand")
        source, target = self._ends()
        routing_unit, value = self._number("the routing unit"), self._number("the demand")
        self._next("the longest path")
        self._network.demands.append(SndlibDemand(source, target, value, routing_unit, line))

    def _ends(self) -> tuple[str, str]:
        self._take("(")
        ends = self._next("a node")[0], self._next("a node")[0]
        self._take(")")
        return ends

    def _skip(self) -> None:
        """Skip to the bracket that closes the current section."""
        depth = 0
        while self._text != ")" or depth:
            depth += (self._text == "(") - (self._text == ")")
            self._next(")", brackets=True)

    def _number(self, what: str) -> float:
        text, line = self._next(what)
        return require_number(text, self._path, line, what, "a number")

    def _take(self, bracket: str) -> None:
        text, line = self._next(bracket, brackets=True)
        if text != bracket:
            raise InputError(self._path, line, f"found {quoted(text)}", quoted(bracket))

    def _next(self, what: str, *, brackets: bool = False) -> tuple[str, int]:
        """Return the current word and its line, and move to the next one."""
        found = self._text, self._line
        if not self._text:
            raise InputError(self._path, "", "the file ends in the middle of a section", f"{what}")
        if not brackets and self._text in {"(", ")"}:
            raise InputError(self._path, self._line, f"found {quoted(self._text)}", what)
        self._text, self._line = next(self._tokens, _END)
        return found
