"""`kuijia manual`: writes man pages, made from the parsers of the verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from kuijia.cli.parsers import actions_of, help_of, parsers_below, whole_parser
from kuijia.cli.printing import print_json
from kuijia.cli.verbs import DESCRIPTION, VERBS
from kuijia_base.output_folder import OutputFolder

_EXIT = "0 done, 1 the work failed, 2 bad input; a message is one line on standard error."


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="folder for the pages, such as ~/.local/share/man/man1"
    )


def run(args: argparse.Namespace) -> int:
    pages = man_pages(whole_parser(), metadata.version("kuijia"))
    folder = OutputFolder(args.folder.expanduser())
    for name, text in pages.items():
        folder.write_text(name, text)
    if args.json:
        print_json("manual", {"pages": sorted(pages)})
    else:
        print(f"wrote {len(pages)} pages into {folder.path}")
    return 0


def man_pages(parser: argparse.ArgumentParser, version: str) -> dict[str, str]:
    """Return the page on the command and one on each verb, by their file names."""
    verbs = parsers_below(parser)
    own = [
        *_head("kuijia", DESCRIPTION.rstrip("."), version),
        ".SH SYNOPSIS",
        r"\fBkuijia\fR \fIVERB\fR [\fIOPTION\fR]... [\fIARGUMENT\fR]...",
        ".SH VERBS",
        *(line for name, what in VERBS.items() for line in (".TP", rf"\fB{_escaped(name)}\fR(1)", _line(what))),
        *_tail([f"kuijia-{name}" for name in verbs]),
    ]
    pages = {"kuijia.1": "\n".join([*own, ""])}
    for name, verb in verbs.items():
        text = [*_head(f"kuijia-{name}", VERBS[name], version), ".SH SYNOPSIS", *_synopsis(verb), *_described(verb)]
        for action, below in parsers_below(verb).items():
            text += [f".SH {_escaped(f'kuijia {name} {action}').upper()}", *_synopsis(below), *_described(below, ".SS")]
        pages[f"kuijia-{name}.1"] = "\n".join([*text, *_tail(["kuijia"]), ""])
    return pages


def _head(name: str, what: str, version: str) -> Iterator[str]:
    yield f'.TH {_escaped(name.upper())} 1 "" "kuijia {version}" "User Commands"'
    yield from (".SH NAME", rf"{_escaped(name)} \- {_escaped(what)}")


def _tail(others: list[str]) -> Iterator[str]:
    yield from (".SH EXIT STATUS", _line(_EXIT), ".SH SEE ALSO")
    yield ", ".join(rf"\fB{_escaped(each)}\fR(1)" for each in others)


def _synopsis(parser: argparse.ArgumentParser) -> Iterator[str]:
    arguments = [_shape(action) for action in actions_of(parser) if not action.option_strings]
    below = [r"\fIACTION\fR"] if parsers_below(parser) else []
    yield " ".join([rf"\fB{_escaped(parser.prog.split(' [')[0])}\fR", r"[\fIOPTION\fR]...", *arguments, *below])


def _described(parser: argparse.ArgumentParser, heading: str = ".SH") -> Iterator[str]:
    arguments = [action for action in actions_of(parser) if not action.option_strings]
    options = [action for action in actions_of(parser) if action.option_strings]
    for title, actions in (("ARGUMENTS", arguments), ("OPTIONS", options)):
        if actions:
            yield f"{heading} {title}"
        for action in actions:
            yield from (".TP", _shape(action), _line(help_of(parser, action)))
    if parser.epilog:
        yield from (f"{heading} NOTES", _line(parser.epilog % {"prog": parser.prog}))


def _shape(action: argparse.Action) -> str:
    """Return an argument or option as it is written, with its value."""
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.metavar is None and action.choices is not None:
        metavar = "|".join(map(str, action.choices))
    value = rf"\fI{_escaped(metavar)}\fR"
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else f"{value}..." if action.nargs == "+" else value
    names = ", ".join(rf"\fB{_escaped(each)}\fR" for each in action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _line(text: str) -> str:
    """Return text as a line of a page: one that begins with a dot or an apostrophe would be a command."""
    escaped = _escaped(" ".join(text.split()))
    return rf"\&{escaped}" if escaped[:1] in {".", "'"} or not escaped else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", r"\e").replace("-", r"\-")
