"""Hermes on two racks of two hosts, slow and obvious, and stories of what happens to its flows.

A flow goes from each of the hosts 0 and 1 to each of 2 and 3, in the order of these pairs. With several homes, hosts
have a card in as many racks, which take turns as the ends of paths.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from simulator.packet import _core
from tests.simulator.packet.disciplines import mixed
from tests.simulator.packet.step_references import SECOND
from tests.simulator.packet.steps import Step

MICROSECOND = SECOND // 1_000_000
PATHS = 4
FASTEST = 4 * (10 * MICROSECOND + 1500 * 800)
"""Picoseconds of a full packet over four links of 10 Gbit/s and 10 us."""


@dataclass
class Estimator:
    """CONGA's discounting rate estimator: a sum that loses a part at every multiple of the period."""

    period: int
    gain: float
    total: float = 0.0
    since: int = 0

    def add(self, number: float, now: int) -> None:
        self.total, self.since = self.at(now) + number, now

    def at(self, now: int) -> float:
        return self.total * (1 - self.gain) ** (now // self.period - self.since // self.period)


@dataclass(frozen=True)
class HermesRules:
    """Parameters of Hermes in the core's units, and by its names."""

    marked: float = 0.4
    low: int = 20_000_000
    high: int = 140_000_000
    one_way: bool = True
    base: int = 0
    better_round_trip: int = 80_000_000
    better_marked: float = 0.05
    rate: float = 0.3
    sent: int = 9_000
    uses_ecn: bool = True
    round_trip_gain: float = 0.5
    marked_gain: float = 0.5
    marked_sample: int = 10
    rate_period: int = 30_000_000
    rate_gain: float = 0.5  # sums of whole numbers of bytes are exact
    rerouting: bool = True
    reroute_share: float = 1.0
    reroute_pause: int = 0
    probing: bool = True
    shares_data: bool = False
    probe_every: int = 500_000_000
    probe_paths: int = 2
    detects_failures: bool = True
    failure_every: int = 1_000_000_000
    failure_share: float = 0.01
    failure_sample: int = 20
    failure_timeouts: int = 3
    failure_lasts: int = 20_000_000_000
    answer_pause: int = 1_000_000_000


@dataclass
class Path:
    """A path as a host, or all of a rack, know it: Algorithm 1."""

    rules: HermesRules
    delay: float | None = None  # t_RTT
    share: float | None = None  # f_ECN
    heard: list[bool] = field(default_factory=list)
    sent: int = 0
    again: int = 0
    judged_from: int = 0
    was_congested: bool = False
    failed_until: int = 0

    def __post_init__(self) -> None:
        self.load = Estimator(self.rules.rate_period, self.rules.rate_gain)  # r_p

    def acknowledged(self, delay: int, *, echo: bool) -> None:
        self._take_delay(delay)
        self.heard.append(echo)
        if len(self.heard) == self.rules.marked_sample:
            self._take_share(sum(self.heard) / len(self.heard))
            self.heard.clear()

    def probed(self, delay: int, *, echo: bool) -> None:
        self._take_delay(delay)
        self._take_share(float(echo))

    def kind(self, base: int) -> str:
        if self.delay is None:
            return "gray"
        rules, share = self.rules, self.share or 0.0
        if self.delay < base + rules.low and (not rules.uses_ecn or share < rules.marked):
            return "good"
        if self.delay > base + rules.high and (not rules.uses_ecn or share > rules.marked):
            return "congested"
        return "gray"

    def note_sent(self, base: int, now: int) -> bool:
        if self.sent == self.again == 0:
            self.judged_from = now + self.rules.failure_every
        self.sent += 1
        return self._found_failed(base, now)

    def note_again(self, base: int, now: int) -> bool:
        self.again += 1
        return self._found_failed(base, now)

    def _found_failed(self, base: int, now: int) -> bool:
        if now < self.judged_from or self.sent < self.rules.failure_sample:
            return False
        congested = self.was_congested or self.kind(base) == "congested"
        loses = self.again > self.rules.failure_share * self.sent and not congested
        found = loses and now >= self.failed_until
        if loses:
            self.failed_until = now + self.rules.failure_lasts
        self.sent = self.again = 0
        self.was_congested = False
        return found

    def _take_delay(self, delay: int) -> None:
        if self.delay is None:
            self.delay = float(delay)
        else:
            self.delay += self.rules.round_trip_gain * (delay - self.delay)

    def _take_share(self, share: float) -> None:
        self.share = share if self.share is None else self.share + self.rules.marked_gain * (share - self.share)


@dataclass
class HermesFlow:
    """A flow of Hermes: `path` is None until it has begun."""

    path: int | None = None
    before: int | None = None
    moved_at: int = 0
    following: int = 0  # segment
    sent: int = 0  # s_sent
    timed_out: bool = False
    decided: int = -(10**30)
    home_since: int = -(10**30)  # when it last began to leave by other racks


class Hermes:
    """Algorithm 2 for flows from two hosts of a rack to two of another: flow f goes from host f // 2 to 2 + f % 2.

    Draws come from the core's generator, in the order in which the core needs them.
    """

    def __init__(self, rules: HermesRules, paths: int, base: int, most: float, seed: int, homes: int = 1) -> None:
        self.rules = rules
        self.homes = homes
        self.paths = range(paths)
        self.alive = list(self.paths)  # those that packets may take
        self.base = rules.base or base
        self.most = most * rules.rate  # R, in bytes of an estimator
        self.moves = 0
        self.found = 0
        self.wakes_at: int | None = None
        self.flows = [HermesFlow() for _ in range(4)]
        self._rates = [self._estimator() for _ in range(4)]  # r_f
        self._random = _core.Random(mixed(seed + 0x6865726D6573))
        self._rack = [Path(rules) for _ in self.paths]
        self._rack_back = [Path(rules) for _ in self.paths]
        self._hosts: dict[int, list[Path]] = {}
        self._timeouts: dict[tuple[int, int], int] = {}  # of a flow's hosts and a path
        self._black: dict[tuple[int, int], int] = {}  # until when
        self._answers: dict[int, tuple[int, int]] = {}  # of a flow: the last one and the draw
        self._active = self._awake = False

    def send(self, number: int, now: int, size: int, segment: int, *, again: bool) -> int:
        """Return the place of the path of a packet of data, among those alive."""
        self._keep_probing(now)
        flow = self.flows[number]
        known = self._known(number)
        if again and flow.path is not None and self.rules.detects_failures:
            taken = flow.before if segment < flow.moved_at else flow.path
            if taken is not None:
                self.found += self._rack[taken].note_again(self.base, now)
        must_move = flow.path not in self.alive or flow.timed_out
        if flow.path is None or must_move or self._failed(number, flow.path, now):
            place = self._fresh(number, now)
            if place is None and must_move:
                place = self.alive[self._below(len(self.alive))]
            if place is not None:
                self._move(number, place, now)
        elif self._wants_to_move(number, now):
            place = self._better(number, now)
            if place is not None:
                self._move(number, place, now)
                flow.before = None
        assert flow.path is not None
        flow.following = max(flow.following, segment + 1)
        if self.rules.detects_failures:
            self.found += self._rack[flow.path].note_sent(self.base, now)
        flow.sent += size
        self._rates[number].add(size, now)
        known[flow.path].load.add(size, now)
        return self.alive.index(flow.path)

    def answer(self, number: int, now: int) -> int:
        """Return the path of a packet of the receiver."""
        self._keep_probing(now)
        count = len(self.paths)
        if number not in self._answers:
            draw = self._next()
        else:
            last, draw = self._answers[number]
            if now - last >= self.rules.answer_pause:
                draw = self._next() if count == 1 else draw % count + 1 + self._below(count - 1)
        self._answers[number] = (now, draw)
        for step in self.paths:
            place = (draw + step) % count
            if not self.rules.detects_failures or now >= self._rack_back[place].failed_until:
                return place
        return draw % count

    def acknowledged(self, number: int, now: int, path: int, sent: int, *, echo: bool) -> None:
        flow = self.flows[number]
        if flow.path is None or sent < flow.home_since:  # the path's number is among those of other racks
            return
        known = self._known(number)[path]
        known.acknowledged(now - sent, echo=echo)
        if self.rules.detects_failures and known.kind(self.base) == "congested":
            self._rack[path].was_congested = True
        self._timeouts[number, path] = 0

    def timed_out(self, number: int, now: int) -> None:
        flow = self.flows[number]
        if flow.path is None:
            return
        flow.timed_out = True
        at = (number, flow.path)
        self._timeouts[at] = self._timeouts.get(at, 0) + 1
        if self._timeouts[at] < self.rules.failure_timeouts or not self.rules.detects_failures:
            return
        self._timeouts[at] = 0
        self.found += now >= self._black.get(at, 0)
        self._black[at] = now + self.rules.failure_lasts

    def ended(self, number: int, now: int) -> None:
        path = self.flows[number].path
        if path is not None:
            self._known(number)[path].load.add(-self._rates[number].at(now), now)
        self.flows[number] = HermesFlow()
        self._rates[number] = self._estimator()

    def knows_both_ways(self) -> bool:
        return bool(self._answers)

    def wake(self, now: int) -> list[tuple[int, int]]:
        """Return the pairs of racks and paths that agents probe: the best one known, and others at random."""
        self._awake, self._active = self._active, False
        if not self._awake:
            return []
        asked = []
        for pair, known in enumerate((self._rack, self._rack_back) if self.knows_both_ways() else ()):
            fine = [path for path in self.paths if known[path].delay is not None and now >= known[path].failed_until]
            best = min(fine, key=lambda path: known[path].delay or 0.0, default=None)
            others = [path for path in self.paths if path != best]
            if best is not None:
                asked.append((pair, best))
            count = min(self.rules.probe_paths, len(others))
            asked += [(pair, others.pop(self._below(len(others)))) for _ in range(count)]
        self.wakes_at = now + self.rules.probe_every
        return asked

    def probed(self, pair: int, now: int, path: int, sent: int, *, echo: bool) -> None:
        for known in [self._rack_back] if pair else [self._rack, *self._hosts.values()]:
            known[path].probed(now - sent, echo=echo)

    def _keep_probing(self, now: int) -> None:
        self._active = True
        if not self._awake and self.rules.probing:
            self._awake = True
            self.wakes_at = now

    def _known(self, number: int) -> list[Path]:
        """Return the paths as the flow's host knows them, which begins with what probes have told its rack."""
        if self.rules.shares_data:
            return self._rack
        return self._hosts.setdefault(number // 2, copy.deepcopy(self._rack))

    def _failed(self, number: int, path: int, now: int) -> bool:
        if not self.rules.detects_failures:
            return False
        return now < self._rack[path].failed_until or now < self._black.get((number, path), 0)

    def _fresh(self, number: int, now: int) -> int | None:
        known = self._known(number)
        alive = [path for path in self.alive if not self._failed(number, path, now)]
        for kind in ("good", "gray"):
            place = self._least_loaded(number, now, [path for path in alive if known[path].kind(self.base) == kind])
            if place is not None:
                return place
        chosen = None
        for count, path in enumerate(alive, 1):
            if self._below(count) == 0:
                chosen = path
        return chosen

    def _wants_to_move(self, number: int, now: int) -> bool:
        rules, flow = self.rules, self.flows[number]
        assert flow.path is not None
        if not (
            rules.rerouting
            and flow.sent > rules.sent
            and self._known(number)[flow.path].kind(self.base) == "congested"
            and self._rates[number].at(now) < self.most
            and now - flow.decided >= rules.reroute_pause
        ):
            return False
        flow.decided = now
        return rules.reroute_share >= 1 or float(self._random.unit(1)[0]) < rules.reroute_share

    def _better(self, number: int, now: int) -> int | None:
        rules, known, path = self.rules, self._known(number), self.flows[number].path
        assert path is not None
        present = known[path]

        def is_better(other: int, kind: str) -> bool:
            of = known[other]
            if (
                of.delay is None
                or present.delay is None
                or of.kind(self.base) != kind
                or self._failed(number, other, now)
            ):
                return False
            marks = (present.share or 0.0) - (of.share or 0.0)
            return present.delay - of.delay > rules.better_round_trip and (
                not rules.uses_ecn or marks > rules.better_marked
            )

        for kind in ("good", "gray"):
            place = self._least_loaded(number, now, [other for other in self.alive if is_better(other, kind)])
            if place is not None:
                return place
        return None

    def _least_loaded(self, number: int, now: int, eligible: Sequence[int]) -> int | None:
        known = self._known(number)
        best, equal, least = None, 0, math.inf
        for path in eligible:
            load = known[path].load.at(now)
            if load < least:
                best, equal, least = path, 1, load
            elif load == least:
                equal += 1
                if self._below(equal) == 0:
                    best = path
        return best

    def _move(self, number: int, path: int, now: int) -> None:
        flow, known = self.flows[number], self._known(number)
        flow.timed_out = False
        if path == flow.path:
            return
        if flow.path is not None:
            rate = self._rates[number].at(now)
            known[flow.path].load.add(-rate, now)
            known[path].load.add(rate, now)
            self.moves += 1
        flow.before = flow.path
        if flow.path is not None and flow.path % self.homes != path % self.homes:
            flow.before, flow.home_since = None, now
        flow.path, flow.moved_at, flow.sent = path, flow.following, 0

    def _estimator(self) -> Estimator:
        return Estimator(self.rules.rate_period, self.rules.rate_gain)

    def _below(self, bound: int) -> int:
        return int(self._random.whole(bound, 1)[0])

    def _next(self) -> int:
        """Return the generator's next number: one more than a draw below the largest bound."""
        return int(self._random.whole(2**64 - 1, 1)[0]) + 1


class Story:
    """Packets, answers, timeouts and probes over paths whose queues come and go, and what should follow from each."""

    def __init__(self, hermes: Hermes, seed: int) -> None:
        self.steps: list[Step] = []
        self.expected: list[list[float]] = []
        self._hermes = hermes
        self._draw = random.Random(seed)
        self._segments = [0] * 4
        self._delays = [0] * PATHS
        self._now = 30 * MICROSECOND
        self._chances = {
            self._time_out: 1.0,
            self._end: 0.3,
            self._wake: 2.0,
            self._answer_probe: 6.0,
            self._answer: 5.0,
            self._acknowledge: 45.0,
            self._change_routes: 0.5,
            self._send: 40.0,
        }
        if hermes.homes > 1:  # the order in which racks are found would be one more thing to know
            del self._chances[self._wake], self._chances[self._answer_probe]

    def go_on(self) -> None:
        draw = self._draw
        self._now += draw.choice((MICROSECOND, 5 * MICROSECOND, draw.randrange(200 * MICROSECOND)))
        if draw.random() < 0.02:
            self._delays = [draw.choice((1, 30, 60, 100, 150, 200, 300)) * MICROSECOND for _ in range(PATHS)]
        (happens,) = draw.choices(list(self._chances), list(self._chances.values()))
        happens(draw.randrange(4))

    def _send(self, flow: int) -> None:
        again = self._draw.random() < 0.05 and self._segments[flow] > 0
        segment = self._draw.randrange(self._segments[flow]) if again else self._segments[flow]
        self._segments[flow] += not again
        size = self._draw.choice((64, 1500))
        place = self._hermes.send(flow, self._now, size, segment, again=again)
        self._note(("send", flow, self._now, size, segment, int(again)), place)

    def _change_routes(self, _flow: int) -> None:
        alive = sorted(self._draw.sample(range(PATHS), self._draw.choice((2, PATHS - 1, PATHS))))
        self._hermes.alive = alive
        self._note(("routes", *alive))

    def _acknowledge(self, flow: int) -> None:
        path, sent, echo = self._passage()
        homes, taken = self._hermes.homes, self._hermes.flows[flow].path
        if taken is not None:
            path += taken % homes - path % homes
        self._hermes.acknowledged(flow, self._now, path, sent, echo=echo)
        self._note(("acknowledged", flow, self._now, path // homes, sent, int(echo)))

    def _answer(self, flow: int) -> None:
        if self._hermes.flows[flow].path is not None:
            self._note(("answer", flow, self._now, 40, 0, 0), self._hermes.answer(flow, self._now))

    def _time_out(self, flow: int) -> None:
        self._hermes.timed_out(flow, self._now)
        self._note(("timed_out", flow, self._now))

    def _end(self, flow: int) -> None:
        self._hermes.ended(flow, self._now)
        self._segments[flow] = 0
        self._note(("ended", flow, self._now))

    def _wake(self, _flow: int) -> None:
        probes = self._hermes.wake(self._now)
        self._note(("wake", self._now), probes=probes)

    def _answer_probe(self, flow: int) -> None:
        if self._hermes.knows_both_ways():
            pair = flow % 2
            path, sent, echo = self._passage()
            self._hermes.probed(pair, self._now, path, sent, echo=echo)
            self._note(("probed", pair, self._now, path, sent, int(echo)))

    def _passage(self) -> tuple[int, int, bool]:
        """Draw a path, when what has come back now was sent on it, and if it was marked."""
        path = self._draw.randrange(PATHS)
        rules, delay = self._hermes.rules, self._delays[path]
        if rules.round_trip_gain == 1:  # exactly at a threshold, or just beyond it
            apart = self._draw.choice((rules.low, rules.high, rules.low + rules.better_round_trip))
            delay = self._hermes.base + apart + self._draw.randint(-1, 1)
            return path, self._now - delay, self._draw.random() < (0.2 if apart == rules.low else 0.8)
        marked = self._draw.random() < (0.1 if delay < 100 * MICROSECOND else 0.9)
        return path, self._now - FASTEST - delay - self._draw.randrange(MICROSECOND), marked

    def _note(self, step: Step, place: float = -1, probes: Sequence[tuple[int, int]] = ()) -> None:
        hermes = self._hermes
        wakes_at = -1 if hermes.wakes_at is None else hermes.wakes_at
        hermes.wakes_at = None
        self.steps.append(step)
        self.expected.append(
            [place, hermes.moves, hermes.found, wakes_at, *[each for probe in probes for each in probe]]
        )
