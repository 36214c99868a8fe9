"""Finds what can be changed in C++ sources, and writes them so that all changes are compiled at once.

Which of the changes is in force says the environment, by `switches.hpp`: a trial then takes no compiler. Changed are
operators, numbers, conditions and single statements in bodies of functions, but nothing that must be known when the
core is compiled. The sources are as clang-format leaves them: operators between two operands have a space at both
sides, brackets of templates have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.mutants.change import Change, make_change

_NAMES = {"+": "Plus", "-": "Minus", "*": "Times", "/": "By", "%": "Modulo", "==": "Equal", "!=": "NotEqual"}
_NAMES |= {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual"}
_OTHERS = {
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
}
_PARTS = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|\#[^\n]*)
      | (?P<number>(?<![\w.'])\d[\d']*(?:\.\d+)?(?:e[+-]?\d+)?(?:u|ul|l)?\b)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><=>|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|[-+*/%<>=!&|^~?:;,.(){}\[\]])""",
    re.VERBOSE | re.DOTALL,
)
_FIXED = re.compile(
    r"\b(constexpr|static_assert|template|using|case|enum|operator|requires|decltype|typename|std::array)\b"
)
_OPENS, _CLOSES = "([{", ")]}"
_STATEMENT = re.compile(
    r"(?m)^ +(?!return\b|const\b|auto\b|else\b|if\b|for\b|while\b|case\b|default\b)[\w.\[\]>-]+(?: = [^;\n]+|\(.*\));$"
)


class _Part(NamedTuple):
    kind: str
    text: str
    begin: int
    end: int


@dataclass(frozen=True)
class Switched:
    """A change, and the texts that stand for a part of the source or nothing so that a number switches it on."""

    change: Change
    edits: tuple[tuple[int, int, str], ...]


def find_changes(file: str, source: str) -> list[Switched]:
    """Return all changes of a source file, in the order of its lines."""
    found = _Finder(file, source).changes()
    return sorted(found, key=lambda each: (each.change.begin, each.change.end, each.change.new))


def switched(source: str, changes: list[Switched], first: int) -> str:
    """Return the source with all of its changes, which are numbered from `first`."""
    edits = [
        (
            begin,
            end,
            -order if begin == end and text.startswith(")") else order,
            text.replace("NUMBER", str(first + order)),
        )
        for order, each in enumerate(changes)
        for begin, end, text in each.edits
    ]
    # What ends at a place comes before what begins there, and inner brackets close before outer ones.
    edits.sort(key=lambda edit: (edit[0], not edit[3].startswith(")"), edit[1] > edit[0], edit[2]))
    written, at = [], 0
    for begin, end, _, text in edits:
        if begin < at:
            raise ValueError(f"changes overlap at {source[begin:end]!r}")
        written += [source[at:begin], text]
        at = end
    return "".join([*written, source[at:]])


