"""The texts that are hashed, by name, without what differs between machines: times, versions, noise of numbers."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from experiments.reporting.report import markdown_page, report_of
from experiments.results.exhibit import exhibit_text
from kuijia.cli.main import main
from kuijia.cli.parsers import actions_of, all_parsers, help_of, whole_parser
from kuijia.cli.verbs import verbs_by_task
from kuijia_base.errors import KuijiaError
from testbed.web.requests import message_schemas, openapi
from tests.fuzz.documents import TARGETS as DOCUMENTS
from tests.fuzz.file_target import FileTarget
from tests.fuzz.network_files import TARGETS as NETWORKS
from tests.golden.command_lines import EXPERIMENTS, FILES, LINES, OBJECTIVES, PREPARED, TABLE_OPTIONS
from tests.metrics_of_programs import PROGRAMS

Texts = Iterator[tuple[str, str]]

_OLD_RESULTS = Path(__file__).parent / "results"
_OF_THE_MACHINE = frozenset({"manifest", "seconds", "solve_seconds", "started_at", "versions"})
"""Keys of JSON documents whose values are times, versions or conditions of a run."""

_A_DATE = 1.7e9
"""Seconds since 1970: no quantity of ours is as large, but the times at which a campaign began its cases."""

_SMALL = 1e-9
_ASIDE = 1 + 3e-8
"""Moves decimal numbers off the bounds of rounding, on both sides of which noise could put them."""

_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)+")


def commands() -> Texts:
    """Yield what command lines print, as JSON or as text, and their one line of refusal."""
    for name, content in FILES.items():
        Path(name).write_text(content, encoding="utf-8")
    for line in PREPARED:
        assert _run(line)[0] == 0, line
    for line in LINES:
        status, output, errors = _run(line)
        refusals = [each for each in errors.splitlines() if each.startswith("error: ")]
        yield line, "\n".join([f"exit status {status}", _plain(output), *refusals])


def experiments() -> Texts:
    """Yield the summary and the numbers of quick runs, and the form of their tables."""
    for line in EXPERIMENTS:
        name, backend = line.split()
        status, output, errors = _run(f"run {name} --backend {backend} --quick --seed 1 --json -o {name}-{backend}")
        assert status in {0, 1}, errors
        yield f"{line}: summary", _plain(output)
        for path in sorted(Path(f"{name}-{backend}").rglob("*")):
            if path.suffix == ".json":
                yield f"{line}: {path.name}", _plain(path.read_text(encoding="utf-8"))
            elif path.suffix == ".txt":
                yield f"{line}: {path.name}", _form(path.read_text(encoding="utf-8"))


def networks() -> Texts:
    """Yield plans of the shipped networks, and the tables of their switches."""
    for network in ("fig1", "gscale"):
        for objective in OBJECTIVES:
            _, output, _ = _run(f"solve {network} --objective {objective} --reproducible --json")
            yield f"plan {network} {objective}", _plain(output)
        assert _run(f"solve {network} --reproducible -o {network}.json")[0] == 0
        for number, options in enumerate(TABLE_OPTIONS):
            folder = f"{network}-{number}"
            status, output, errors = _run(f"compile {network}.json {options} -o {folder}")
            assert status == 0, errors
            files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
            tables = [f"{path.name}\n{path.read_text(encoding='utf-8')}" for path in files]
            yield f"tables {network} {options}".rstrip(), "\n".join([output, *tables])


def helps() -> Texts:
    """Yield every verb's arguments with their help, whatever the terminal and the Python that lays them out."""
    yield "kuijia", verbs_by_task(80)
    for parser in all_parsers(whole_parser()):
        lines = [parser.description or "", *map(_argument, actions_of(parser))]
        yield parser.prog, "\n".join(" ".join(line.split()) for line in lines)


