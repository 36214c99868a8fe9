"""Numbers given to switches stay the same from version to version: a switch may have them from an earlier one."""

from __future__ import annotations

import pytest

from kuijia_app.tables import identifiers as ids
from kuijia_app.tables.bfd import BfdSession

LAST_BFD_PATH_ID = 32155


@pytest.mark.parametrize(
    ("group_id", "number"),
    [
        (ids.split_group(5, 3), 0x1003_0005),
        (ids.control_group(5), 0x2000_0005),
        (ids.liveness_group(0x12345), 0x3001_2345),
        # Path ids have 16 backups each, these 8 classes, these 32 steps.
        (ids.failover_group(2, 3, 4), 0x4000_0000 + (2 * 16 + 3) * 8 + 4),
        (ids.chain_group(2, 3, 4, 5), 0x5000_0000 + ((2 * 16 + 3) * 8 + 4) * 32 + 5),
        (ids.control_chain_group(5, 6), 0x6000_0000 + 5 * 32 + 6),
        (ids.last_resort_group(5, 3), 0x7803_0005),
        (ids.control_last_resort_group(5), 0x7808_0005),
        (ids.DROP_GROUP, 0x7000_0000),
    ],
)
def test_a_group_has_its_kind_its_place_and_its_class_in_its_id(group_id: int, number: int) -> None:
    assert group_id == number
    assert ids.is_own_group(number)


def test_the_last_group_of_each_kind_is_below_the_first_of_the_next() -> None:
    last_path, last_egress, last_class, backup, step = ids.LAST_BFD_TUNNEL, 0xFFFF, ids.MAX_CLASSES - 1, 15, 31
    lasts = [
        ids.split_group(last_egress, last_class),
        ids.control_group(last_egress),
        ids.liveness_group(0xFFFFF),
        ids.failover_group(last_path, backup, last_class),
        ids.chain_group(last_path, backup, last_class, step),
        ids.control_chain_group(last_egress, step),
        ids.DROP_GROUP,
        ids.control_last_resort_group(last_egress),
    ]
    firsts = [
        ids.split_group(0, 0),
        ids.control_group(0),
        ids.liveness_group(0),
        ids.failover_group(0, 0, 0),
        ids.chain_group(0, 0, 0, 0),
        ids.control_chain_group(0, 0),
        ids.DROP_GROUP,
        ids.last_resort_group(0, 0),
    ]
    assert all(last < following for last, following in zip(lasts, firsts[1:], strict=False))
    assert firsts == sorted(firsts)
    assert lasts[-1] < 0x8000_0000


@pytest.mark.parametrize(
    ("group_id", "is_own"), [(0x0FFF_FFFF, False), (0x1000_0000, True), (0x7FFF_FFFF, True), (0x8000_0000, False)]
)
def test_groups_outside_our_range_are_of_others(group_id: int, *, is_own: bool) -> None:
    assert ids.is_own_group(group_id) is is_own


@pytest.mark.parametrize(
    ("group_id", "path_id"),
    [(0x2FFF_FFFF, None), (0x3000_0000, 0), (0x3000_0010, 16), (0x3FFF_FFFF, 0xFFF_FFFF), (0x4000_0000, None)],
)
def test_a_liveness_group_names_its_tunnel(group_id: int, path_id: int | None) -> None:
    assert ids.path_id_of_liveness_group(group_id) == path_id


@pytest.mark.parametrize(
    ("group_id", "egress"),
    [(0x77FF_FFFF, None), (0x7800_0000, 0), (0x7803_0005, 5), (0x7808_FFFF, 0xFFFF), (0x7809_0000, None)],
)
def test_a_group_of_a_last_resort_names_its_egress(group_id: int, egress: int | None) -> None:
    assert ids.egress_of_last_resort(group_id) == egress


def test_groups_of_last_resorts_are_those_of_all_classes_and_of_control_traffic() -> None:
    assert ids.last_resort_groups(5) == tuple(0x7800_0005 + 0x1_0000 * index for index in range(9))


def test_labels_of_sessions_and_of_paths_to_egresses_are_apart() -> None:
    assert ids.bfd_label(16) == 0x80010
    assert ids.default_path_id(5) == 0xE0005
    assert ids.other_path_id(5) == 0xD0005


def test_the_last_session_has_the_last_two_ports() -> None:
    first, last, beyond = (BfdSession(path_id, ("a", "b")) for path_id in (16, LAST_BFD_PATH_ID, LAST_BFD_PATH_ID + 1))
    assert (first.watched_port, first.inner_port) == (1000, 1001)
    assert last.inner_port <= ids.LAST_PORT < beyond.inner_port
    assert (first.label, first.hops) == (0x80010, (("a", "b"),))
