"""Finds what can be changed in a Python module: an operator, a number, a condition, a call, a statement."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from tests.mutants.change import Change, make_change

_COMPARED = {
    ast.Lt: ("<", "<=", ">="),
    ast.LtE: ("<=", "<", ">"),
    ast.Gt: (">", ">=", "<="),
    ast.GtE: (">=", ">", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_COMBINED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "abs": "", "floor": "ceil", "ceil": "floor"}
_LOGS = {"log", "LOG", "_LOG", "logger", "progress"}
_Span = tuple[int, int]


def changes_of(file: str, source: bytes) -> list[Change]:
    """Return all changes of a module, in the order of its lines."""
    return list(_Finder(file, source).changes())


class _Finder:
    """Walks through a module, but not through what no test can notice: annotations, messages, logs, assertions."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file = file
        self._source = source
        self._tree = ast.parse(source)
        # Positions are in bytes of a line.
        self._starts = [0, *itertools.accumulate(len(line) for line in source.splitlines(keepends=True))]

    def changes(self) -> Iterator[Change]:
        for statement in self._tree.body:
            yield from self._walk(statement, inside=False)

    def _walk(self, node: ast.AST, *, inside: bool) -> Iterator[Change]:
        if _says_only(node):
            return
        if isinstance(node, ast.Raise):
            yield self._change(self._span(node), "pass")
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            parts: list[ast.AST] = [*node.args.defaults, *[each for each in node.args.kw_defaults if each], *node.body]
            inside = True
        else:
            yield from (self._change(span, new) for span, new in self._of(node, inside=inside))
            left_out = ("annotation", "decorator_list", "bases", "type_comment", "ctx", "op", "ops")
            parts = [
                part
                for name, value in ast.iter_fields(node)
                if name not in left_out
                for part in (value if isinstance(value, list) else [value])
                if isinstance(part, ast.AST)
            ]
        for part in parts:
            yield from self._walk(part, inside=inside)

    def _change(self, span: _Span, new: str) -> Change:
        return make_change(self._file, self._source, span, new.encode())

    def _of(self, node: ast.AST, *, inside: bool) -> Iterator[tuple[_Span, str]]:
        """Return what is changed at this node itself; `inside` a function, where `|` joins no types."""
        match node:
            case ast.BinOp() if type(node.op) in _COMBINED and (inside or not isinstance(node.op, ast.BitOr)):
                old, new = _COMBINED[type(node.op)]
                yield self._between(node.left, node.right, old), new
            case ast.AugAssign() if type(node.op) in _COMBINED:
                old, new = _COMBINED[type(node.op)]
                yield self._between(node.target, node.value, f"{old}="), f"{new}="
            case ast.Constant(value=bool() | int() | float() as value):
                yield self._span(node), _other_value(value)
            case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
                yield self._span(node.func), _CALLED[name]
            case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._span(node), "pass"
            case ast.Continue() | ast.Break():
                yield self._span(node), "break" if isinstance(node, ast.Continue) else "continue"
            case _:
                yield from self._of_condition(node)
        yield from ((self._span(test), f"not ({self._text(test)})") for test in _tests(node))

    def _of_condition(self, node: ast.AST) -> Iterator[tuple[_Span, str]]:
        match node:
            case ast.Compare():
                for (left, right), operator in zip(
                    itertools.pairwise([node.left, *node.comparators]), node.ops, strict=True
                ):
                    old, *others = _COMPARED[type(operator)]
                    yield from ((self._between(left, right, old), other) for other in others)
            case ast.BoolOp():
                old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                yield from ((self._between(*pair, old), new) for pair in itertools.pairwise(node.values))
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                begin = self._span(node)[0]
                yield (begin, begin + (3 if isinstance(node.op, ast.Not) else 1)), ""

    def _between(self, left: ast.AST, right: ast.AST, token: str) -> _Span:
        """Return where the operator between two operands stands."""
        begin = self._span(left)[1]
        found = re.search(re.escape(token).replace(r"\ ", r"\s+").encode(), self._source[begin : self._span(right)[0]])
        assert found is not None
        return begin + found.start(), begin + found.end()

    def _span(self, node: ast.AST) -> _Span:
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def _text(self, node: ast.AST) -> str:
        begin, end = self._span(node)
        return self._source[begin:end].decode()


def _tests(node: ast.AST) -> list[ast.expr]:
    """Return conditions that are neither compared nor combined, as these are changed where they are."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        found = [node.test]
    else:
        found = node.ifs if isinstance(node, ast.comprehension) else []
    return [test for test in found if not isinstance(test, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant))]


def _other_value(value: float) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) else repr(2 * value or 1.0)


def _says_only(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom() | ast.keyword(arg="strict"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)))):
            return name in _LOGS
        case ast.Call(func=ast.Name(id="cast" | "TypeVar" | "NewType")):
            return True
    return False
