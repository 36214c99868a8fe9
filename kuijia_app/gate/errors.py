"""Errors that end a connection."""

from __future__ import annotations

_SHOWN_BYTES = 32


class RefusedError(Exception):
    """A connection must end for `reason`, one of a few texts; `detail` describes this case, printable and short."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}" if detail else reason)

    def unraised(self) -> RefusedError:
        """Return an equal error that was never raised, to be kept.

        A raised error refers to the frames that it has passed. Kept by what these frames refer to, it is a cycle that
        would hold the whole connection until somebody searches for cyclic garbage.
        """
        return RefusedError(self.reason, self.detail)


class MalformedError(RefusedError):
    """A message breaks the rules of OpenFlow 1.3; `detail` shows how it begins."""

    def __init__(self, reason: str, frame: bytes = b"") -> None:
        shown = frame[:_SHOWN_BYTES].hex(" ", 4)
        super().__init__(reason, f"begins with {shown}" if shown else "")
