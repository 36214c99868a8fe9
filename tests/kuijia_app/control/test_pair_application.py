"""The controller as one of several: what it leaves to the one that acts, and what it tells in its metrics."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kuijia_app.control import switch_application
from kuijia_app.control.controller_roles import SINGLE, STANDS_BY_ITSELF
from kuijia_app.control.pair import Beat, Decision, Pair
from kuijia_app.control.peer_messages import encoded
from kuijia_app.control.roles import first_generation
from kuijia_app.control.rollout import Stages, Version
from kuijia_app.controller import KuijiaController, Tick
from kuijia_app.framework.guarded_app import GuardedApp
from te_solver.formats.plan_file import load_plan
from tests.kuijia_app.control.applications import application_of
from tests.kuijia_app.control.fake_switch import S1, connected
from tests.kuijia_app.plans import motivation_plan

BEAT, LEASE = 0.1, 0.8
HANDOVER_PATIENCE = 2.0


def refuse(*_arguments: object, **_options: object) -> None:
    raise AssertionError("it solves")


def displace(controller: KuijiaController) -> None:
    """Let the only switch that is connected have another master."""
    connected(controller, S1)
    controller.roles.displaced("s1", "OFPRRFC_STALE")


def part(controller: KuijiaController) -> tuple[float, float]:
    """Return what the metrics say: it acts, and another one could take over."""
    values = {metric.name: dict(found) for metric, found in controller._metrics.tally.read()}
    acts, ready = (values[f"kuijia_controller_{name}"][()] for name in ("acts", "successor_ready"))
    return float(str(acts)), float(str(ready))


def test_one_that_stands_by_leaves_it_to_the_other_to_solve_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with application_of(motivation_plan(), tmp_path) as controller:
        monkeypatch.setattr(controller._reoptimisation, "look", refuse)
        controller.roles.join(Pair(1, controller._runtime.now()))
        assert controller._solved_anew() is None
        controller.roles.pair = None
        with pytest.raises(AssertionError, match="it solves"):
            controller._solved_anew()


def test_its_own_word_is_no_sign_of_a_peer(tmp_path: Path) -> None:
    with application_of(motivation_plan(), tmp_path) as controller:
        controller.roles.join(Pair(1, controller._runtime.now()))
        beat = Beat(1, False, first_generation(1, 1), frozenset(), process=controller.roles.process)
        controller._decoded(encoded(beat, None, controller._agreed))()
        assert controller.roles.pair is not None
        assert controller.roles.pair.instance == 1
        assert (
            controller.roles.pair.obstacle(frozenset(), controller._runtime.now())
            == "no peer has shown a sign of life for 0.8 s"
        )


def test_after_every_takeover_it_is_told_that_another_one_could_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    with application_of(motivation_plan(), tmp_path) as controller:
        monkeypatch.setattr(controller._runtime, "now", lambda: now[0])
        pair = Pair(1, now[0])
        controller.roles.join(pair)
        pair.is_acting = True
        controller.roles.pair = pair

        def hear(*, acts: bool) -> None:
            beat = Beat(2, acts, first_generation(9, 2), frozenset({"s1"}), hands_over=acts)
            controller._decoded(encoded(beat, None, controller._agreed))()
            controller.roles.tend(now[0])

        hear(acts=False)
        displace(controller)
        now[0] += BEAT
        pair.began_at = now[0] - LEASE
        monkeypatch.setattr(pair, "look", lambda *_arguments: pair._changed(Decision.TAKE_OVER))
        hear(acts=True)
    told = [json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    kinds = ("role-taken", "role-yielded", "successor-ready")
    assert [each for each in told if each in kinds] == [
        "successor-ready",
        "role-yielded",
        "role-taken",
        "successor-ready",
    ]


def test_the_message_that_makes_it_stand_by_brings_the_plan_and_its_own_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    ours = motivation_plan()
    theirs = replace(ours, pairs=tuple(replace(pair, demand=pair.demand / 2) for pair in ours.pairs))
    with application_of(ours, tmp_path) as controller:
        monkeypatch.setattr(controller._runtime, "now", lambda: now[0])
        controller.roles.join(Pair(1, now[0], is_acting=True))
        beat = Beat(2, True, first_generation(9, 2), frozenset(), process="theirs")
        for stages in (Stages(Version("new", theirs, {})), None):
            controller._heard.put(controller._decoded(encoded(beat, stages, controller._agreed)))
            controller.time_passed(Tick())
            now[0] += BEAT
        for then in controller._filed():
            then()
        assert controller._control.rollout.in_force.plan == theirs
    files = [load_plan(tmp_path / name) for name in ("plan.json", "plan.json.refused")]
    assert files == [theirs, ours]
    told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [each.get("reason") for each in told if each["event"] in ("role-yielded", "update-refused")] == [
        "a peer acts",
        "the controller that acts has another plan",
    ]


def test_metrics_tell_who_acts_and_whether_another_one_could_take_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    with application_of(motivation_plan(), tmp_path) as controller:
        monkeypatch.setattr(controller._runtime, "now", lambda: now[0])
        controller.roles.join(Pair(1, now[0]))
        assert part(controller) == (0, 0)
        assert controller.roles.pair is not None
        controller.roles.pair.is_acting = True
        controller._decoded(
            encoded(Beat(2, False, first_generation(1, 2), frozenset({"s1"})), None, controller._agreed)
        )()
        controller.roles.tend(now[0])
        assert part(controller) == (1, 1)
        now[0] += 2 * LEASE
        controller.roles.tend(now[0])
        assert part(controller) == (1, 0)


def test_a_controller_that_is_not_listed_is_named_and_its_plan_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    ours = motivation_plan()
    theirs = replace(ours, pairs=tuple(replace(pair, demand=pair.demand / 2) for pair in ours.pairs))
    with application_of(ours, tmp_path) as controller:
        monkeypatch.setattr(controller._runtime, "now", lambda: now[0])
        controller.roles.join(Pair(1, now[0]))
        listed = Beat(
            3, False, first_generation(1, 3), frozenset(), process="listed", hears=frozenset({controller.roles.process})
        )
        outsider = Beat(
            2, True, first_generation(9, 2), frozenset(), process="p", hears=frozenset(), address="10.0.0.9:6654"
        )
        for turn in range(40):
            for beat, stages in ((listed, None), (outsider, None if turn else Stages(Version("new", theirs, {})))):
                controller._heard.put(controller._decoded(encoded(beat, stages, controller._agreed)))
            controller.time_passed(Tick())
            now[0] += BEAT
        assert controller._control.rollout.in_force.plan == ours
    told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [each["address"] for each in told if each["event"] == "peer-unlisted"] == ["10.0.0.9:6654"]


class Asked:
    """A controller that acts, and was asked to hand over to a peer; its answers."""

    def __init__(self, controller: KuijiaController, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the peer stand by and the request be under way."""
        self.controller, self.answers, self.now = controller, list[str | None](), 100.0
        monkeypatch.setattr(controller._runtime, "now", lambda: self.now)
        self.pair = Pair(1, self.now, is_acting=True)
        controller.roles.join(self.pair)
        self.hear(acts=False, term=1)
        controller.roles.ask_to_hand_over(self.answers.append)
        self.let_pass(BEAT)

    def hear(self, *, acts: bool, term: int) -> None:
        """Take in a peer's sign of life."""
        beat = Beat(2, acts, first_generation(term, 2), frozenset())
        self.controller._decoded(encoded(beat, None, self.controller._agreed))()

    def let_pass(self, seconds: float) -> None:
        """Let time pass without a word."""
        self.now += seconds
        self.controller.roles.tend(self.now)


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    with application_of(motivation_plan(), tmp_path) as controller:
        yield Asked(controller, monkeypatch)


