"""Decides when counters are compared, and which tunnels are avoided as their packets vanish; pure, time passed in.

Counters are compared in rounds. A round begins with a message to all switches at once that makes Open vSwitch bring its
counters up to date: it does so twice a second otherwise, each switch at its own time. What they count is then the same
moment's until the next half second, in which the switches are polled one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping

from kuijia_app.control.findings import FindingKey, FindingKind, SwitchFinding
from kuijia_app.control.hop_losses import HopLoss, HopLosses
from kuijia_app.control.liveness import Tunnel
from kuijia_app.control.lossy_tunnels import LossyTunnels
from kuijia_app.control.snapshot import Snapshot
from kuijia_app.control.table_watch import PERIOD
from kuijia_app.control.tunnel_counters import CountedStream, TunnelCounters
from kuijia_base.errors import InputError, quoted

GRAY_LOSS = "1%"
"""Share of lost packets from which on a tunnel is avoided, as users write it."""

SOON = 0.3
"""Seconds after a round until the next one if it has shown a loss, or a tunnel is tried."""

SETTLED = 0.05
"""Seconds after the beginning of a round in which switches bring their counters up to date."""

CLOSE_ROUNDS = 10
"""Such early rounds in a row, at most; as many others earn them again."""

_ON_LINK = "check the link in this direction, as port {port} of {receiver} does not receive them"
_IN_SWITCH = "look for what drops them, such as an entry of others or a filter at port {port} of {receiver}"


def gray_loss_of(word: str) -> float | None:
    """Return the share of lost packets from which on a tunnel is avoided, None for "off": none ever is.

    Raises InputError for anything else.
    """
    if word == "off":
        return None
    try:
        share = float(word.removesuffix("%")) / 100 if word.endswith("%") else -1.0
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise InputError("gray_loss", "", f"found {quoted(word)}", "off or a share such as 1%, above 0, up to 100%")
    return share


DEFAULT_LIMIT = gray_loss_of(GRAY_LOSS)


class LossWatch:
    """The losses of a network's tunnels."""

    def __init__(self, limit: float | None) -> None:
        """Begin; `limit` is as of `HopLosses`, None to compare nothing."""
        self._is_off = limit is None
        self._losses = HopLosses(1.0 if limit is None else limit)
        self._lossy = LossyTunnels()
        self._counters = TunnelCounters()
        self._streams: frozenset[CountedStream] = frozenset()
        self._round: dict[str, Snapshot] = {}
        self._awaited: set[str] = set()
        self._is_judging = False
        self._begun_at: float | None = None
        self._close_left = CLOSE_ROUNDS
        self._dead: frozenset[Tunnel] = frozenset()

    def follow(self, counters: TunnelCounters) -> None:
        """Watch these tunnels from now on."""
        self._losses.follow(counters)
        self._counters = counters
        self._streams = counters.streams
        self._lossy.keep(frozenset(stream.tunnel for stream in self._streams))

    def is_due(self, now: float, period: float) -> bool:
        """Return True if a round is to begin now; `period` is the time between two in which nothing is lost.

        None begins while the one before is judged: a busy process would collect rounds.
        """
        if self._is_off or self._is_judging:
            return False
        if self._begun_at is None:
            return True
        is_close = self._close_left > 0 and (self._losses.suspects or self._lossy.looks_closely(now))
        return now >= self._begun_at + (min(SOON, period) if is_close else period)

    def begin(self, now: float, switches: Collection[str], dead: frozenset[Tunnel]) -> Iterator[None]:
        """Begin a round of these switches; tunnels that are dead are not judged.

        Return the task that judges what the round before has shown if it is not complete.
        """
        judging = self._judging(now, dead) if self._awaited else iter(())
        if self._begun_at is not None:
            was_close = now < self._begun_at + (SOON + PERIOD) / 2
            self._close_left = max(0, min(self._close_left + (-1 if was_close else 1), CLOSE_ROUNDS))
        self._awaited = set(switches)
        self._round = {}
        self._begun_at = now
        self._losses.forget(self._lossy.passed(now))
        return judging

    def taken(self, snapshot: Snapshot, now: float, dead: frozenset[Tunnel]) -> Iterator[None] | None:
        """Take in the counters of a switch; return the task that judges a round if they were the last of it."""
        if self._begun_at is None or snapshot.asked_at < self._begun_at or snapshot.switch not in self._awaited:
            return None
        self._round[snapshot.switch] = snapshot
        self._awaited.remove(snapshot.switch)
        return None if self._awaited else self._judging(now, dead)

    def mended(self, switch: str, now: float) -> None:
        """Judge a switch afresh, whose tables have been put right, and try tunnels soon that lose packets there."""
        self._losses.restart(switch)
        self._lossy.mended(switch, now)

    @property
    def shares(self) -> Mapping[Tunnel, float]:
        """The tunnels to be avoided, with the share of their packets that vanishes."""
        return self._lossy.shares

    def findings(self) -> Iterator[SwitchFinding]:
        """Yield each loss that is not known to be over, as of the switch at which packets do not arrive."""
        for loss in self._lossy.losses:
            hop, (ingress, path_id) = loss.hop, loss.tunnel
            count = f"{loss.lost} of {loss.sent}" if loss.lost < loss.sent else f"all {loss.sent}"
            named = self._counters.named(loss.stream)
            text = f"{count} {named} vanish between {hop.sender} and {hop.receiver}"
            advice = _ON_LINK if loss.reaches_port is False else _IN_SWITCH
            key = FindingKey(FindingKind.PACKETS_VANISH, hop.receiver, hop.in_port, f"{ingress} {path_id}")
            yield SwitchFinding(key, text, advice.format(receiver=hop.receiver, port=hop.in_port))

    def _judging(self, now: float, dead: frozenset[Tunnel]) -> Iterator[None]:
        excused = frozenset(self._lossy.shares) | dead | self._dead
        self._dead = dead
        self._is_judging = True
        return self._noting(self._losses.judging(self._round, excused), now)

    def _noting(self, judging: Generator[None, None, list[HopLoss]], now: float) -> Iterator[None]:
        for loss in (yield from judging):
            self._lossy.lost(loss, self._hit_by(loss), now)
            yield
        self._is_judging = False

    def _hit_by(self, loss: HopLoss) -> frozenset[Tunnel]:
        """Return all tunnels that a loss may hit: those over its link, unless others cross it unharmed."""
        if loss.spares:
            return frozenset({loss.tunnel})
        link = loss.hop.sender, loss.hop.receiver
        return frozenset(
            stream.tunnel for stream in self._streams if any((hop.sender, hop.receiver) == link for hop in stream.hops)
        )
