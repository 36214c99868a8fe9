"""Watches when certificates in use expire: tells it at the start, and once a day from 30 days before on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Final

from kuijia_base.additions import command_for, is_installed

WARNING_DAYS: Final = 30

_DAY: Final = 86_400.0
_LOOK_SECONDS: Final = 3600.0
"""Seconds between two looks at the files, which may be replaced meanwhile."""

Note = Callable[[str, float], None]
"""Takes the name of a certificate, and the Unix time at which it expires."""


def _ignored(_name: str, _until: float) -> None:
    """Do nothing with the time at which a certificate expires."""


class ExpiryWatch:
    """Reads certificates every hour.

    Args:
        files: a name, such as `own`, to the file of certificates in PEM, of which the first to expire counts.
        note: receives all times at each look.
        clock: returns Unix time, by which certificates expire.
        pacer: returns seconds of a clock that nobody sets.
    """

    def __init__(
        self,
        files: Mapping[str, Path],
        note: Note = _ignored,
        clock: Callable[[], float] = time.time,
        pacer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = dict(files)
        self._note = note
        self._clock = clock
        self._pacer = pacer
        self._next_look = -_LOOK_SECONDS
        self._next_warning: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def look(self) -> tuple[list[str], list[str]]:
        """Return lines to be logged now: news, and warnings; both are empty between two looks."""
        now = self._pacer()
        if not self._files or now < self._next_look:
            return [], []
        self._next_look = now + _LOOK_SECONDS
        if not is_installed("cryptography"):
            self._files.clear()
            return [f"when certificates expire is not watched: {command_for('cryptography')}"], []
        news: list[str] = []
        warnings: list[str] = []
        for name, file in self._files.items():
            until = expiry_of(file)
            if until is None:
                continue  # it is being replaced, or connections say what is wrong with it
            self._note(name, until)
            warnings += self._warned(name, file, until, now)
            if self._told.get(name) != until:
                self._told[name] = until
                if until - self._clock() > WARNING_DAYS * _DAY:
                    news.append(f"the certificate {file} is valid until {_date(until)}")
        return news, warnings

    def _warned(self, name: str, file: Path, until: float, now: float) -> Iterator[str]:
        left = until - self._clock()
        if left > WARNING_DAYS * _DAY:
            self._next_warning.pop(name, None)
        elif self._told.get(name) != until or now >= self._next_warning.get(name, now):
            self._next_warning[name] = now + _DAY
            when = f"expires on {_date(until)}, in {left / _DAY:.0f} days" if left > 0 else f"expired on {_date(until)}"
            yield f"the certificate {file} {when}: renew it (`kuijia pki renew`)"


def expiry_of(file: Path) -> float | None:
    """Return the Unix time at which the first of the certificates in a file expires; None if they cannot be read."""
    from cryptography import x509  # noqa: PLC0415  # an extra, and slow to import

    try:
        found = x509.load_pem_x509_certificates(file.read_bytes())
    except (OSError, ValueError):
        return None
    return min(each.not_valid_after_utc.timestamp() for each in found)


def _date(until: float) -> str:
    return datetime.fromtimestamp(until, timezone.utc).date().isoformat()
