"""Parts of the core against references that follow their papers and RFCs step by step."""

from __future__ import annotations

import copy
import dataclasses
import heapq
import itertools
import math
import random
import shutil
from fractions import Fraction

import pytest

from simulator.packet import _core
from tests.sanitized import COMPILER
from tests.simulator.packet.delay_references import Bbr, Copa, DeliveryRate, News, Vegas
from tests.simulator.packet.hermes_reference import FASTEST, PATHS, Hermes, HermesRules, Story
from tests.simulator.packet.step_references import (
    SECOND,
    CreditRate,
    Cubic,
    Dctcp,
    ExpressPassReceiver,
    FlashPass,
    FlashPassReceiver,
    Priorities,
    Red,
    Reno,
    Tokens,
)
from tests.simulator.packet.steps import Parts, Step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]

MILLISECOND = SECOND // 1000
MICROSECOND = SECOND // 1_000_000
NEW_RENO, CUBIC, DCTCP, VEGAS, COPA, BBR = range(6)
TAKE, MARK, DROP = 0, 1, 2
DATA, EMULATION, CREDIT = 0, 4, 5
NEVER = float(2**63 - 1)
CARD = 10_000_000
"""bit/s of a card so slow that a round trip has few emulation packets."""


def window_steps(seed: int) -> list[Step]:
    """Draw growth through some losses, marks and timeouts, some at once, some after long."""
    draw = random.Random(seed)
    steps: list[Step] = []
    now = first_missing = 0
    for _ in range(400):
        now += draw.choice((MILLISECOND, 30 * MILLISECOND, draw.randrange(SECOND)))
        round_trip = draw.choice((0, 10 * MILLISECOND, draw.randrange(2 * SECOND)))
        acknowledged = draw.randint(1, 4)
        first_missing += acknowledged
        steps.append(
            ("observe", first_missing, acknowledged, int(draw.random() < 0.3), first_missing + draw.randint(1, 9))
        )
        match draw.randrange(60):
            case 0:
                steps.append(("lost", draw.uniform(1, 60)))
            case 1 | 2:
                steps.append(("marked", draw.uniform(1, 60)))
            case 3:
                steps += [("timed_out", draw.uniform(1, 60)), ("set", 1.0)]
            case _:
                steps.append(("grow", float(acknowledged), now, round_trip))
    return steps


def window_answers(control: Reno, steps: list[Step]) -> list[float]:
    found = []
    for name, *numbers in steps:
        if name == "set":
            control.size = float(numbers[0])
        else:
            getattr(control, str(name))(*numbers)
        found += [control.size, control.threshold]
    return found


@pytest.mark.parametrize(
    ("congestion", "control", "rules"),
    [
        (NEW_RENO, Reno(10.0, 2.0), {}),
        (CUBIC, Cubic(10.0, 2.0), {}),
        (CUBIC, Cubic(40.0, 8.0, beta=0.5), {"window": 40.0, "counting_limit": 8.0, "cubic_keeps": 0.5}),
        (CUBIC, Cubic(10.0, 2.0, fast_convergence=False), {"cubic_fast_convergence": 0}),
        (DCTCP, Dctcp(10.0, 2.0), {}),
        (DCTCP, Dctcp(10.0, 2.0, gain=0.3, least=0.5), {"dctcp_gain": 0.3, "dctcp_least_window": 0.5}),
    ],
    ids=["reno", "cubic", "half cubic", "cubic without fast convergence", "dctcp", "quick dctcp"],
)
@pytest.mark.parametrize("seed", range(8))
def test_windows_are_those_of_the_rfcs(
    parts: Parts, congestion: int, control: Reno, rules: dict[str, float], seed: int
) -> None:
    steps = window_steps(seed)
    answers = parts.answers("window", steps, congestion=congestion, **rules)
    expected = window_answers(copy.deepcopy(control), steps)
    assert [number for answer in answers for number in answer] == pytest.approx(expected, rel=1e-9)


