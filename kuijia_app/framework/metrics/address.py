"""The address of a metrics page, as users write it: `PORT` or `ADDRESS:PORT`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from kuijia_base.errors import quoted
from kuijia_base.text import parse_whole

LOOPBACK = IPv4Address("127.0.0.1")
LAST_PORT = 0xFFFF
EXPECTED = f"PORT or ADDRESS:PORT, such as 9100, 0.0.0.0:9100 or [::1]:9100, with a port from 1 to {LAST_PORT}"


@dataclass(frozen=True)
class PageAddress:
    """Where a page of metrics is served; port 0 stands for any free one."""

    port: int
    host: IPv4Address | IPv6Address = LOOPBACK

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if self.host.version == 6 else f"{self.host}:{self.port}"


def parse_page_address(text: str) -> PageAddress | None:
    """Return the address in a user's text, None if it has none."""
    host, _, number = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    try:
        found = ip_address(host[1:-1] if is_bracketed else host) if host else LOOPBACK
    except ValueError:
        found = None
    port = parse_whole(number)
    fits = found is not None and is_bracketed == (found.version == 6) and not text.startswith(":")
    if found is None or not fits or port is None or not 1 <= port <= LAST_PORT:
        return None
    return PageAddress(port, found)


def page_address(text: str) -> PageAddress:
    """Return the same; raise ArgumentTypeError, as `type=` of argparse should, instead of None."""
    found = parse_page_address(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{quoted(text)}, expected {EXPECTED}")
    return found


def add_metrics_option(parser: argparse.ArgumentParser) -> None:
    """Add `--metrics` to the options of a program that goes on for long."""
    parser.add_argument(
        "--metrics",
        type=page_address,
        metavar="[ADDRESS:]PORT",
        help="serve metrics for Prometheus at this port, of the loopback address by default",
    )
