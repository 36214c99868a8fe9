"""Addresses of controllers that are peers of each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peers:
    """Addresses HOST:PORT of a controller for its peers, and of those for it."""

    listen: str
    others: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The options of our verbs."""
        return [*(f"--peer={peer}" for peer in self.others), f"--peer-listen={self.listen}"]

    @property
    def options(self) -> dict[str, object]:
        """The options in a section of `ryu-manager`'s configuration."""
        return {"peers": ",".join(self.others), "peer_listen": self.listen}
