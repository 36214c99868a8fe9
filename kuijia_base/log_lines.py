"""Lines of the logs: time, level, part of the program and message, as text or as JSON; and the set-up of `logging`."""

from __future__ import annotations

import json
import logging
import logging.config
import traceback
from datetime import datetime
from typing import Final

from kuijia_base.errors import InputError, quoted

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
FORMS: Final = ("text", "json")
DEFAULT_LEVEL: Final = "info"
DEFAULT_FORM: Final = "text"

_OURS = "kuijia"
_LONGEST_MESSAGE = 10_000
"""Characters of a message or of a traceback; peers choose some of them."""


def part_logger(part: str) -> logging.Logger:
    """Return the logger of a part of the program, such as "gate"; lines show this short name."""
    return logging.getLogger(f"{_OURS}.{part}")


class LineFormatter(logging.Formatter):
    """Formats records as lines, with the local time and its offset from UTC (ISO 8601).

    Lines of text that continue a message, as those of a traceback, are indented. In JSON each record is one line.
    """

    def __init__(self, form: str = DEFAULT_FORM) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        trace = "" if not record.exc_info or record.exc_info[1] is None else _trace(record.exc_info[1])
        return self.line(record.created, record.levelname, record.name, record.getMessage(), trace)

    def line(self, at: float, level: str, logger: str, message: str, trace: str = "") -> str:
        """Return the line of a message at a time in seconds; takes no lock, unlike `logging` itself."""
        moment = datetime.fromtimestamp(at).astimezone().isoformat(timespec="milliseconds")
        part = logger.removeprefix(f"{_OURS}.")
        message, trace = message[:_LONGEST_MESSAGE], trace[-_LONGEST_MESSAGE:]
        if self._form == "json":
            told = {"time": moment, "level": level, "logger": part, "message": message}
            return json.dumps(told | ({"traceback": trace} if trace else {}))
        text = "\n".join(filter(None, (message, trace))).rstrip().replace("\n", "\n    ")
        return f"{moment} {level} {part}: {text}"


def set_up_logs(level: str, form: str) -> None:
    """Write the lines of this process to standard error from now on.

    Other packages, such as the framework, are heard from level warning on.
    """
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"()": LineFormatter, "form": form}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"level": max(logging.WARNING, LEVELS[level]), "handlers": ["stderr"]},
            "loggers": {_OURS: {"level": LEVELS[level]}},
        }
    )


def take_over_logs(level: str, form: str) -> None:
    """Use our lines and level with the handlers that a framework has made."""
    formatter = LineFormatter(form)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(formatter)
    logging.getLogger(_OURS).setLevel(LEVELS[level])


def require_log_options(section: str, level: str, form: str) -> None:
    """Raise InputError, which names the section of the configuration, for an unknown level or form."""
    if level not in LEVELS:
        raise InputError(f"[{section}]", "log_level", quoted(level), ", ".join(LEVELS))
    if form not in FORMS:
        raise InputError(f"[{section}]", "log_format", quoted(form), " or ".join(FORMS))


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
