"""Every shell block of the documentation that can run prints what it says; the others say why they do not run."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from docs.site.reference_pages import parsers
from kuijia.cli.parsers import add_common_options
from kuijia.cli.verbs import load_verb
from kuijia_base.errors import InputError
from tests.docs.blocks import blocks_of, indented_blocks
from tests.docs.commands import NOT_RUN, PAGES, ROOT, is_run, mismatches

SHELLS = {"sh", "console"}
MISNAMED = {"", "bash", "shell", "zsh", "shell-session"}
PROGRAM = re.compile(r"^(\$ |sudo |\./run |kuijia |pip |\.venv/bin/)")
PREFIX = re.compile(r"^(?:sudo |\./run |\.venv/bin/|[A-Z_]+=\S+ )*(?=kuijia )|^kuijia uml -- ")

RUNNING = [page for page in PAGES if any(map(is_run, blocks_of(page.read_text(encoding="utf-8"))))]


def faults_of(page: str) -> Iterator[str]:
    """Yield a line for each block of code that does not say whether it runs."""
    for number in indented_blocks(page):
        yield f"{number}: code that is indented, expected a fence with a language"
    for block in blocks_of(page):
        if block.language in MISNAMED:
            yield f"{block.line}: a fence of language {block.language!r}, expected console, sh, text or another one"
        elif block.language == "sh" and not block.mark.startswith(NOT_RUN):
            yield f"{block.line}: a block sh without <!-- not run: REASON -->, expected that or a block console"
        elif block.language not in SHELLS and PROGRAM.match(block.text) and "[" not in block.text:
            yield f"{block.line}: a command in a block {block.language}, expected console or sh"


def commands_shown(page: str) -> Iterator[str]:
    """Yield the commands of ours in the blocks that do not run, without those that leave something out."""
    for block in blocks_of(page):
        if block.language in SHELLS and not is_run(block):
            for line in block.text.replace("\\\n", " ").splitlines():
                command = PREFIX.sub("", line.removeprefix("$ "))
                if command.startswith("kuijia ") and not re.search(r"\[|\.\.\.|\$", command.partition("#")[0]):
                    yield PREFIX.sub("", command)


@cache
def parser_of(verb: str) -> argparse.ArgumentParser:
    return {name: parser for name, _, parser in parsers()}[verb]


def experiment_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    load_verb("run", ["run", *words]).configure(parser)
    add_common_options(parser)
    return parser


def complaint_about(command: str) -> str:
    """Return why a command is refused before it does anything; empty if it is not."""
    verb, *arguments = shlex.split(command, comments=True)[1:]
    complaint = StringIO()
    try:
        if not verb.startswith("-"):
            with redirect_stderr(complaint), redirect_stdout(complaint):
                parser = experiment_parser(arguments) if verb == "run" else parser_of(verb)
                parser.parse_args(arguments)
    except SystemExit:
        return complaint.getvalue()
    except (KeyError, InputError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_whether_it_runs(page: Path) -> None:
    assert list(faults_of(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path) -> None:
    found = list(mismatches(page.read_text(encoding="utf-8"), tmp_path))
    assert not found, f"python -m tests.docs.commands {page.relative_to(ROOT)} takes over what they print now:\n" + (
        "\n".join(map(str, found))
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_not_run_are_understood(page: Path) -> None:
    commands = commands_shown(page.read_text(encoding="utf-8"))
    assert [f"{each}: {problem}" for each in commands if (problem := complaint_about(each))] == []


def test_a_command_that_is_not_understood_is_found() -> None:
    page = "```sh\nsudo ./run kuijia solve a b --objektive x\nkuijia run fig99 -o DIR  # long\nkuijia list\n```\n"
    commands = list(commands_shown(page))
    assert commands == ["kuijia solve a b --objektive x", "kuijia run fig99 -o DIR  # long", "kuijia list"]
    assert "--objektive" in complaint_about(commands[0])
    assert "fig99" in complaint_about(commands[1])
    assert complaint_about(commands[2]) == ""


def test_a_page_that_says_too_little_is_found() -> None:
    page = "Words:\n\n    kuijia list\n\n```\nx\n```\n\n```sh\nkuijia list\n```\n\n```text\n./run demo\n```\n"
    assert [fault.partition(":")[0] for fault in faults_of(page)] == ["3", "5", "9", "13"]
    assert list(faults_of("<!-- not run: it is long -->\n\n```sh\nkuijia list\n```\n")) == []


def test_another_output_is_found(tmp_path: Path) -> None:
    page = "<!-- file: a.txt -->\n```text\nten\n```\n\n```console\n$ cat a.txt\n{}\n```\n"
    assert list(mismatches(page.format("ten"), tmp_path)) == []
    assert list(mismatches(page.format("t..."), tmp_path)) == []
    (found,) = mismatches(page.format("nine"), tmp_path)
    assert found.printed == "ten\n"


def test_a_failure_that_the_page_does_not_show_is_found(tmp_path: Path) -> None:
    shown = "error: nowhere.yaml: cannot be read"
    (found,) = mismatches(f"```console\n$ kuijia topology describe nowhere.yaml\n{shown}...\n```\n", tmp_path)
    assert found.printed.startswith(shown)
    assert found.printed.endswith("(exit status 2)\n")
    page = f"```console\n$ kuijia topology describe nowhere.yaml\n{shown}...\n$ echo $?\n2\n```\n"
    assert list(mismatches(page, tmp_path)) == []
