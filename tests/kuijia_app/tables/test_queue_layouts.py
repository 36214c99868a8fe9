"""Layouts by name, a user's own from a file, and the faults of one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kuijia_app.tables.queue_layouts import LAYOUTS, named_layout
from kuijia_app.tables.queues import Queue, QueueLayout, TrafficClass, require_sound
from kuijia_base.errors import InputError, UnsoundError

MAX_QUEUES = 8

OWN = """\
name: mine
queues:
  - {id: 0, name: control, traffic_class: 6, ecn: 2, guaranteed: 0.02}
  - {id: 1, name: voice, traffic_class: 5}
  - {id: 2, name: data, traffic_class: 0, ecn: 0}
  - {id: 9, name: scavenger, traffic_class: 1, guaranteed: 0.05}
control: control
classes:
  - {priority: 0, code_points: [46, 40], normal: voice, victim: data}
  - {priority: 1, normal: data, victim: scavenger}
"""


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_built_in_layouts_are_sound_and_leave_unmarked_packets_to_their_last_class(layout: QueueLayout) -> None:
    require_sound(layout)
    assert layout.classes[-1].code_points == ()
    assert layout.default.traffic_class == 0
    assert layout.control in layout.queues


def test_the_eight_queues_of_section_4_3() -> None:
    layout = LAYOUTS["eight"]
    assert [queue.queue_id for queue in layout.queues] == list(range(8))
    assert layout.control.queue_id == 0
    served = [(each.priority, each.normal.queue_id, each.victim.queue_id) for each in layout.classes]
    assert served == [(0, 1, 5), (1, 2, 5), (2, 3, 5), (3, 4, 5), (4, 6, 7)]
    # EF (RFC 3246), AF41, AF31 and AF21 (RFC 2597, section 6: 8 * class + 2 * drop precedence).
    assert [each.code_points for each in layout.classes] == [(0b101110,), (8 * 4 + 2,), (8 * 3 + 2,), (8 * 2 + 2,), ()]


def test_the_four_queues_of_section_5_4() -> None:
    layout = LAYOUTS["four"]
    assert [queue.name for queue in layout.queues] == ["high", "high victims", "low", "low victims"]
    assert [(each.normal.queue_id, each.victim.queue_id) for each in layout.classes] == [(0, 1), (2, 3)]
    assert layout.control is layout.queues[0]


def test_a_users_own_layout(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    control = Queue(0, "control", 6, 2, 0.02)
    voice, data, scavenger = Queue(1, "voice", 5), Queue(2, "data", 0, 0), Queue(9, "scavenger", 1, None, 0.05)
    classes = (TrafficClass(0, (46, 40), voice, data), TrafficClass(1, (), data, scavenger))
    expected = QueueLayout("mine", (control, voice, data, scavenger), control, classes)
    assert named_layout(str(path)) == expected


def test_a_layout_is_named_after_its_file_by_default(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN.removeprefix("name: mine\n"))
    assert named_layout(str(path)).name == "own"


FAULTS = {
    ("id: 1,", "id: 0,"): "4: queue id 0 is given twice, expected one of its own for each queue",
    ("id: 9,", "id: 65533,"): "6: queue id 65533, expected 0 to 65532",
    ("id: 9,", "id: 1.5,"): "6: id '1.5', expected a whole number, zero or more",
    (
        "ecn: 0}",
        "ecn: 0}\n  - {id: 3, name: voice, traffic_class: 3}",
    ): "6: name 'voice' is given twice, expected one of its own for each queue",
    ("class: 5", "class: 6"): "4: traffic class 6 is given twice, expected one of its own for each queue",
    ("class: 5", "class: 8"): "4: traffic class 8, expected 0 to 7",
    ("ecn: 0", "ecn: 2"): "5: ECN bits 2 is given twice, expected one of its own for each queue",
    ("ecn: 0", "ecn: 4"): "5: ECN bits 4, expected 0 to 3",
    ("0.05", "0.99"): "3: 1.01 of the rate is guaranteed in sum, expected no more than 1",
    ("0.05", "-1"): "6: guaranteed share -1, expected 0 to 1",
    ("0.05", "much"): "6: guaranteed 'much' is not a number, expected 0 to 1",
    ("control: control", "control: data link"): (
        "7: control is 'data link', expected a queue: 'control', 'voice', 'data', 'scavenger'"
    ),
    (
        "victim: scavenger",
        "victim: none",
    ): "10: victim is 'none', expected a queue: 'control', 'voice', 'data', 'scavenger'",
    ("priority: 1", "priority: 2"): (
        "10: priority 2, expected 1: priorities count from 0, the most important, without gaps"
    ),
    ("[46, 40]", "[46, 46]"): "9: code point 46 is given twice, expected each in one class",
    ("[46, 40]", "[48]"): "9: code point 48 is that of control traffic, expected another one",
    ("[46, 40]", "[64]"): "9: code point 64, expected 0 to 63",
    ("code_points: [46, 40], ", ""): (
        "9: class 0 has no code points, expected at least one: only the last class has unmarked packets"
    ),
    ("victim: scavenger", "victim: voice"): (
        "10: victims of class 1 wait in 'voice', expected a queue that is served after its normal one, 'data'"
    ),
    ("victim: scavenger", "victim: data"): (
        "10: victims of class 1 wait in 'data', expected a queue that is served after its normal one, 'data'"
    ),
    ("name: scavenger", 'name: "sca\\nvenger"'): (
        "10: victim is 'scavenger', expected a queue: 'control', 'voice', 'data', 'sca\\nvenger'"
    ),
    ("priority: 0, ", ""): "9: a class has no priority",
    ("name: mine", "rank: 1"): "1: unknown key 'rank', expected the keys name, queues, control, classes",
}


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{old} -> {new}" for old, new in FAULTS])
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, fault: tuple[str, str]) -> None:
    old, new = fault
    assert OWN.count(old) == 1
    path = tmp_path / "own.yaml"
    path.write_text(OWN.replace(old, new))
    with pytest.raises(InputError) as raised:
        named_layout(str(path))
    assert str(raised.value).startswith(f"{path}:{FAULTS[fault]}")


def test_shares_that_sum_to_one_but_for_rounding_are_taken() -> None:
    shares = (0.05, 0.55, 0.3, 0.1)
    assert sum(shares) > 1
    four = LAYOUTS["four"]
    with_shares = {
        queue: dataclasses.replace(queue, guaranteed=share) for queue, share in zip(four.queues, shares, strict=True)
    }
    classes = tuple(
        dataclasses.replace(each, normal=with_shares[each.normal], victim=with_shares[each.victim])
        for each in four.classes
    )
    require_sound(QueueLayout("shares", tuple(with_shares.values()), with_shares[four.control], classes))


def test_a_layout_without_classes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN[: OWN.index("classes:")] + "classes: []\n")
    with pytest.raises(InputError) as raised:
        named_layout(str(path))
    assert str(raised.value) == f"{path}:8: classes is empty, expected at least one class"


def test_more_queues_than_tags_are_refused() -> None:
    plain = LAYOUTS["plain"]
    many = tuple(Queue(number, f"queue {number}", number % 8) for number in range(MAX_QUEUES + 1))
    with pytest.raises(UnsoundError, match="queues: 9 queues, expected at most 8"):
        require_sound(dataclasses.replace(plain, queues=many))


def test_a_name_that_is_none_is_refused() -> None:
    with pytest.raises(InputError) as raised:
        named_layout("fuor")
    assert str(raised.value) == "layout: 'fuor' is unknown, expected plain, eight, four or a YAML file"
