"""Entry point of `kuijia`: finds the verb, gives every verb the common options, turns errors into one line."""

from __future__ import annotations

import argparse
import errno
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn, TextIO

from kuijia.cli.parsers import add_common_options, complaint, fault, unrecognized
from kuijia.cli.printing import notes_held_back
from kuijia.cli.verbs import DESCRIPTION, VERBS, load_verb, module_of, verbs_by_task, with_default_action
from kuijia_base.additions import missing_package
from kuijia_base.errors import LONGEST_FAILURE, InputError, InterruptedWorkError, KuijiaError, one_line

_LONGEST_COMPLAINT = 450
"""Most characters of a message of argparse about an argument."""

ROOT = Path(__file__).parents[2]
"""Where the packages are: a clone, or the folder of installed ones."""

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT


class _Parser(argparse.ArgumentParser):
    """Reports bad arguments in the one line the contract asks for."""

    def error(self, message: str) -> NoReturn:
        _complain(f"error: {self.prog}: {one_line(complaint(message), _LONGEST_COMPLAINT)}")
        raise SystemExit(EXIT_BAD_INPUT)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status: 0 done, 1 the work failed, 2 bad input."""
    try:
        _open_closed_streams()
        _require_working_directory()
        os.environ["MPLBACKEND"] = "agg"  # all pictures are files; a name unknown to matplotlib would end its import
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # names of nodes may have letters that a terminal lacks
                stream.reconfigure(errors="backslashreplace")
        args = _parse(list(sys.argv[1:] if argv is None else argv))
        with notes_held_back():
            status: int = args.run(args)
        sys.stdout.flush()
    except KuijiaError as error:
        _complain(f"error: {one_line(str(error), LONGEST_FAILURE)}")
        return error.exit_status
    except KeyboardInterrupt as stop:
        _complain(one_line(str(stop), LONGEST_FAILURE) if isinstance(stop, InterruptedWorkError) else "interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()  # the reader of our output has closed it
        return 0
    except Exception as error:
        missing = missing_package(error) if isinstance(error, ImportError) else None
        if missing is not None:
            _complain(f"error: {missing}")
            return missing.exit_status
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _silence_stdout()
            _complain(f"error: {error.strerror}")
        elif sys.flags.dev_mode:
            raise
        else:
            _complain(f"error: {fault(error)}")
        return KuijiaError.exit_status
    return status


def _require_working_directory() -> None:
    try:
        Path.cwd()
    except OSError as error:
        expected = "a folder that exists and may be entered"
        raise InputError("working directory", "", f"cannot be used ({error.strerror})", expected) from error


def _complain(line: str) -> None:
    """Print a line on stderr; if it cannot be written, only the exit status reports the error."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence_stdout() -> None:
    _silence(sys.stdout)


def _silence(stream: TextIO) -> None:
    """Prevent the interpreter's error at exit that it cannot write the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _open_closed_streams() -> None:
    """Put /dev/null in the place of standard streams that are closed: the next file opened would become one of them."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115, PTH123  # open for as long as the process lives


class _Version(argparse.Action):
    """Option that prints the version, in a clone with its commit, and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"{parser.prog} {metadata.version('kuijia')}{_commit()}")
        parser.exit()


def _commit() -> str:
    if not (ROOT / ".git").exists():
        return ""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(words, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""  # a clone without git, or that of another user
    return f" ({found})"


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="kuijia",
        usage="%(prog)s [-h] [--version] VERB ...",
        description=DESCRIPTION,
        epilog=verbs_by_task(shutil.get_terminal_size().columns - 2),  # as argparse itself
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=argparse.SUPPRESS, help="show program's version number and exit"
    )
    verbs = parser.add_subparsers(
        metavar="VERB", prog=parser.prog, help=argparse.SUPPRESS, required=True, parser_class=_Parser
    )
    if not arguments:
        arguments = ["--help"]
    asked = next((word for word in arguments if not word.startswith("-")), None)
    chosen = parser
    for name, what in VERBS.items():
        subparser = verbs.add_parser(name, description=what)
        if name == asked:  # the modules of the others would take a second to import
            chosen, verb = subparser, load_verb(module_of(arguments), arguments)
            verb.configure(subparser)
            add_common_options(subparser)
            subparser.set_defaults(run=verb.run)
    words = with_default_action(arguments)
    args, unknown = parser.parse_known_args(words)
    args.words = tuple(words)
    if unknown:
        chosen.error(unrecognized(unknown, chosen))
    return args
