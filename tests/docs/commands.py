"""Runs the shell blocks of the documentation and compares what they print.

A page is gone through from its top in an empty folder:

- A block `console` runs: each line `$ kuijia ...` as that command, in this process; what it prints follows. Three dots
  stand for any text. `$ echo $?` prints the status of the command before, which is zero where it does not follow.
- A block `sh` does not run, and neither does a `console` below `<!-- not run: REASON -->`; each `sh` has such a reason.
- `<!-- before: COMMAND; COMMAND -->` above a `console` runs first, unseen.
- The block below `<!-- file: NAME -->` is the content of that file.

Of standard error, only notes, errors and names of written files count: progress depends on the machine. To take over
what commands print now: `python -m tests.docs.commands PAGE...`.
"""

from __future__ import annotations

import doctest
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from kuijia.cli.main import main
from tests.docs.blocks import Block, blocks_of

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
]

NOT_RUN, BEFORE, FILE = "not run: ", "before: ", "file: "

_KEPT = ("note: ", "error: ", "wrote ")
_COLUMNS = "100"
_CHECKER = doctest.OutputChecker()


@dataclass(frozen=True)
class Command:
    """A command of a block, with the lines that follow it in the page."""

    line: str
    expected: str

    @property
    def argv(self) -> list[str]:
        return shlex.split(self.line, comments=True)


@dataclass(frozen=True)
class Mismatch:
    """A command that prints something else than its page says."""

    block: Block
    command: Command
    printed: str

    def __str__(self) -> str:
        return f"line {self.block.line}: $ {self.command.line}\n{self.printed}"


def is_run(block: Block) -> bool:
    return block.language == "console" and not block.mark.startswith(NOT_RUN)


def commands_of(text: str) -> Iterator[Command]:
    """Yield the commands of a `console` block; a line that ends in a backslash goes on in the next."""
    for part in f"\n{text}".split("\n$ ")[1:]:
        line, _, expected = part.replace("\\\n", "").partition("\n")
        yield Command(line, expected if not expected or expected.endswith("\n") else f"{expected}\n")


def mismatches(page: str, folder: Path) -> Iterator[Mismatch]:
    """Run the commands of a page in an empty folder; yield those that print something else than it says."""
    status = 0
    with _inside(folder):
        for block in blocks_of(page):
            if block.mark.startswith(FILE):
                Path(block.mark.removeprefix(FILE)).write_text(block.text, encoding="utf-8")
            if not is_run(block):
                continue
            for line in block.mark.removeprefix(BEFORE).split(";") if block.mark.startswith(BEFORE) else ():
                assert run(Command(line.strip(), ""), 0)[0] == 0, f"line {block.line}: {line}"
            commands = [*commands_of(block.text)]
            for command, after in zip(commands, [*commands[1:], None], strict=True):
                status, printed = run(command, status)
                asked = after is not None and after.line == "echo $?"
                hidden = status != 0 and not asked
                if hidden:
                    printed += f"(exit status {status})\n"
                if hidden or not _CHECKER.check_output(command.expected, printed, doctest.ELLIPSIS):
                    yield Mismatch(block, command, printed)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = _COLUMNS
    try:
        yield
    finally:
        os.chdir(before)
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width


def run(command: Command, status: int) -> tuple[int, str]:
    """Return exit status and output of a command; `status` is that of the command before."""
    if command.line == "echo $?":
        return 0, f"{status}\n"
    program, *arguments = command.argv
    assert program in {"kuijia", "cat"}, f"{command.line}: only kuijia, cat and echo $? can be run"
    if program == "cat":
        return 0, "".join(Path(name).read_text(encoding="utf-8") for name in arguments)
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse: help, version and bad arguments
            status = stop.code if isinstance(stop.code, int) else 0
    kept = "".join(f"{line}\n" for line in err.getvalue().splitlines() if line.startswith(_KEPT))
    return status, out.getvalue() + kept


def updated(page: str, folder: Path) -> str:
    """Return the page with what its commands print now; three dots stay where they stand."""
    for found in list(mismatches(page, folder)):
        head = f"$ {found.command.line}\n"
        old = f"{head}{found.command.expected}"
        assert page.count(old) == 1, (
            f"line {found.block.line}: continued lines and repeated commands are yours to change"
        )
        page = page.replace(old, f"{head}{shortened(found.printed, found.command.expected)}")
    return page


def shortened(printed: str, model: str) -> str:
    """Return what is printed, with three dots where another output has them."""
    lines, others = printed.splitlines(), model.splitlines()
    if "..." in others:
        before, behind = others.index("..."), len(others) - others.index("...") - 1
        lines = [*lines[:before], "...", *lines[len(lines) - behind :]]
    for number, other in enumerate(others[: len(lines)]):
        if "..." in other and _CHECKER.check_output(f"{other}\n", f"{lines[number]}\n", doctest.ELLIPSIS):
            lines[number] = other
    return "".join(f"{line}\n" for line in lines)


def _take_over(names: list[str]) -> None:
    for page in [Path(name).resolve() for name in names]:
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(updated(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    _take_over(sys.argv[1:])
