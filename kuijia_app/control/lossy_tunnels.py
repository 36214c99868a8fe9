"""Decides how long a lossy tunnel is left unused, and when it is tried again; pure, with the time passed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kuijia_app.control.hop_losses import HopLoss
from kuijia_app.control.liveness import Tunnel

FIRST_PAUSE = 20.0
LONGEST_PAUSE = 640.0
"""Seconds until a tunnel that lost packets is tried again: the first pause, which doubles, and the longest."""

CLEAN = 60.0
"""Seconds of a trial after which the loss is history."""

CLOSE_LOOK = 3.0
"""Seconds at the beginning of a trial in which its tunnels are looked at closely."""

MOST_CASES = 256
"""Losses that are remembered at a time."""


@dataclass(slots=True)
class _Case:
    """A loss, and the tunnels that it hits.

    Attributes:
        until: time at which the tunnels are tried, or at which the trial has succeeded.
    """

    loss: HopLoss
    tunnels: frozenset[Tunnel]
    pause: float
    until: float
    is_tried: bool = False


class LossyTunnels:
    """The tunnels that lose packets."""

    def __init__(self) -> None:
        self._cases: list[_Case] = []

    def lost(self, loss: HopLoss, tunnels: frozenset[Tunnel], now: float) -> None:
        """Note a loss and all tunnels that it hits: none of them is to be used for a while."""
        known = next((case for case in self._cases if loss.tunnel in case.tunnels), None)
        if known is None:
            if len(self._cases) < MOST_CASES:
                self._cases.append(_Case(loss, tunnels | {loss.tunnel}, FIRST_PAUSE, now + FIRST_PAUSE))
            return
        if known.is_tried:
            known.pause = min(2 * known.pause, LONGEST_PAUSE)
            known.is_tried = False
            known.until = now + known.pause
        known.loss = loss
        known.tunnels |= tunnels

    def passed(self, now: float) -> frozenset[Tunnel]:
        """Begin the trials that are due and end those that have lasted; return the tunnels that are tried from now."""
        tried = frozenset[Tunnel]()
        for case in [case for case in self._cases if now >= case.until]:
            if case.is_tried:
                self._cases.remove(case)
            else:
                case.is_tried, case.until = True, now + CLEAN
                tried |= case.tunnels
        return tried

    def mended(self, switch: str, now: float) -> None:
        """Try tunnels soon that lose packets at a switch or before it: its tables have been put right."""
        for case in self._cases:
            if switch in (case.loss.hop.sender, case.loss.hop.receiver) and not case.is_tried:
                case.until = now

    def keep(self, tunnels: frozenset[Tunnel]) -> None:
        """Forget all tunnels but these: no plan has others any longer."""
        for case in list(self._cases):
            case.tunnels &= tunnels
            if case.loss.tunnel not in case.tunnels:
                self._cases.remove(case)

    @property
    def shares(self) -> Mapping[Tunnel, float]:
        """The tunnels not to be used, with the share of their packets that vanishes."""
        return {tunnel: case.loss.share for case in self._cases if not case.is_tried for tunnel in case.tunnels}

    def looks_closely(self, now: float) -> bool:
        """Return True while a trial is at its beginning."""
        return any(case.is_tried and now < case.until - CLEAN + CLOSE_LOOK for case in self._cases)

    @property
    def losses(self) -> tuple[HopLoss, ...]:
        """The losses that are not known to be over, in the order in which they were found."""
        return tuple(case.loss for case in self._cases)
