"""Probes have the header of control traffic and full size, and nobody else can make one."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kuijia_app.control.probe_frames import PROBE_ADDRESS, ProbeForm, ProbeSaid, probe_frame, probe_read
from kuijia_app.tables.options import Tagging
from kuijia_app.tables.queues import PLAIN_LAYOUT

SMALLEST = 96
LINK_PROBE_LABEL = 8
FIRST_PATH_ID = 16

KEY = b"k" * 32
FORMS = [ProbeForm(tagging, PLAIN_LAYOUT.control) for tagging in Tagging]


@pytest.mark.parametrize("form", FORMS, ids=[form.tagging.value for form in FORMS])
@pytest.mark.parametrize("size", [SMALLEST, 1500, 1504, 9000])
def test_a_probe_has_its_size_and_says_where_it_was_sent(form: ProbeForm, size: int) -> None:
    said = ProbeSaid(0xC0FFEE00000001, 3, 17, size)
    frame = probe_frame(form, KEY, said)
    assert len(frame) == 14 + size
    assert probe_read(KEY, frame) == said
    assert probe_read(b"other" * 7, frame) is None


def test_a_labelled_probe_is_in_the_queue_of_control_traffic_and_in_no_tunnel() -> None:
    frame = probe_frame(FORMS[0], KEY, ProbeSaid(1, 1, 1, 1504))
    (kind, entry) = struct.unpack_from("!HI", frame, 12)
    assert (kind, entry >> 12, entry >> 9 & 7) == (0x8847, LINK_PROBE_LABEL, PLAIN_LAYOUT.control.traffic_class)
    assert LINK_PROBE_LABEL < FIRST_PATH_ID
    match = FORMS[0].match(5)
    assert (match.in_port, match.mpls_label) == (5, LINK_PROBE_LABEL)


def test_a_probe_without_labels_is_a_sound_packet_of_ipv4() -> None:
    frame = probe_frame(FORMS[1], KEY, ProbeSaid(1, 1, 1, 1500))
    header = frame[14:34]
    words = sum(struct.unpack("!10H", header))
    assert (words >> 16) + (words & 0xFFFF) == 0xFFFF
    assert struct.unpack_from("!H", header, 2) == (1500,)
    assert header[1] & 3 == PLAIN_LAYOUT.control.ecn
    assert header[16:] == PROBE_ADDRESS.packed
    assert str(FORMS[1].match(5).ipv4_dst) == "192.0.0.8/32"


@given(st.binary(max_size=200))
def test_any_bytes_are_no_probe(data: bytes) -> None:
    assert probe_read(KEY, data) is None


@given(st.integers(0, 13), st.integers(1, 255), st.sampled_from(FORMS))
def test_a_changed_byte_of_what_it_says_makes_it_nobodys(place: int, change: int, form: ProbeForm) -> None:
    frame = bytearray(probe_frame(form, KEY, ProbeSaid(1, 2, 3, 1500)))
    start = 18 if form.tagging is Tagging.MPLS else 34
    frame[start + 8 + place] ^= change
    assert probe_read(KEY, bytes(frame)) is None
