"""Probes name the port that sent them, and nobody without the key can make one."""

from __future__ import annotations

from kuijia_app.discovery.lldp import ETH_TYPE, origin, probe

KEY, OTHER = b"k" * 32, b"o" * 32


def test_a_probe_names_its_sender() -> None:
    frame = probe(KEY, 0xFEDC_BA98_7654_3210, 0xFEFF)
    assert frame[12:14] == ETH_TYPE.to_bytes(2, "big")
    assert origin(KEY, frame) == (0xFEDC_BA98_7654_3210, 0xFEFF)
    assert origin(KEY, frame + bytes(18)) == (0xFEDC_BA98_7654_3210, 0xFEFF), "padded to the shortest Ethernet frame"


def test_a_frame_of_others_is_no_probe() -> None:
    frame = probe(KEY, 1, 2)
    assert origin(OTHER, frame) is None
    assert origin(KEY, frame[:12] + b"\x08\x00" + frame[14:]) is None
    for length in range(len(frame) - 2):
        assert origin(KEY, frame[:length]) is None
    for place in range(14, len(frame)):
        forged = frame[:place] + bytes([frame[place] ^ 1]) + frame[place + 1 :]
        assert origin(KEY, forged) in {None, (1, 2)}
