"""Puts the changed code of a module's functions in place of theirs while they are in use."""

from __future__ import annotations

import gc
import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType


def replace_code(file: Path, old: bytes, run_before: frozenset[CodeType]) -> bool | None:
    """Give all functions of a module the code that its file says now.

    Args:
        old: source of the module when it was imported.
        run_before: code that has run since, so that something may have its results.

    Returns:
        True if that is as good as a new import, False if code is replaced that has run before, and None if the change
        is beyond functions, so that nothing is replaced.
    """
    before, after = (
        list(_codes(compile(source, file, "exec", dont_inherit=True))) for source in (old, file.read_bytes())
    )
    alike = [code.co_name for code in before] == [code.co_name for code in after]
    if not alike or max(Counter(before).values()) > 1 or any(map(_differs_at_import, before, after)):
        return None
    replaced = dict(zip(before, after, strict=True))
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename == str(file) and each.__code__ in replaced:
            each.__code__ = replaced[each.__code__]
    return not any(_own(code) != _own(replaced[code]) and code in run_before for code in before)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _differs_at_import(old: CodeType, new: CodeType) -> bool:
    return not old.co_flags & inspect.CO_OPTIMIZED and _own(old) != _own(new)


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what a code object says without its place and without the code objects within it."""
    constants = tuple(repr(each) for each in code.co_consts if not isinstance(each, CodeType))
    return code.co_code, code.co_names, constants
