"""Lines of the logs: what each of them has, as text and as JSON, and whose lines are written from which level on."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import datetime, timezone

import pytest

from kuijia_base.errors import InputError
from kuijia_base.log_lines import LineFormatter, require_log_options


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = None if error is None else (type(error), error, None)
    return logging.LogRecord("kuijia.gate", logging.WARNING, "", 0, message, args, exc_info)


def test_a_line_has_the_time_with_its_zone_the_level_the_part_and_the_message() -> None:
    made = record("switch %s is gone", "s1")
    moment, level, part, message = LineFormatter().format(made).split(" ", 3)
    found = datetime.fromisoformat(moment)
    assert found.utcoffset() is not None
    assert found.astimezone(timezone.utc).timestamp() == pytest.approx(made.created, abs=0.002)
    assert (level, part, message) == ("WARNING", "gate:", "switch s1 is gone")


def test_a_traceback_continues_its_line_and_no_line_of_it_looks_like_another() -> None:
    first, *others = LineFormatter().format(record("it failed", error=ValueError("one\ntwo"))).splitlines()
    assert first.endswith("WARNING gate: it failed")
    assert others
    assert all(line.startswith("    ") for line in others)


def test_json_has_one_object_on_one_line_for_each_record() -> None:
    line = LineFormatter("json").format(record("it failed", error=ValueError("one\ntwo")))
    assert "\n" not in line
    told = json.loads(line)
    assert datetime.fromisoformat(told.pop("time")).utcoffset() is not None
    assert told.pop("traceback").startswith("ValueError: one\ntwo")
    assert told == {"level": "WARNING", "logger": "gate", "message": "it failed"}


def test_what_a_peer_makes_long_is_cut() -> None:
    assert len(LineFormatter().format(record("%s", "x" * 1_000_000))) < 11_000


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["ours debug", "ours info", "ours error", "theirs error"]),
        ("info", ["ours info", "ours error", "theirs error"]),
        ("error", ["ours error", "theirs error"]),
    ],
)
def test_the_level_is_that_of_our_parts_and_frameworks_are_heard_from_warnings_on(level: str, heard: list[str]) -> None:
    program = (
        "import logging\n"
        "from kuijia_base.log_lines import part_logger, set_up_logs\n"
        f"set_up_logs({level!r}, 'text')\n"
        "for name, logger in (('ours', part_logger('gate')), ('theirs', logging.getLogger('os_ken.base'))):\n"
        "    logger.debug(name + ' debug'), logger.info(name + ' info'), logger.error(name + ' error')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [line.split(": ")[1] for line in ended.stderr.splitlines()] == heard


@pytest.mark.parametrize(
    ("level", "form", "expected"),
    [
        ("loud", "text", r"^\[kuijia\]:log_level: 'loud', expected debug, info, warning, error$"),
        ("info", "xml", r"^\[kuijia\]:log_format: 'xml', expected text or json$"),
    ],
)
def test_an_unknown_level_or_form_in_a_section_is_refused(level: str, form: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        require_log_options("kuijia", level, form)