def interfaces() -> Texts:
    """Yield what other programs read: the web server's documents, and metrics."""
    yield "OpenAPI", json.dumps(openapi(), indent=1, sort_keys=True)
    for name, schema in message_schemas().items():
        yield f"message {name}", json.dumps(schema, indent=1, sort_keys=True)
    for program, metrics in PROGRAMS.items():
        yield (
            f"metrics of {program}",
            "\n".join(sorted(f"{each.name} {each.kind} {','.join(each.labels)}" for each in metrics)),
        )


def errors() -> Texts:
    """Yield what readers of files say on files that are empty, cut or wrong in every number."""
    for target in (*NETWORKS, *DOCUMENTS):
        if isinstance(target, FileTarget) and target.name != "report:command":
            example = target.examples[0]
            said = [f"{kind}: {_said(target, damage(example))}" for kind, damage in _DAMAGES.items()]
            yield target.name, "\n".join(said)


def old_results() -> Texts:
    """Yield reports on results that earlier versions wrote."""
    for path in sorted(_OLD_RESULTS.iterdir()):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, path.name).write_bytes(path.read_bytes())
            report = report_of(Path(folder))
            yield path.name, "\n".join([markdown_page(report), *map(exhibit_text, report.exhibits)])


GROUPS: Mapping[str, Callable[[], Texts]] = {
    "commands": commands,
    "experiments": experiments,
    "networks": networks,
    "helps": helps,
    "interfaces": interfaces,
    "errors": errors,
    "old_results": old_results,
}


def _damaged(pattern: bytes, by: bytes, content: bytes) -> bytes:
    return re.sub(pattern, by, content)


_DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "first half": lambda content: content[: len(content) // 2],
    "second half": lambda content: content[len(content) // 2 :],
    "words for numbers": partial(_damaged, rb"\d+", b"x"),
    "negative": partial(_damaged, rb"(?<![\w.-])\d+", b"-7"),
    "not a number": partial(_damaged, rb"(?<![\w.-])\d+(\.\d+)?", b"nan"),
    "not UTF-8": lambda content: content + b"\xff\xfe",
    "twice": lambda content: content + content,
}
"""Ways to spoil a file, by name."""


def _said(target: FileTarget, content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            target.run(target.lay(content, Path(folder)))
        except KuijiaError as error:
            return str(error).replace(folder, "FOLDER")
    return "read"


def _run(line: str) -> tuple[int, str, str]:
    """Run a command line of `kuijia` in this process; return its exit status, output and errors."""
    output, complaints = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaints):
        try:
            status = main(shlex.split(line))
        except SystemExit as end:
            status = int(end.code or 0)
    return status, output.getvalue(), complaints.getvalue()


def _argument(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or action.dest
    choices = "" if action.choices is None else f" {{{','.join(map(str, action.choices))}}}"
    return f"{names} {action.metavar or ''}{choices} {action.nargs or ''}: {help_of(_DUMMY, action)}"


_DUMMY = argparse.ArgumentParser(prog="kuijia")


def _plain(text: str) -> str:
    """Return a JSON document with rounded numbers and without what is the machine's; other text in its form."""
    try:
        return json.dumps(_rounded(json.loads(text)), indent=1, ensure_ascii=False)
    except ValueError:
        return _form(text)


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items() if key not in _OF_THE_MACHINE}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        if value > _A_DATE:
            return "a date"
        return "0" if abs(value) < _SMALL else f"{value * _ASIDE:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value * _ASIDE:.6g}" if value else "0"
    return _VERSION.sub("N", value) if isinstance(value, str) else value


def _form(text: str) -> str:
    """Return a text without its numbers and the width of its columns, which the last digits of numbers change."""
    return re.sub(r"[ \t]+|-{2,}", " ", _NUMBER.sub("#", text))


def made(group: str) -> dict[str, str]:
    """Return the texts of a group by name, made in an empty folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return {f"{group}: {name}": text for name, text in GROUPS[group]()}
        finally:
            os.chdir(before)


if __name__ == "__main__":
    json.dump({name: text for group in GROUPS for name, text in made(group).items()}, sys.stdout)
