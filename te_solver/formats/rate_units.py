"""Units of rates, for formats that leave theirs open."""

from __future__ import annotations

from dataclasses import dataclass

from kuijia_base.text import Note

_PER_MBIT = {"bit/s": 1e6, "kbit/s": 1e3, "Mbit/s": 1.0, "Gbit/s": 1e-3}

RATE_UNITS = tuple(_PER_MBIT)


@dataclass(frozen=True)
class RateUnit:
    """Unit of the rates in a file whose format leaves it open.

    Attributes:
        stated: what the user says, one of `RATE_UNITS`; None if nothing.
        assumed: what the reader takes otherwise.
        remark: end of the note about that.
    """

    stated: str | None
    assumed: str
    remark: str = ""

    @property
    def per_mbit(self) -> float:
        """Units that make one Mbit/s."""
        return _PER_MBIT[self.stated or self.assumed]

    def note(self, what: str, note: Note) -> None:
        """Note the assumed unit of `what`, such as "capacities"."""
        if self.stated is None:
            note(f"{what} are taken as {self.assumed}{self.remark}")