def test_cubic_converges_fast_only_below_its_old_maximum(parts: Parts) -> None:
    """By hand: at 80 after a maximum of 100 the new one is 80 * 1.7 / 2 = 68, so that K = ((68 - 56) / 0.4)^(1/3)."""
    steps: list[Step] = [("set", 100.0), ("lost", 100.0), ("set", 80.0), ("lost", 80.0)]
    steps += [("grow", 1.0, 0, 0), ("set", 56.0), ("grow", 1.0, SECOND, SECOND // 10)]
    sizes = [size for size, _ in parts.answers("window", steps, congestion=CUBIC)]
    ahead = 0.4 * (1.1 - (12 / 0.4) ** (1 / 3)) ** 3 + 68
    assert sizes[1:4:2] == pytest.approx([70.0, 56.0])
    assert sizes[-1] == pytest.approx(56 + (ahead - 56) / 56)


def test_cubic_that_regained_its_old_maximum_keeps_it_and_climbs_from_there(parts: Parts) -> None:
    """By hand: at 100 again, W_max stays 100. Slow start up to there makes K 0, and the curve 0.4 * t^3 + 100."""
    steps: list[Step] = [("set", 100.0), ("lost", 100.0), ("set", 100.0), ("lost", 100.0), ("set", 100.0)]
    steps += [("grow", 1.0, 0, 0), ("set", 100.0), ("grow", 1.0, 4 * SECOND, SECOND)]
    sizes = [size for size, _ in parts.answers("window", steps, congestion=CUBIC)]
    assert sizes[-1] == pytest.approx(100 + 0.4 * 5**3 / 100)


def test_cubic_that_loses_at_its_old_maximum_keeps_that(parts: Parts) -> None:
    """By hand: W_max stays 100, so K = ((100 - 70) / 0.4)^(1/3)."""
    steps: list[Step] = [("set", 100.0), ("lost", 100.0), ("set", 100.0), ("lost", 100.0)]
    steps += [("grow", 1.0, 0, 0), ("set", 70.0), ("grow", 1.0, 4 * SECOND, SECOND)]
    sizes = [size for size, _ in parts.answers("window", steps, congestion=CUBIC)]
    ahead = 0.4 * (5 - 75 ** (1 / 3)) ** 3 + 100
    assert sizes[-1] == pytest.approx(70 + (ahead - 70) / 70)


def test_cubic_is_in_the_friendly_region_while_its_curve_is_below_reno(parts: Parts) -> None:
    """By hand: alpha = 3 * 0.3 / 1.7 for each window of segments, until the old window is regained, then 1."""
    steps: list[Step] = [("set", 10.0), ("lost", 10.0), *[("grow", 7.0, 0, 0)] * 8]
    sizes = [size for size, _ in parts.answers("window", steps, congestion=CUBIC)][1:]
    reno = 7.0
    for size, after in itertools.pairwise(sizes):
        reno += (1.0 if reno >= 10 else 0.9 / 1.7) * 7 / size
        curve = -0.4 * (3 / 0.4) + 10  # at time 0: what was left after the loss
        assert after == pytest.approx(max(size, reno) if curve < reno else size)
    assert sizes[-1] > 10


def test_cubic_at_its_window_before_the_loss_grows_as_fast_as_reno(parts: Parts) -> None:
    """By hand: a loss at the smallest window leaves it there, W_est = cwnd_prior = 2, so alpha is 1: 2 + 1 / 2."""
    steps: list[Step] = [("set", 2.0), ("lost", 2.0), ("grow", 1.0, 0, 0)]
    assert [size for size, _ in parts.answers("window", steps, congestion=CUBIC)] == [2.0, 2.0, 2.5]


class Acknowledgements:
    """Segments and acknowledgements by chance, busy and quiet in turn, with the answers of a reference."""

    def __init__(self, control: Vegas | Copa | Bbr, seed: int) -> None:
        self.steps: list[Step] = []
        self.expected: list[float] = []
        self._control, self._delivery, self._draw = control, DeliveryRate(), random.Random(seed)
        self._now, self._number, self._smoothed = SECOND, 0, 0
        self._outstanding: list[tuple[int, int]] = []  # segments, and when they left

    def go_on(self, *, busy: bool) -> None:
        for _ in range(self._draw.randrange(4) if len(self._outstanding) < (40 if busy else 3) else 0):
            self._send()
        if self._outstanding and self._draw.random() < 0.05:  # one is sent again
            place = self._draw.randrange(len(self._outstanding))
            number = self._outstanding[place][0]
            self._outstanding[place] = number, self._now
            self._delivery.send(number, self._now, idle=False)
            self._note("sent", number, 0, self._now)
        if self._draw.random() < 0.03:
            self._delivery.limit(len(self._outstanding))
            self._note("limited", len(self._outstanding))
        # Fewer acknowledgements would be told apart by windows of time than there are.
        self._now += self._draw.randrange(40 * MILLISECOND, 120 * MILLISECOND)
        if self._outstanding:
            self._acknowledge()
        match self._draw.randrange(150):
            case 0 | 1 | 2:
                in_flight = self._draw.randint(1, 40)
                self._control.lost(in_flight)
                self._note("lost", in_flight)
            case 3:
                self._control.timed_out(9)
                self._note("timed_out", 9)
                self._control.size = 1.0
                self._note("set", 1)
            case 4 | 5 | 6 | 7:
                self._control.recovered()
                self._note("recovered")

    def _send(self) -> None:
        idle = not self._outstanding
        if idle:
            self._control.restart(limited=self._delivery.limited_until > 0)
        self._delivery.send(self._number, self._now, idle=idle)
        self._note("sent", self._number, int(idle), self._now)
        self._outstanding.append((self._number, self._now))
        self._number += 1

    def _acknowledge(self) -> None:
        draw, count = self._draw, min(self._draw.randint(1, 3), len(self._outstanding))
        came = [self._outstanding.pop(draw.choice((0, 0, 0, -1))) for _ in range(count)]
        for number, _ in [*came, *came[: draw.random() < 0.1]]:
            self._delivery.deliver(number, self._now)
            self._note("delivered", number, self._now)
        self._smoothed = draw.randrange(100 * MILLISECOND, 2 * SECOND)
        news = News(
            self._now,
            self._now - came[-1][1],
            self._smoothed,
            self._outstanding[0][0] if self._outstanding else self._number,
            self._number,
            count,
            draw.choice((0, 0, 0, 1, 2)),
            draw.choice((len(self._outstanding), draw.randrange(6), draw.randrange(60))),
            *(draw.random() < 0.8 for _ in range(3)),
        )
        self._control.acknowledged(news, self._delivery)
        self._note("acknowledged", *map(int, dataclasses.astuple(news)))

    def _note(self, *step: str | float) -> None:
        self.steps.append(step)
        self.expected += [self._control.size, self._control.threshold, self._control.pace(self._smoothed)]


@pytest.mark.parametrize(
    ("kind", "number", "rules"),
    [
        (Vegas, VEGAS, {}),
        (Vegas, VEGAS, {"alpha": 1.0, "beta": 1.5, "gamma": 0.5, "keeps": 1.0, "alternates": False, "limit": 8.0}),
        (Copa, COPA, {}),
        (Copa, COPA, {"delta": 0.1, "competes": False, "cautious": True, "paced": False}),
        (Copa, COPA, {"nearly_empty": 0.5, "cautious": True}),
        (Bbr, BBR, {"round_trip_window": 5 * SECOND}),
        (
            Bbr,
            BBR,
            {"round_trip_window": 7 * SECOND, "probe": SECOND, "heeds_loss": True, "probing_gain": 0.1}
            | {"pacing_margin": 0.0, "window_gain": 3.0, "initial": 20.0},
        ),
    ],
    ids=["vegas", "quick vegas", "copa", "cautious copa", "copa that competes late", "bbr", "bbr that heeds losses"],
)
@pytest.mark.parametrize("seed", range(4))
def test_controls_by_delay_and_by_rate_are_those_of_their_papers(
    parts: Parts, kind: type[Vegas | Copa | Bbr], number: int, rules: dict[str, float], seed: int
) -> None:
    control = kind(**rules)  # type: ignore[arg-type]  # flags are numbers
    if isinstance(control, Bbr):
        control.random = _core.Random(seed)
    story = Acknowledgements(control, seed)
    for turn in range(1500):
        story.go_on(busy=turn // 150 % 3 < 2)
    names = {"limit": "counting_limit", "initial": "initial_window"}
    options = {names.get(name, f"{kind.__name__.lower()}_{name}"): float(value) for name, value in rules.items()}
    answers = parts.answers("feedback", story.steps, congestion=number, seed=seed, **options)
    assert [each for answer in answers for each in answer] == pytest.approx(story.expected, rel=1e-9)


def test_bbr_takes_a_quarter_more_for_growth(parts: Parts) -> None:
    """Section 4.3.2.2: two rounds after exactly a quarter more it is still in its start-up, at its first pace."""
    steps: list[Step] = []
    now = SECOND
    for number, rate in enumerate((1, 1.25, 1.25, 1.25)):
        apart = int(SECOND / rate)
        steps += [("sent", number, 1, now), ("delivered", number, now + apart)]
        steps.append(("acknowledged", now + apart, apart, apart, number + 1, number + 1, 1, 0, 9, 1, 1, 1))
        now += apart
    answers = parts.answers("feedback", steps, congestion=BBR, bbr_pacing_margin=0)
    assert answers[-1][2] == pytest.approx(2 / math.log(2) * 10)


@pytest.mark.parametrize("as_code", [False, True], ids=["printed", "coded"])
@pytest.mark.parametrize("floor", [False, True], ids=["no floor", "floor"])
@pytest.mark.parametrize("seed", range(8))
def test_credit_rates_are_those_of_algorithm_1_and_of_the_public_code(
    parts: Parts, seed: int, *, as_code: bool, floor: bool
) -> None:
    draw = random.Random(seed)
    weights = (0.01, 0.5) if seed % 2 else (0.05, 0.3)
    reference = CreditRate(0.0625, *weights, 0.1, as_code, floor)
    now, expected, share = 10**9, [0.0625], 0.0
    steps: list[Step] = [("begin", 0.0625, now)]
    reference.begin(0.0625, now)
    for _ in range(400):
        now += draw.randrange(1, 400_000)
        if draw.random() < 0.03:
            share = draw.choice((0.0, 0.02, 0.08, 0.1, 0.12, 0.3, 0.8))
        lost = 0
        while draw.random() < share:
            lost += 1
        round_trip = draw.choice((0, 1_000_000, 2_000_000, 2_000_000, 50_000 if as_code or floor else 1_000_000))
        full = draw.uniform(1e3, 1.5e5)
        steps += [("noted", lost), ("adapt", now, round_trip, full)]
        reference.noted(lost)
        expected.append(reference.rate)
        reference.adapt(now, round_trip, full)
        expected.append(reference.rate)
    rules = {"initial_weight": 0.0625, "least_weight": weights[0], "most_weight": weights[1], "target_loss": 0.1}
    answers = parts.answers("credit_rate", steps, as_code=int(as_code), floor=int(floor), **rules)
    assert [rate for (rate,) in answers] == pytest.approx(expected, rel=1e-9)


def test_a_rate_of_credits_falls_to_what_came_through_and_the_target_more(parts: Parts) -> None:
    """By hand: 7 came through in the time of 10: 0.7 * 1.1. Then none is lost, twice: w = 1/4, (w + 1/2) / 2."""
    steps: list[Step] = [("begin", 0.5, 0), ("noted", 3), *[("noted", 0)] * 6, ("adapt", 10, 10, 1.0)]
    for time in (20, 30):
        steps += [("noted", 0), ("adapt", time, 10, 1.0)]
    rates = [rate for (rate,) in parts.answers("credit_rate", steps, initial_weight=0.5)]
    assert rates[8] == pytest.approx(0.77)
    assert rates[10] == pytest.approx(0.75 * 0.77 + 0.25 * 1.1)
    assert rates[12] == pytest.approx(0.625 * rates[10] + 0.375 * 1.1)


def test_a_rate_of_the_public_code_at_the_most_stays_there_while_nothing_is_lost(parts: Parts) -> None:
    """Its target is then 0, and a loss of 0 is not above it, however few credits came through."""
    steps: list[Step] = [("begin", 1.0, 0), ("noted", 0), ("adapt", 1000, 1000, 1.0)]
    assert parts.answers("credit_rate", steps, as_code=1)[-1] == [1.0]


@pytest.mark.parametrize("seed", range(4))
def test_a_receiver_of_expresspass_sends_credits_at_its_rate(parts: Parts, seed: int) -> None:
    draw = random.Random(seed)
    most = CARD * 84 / (84 + 1538)
    receiver = ExpressPassReceiver(CreditRate(floor=True), most, (76, 92), 0.05, _core.Random(seed))
    now = SECOND
    sent: list[tuple[int, int]] = []  # credits on their way and their data
    with parts.begin("expresspass", floor=1, card=CARD, seed=seed, timeout=1000 * SECOND) as host:
        for _ in range(400):
            credits_before = len(receiver.credits)
            due = receiver.due if receiver.crediting else None
            if due is None:
                now += draw.randrange(1, MILLISECOND)
                receiver.request(now, 0.0625)
                answer = host.step("request", now, 1000, 0)
            elif sent and sent[0][0] <= due:
                now, number = sent.pop(0)
                if draw.random() < 0.02:
                    receiver.stop()
                    answer = host.step("stop", now, 0, 0)
                elif draw.random() < 0.15:
                    continue  # lost
                else:
                    left = now - 20 * MILLISECOND - draw.randrange(MILLISECOND)
                    receiver.data(now, left, number)
                    answer = host.step("data", now, 0, left, number, number + 1)
            else:
                now = due
                receiver.wake(now)
                answer = host.step("wake", now, 1)
            made = [each for each in range(3, len(answer)) if answer[each] == CREDIT and len(answer) - each >= 7]
            sizes = [int(answer[each + 3]) for each in made[:1]]
            assert sizes == receiver.credits[credits_before:]
            assert answer[0] == pytest.approx(receiver.rate.rate, rel=1e-9)
            if receiver.crediting:
                assert answer[2] == receiver.due
            if sizes:
                assert answer[-2:] == [len(receiver.credits) - 1, len(receiver.credits)]
                sent.append((now + 20 * MILLISECOND, len(receiver.credits) - 1))


@pytest.mark.parametrize("batch", [1, 3, 7])
def test_a_receiver_of_flashpass_returns_each_credit_in_time_for_its_data(parts: Parts, batch: int) -> None:
    draw = random.Random(batch)
    receiver = FlashPassReceiver(50 * MILLISECOND, batch)
    now = 100 * MILLISECOND
    found: list[tuple[int, list[int]]] = []
    number = 0
    with parts.begin("flashpass", wait=receiver.wait, batch=batch, timeout=1000 * SECOND) as host:
        for _ in range(300):
            now += draw.randrange(1, 2 * MILLISECOND)
            if receiver.answer_at is not None and receiver.answer_at <= now:
                now = receiver.answer_at
                receiver.wake(now)
                answer = host.step("wake", now, 1)
            else:
                number += 1 if draw.random() < 0.7 else 2
                sent = now - draw.choice((5, 22, 24, 25, 60)) * MILLISECOND
                receiver.arrive(number, sent, now)
                answer = host.step("emulation", now, number, sent)
            assert answer[2] == (NEVER if receiver.answer_at is None else receiver.answer_at)
            packets = answer[3:]
            while packets:
                size, left = packets[3:5]
                numbers: list[int] = []
                packets = packets[3:]
                while packets and packets[0] == size:
                    numbers += range(int(packets[2]), int(packets[3]))
                    packets = packets[4:]
                assert size == 84 + 8 * (len(numbers) - 1)
                found.append((int(left), numbers))
            assert found == receiver.answered
    assert len(found) >= 300 / 2 / batch / 2


@pytest.mark.parametrize("seed", range(4))
def test_red_judges_as_floyd_and_jacobson_say(parts: Parts, seed: int) -> None:
    draw = random.Random(seed)
    rules = {
        "low": 3000,
        "high": 9000 + 3000 * seed,
        "probability": (0.1, 1.0)[seed % 2],
        "weight": (0.25, 1.0)[seed // 2],
    }
    reference = Red(random=_core.Random(seed), **rules)  # type: ignore[arg-type]  # the whole numbers are ints
    steps: list[Step] = []
    expected: list[float] = []
    waiting = 0
    for _ in range(4000):
        waiting = max(0, waiting + draw.randint(-3000, 3000)) if draw.random() < 0.99 else draw.randrange(30_000)
        missed = draw.randrange(6) if waiting == 0 else 0
        capable = draw.randrange(2)
        steps.append(("judge", capable, waiting, missed))
        expected.append(reference.judge(capable, waiting, missed))
    assert [verdict for (verdict,) in parts.answers("red", steps, seed=seed, **rules)] == expected
    assert {TAKE, MARK, DROP} == set(expected)


@pytest.mark.parametrize("seed", range(3))
def test_red_counts_packets_from_its_low_threshold_on_and_drops_all_from_the_high_one(parts: Parts, seed: int) -> None:
    """By hand: at the low threshold nothing is marked but counted; nine later a tenth has become a certainty."""
    steps: list[Step] = [*[("judge", 1, 1000, 0)] * 9, ("judge", 1, 1100, 0), ("judge", 1, 2000, 0)]
    verdicts = parts.answers("red", steps, seed=seed, low=1000, high=2000, probability=1.0, weight=1.0)
    assert verdicts == [*[[TAKE]] * 9, [MARK], [DROP]]
    assert parts.answers("red", steps[-1:], seed=seed, low=1000, high=2000, probability=0.01, weight=1.0) == [[DROP]]


def test_an_average_of_red_decays_until_it_is_below_a_byte(parts: Parts) -> None:
    """By hand: 1.5, and idle for a packet 0.75, then 0.875, which is below the high threshold of a byte."""
    steps: list[Step] = [("judge", 1, 3, 0), ("judge", 1, 1, 1)]
    verdicts = parts.answers("red", steps, low=0, high=1, probability=1.0, weight=0.5)
    assert verdicts[0] == [DROP]
    assert verdicts[1] != [DROP]


def timer(parts: Parts, steps: list[Step], **rules: float) -> list[float]:
    """Return the seconds from each step, whose first number is its time, to the deadline after it; -1 for none."""
    answers = parts.answers("tcp", steps, congestion=NEW_RENO, **rules)
    return [
        -1.0 if deadline < 0 else (deadline - float(step[1])) / SECOND
        for step, (_, _, _, _, deadline, _) in zip(steps, answers, strict=True)
    ]


def test_a_timer_expires_after_the_mean_round_trip_and_four_deviations(parts: Parts) -> None:
    """RFC 6298, section 2, against a mean and a deviation of their own."""
    draw = random.Random(1)
    steps: list[Step] = []
    expected, now, mean, deviation = [], 0, None, 0.0
    timeout = 1.0
    for segment in range(200):
        sample = draw.choice((0.1, 0.3, draw.uniform(0.05, 2.0)))
        steps += [("send", now), ("acknowledged", now + round(sample * SECOND), segment + 1, now, 0)]
        expected += [timeout, -1.0]
        if mean is None:
            mean, deviation = sample, sample / 2
        else:
            deviation = 0.75 * deviation + 0.25 * abs(mean - sample)
            mean = 0.875 * mean + 0.125 * sample
        timeout = min(max(mean + 4 * deviation, 0.2), 60.0)
        now += 3 * SECOND
    assert timer(parts, steps) == pytest.approx(expected, abs=1e-9)


def test_a_timer_doubles_with_each_expiry_up_to_the_most_and_no_longer_after_news(parts: Parts) -> None:
    steps: list[Step] = [("send", 0)]
    for expiry in range(4):
        steps += [("timed_out", (expiry + 1) * 100 * SECOND), ("send", (expiry + 1) * 100 * SECOND)]
    steps += [("acknowledged", 500 * SECOND, 1, 499 * SECOND, 0), ("send", 500 * SECOND)]
    seconds = timer(parts, steps, max_timeout=9 * SECOND)
    assert seconds[0::2][:5] == [1.0, 2.0, 4.0, 8.0, 9.0]
    assert seconds[1:8:2] == [-1.0] * 4
    assert seconds[-1] == 3.0  # a mean of 1 s, and four times a deviation of a half


@pytest.mark.parametrize("expiries", [1, 3])
def test_a_threshold_falls_once_however_often_its_segment_times_out(parts: Parts, expiries: int) -> None:
    """RFC 5681, section 3.1: half of 16 in flight. Slow start from 1 then goes to 8, and on by a segment a window."""
    steps: list[Step] = [("send", 0)] * 16
    for _ in range(expiries):
        steps += [("timed_out", SECOND), ("send", SECOND)]
    steps += [("acknowledged", 2 * SECOND, segment, SECOND, 0) for segment in range(1, 10)]
    windows = [answer[2] for answer in parts.answers("tcp", steps, congestion=NEW_RENO, initial_window=16.0)]
    grown = windows[-9:]
    assert grown[:7] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert grown[7:] == pytest.approx([8.125, 8.125 + 1 / 8.125])


def test_three_segments_that_arrived_beyond_one_make_it_lost(parts: Parts) -> None:
    """RFC 6675: the third block repairs segment 0, halves the window, and lets no more go until the pipe has room."""
    steps: list[Step] = [("send", 0)] * 10
    steps += [("acknowledged", SECOND, 0, 0, 0, 1, last) for last in (2, 3, 4, 5, 6, 7)]
    for at in (12, 14, 17):
        steps.insert(at, ("send", SECOND))
    answers = parts.answers("tcp", steps, congestion=NEW_RENO)
    sent = [(number, again) for step, (number, again, *_) in zip(steps, answers, strict=True) if step[0] == "send"]
    assert sent[:10] == [(segment, 0) for segment in range(10)]
    assert sent[10:] == [(10, 0), (0, 1), (-1, 0)]
    assert [window for _, _, window, *_ in answers][12:14] == [10.0, 5.0]


def windows(parts: Parts, steps: list[Step]) -> list[float]:
    """Return the window after each step of a sender of ten segments."""
    answers = parts.answers("tcp", [*[("send", 0)] * 10, *steps], congestion=NEW_RENO)
    return [window for _, _, window, *_ in answers[10:]]


def test_a_mark_halves_the_window_once_in_a_round_trip(parts: Parts) -> None:
    """RFC 3168, section 6.1.2: from 9 in flight to 4.5, nothing until these are acknowledged, then from 3 to 2."""
    steps: list[Step] = [("acknowledged", SECOND, segment, 0, segment % 2) for segment in range(1, 11)]
    steps += [*[("send", SECOND)] * 4, ("acknowledged", 2 * SECOND, 11, SECOND, 1)]
    assert windows(parts, steps) == [*[4.5] * 14, 2.0]


def test_a_mark_counts_with_a_loss_or_a_timeout_in_the_same_window(parts: Parts) -> None:
    """By hand: 5 after the loss, and 2 / 5 more; 1 after the timeout, and 2 more in slow start up to 5."""
    loss: list[Step] = [("acknowledged", SECOND, 0, 0, 0, 1, last) for last in (2, 3, 4)]
    everything = ("acknowledged", 2 * SECOND, 10, 0, 1)
    assert windows(parts, [*loss, everything])[2:] == pytest.approx([5.0, 5.4])
    assert windows(parts, [("timed_out", SECOND), everything]) == [1.0, 3.0]


def follow_flashpass(parts: Parts, reference: FlashPass, seed: int, until: int, **rules: float) -> list[float]:
    """Let emulation packets be lost by chance on a path of 40 ms; return the rates, one by one, while both agree."""
    draw = random.Random(seed)
    round_trip = 40 * MILLISECOND
    on_the_way: list[tuple[int, int]] = []
    rates = [1.0]
    now, share = 0, 0.0
    common = {"card": CARD, "wait": reference.wait, "jitter": reference.jitter, "timeout": 1000 * SECOND, "seed": seed}
    with parts.begin("flashpass", **common, **rules) as sender:
        answer = sender.step("start", 0)
        while now < until:
            sent, emulated = reference.act(now)
            packets = list(zip(*[iter(answer[3:])] * 3, strict=True))
            assert sum(kind == DATA for kind, *_ in packets) == sent
            assert [(number, not drops) for kind, number, drops in packets if kind == EMULATION] == list(
                enumerate(emulated, len(reference.emulated) - len(emulated))
            )
            assert answer[0] == pytest.approx(reference.rate, rel=1e-9)
            _, _, _, _, *counted, _, _, _ = sender.step("counters", now)
            assert counted == [reference.round_trip, len(reference.emulated), reference.credits, reference.unused]
            if answer[0] != rates[-1]:
                rates.append(answer[0])
            for _ in emulated:
                if draw.random() < 0.02:
                    share = draw.choice((0.0, 0.0, 0.03, 0.2, 0.6, 1.0))
                if draw.random() >= share:
                    heapq.heappush(on_the_way, (now + round_trip, len(reference.emulated) - 1))
            deadline = reference.deadline()
            assert deadline is None or answer[1] == deadline
            if on_the_way and (deadline is None or on_the_way[0][0] <= deadline):
                now, number = heapq.heappop(on_the_way)
                reference.credit(number, now)
                answer = sender.step("credits", now, 0, number, number + 1)
            elif deadline is not None:
                now = deadline
                answer = sender.step("wake", now)
            else:
                break
    return rates


def flashpass_gap(pace: float) -> float:
    return 84 * 8 * SECOND / (84 / (84 + 1538) * pace * CARD)


@pytest.mark.parametrize("seed", range(6))
def test_flashpass_follows_algorithm_1(parts: Parts, seed: int) -> None:
    """At the last losses a round trip often loses just so much."""
    losses = ((0.01, 0.1), (0.05, 0.25), (0.25, 0.5))[seed % 3]
    jitter, draws = (0.0, None) if seed < 3 else (0.5, _core.Random(seed))
    reference = FlashPass(50 * MILLISECOND, flashpass_gap(0.95), *losses, jitter=jitter, random=draws)
    rates = follow_flashpass(parts, reference, seed, 3 * SECOND, least_loss=losses[0], most_loss=losses[1])
    assert len(rates) >= 10
    assert min(rates) < 0.5


@pytest.mark.parametrize("finishing", [0, 1, 2], ids=["selective", "aggressive", "passive"])
@pytest.mark.parametrize("send_buffer", [0, 1, 12])
def test_emulation_ends_when_credits_in_hand_or_expected_are_enough(
    parts: Parts, finishing: int, send_buffer: int
) -> None:
    reference = FlashPass(
        50 * MILLISECOND, flashpass_gap(1.0), segments=60, finishing=finishing, send_buffer=send_buffer
    )
    rules = {"finishing": finishing, "send_buffer": send_buffer, "pace": 1.0, "bytes": 60 * 1460}
    follow_flashpass(parts, reference, 5, 400 * MILLISECOND, **rules)
    assert reference.data > (3 if send_buffer == 1 else 30)


def priorities(seed: int) -> tuple[Priorities, list[Step]]:
    """Draw four queues, some with tokens of their own, and two buckets for two of them each."""
    draw = random.Random(seed)
    rates = (8_000_000, 16_000_000, 32_000_000)
    steps: list[Step] = []
    limits: list[int] = []
    own: list[Tokens | None] = []
    for _ in range(4):
        limits.append(draw.choice((3_000, 10_000)))
        rate = draw.choice((0, 0, *rates))
        own.append(Tokens.of(rate, 2_000) if rate else None)
        steps.append(("queue", limits[-1], rate, 2_000))
    shared = []
    for places in ([0, 2], [1, 3]) if seed % 2 else ([0, 1, 3],):
        rate = draw.choice(rates)
        shared.append((Tokens.of(rate, 3_000), places))
        steps.append(("bucket", rate, 3_000, *places))
    return Priorities(limits, own, shared), steps


@pytest.mark.parametrize("seed", range(8))
def test_queues_that_share_tokens_are_served_in_their_order(parts: Parts, seed: int) -> None:
    reference, steps = priorities(seed)
    draw = random.Random(seed)
    expected: list[tuple[float, float, float]] = [(-1, -1, 0)] * len(steps)
    now, retry = 0, None
    for number in range(1500):
        now = int(retry) if retry is not None and draw.random() < 0.5 else now + draw.randrange(500 * MICROSECOND)
        if draw.random() < 0.4:
            level, size = draw.randrange(5), draw.choice((64, 700, 1500))
            reference.offer(number, level, size)
            steps.append(("offer", now, number, level, size))
            expected.append((-1, -1, reference.dropped))
            continue
        left, due = reference.choose(now)
        retry = due
        steps.append(("choose", now))
        expected.append((left, -1 if due is None else float(Fraction(due)), reference.dropped))
    answers = parts.answers("strict_priority", steps)
    assert answers == [pytest.approx(answer) for answer in expected]


def test_a_queue_behind_one_that_waits_for_its_own_tokens_still_needs_shared_ones(parts: Parts) -> None:
    """By hand, at a byte in a microsecond: 1,500 bytes leave 500 own and 1,000 shared tokens, and 700 need 200 us."""
    steps: list[Step] = [("queue", 9_000, 8_000_000, 2_000), ("queue", 9_000, 0, 0), ("bucket", 8_000_000, 2_500, 0, 1)]
    steps += [("offer", 0, 1, 0, 1_500), ("offer", 0, 2, 0, 700), ("offer", 0, 3, 1, 1_500)]
    steps += [("choose", 0), ("choose", 0), ("choose", 200 * MICROSECOND), ("choose", 200 * MICROSECOND)]
    answers = parts.answers("strict_priority", steps)
    assert [answer[:2] for answer in answers[-4:]] == [
        [1, -1],
        [-1, 200 * MICROSECOND],
        [2, -1],
        [-1, 1_200 * MICROSECOND],
    ]


def test_a_path_of_hermes_fails_for_two_hosts_with_every_third_timeout(parts: Parts) -> None:
    """It has failed for 20 ms: timeouts in between prolong that, and count as a new failure only at its end."""
    steps: list[Step] = [("send", 0, MILLISECOND, 1500, 0, 0)]
    steps += [("timed_out", 0, time * MILLISECOND) for time in (1, 2, 3, 4, 5, 6, 26, 26, 26, 100, 101)]
    rules = {"failure_timeouts": 3, "failure_lasts": 20 * MILLISECOND}
    answers = parts.answers("hermes", steps, paths=PATHS, delay=10 * MICROSECOND, **rules)
    assert [int(failed) for _, _, failed, *_ in answers] == [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(
    "rules",
    [
        HermesRules(),
        HermesRules(uses_ecn=False, failure_timeouts=1, shares_data=True),
        HermesRules(reroute_share=0.5, reroute_pause=100 * MICROSECOND, failure_sample=5, failure_share=0.1),
        HermesRules(sent=0, rate=0.01, better_marked=0.2, better_round_trip=30 * MICROSECOND, one_way=False),
        HermesRules(detects_failures=False, base=50 * MICROSECOND, probe_paths=3, marked_sample=3),
        HermesRules(rerouting=False, probing=False),
        HermesRules(round_trip_gain=1.0, marked_sample=1, one_way=False, sent=0, high=80 * MICROSECOND, rate=1.0),
    ],
    ids=[
        "usual",
        "by delay alone, shared",
        "some of the time",
        "soon",
        "without failures",
        "without moves",
        "at thresholds",
    ],
)
@pytest.mark.parametrize("homes", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_hermes_follows_algorithms_1_and_2(parts: Parts, rules: HermesRules, homes: int, seed: int) -> None:
    back = 0 if rules.one_way else 4 * (10 * MICROSECOND + 40 * 800)
    per_period = 10e9 / 8 * rules.rate_period / SECOND / rules.rate_gain
    story = Story(Hermes(rules, PATHS, FASTEST + back, per_period, seed, homes), seed)
    for _ in range(2500):
        story.go_on()
    options = {
        name: int(value) if isinstance(value, bool) else value for name, value in dataclasses.asdict(rules).items()
    }
    answers = parts.answers(
        "hermes", story.steps, homes=homes, paths=PATHS, delay=10 * MICROSECOND, seed=seed, **options
    )
    assert answers == story.expected
