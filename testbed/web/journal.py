"""The log of a backend: entries with numbers, the oldest forgotten."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from testbed.web.backend import LogEntry, LogKind

_KEPT = 5000


class PageJournal:
    """Numbers entries from 1 on; its methods may be called by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[LogEntry] = deque(maxlen=_KEPT)
        self._seq = 0

    def note(self, time: float, kind: LogKind, text: str, view: str | None = None, **subject: Any) -> None:  # noqa: ANN401  # JSON
        with self._lock:
            self._seq += 1
            self._entries.append(LogEntry(self._seq, round(time, 3), view, kind, text, subject))

    def after(self, seq: int) -> list[LogEntry]:
        with self._lock:
            return [entry for entry in self._entries if entry.seq > seq]