class _Finder:
    def __init__(self, file: str, source: str) -> None:
        self._file = file
        self._source = source
        self._bytes = source.encode()
        parts = [_Part(match.lastgroup or "", match[0], *match.span()) for match in _PARTS.finditer(source)]
        self._parts = [part for part in parts if part.kind != "skip"]
        self._skipped = [part for part in parts if part.kind == "skip"]
        self._partner = self._brackets()
        self._bodies = self._find_bodies()

    def changes(self) -> Iterator[Switched]:
        for place, part in enumerate(self._parts):
            if self._is_fixed(part):
                continue
            if part.kind == "number":
                yield from self._number(part)
            elif part.text in _OTHERS and self._is_between(part):
                yield self._between(part, _OTHERS[part.text])
            elif part.text in {"+=", "-="}:
                yield self._sum(place, part)
            elif part.text in {"++", "--"}:
                yield from self._step(part)
            elif part.text == "!" and self._source[part.end] not in " =":
                yield self._switch(
                    (part.begin, part.end), "", ((part.begin, part.end, "kuijia::changes::Not<NUMBER>{} * "),)
                )
            elif (
                part.text in {"min", "max"}
                and self._source[part.end] == "("
                and self._source[: part.begin].endswith("std::")
            ):
                yield self._extreme(part)
        yield from self._logic()
        yield from self._statements()

    def _number(self, part: _Part) -> Iterator[Switched]:
        before = self._source[: part.begin].rstrip()
        if before.endswith("<") and not self._source[: part.begin].endswith(" "):
            return  # of a template
        value = part.text.replace("'", "").rstrip("ul")
        new = repr(2 * float(value) or 1.0) if "." in value or "e" in value else str(int(value) + 1)
        text = f"kuijia::changes::other<NUMBER>({part.text})"
        yield self._switch((part.begin, part.end), new, ((part.begin, part.end, text),))

    def _between(self, part: _Part, other: str) -> Switched:
        text = f"{part.text} kuijia::changes::between<NUMBER, kuijia::changes::{_NAMES[part.text]}, "
        text += f"kuijia::changes::{_NAMES[other]}> {part.text}"
        return self._switch((part.begin, part.end), other, ((part.begin, part.end, text),))

    def _sum(self, place: int, part: _Part) -> Switched:
        end = self._end_of(place + 1)
        edits = ((part.end, part.end, " kuijia::changes::opposite<NUMBER>("), (end, end, ")"))
        return self._switch((part.begin, part.end), "-=" if part.text == "+=" else "+=", edits)

    def _step(self, part: _Part) -> Iterator[Switched]:
        operand = re.compile(r"[\w.]+(?:\[\w+\])?(?:\.\w+)?(?![\w.(\[-])").match(self._source, part.end)
        if operand is None:
            return
        name = "step_up" if part.text == "++" else "step_down"
        text = f"kuijia::changes::{name}<NUMBER>({operand[0]})"
        new = "--" if part.text == "++" else "++"
        yield self._switch((part.begin, part.end), new, ((part.begin, operand.end(), text),))

    def _extreme(self, part: _Part) -> Switched:
        begin = part.begin - len("std::")
        least = "true" if part.text == "min" else "false"
        text = f"kuijia::changes::Extreme<NUMBER, {least}>{{}}"
        return self._switch((part.begin, part.end), "max" if part.text == "min" else "min", ((begin, part.end, text),))

    def _logic(self) -> Iterator[Switched]:
        """Exchange and for or, or the other way, in conditions and results, and negate conditions without either."""
        for place, part in enumerate(self._parts):
            if part.text not in {"if", "while", "return"} or self._is_fixed(part):
                continue
            if part.text == "return":
                begin, end = place + 1, self._place_of_end(place + 1)
            else:
                if self._parts[place + 1].text != "(":
                    continue
                begin, end = place + 2, self._partner[place + 1]
            top = list(self._top(begin, end))
            if part.text != "return":
                begin = max([begin, *[at + 1 for at in top if self._parts[at].text == ";"]])
            signs = {self._parts[at].text for at in self._top(begin, end)} & {"&&", "||"}
            chooses = any(self._parts[at].text == "?" for at in self._top(begin, end))
            if begin >= end or chooses or self._has_fixed(begin, end):
                continue
            span = self._parts[begin].begin, self._parts[end].begin
            text = self._source[span[0] : span[1]].rstrip()
            if len(signs) == 1:
                (old,) = signs
                new = "||" if old == "&&" else "&&"
                places = [at for at in self._top(begin, end) if self._parts[at].text == old]
                other = self._replaced(span[0], text, places, new)
            elif (
                not signs
                and part.text != "return"
                and not self._declares(begin, end)
                and not self._compares(begin, end)
            ):
                other = f"!static_cast<bool>({text})"
            else:
                continue
            close = span[0] + len(text)
            head = f"(kuijia::changes::on(NUMBER) ? static_cast<bool>({other}) : static_cast<bool>("
            yield self._switch((span[0], close), other, ((span[0], span[0], head), (close, close, "))")))

    def _replaced(self, begin: int, text: str, places: list[int], new: str) -> str:
        for at in reversed(places):
            part = self._parts[at]
            text = text[: part.begin - begin] + new + text[part.end - begin :]
        return text

    def _statements(self) -> Iterator[Switched]:
        """Leave out calls and assignments of one line."""
        for match in _STATEMENT.finditer(self._source):
            begin = match.start() + len(match[0]) - len(match[0].lstrip())
            part = next((each for each in self._parts if each.begin >= begin), None)
            before = self._source[: match.start()].rstrip()[-1:]
            if part is None or self._is_fixed(part) or before not in ";{})e":
                continue
            text = "for (bool once = kuijia::changes::off(NUMBER); once; once = false) "
            yield self._switch((begin, match.end()), ";", ((begin, begin, text),))

    def _switch(self, span: tuple[int, int], new: str, edits: tuple[tuple[int, int, str], ...]) -> Switched:
        begin, end = (len(self._source[:at].encode()) for at in span)
        return Switched(make_change(self._file, self._bytes, (begin, end), new.encode()), edits)

    def _is_between(self, part: _Part) -> bool:
        return self._source[part.begin - 1].isspace() and self._source[part.end].isspace()

    def _is_fixed(self, part: _Part) -> bool:
        if not any(begin < part.begin < end for begin, end in self._bodies):
            return True
        first = self._source.rfind("\n", 0, part.begin) + 1
        last = self._source.find("\n", part.end)
        return _FIXED.search(self._source[first:last]) is not None

    def _has_fixed(self, begin: int, end: int) -> bool:
        return any(self._is_fixed(self._parts[at]) for at in range(begin, end))

    def _declares(self, begin: int, end: int) -> bool:
        return any(self._parts[at].text in {"=", "auto"} for at in range(begin, end))

    def _compares(self, begin: int, end: int) -> bool:
        return any(self._parts[at].text in _OTHERS or self._parts[at].text == "!" for at in self._top(begin, end))

    def _top(self, begin: int, end: int) -> Iterator[int]:
        """Return the places of what is in no bracket."""
        at = begin
        while at < end:
            yield at
            at = self._partner.get(at, at) + 1

    def _place_of_end(self, place: int) -> int:
        """Return the place where an expression ends: of a semicolon, a comma or a bracket that was open before it."""
        while self._parts[place].text not in (";", ",", *_CLOSES):
            place = self._partner.get(place, place) + 1
        return place

    def _end_of(self, place: int) -> int:
        return self._parts[self._place_of_end(place)].begin

    def _brackets(self) -> dict[int, int]:
        """Return the place of the bracket that closes each one."""
        partner, open_places = {}, []
        for place, part in enumerate(self._parts):
            if part.text in _OPENS:
                open_places.append(place)
            elif part.text in _CLOSES:
                partner[open_places.pop()] = place
        return partner

    def _find_bodies(self) -> list[tuple[int, int]]:
        """Return where bodies of functions begin and end that are not constexpr."""
        bodies: list[tuple[int, int]] = []
        last_end = head = 0
        for place, part in enumerate(self._parts):
            if part.begin < last_end:
                continue
            if part.text == "{" and place > 0 and self._parts[place - 1].text in {")", "const", "override", "noexcept"}:
                last_end = self._parts[self._partner[place]].end
                if all(each.text != "constexpr" for each in self._parts[head:place]):
                    bodies.append((part.begin, last_end))
                head = self._partner[place]
            elif part.text in {";", "{", "}"}:
                head = place
        return bodies
