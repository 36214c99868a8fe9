"""Choices of paths step by step: two racks of two hosts, with a spine for each path."""

from __future__ import annotations

import random
import shutil
from collections import defaultdict
from dataclasses import dataclass, field

import pytest

from simulator.packet import _core
from tests.sanitized import COMPILER
from tests.simulator.packet.disciplines import mixed
from tests.simulator.packet.hermes_reference import PATHS
from tests.simulator.packet.step_references import SECOND
from tests.simulator.packet.steps import Parts, Step

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed"),
]

MICROSECOND = SECOND // 1_000_000
MILLISECOND = SECOND // 1000
HOSTS = ((0, 2), (0, 3), (1, 2), (1, 3), (2, 0))
"""Ends of each flow."""


@dataclass
class Weight:
    """Weight of a path, and when a mark has last reduced it."""

    value: float = 1.0
    reduced: float = -float("inf")


@dataclass
class Clove:
    """CLOVE-ECN (Katta et al., HotNets 2016), section 3: weights of the paths from a host, which marks reduce."""

    gap: int
    kept: float
    pause: int
    random: _core.Random
    weights: defaultdict[int, list[Weight]] = field(
        default_factory=lambda: defaultdict(lambda: [Weight() for _ in range(PATHS)])
    )
    flowlets: dict[tuple[int, bool], tuple[int, int]] = field(default_factory=dict)  # path, and time of the last packet
    moves: int = 0

    def choose(self, flow: int, now: int, alive: list[int], *, is_answer: bool) -> int:
        """Return the place of the path among those alive."""
        path, last = self.flowlets.get((flow, is_answer), (-1, 0))
        if path not in alive or now - last > self.gap:
            before = path
            weights = self.weights[HOSTS[flow][is_answer]]
            left = float(self.random.unit(1)[0]) * sum(weights[each].value for each in alive)
            for path in alive:
                left -= weights[path].value
                if left < 0:
                    break
            self.moves += not is_answer and before not in (-1, path)
        self.flowlets[flow, is_answer] = path, now
        return alive.index(path)

    def marked(self, flow: int, path: int, now: int) -> None:
        weights = self.weights[HOSTS[flow][0]]
        if now - weights[path].reduced < self.pause:
            return
        lost = weights[path].value * (1 - self.kept)
        for weight in weights:
            weight.value += -lost if weight is weights[path] else lost / (PATHS - 1)
        weights[path].reduced = now


@pytest.mark.parametrize("kept", [0.67, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_clove_takes_paths_by_weights_that_marks_reduce(parts: Parts, kept: float, seed: int) -> None:
    draw = random.Random(seed)
    gap, pause = 150 * MICROSECOND, 40 * MICROSECOND
    reference = Clove(gap, kept, pause, _core.Random(mixed(seed + 0x636C6F7665)))
    alive = list(range(PATHS))
    steps: list[Step] = []
    expected: list[list[float]] = []
    now = SECOND

    def send(flow: int, *, is_answer: bool) -> None:
        """Answers do not hear of new routes here."""
        known = list(range(PATHS)) if is_answer else alive
        place = reference.choose(flow, now, known, is_answer=is_answer)
        steps.append(("answer" if is_answer else "send", flow, now, 1_500, 0, 0))
        expected.append([place, reference.moves, 0, -1])

    for flow in range(len(HOSTS)):  # all learn of all paths
        send(flow, is_answer=False)
        send(flow, is_answer=True)
    for _ in range(3_000):
        now += draw.choice((MICROSECOND, pause, gap, draw.randrange(400 * MICROSECOND)))
        flow = draw.randrange(len(HOSTS))
        match draw.randrange(20):
            case 0:
                alive = sorted(draw.sample(range(PATHS), draw.randint(1, PATHS)))
                steps.append(("routes", *alive))
                expected.append([-1, reference.moves, 0, -1])
            case turn if turn < 8:
                path, echo = draw.randrange(PATHS), int(draw.random() < 0.7)
                if echo:
                    reference.marked(flow, path, now)
                steps.append(("acknowledged", flow, now, path, now - gap, echo))
                expected.append([-1, reference.moves, 0, -1])
            case turn:
                send(flow, is_answer=turn > 17)
    assert reference.moves > 100
    assert parts.answers("clove", steps, paths=PATHS, seed=seed, kept=kept) == expected


def test_answers_avoid_a_path_that_their_rack_has_found_to_fail(parts: Parts) -> None:
    """By hand: of five packets of the flow back one is sent again, more than a tenth: its first path has failed."""
    steps: list[Step] = [("send", 4, number * MICROSECOND, 1_500, number, 0) for number in range(5)]
    steps.append(("send", 4, 2 * MILLISECOND, 1_500, 0, 1))
    steps += [("answer", 0, (3 + turn) * MILLISECOND, 40, 0, 0) for turn in range(60)]
    rules = {"failure_every": MILLISECOND, "failure_sample": 5, "failure_share": 0.1, "answer_pause": MICROSECOND}
    answers = parts.answers("hermes", steps, paths=PATHS, delay=10 * MICROSECOND, probing=0, **rules)
    (failed, *_), (moved, moves, failures, _) = answers[4], answers[5]
    assert (moves, failures, moved != failed) == (1, 1, True)
    assert {place for place, *_ in answers[6:]} == set(range(PATHS)) - {failed}


def test_a_round_trip_of_flowbender_ends_with_what_was_sent_when_it_began(parts: Parts) -> None:
    """By hand: of four marked packets the acknowledgement of the last ends the first round trip, and moves the flow."""
    steps: list[Step] = [("send", 0, SECOND, 1_500, number, 0) for number in range(4)]
    steps += [("acknowledged", 0, SECOND, 0, 0, 1, missing) for missing in range(1, 5)]
    answers = parts.answers("flow_bender", steps, paths=PATHS)
    assert [moves for _, moves, _, _ in answers[4:]] == [0, 0, 0, 1]


@pytest.mark.parametrize("part", ["clove", "hermes"])
def test_a_flow_that_takes_another_set_of_paths_stays_on_its_own(parts: Parts, part: str) -> None:
    """The sets have the same paths, one from the first to the last and one the other way."""
    steps: list[Step] = []
    for turn in range(4):
        steps += [("reverse", 0, turn % 2), ("send", 0, turn * MICROSECOND, 1_500, turn, 0)]
    places = [place for place, *_ in parts.answers(part, steps, paths=PATHS)][1::2]
    assert places == [places[0], PATHS - 1 - places[0]] * 2
