"""Addresses of metrics pages as users write them."""

from __future__ import annotations

import argparse

import pytest

from kuijia_app.framework.metrics.address import add_metrics_option, page_address


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("9100", "127.0.0.1:9100"),
        ("0.0.0.0:1", "0.0.0.0:1"),
        ("10.0.0.7:65535", "10.0.0.7:65535"),
        ("[::1]:9100", "[::1]:9100"),
    ],
)
def test_a_port_stands_for_the_loopback_address(text: str, meant: str) -> None:
    found = page_address(text)
    assert str(found) == meant
    assert page_address(str(found)) == found


@pytest.mark.parametrize(
    "text",
    ["", "0", "65536", "-1", "9100.5", "x", ":9100", "::1:9100", "[10.0.0.7]:1", "host:9100", "10.0.0.7:", "[]:1"],
)
def test_anything_else_is_refused_in_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_metrics_option(parser)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args([f"--metrics={text}"])
    assert ended.value.code == 2
    assert "expected PORT or ADDRESS:PORT" in capsys.readouterr().err.splitlines()[-1]
