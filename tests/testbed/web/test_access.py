"""Rules of the live lab's server: hosts, origins, the token, and rates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testbed.web.access import RATES, HostRules, Kind, Limiter, Rate, Token


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8400", "localhost:8400", "LocalHost", "[::1]:8400", "[::1]"])
def test_a_server_on_loopback_answers_to_the_names_of_loopback(host: str) -> None:
    assert HostRules().check_host(host) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8400",
        "127.0.0.1.evil.example:8400",
        "localhost.evil.example",
        "127.0.0.1:port",
        "127.0.0.1:99999",
        "::1",
        "[::1",
        "[::1]evil",
        "[evil.example]",
        "10.0.0.1",
        "127.0.0.1@evil.example",
    ],
)
def test_a_server_on_loopback_refuses_other_names(host: str | None) -> None:
    assert HostRules().check_host(host) is not None


def test_a_server_on_all_addresses_answers_to_addresses_but_to_no_names() -> None:
    rules = HostRules("0.0.0.0")  # noqa: S104  # nothing is bound
    assert rules.check_host("10.1.2.3:8400") is None
    assert rules.check_host("[2001:db8::1]:8400") is None
    assert rules.check_host("rebound.example:8400") is not None
    assert HostRules("0.0.0.0", ["lab.example"]).check_host("Lab.example") is None  # noqa: S104  # as above


def test_a_server_on_one_address_answers_to_it() -> None:
    rules = HostRules("10.1.2.3")
    assert rules.check_host("10.1.2.3:8400") is None
    assert rules.check_host("10.1.2.4:8400") is not None


@pytest.mark.parametrize(
    ("origin", "site", "passes"),
    [
        (None, None, True),
        (None, "none", True),
        ("http://localhost:8400", "same-origin", True),
        ("https://localhost:8400", None, True),
        ("http://localhost:3000", None, False),
        ("http://127.0.0.1:8400", None, False),
        ("http://evil.example", "cross-site", False),
        ("null", None, False),
        ("", None, False),
        (None, "cross-site", False),
        (None, "same-site", False),
    ],
)
def test_only_the_servers_own_pages_are_an_origin(origin: str | None, site: str | None, passes: bool) -> None:  # noqa: FBT001  # a parameter
    assert (HostRules().check_origin(origin, "localhost:8400", site) is None) == passes


@pytest.mark.parametrize(
    ("header", "passes"),
    [
        ("Bearer secret", True),
        ("bearer secret", True),
        ("Bearer Secret", False),
        ("Bearer secret2", False),
        ("Basic secret", False),
        ("secret", False),
        ("", False),
        (None, False),
        ("Bearer s\u00e9cret", False),
    ],
)
def test_only_the_token_opens(header: str | None, passes: bool) -> None:  # noqa: FBT001  # a parameter
    assert Token("secret").is_in(header) == passes


def test_a_limiter_lets_a_burst_pass_and_then_the_rate() -> None:
    limiter = Limiter({**RATES, "act": Rate(2, 3)})
    assert [limiter.wait("act", "a", 0.0) for _ in range(4)] == [None, None, None, 1]
    assert limiter.wait("act", "b", 0.0) is None
    assert limiter.wait("read", "a", 0.0) is None
    assert limiter.wait("act", "a", 0.5) is None
    assert limiter.wait("act", "a", 0.5) == 1


def test_a_limiter_remembers_a_bounded_number_of_clients() -> None:
    limiter = Limiter()
    for number in range(3000):
        limiter.wait("read", str(number), 0.0)
    assert len(limiter._left) == 1000


def test_the_documentation_states_the_rates() -> None:
    page = (Path(__file__).parents[3] / "docs" / "web.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"^- Rates are limited.*?(?=^- )", page, re.MULTILINE | re.DOTALL)
    words = " ".join(stated.replace(",000", "000").replace("five", "5").split())
    names: dict[Kind, str] = {"act": "actions", "read": "reads", "page": "files of the page"}
    for kind, name in names.items():
        assert f"{RATES[kind].burst:g} {name}, then {RATES[kind].per_second:g} a second" in words
    assert f"{RATES['guess'].burst:g} times, then {RATES['guess'].per_second:g} times a second" in words