def test_a_handover_is_done_once_a_peer_says_that_it_acts_although_a_switch_said_so_before(asked: Asked) -> None:
    displace(asked.controller)
    asked.let_pass(BEAT)
    asked.hear(acts=False, term=9)
    asked.hear(acts=True, term=0)
    assert asked.answers == []
    asked.hear(acts=True, term=9)
    assert asked.answers == [None]


def test_a_switch_that_a_stranger_has_claimed_is_no_handover(asked: Asked, tmp_path: Path) -> None:
    displace(asked.controller)
    asked.let_pass(HANDOVER_PATIENCE)
    reason = "1 of 1 switches have another master (switch s1: OFPRRFC_STALE), but no peer has said that it acts"
    assert asked.answers == [reason]
    *_, last = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert (last["event"], last["reason"]) == ("handover-refused", reason)


def test_a_handover_has_failed_when_the_earlier_one_acts_again(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    displace(asked.controller)
    monkeypatch.setattr(asked.pair, "look", lambda *_arguments: asked.pair._changed(Decision.TAKE_OVER))
    asked.let_pass(BEAT)
    assert asked.answers == [
        "1 of 1 switches have another master (switch s1: OFPRRFC_STALE), but no peer has said that it acts"
    ]


def test_refused_requests_of_others_are_answered_but_do_not_fill_the_log(asked: Asked, tmp_path: Path) -> None:
    displace(asked.controller)
    asked.answers.clear()
    for _ in range(100):
        asked.controller.roles.ask_to_hand_over(asked.answers.append)
        asked.let_pass(0.0)
    for _ in range(2):
        asked.controller.roles.ask_to_hand_over()  # as for a signal
        asked.let_pass(0.0)
    assert asked.answers == [STANDS_BY_ITSELF] * 100
    told = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    refused = [(each["reason"], each["times"]) for each in told if each["event"] == "handover-refused"]
    assert refused == [(STANDS_BY_ITSELF, 1)] * 3


def test_a_line_is_answered_if_it_asks_for_a_handover_and_otherwise_taken_for_a_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with application_of(motivation_plan(), tmp_path) as controller:
        monkeypatch.setattr(switch_application, "ANSWER_SECONDS", 0.01)
        answer = controller._line_heard(b' {"do": "handover"}\n')
        assert answer is not None
        assert json.loads(answer) == {"done": False, "reason": "this controller does not answer"}
        heard = controller._heard.qsize()
        beat = Beat(2, False, first_generation(1, 2), frozenset())
        assert controller._line_heard(encoded(beat, None, controller._agreed)) is None
        assert controller._heard.qsize() == heard + 1


def test_the_signal_asks_for_a_handover(
    application: KuijiaController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedApp, "start", lambda _application: None)
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        application.start()
        signal.raise_signal(signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
    application.roles.tend(0.0)
    *_, last = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert (last["event"], last["reason"]) == ("handover-refused", SINGLE)
